from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptguard.core.errors import InputError
from promptguard.linting.baseline import Baseline, baseline_text, read_baseline
from promptguard.linting.check import check_file
from promptguard.linting.result import FileResult
from promptguard.linting.settings import Settings

CLOCK = "Today: {{ now() }}.\n"


def check(text: str, path: str = "system.j2") -> FileResult:
    return check_file(path, text, Settings(str(Path.cwd())))


def baseline(*results: FileResult) -> Baseline:
    text = baseline_text([record for result in results for record in result.records], str(Path.cwd()))
    Path("known.json").write_text(text, encoding="utf-8")
    return read_baseline("known.json")


def new(known: Baseline, result: FileResult) -> list[tuple[str, int]]:
    return [(record.code, record.line) for record in known.without(result).records]


def test_known_findings_are_not_reported(folder: Path) -> None:
    known = baseline(check(CLOCK))
    result = known.without(check(CLOCK))
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
    known.without(check(CLOCK))
    assert known.stale() == 1
    known.without(check("Be brief.\n", "other.j2"))
    assert known.stale() == 2


def test_the_paths_go_by_the_folder_of_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a").mkdir()
    text = baseline_text(check(CLOCK, "a/system.j2").records, str(folder))
    (folder / "known.json").write_text(text)
    assert list(json.loads(text)["findings"]) == ["a/system.j2"]
    monkeypatch.chdir(folder / "a")
    known = read_baseline("../known.json")
    assert new(known, check(CLOCK)) == []
    assert new(known, check(CLOCK, "../system.j2")) == [("PG101", 1)]


def test_the_file_is_the_same_whatever_the_order_of_the_findings(folder: Path) -> None:
    records = [*check(CLOCK + "x \n").records, *check(CLOCK, "other.j2").records]
    assert baseline_text(records, str(folder)) == baseline_text(records[::-1], str(folder))


def test_what_keeps_promptguard_from_judging_is_never_known(folder: Path, detect: object) -> None:
    detect([RuntimeError("x")])  # type: ignore[operator]
    assert json.loads(baseline_text(check(CLOCK).records, str(folder))) == {"version": 1, "findings": {}}


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
