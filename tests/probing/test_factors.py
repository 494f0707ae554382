"""What a prompt changes with is named, with the cause and the block."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from probing_cases import CASES, CLOCKS, STABLE, Case, Probe


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
