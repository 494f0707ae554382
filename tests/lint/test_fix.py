from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from promptguard.core.finding import Applicability
from promptguard.linting.fix import fix_text, has_fix
from promptguard.linting.result import FileResult, FixEdit, Record, RecordedFix

Replace = tuple[int, int, str]


def record(code: str, edits: list[Replace], applicability: Applicability = "safe", fingerprint: str = "") -> Record:
    made = tuple(FixEdit(start, end, 1, start + 1, 1, end + 1, text) for start, end, text in edits)
    fix = RecordedFix(f"Mend {fingerprint}", applicability, made)
    at = edits[0][0] + 1 if edits else 1
    place = ("a.j2", 1, at, 1, at, code, "x", "error", "high", "message")
    return Record(*place, None, None, None, None, None, (), fix, (), fingerprint or f"{code}{edits}")  # type: ignore[arg-type]


def result(*records: Record, checked: bool = True) -> FileResult:
    return FileResult("a.j2", checked, records)


def once(*records: Record) -> Callable[[str], FileResult]:
    """What finds nothing in a text that has been changed."""
    return lambda _text: result()


def replace_all(pattern: str, by: str) -> Callable[[str], FileResult]:
    return lambda text: result(
        *(record("PG301", [(m.start(), m.end(), by)], fingerprint=str(m.start())) for m in re.finditer(pattern, text))
    )


@pytest.mark.parametrize(
    ("edits", "expected", "applied"),
    [
        ([[(0, 1, "X")], [(2, 3, "")]], "Xbd", 2),
        ([[(0, 2, "X")], [(1, 3, "Y")]], "Xcd", 1),
        ([[(0, 2, "X")], [(2, 3, "Y")]], "XYd", 2),
        ([[(1, 1, "X")], [(1, 1, "Y")]], "aXbcd", 1),
        ([[(1, 1, "X")], [(0, 2, "Y")]], "aXbcd", 1),
        ([[(0, 1, "X"), (3, 4, "Z")], [(1, 3, "Y")]], "XYZ", 2),
        ([[(0, 1, "X"), (3, 4, "Z")], [(2, 4, "Y")]], "XbcZ", 1),
        ([[(3, 4, "")], [(0, 1, "")]], "bc", 2),
        ([[(0, 1, "X")], [(0, 1, "X")]], "Xbcd", 1),
        ([[]], "abcd", 0),
    ],
)
def test_fixes_that_overlap_are_skipped(edits: list[list[Replace]], expected: str, applied: int) -> None:
    records = [record("PG301", item, fingerprint=str(number)) for number, item in enumerate(edits)]
    fixed = fix_text("abcd", result(*records), once(), unsafe=False)
    assert (fixed.text, fixed.applied) == (expected, applied)


def test_the_text_is_checked_again_until_it_is_stable() -> None:
    check = replace_all("aa", "a")
    fixed = fix_text("a" * 16, check("a" * 16), check, unsafe=False)
    assert (fixed.text, fixed.applied, fixed.result.records) == ("a", 15, ())


def test_fixes_that_undo_each_other_end() -> None:
    def check(text: str) -> FileResult:
        return result(record("PG301", [(0, 1, "b" if text == "a" else "a")]))

    fixed = fix_text("a", check("a"), check, unsafe=False)
    assert (fixed.text, fixed.applied) == ("b", 1)


def test_fixes_that_never_end_are_bounded() -> None:
    fixed = fix_text(
        "", result(record("PG301", [(0, 0, "x")])), lambda _text: result(record("PG301", [(0, 0, "x")])), unsafe=False
    )
    assert (fixed.text, fixed.applied) == ("x" * 100, 100)


def test_which_fixes_may_be_applied() -> None:
    found = result(
        record("PG301", [(0, 1, "S")]), record("PG101", [(1, 2, "U")], "unsafe"), record("PG102", [(2, 3, "D")], "display")
    )
    assert fix_text("abcd", found, once(), unsafe=False).text == "Sbcd"
    assert fix_text("abcd", found, once(), unsafe=True).text == "SUcd"
    assert [has_fix(found, unsafe=unsafe) for unsafe in (False, True)] == [True, True]
    assert [has_fix(result(*found.records[1:]), unsafe=unsafe) for unsafe in (False, True)] == [False, True]


@pytest.mark.parametrize("worse", [result(record("PG999", [])), result(record("PG901", [])), result(checked=False)])
def test_a_fix_that_makes_things_worse_is_left_out_and_the_others_are_not(worse: FileResult) -> None:
    def check(text: str) -> FileResult:
        if "!" in text:
            return worse
        wrong = re.search("d", text)
        fixes = [record("PG301", [(m.start(), m.end(), m[0].upper())], fingerprint=m[0]) for m in re.finditer("[abce]", text)]
        return result(*fixes, *([record("PG302", [(wrong.start(), wrong.end(), "!")], fingerprint="d")] if wrong else []))

    fixed = fix_text("abcde", check("abcde"), check, unsafe=False)
    assert (fixed.text, fixed.applied, [item.code for item in fixed.result.records]) == ("ABCdE", 4, ["PG302"])
