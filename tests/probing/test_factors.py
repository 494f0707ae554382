"""What a prompt changes with is named, with the cause and the block."""

from __future__ import annotations

import datetime as dt
import os
from datetime import date
from pathlib import Path

import pytest
from probing_cases import CASES, CLOCKS, PERIODS, STABLE, Case, Probe

from promptguard.probing.factors import FIRST_CLOCK, OTHER_CLOCKS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_prompt_changes_with(case: Case, probed: Probe) -> None:
    result = probed(case.code, runs=case.runs)
    found = [(difference.factors, difference.cause.code, difference.block) for difference in result.differences]
    assert found == [(case.factors, case.cause, case.block)]


@pytest.mark.parametrize("code", STABLE.values(), ids=STABLE)
def test_what_stays_the_same(code: str, probed: Probe) -> None:
    assert probed(code).stable


@pytest.mark.parametrize(("form", "every"), [("%S", "second"), ("%H:%M", "minute"), ("%d.%m. %H h", "hour"), ("%A", "day")])
def test_how_often_a_clock_changes_it(form: str, every: str, probed: Probe) -> None:
    (difference,) = probed(f'def build(): return RULES + " Now: " + datetime.now(dt.timezone.utc).strftime("{form}")').differences
    assert (difference.factors, difference.changes) == (("clock",), every)


@pytest.mark.parametrize(("clock", "every"), PERIODS.items())
def test_how_often_something_of_a_date_changes_it(clock: str, every: str, probed: Probe) -> None:
    (difference,) = probed(f'def build(): return f"{{RULES}} {{{clock}}}"').differences
    assert (difference.factors, difference.changes, difference.cause.code) == (("clock",), every, "K1")


def test_an_hour_of_the_users_own_zone_is_one_of_the_clock(probed: Probe) -> None:
    (difference,) = probed("def build(): return RULES + ('Good morning' if datetime.now().hour < 12 else 'Good day')").differences
    assert difference.depends == "with the clock, every day, and with the time zone"


@pytest.mark.parametrize("clock", PERIODS)
@pytest.mark.parametrize("day", ["2026-02-11", "2026-03-07", "2027-11-27", "2028-12-31", "2031-07-04", "2032-06-04"])
def test_on_whatever_day_the_clock_starts_the_other_runs_show_it(day: str, clock: str) -> None:
    def said(moment: dt.datetime) -> object:
        class Now(dt.datetime):
            now = classmethod(lambda cls, tz: moment)
            today = classmethod(lambda cls: moment)

        return eval(clock, {"datetime": Now, "date": Now, "dt": dt})

    for hour in range(24):
        first = dt.datetime.combine(date.fromisoformat(day), dt.time(hour, 20, 20), dt.timezone.utc)
        assert {said(other) for other in OTHER_CLOCKS} - {said(first)}


def test_a_builder_that_needs_a_later_day_starts_from_now(probed: Probe) -> None:
    result = probed(f"""
    def build():
        if date.today() == date({FIRST_CLOCK:%Y, %-m, %-d}):
            raise ValueError("not valid yet")
        return f"{{RULES}} {{datetime.now()}}"
    """)
    assert [difference.factors for difference in result.differences] == [("clock", "time-zone")]
    assert "its clock starts now, since on 2026-02-11 the builder failed: ValueError: not valid yet" in result.notes


def test_a_year_that_the_builder_cannot_bear(probed: Probe) -> None:
    result = probed("def build(): return RULES + {2029: ''}.get(date.today().year, 'x')[0]", runs=3)
    note = "it was not seen whether it changes with the clock: then the builder failed: IndexError: string index out of range"
    assert (result.stable, "clock" in result.varied, note in result.notes) == (True, False, True)


def test_what_drifts_on_its_own_is_blamed_on_nothing_else(probed: Probe) -> None:
    result = probed("""
    DRIFTED = os.path.join(os.path.dirname(__file__), "drifted")
    def build():
        user = os.environ["USER"]
        if date.today().year == 2026 and user == "another-user":
            open(DRIFTED, "w").close()
        return f"{RULES} Hello {user}. It is {'12:30' if os.path.exists(DRIFTED) else '12:00'}."
    """)
    assert [(difference.factors, difference.cause.code) for difference in result.differences] == [
        (("user",), "K15"),
        (("run",), "K1"),
    ]


def test_what_sees_the_real_clock_is_named(probed: Probe) -> None:
    result = probed("""
    import subprocess
    def today(): return numpy.datetime64("today")
    def build(): os.system("true"); return RULES + subprocess.check_output("/bin/echo 3", shell=True, text=True)
    """)
    assert result.stable
    assert "it starts other programs, which see the real clock: true, echo" in result.notes
    assert "numpy.datetime64 sees the real clock (agent.py:8)" in result.notes


def test_every_clock_is_moved(probed: Probe) -> None:
    made = ", ".join(f"str({clock})" for clock in CLOCKS)
    wrong = probed(f"def build(): return RULES + ', '.join(text for text in ({made}) if '10:20:20' not in text)")
    assert wrong.tokens == probed("def build(): return RULES").tokens


def test_the_first_difference_of_each_factor_is_reported(probed: Probe) -> None:
    code = """
    def build():
        user, host = os.environ.get("USER"), os.uname().nodename
        return f"{RULES}\\nUser: {user}\\nHost: {host}\\n" + RULES * 2
    """
    first, second = probed(code).differences
    assert (first.factors, first.cause.code, second.factors, second.cause.code) == (("user",), "K15", ("host",), "K7")
    assert first.character < second.character
    assert first.tokens_lost > second.tokens_lost > 0
    assert "another-host" in second.after


def test_what_changes_by_chance_hides_the_rest_and_that_is_said(probed: Probe) -> None:
    result = probed('def build(): return f"{RULES} {uuid.uuid4()} {datetime.now()}"')
    (difference,) = result.differences
    assert difference.depends == "each time it is built"
    assert "what else it changes with can be told when it gives the same prompt in each process" in result.notes


def test_a_factor_that_the_builder_cannot_bear_is_left_out_and_named(probed: Probe, folder: Path) -> None:
    result = probed(f"""
    def build():
        if os.getcwd() != {os.fspath(folder)!r}:
            raise OSError("wrong place")
        return RULES + os.environ.get("USER", "")
    """)
    assert "directory" not in result.varied
    assert (
        "it was not seen whether it changes with the working directory: then the builder failed: OSError: wrong place"
        in result.notes
    )
    assert [difference.factors for difference in result.differences] == [("user",)]


def test_changes_that_only_count_together(probed: Probe) -> None:
    result = probed("""
    def build():
        return RULES + ("x" if os.environ.get("USER") == os.uname().nodename.replace("host", "user") else "")
    """)
    (difference,) = result.differences
    assert (difference.factors, difference.depends) == ((), "when several things change together")


def test_files_of_the_working_directory_are_found_from_another(probed: Probe, folder: Path) -> None:
    (folder / "system.txt").write_text("You are an agent.")
    assert probed('def build(): return open("system.txt").read()').stable
