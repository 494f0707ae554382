from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptguard.core.errors import InputError
from promptguard.linting.baseline import Baseline, baseline_text, read_baseline
from promptguard.linting.check import Checker, check_file
from promptguard.linting.result import Counts, FileResult
from promptguard.linting.settings import Settings

CLOCK = "Today: {{ now() }}.\n"


def check(text: str, path: str = "system.j2") -> FileResult:
    return check_file(path, text, Settings(str(Path.cwd())))


def baseline(*results: FileResult) -> Baseline:
    text = baseline_text(results, str(Path.cwd()))
    Path("known.json").write_text(text, encoding="utf-8")
    return read_baseline("known.json")


def new(known: Baseline, result: FileResult) -> list[tuple[str, int]]:
    return [(record.code, record.line) for record in known.without(result, never).records]


def never(_known: object) -> FileResult:
    pytest.fail("all that is new is among the records")


def test_known_findings_are_not_reported(folder: Path) -> None:
    known = baseline(check(CLOCK))
    result = known.without(check(CLOCK), never)
    assert (result.records, result.suppressed, known.stale()) == ((), 1, 0)


def test_lines_that_move_stay_known(folder: Path) -> None:
    known = baseline(check(CLOCK))
    assert new(known, check("Be brief.\n\n  " + CLOCK)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLOCK + CLOCK, [("PG101", 2)]),
        ("Now: {{ now() }}.\n" + CLOCK, [("PG101", 1)]),
        ("Today: {{ now() }}!\n", [("PG101", 1)]),
        (CLOCK.replace("\n", " \n"), [("PG301", 1)]),
    ],
)
def test_new_ones_of_the_same_kind_are_reported(folder: Path, text: str, expected: list[tuple[str, int]]) -> None:
    assert new(baseline(check(CLOCK)), check(text)) == expected


def test_the_same_line_in_another_file_is_new(folder: Path) -> None:
    assert new(baseline(check(CLOCK)), check(CLOCK, "other.j2")) == [("PG101", 1)]


def test_what_is_no_longer_there_is_counted_for_the_files_that_were_checked(folder: Path) -> None:
    known = baseline(check(CLOCK + CLOCK), check(CLOCK, "other.j2"))
    assert known.stale() == 0
    known.without(check(CLOCK), never)
    assert known.stale() == 1
    known.without(check("Be brief.\n", "other.j2"), never)
    assert known.stale() == 2


def test_the_paths_go_by_the_folder_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a").mkdir()
    text = baseline_text([check(CLOCK, "a/system.j2")], str(folder))
    (folder / "known.json").write_text(text)
    assert list(json.loads(text)["findings"]) == ["a/system.j2"]
    monkeypatch.chdir(folder / "a")
    known = read_baseline("../known.json")
    assert new(known, check(CLOCK)) == []
    assert new(known, check(CLOCK, "../system.j2")) == [("PG101", 1)]


def test_the_file_is_the_same_whatever_the_order_of_the_findings(folder: Path) -> None:
    results = [check(CLOCK + "x \n"), check(CLOCK, "other.j2")]
    assert baseline_text(results, str(folder)) == baseline_text(results[::-1], str(folder))


MANY = "".join(f"It is {{{{ now() }}}} in {number}.\n" for number in range(1200)) + "Be brief.\n"


def test_what_is_too_much_to_report_is_known(folder: Path) -> None:
    known = baseline(check(MANY))
    result = known.without(check(MANY), never)
    assert (result.records, result.rest, result.suppressed, known.stale()) == ((), (), 1200, 0)
    fewer = known.without(check(MANY.partition("It is {{ now() }} in 1100.")[0]), never)
    assert (fewer.records, fewer.suppressed) == ((), 1100)


def test_what_is_new_behind_much_that_is_known_is_looked_for_once_more(folder: Path) -> None:
    text = MANY + "It is {{ now() }} in 1199.\nNow: {{ now() }}.\n"

    def again(counts: Counts) -> FileResult:
        return Checker(Settings(str(Path.cwd()))).check("system.j2", text, known=counts)

    known = baseline(check(MANY))
    result = known.without(check(text), again)
    assert [(record.code, record.line) for record in result.records] == [("PG101", 1202), ("PG101", 1203)]
    assert (result.rest, result.suppressed, known.stale()) == ((), 1200, 0)
    assert [record.fingerprint.partition(":")[2] for record in result.records] == ["2", "1"]


def test_what_is_new_can_be_too_much_to_report(folder: Path) -> None:
    text = MANY + "".join(f"Now: {{{{ now() }}}}, {number}.\n" for number in range(1003))
    known = baseline(check(MANY))
    result = known.without(check(text), lambda counts: Checker(Settings(str(Path.cwd()))).check("system.j2", text, known=counts))
    assert (len(result.records), result.records[0].line, len(result.rest), result.suppressed) == (1000, 1202, 3, 1200)


def test_what_keeps_promptguard_from_judging_is_never_known(folder: Path, detect: object) -> None:
    detect([RuntimeError("x")])  # type: ignore[operator]
    assert json.loads(baseline_text([check(CLOCK)], str(folder))) == {"version": 1, "findings": {}}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "[]",
            "{}",
            '{"version": 2, "findings": {}}',
            '{"version": 1, "findings": []}',
            '{"version": 1, "findings": {"a": 1}}',
        ),
        '{"version": 1, "findings": {"a": {"PG101": {"x": true}}}}',
        '{"version": 1, "findings": {"a": {"PG101": []}}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_baseline(folder: Path, text: str) -> None:
    Path("known.json").write_text(text)
    with pytest.raises(InputError, match=r"known.json: the baseline is not one that promptguard wrote; make it anew"):
        read_baseline("known.json")
