from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from promptguard.checks.base import Embedding
from promptguard.core.finding import Applicability
from promptguard.core.source import Source
from promptguard.linting.fix import Mendable, fix_text, has_fix
from promptguard.linting.result import FileResult, FixEdit, Mend, Record, RecordedFix

Replace = tuple[int, int, str]


def mend(
    edits: list[Replace],
    applicability: Applicability = "safe",
    title: str = "Mend",
    at: int | None = None,
    embedding: Embedding | None = None,
) -> Mend:
    start = (edits[0][0] if edits else 0) if at is None else at
    return Mend(start, start, "PG301", title, applicability, tuple(edits), embedding)


def record(code: str, edits: list[Replace], applicability: Applicability = "safe") -> Record:
    made = tuple(FixEdit(start, end, 1, start + 1, 1, end + 1, text) for start, end, text in edits)
    place = ("a.j2", 1, 1, 1, 1, code, "x", "error", "high", "message")
    return Record(*place, None, None, None, None, None, (), RecordedFix("Mend", applicability, made), (), "")  # type: ignore[arg-type]


def found(*mends: Mend) -> Mendable:
    return Mendable(FileResult("a.j2", True), mends)


def nothing(_text: str) -> Mendable:
    """What finds nothing in a text that has been changed."""
    return found()


def replace_all(pattern: str, by: str) -> Callable[[str], Mendable]:
    return lambda text: found(*(mend([(m.start(), m.end(), by)]) for m in re.finditer(pattern, text)))


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
    mends = [mend(item, at=number) for number, item in enumerate(edits)]
    assert fix_text("abcd", found(*mends), nothing, unsafe=False) == (expected, applied)


def test_the_first_by_place_is_applied() -> None:
    assert fix_text("abcd", found(mend([(1, 3, "Y")]), mend([(0, 2, "X")])), nothing, unsafe=False).text == "Xcd"


def test_the_text_is_checked_again_until_it_is_stable() -> None:
    look = replace_all("aa", "a")
    assert fix_text("a" * 16, look("a" * 16), look, unsafe=False) == ("a", 15)


def test_fixes_that_undo_each_other_end() -> None:
    def look(text: str) -> Mendable:
        return found(mend([(0, 1, "b" if text == "a" else "a")]))

    assert fix_text("a", look("a"), look, unsafe=False) == ("b", 1)


def test_fixes_that_never_end_are_bounded() -> None:
    def look(_text: str) -> Mendable:
        return found(mend([(0, 0, "x")]))

    assert fix_text("", look(""), look, unsafe=False) == ("x" * 100, 100)


def test_which_fixes_may_be_applied() -> None:
    kinds: list[tuple[list[Replace], Applicability]] = [
        ([(0, 1, "S")], "safe"),
        ([(1, 2, "U")], "unsafe"),
        ([(2, 3, "D")], "display"),
    ]
    mends = [mend(*each) for each in kinds]
    assert fix_text("abcd", found(*mends), nothing, unsafe=False).text == "Sbcd"
    assert fix_text("abcd", found(*mends), nothing, unsafe=True).text == "SUcd"
    records = tuple(record("PG301", *each) for each in kinds)
    results = FileResult("a.j2", True, records), FileResult("a.j2", True, records[1:])
    assert [[has_fix(result, unsafe=unsafe) for unsafe in (False, True)] for result in results] == [[True, True], [False, True]]


@pytest.mark.parametrize(
    "worse",
    [
        FileResult("a.j2", True, (record("PG999", []),)),
        FileResult("a.j2", True, (record("PG901", []),)),
        FileResult("a.j2", checked=False),
    ],
)
def test_a_fix_that_makes_things_worse_is_left_out_and_the_others_are_not(worse: FileResult) -> None:
    def look(text: str) -> Mendable:
        if "!" in text:
            return Mendable(worse, [])
        return found(
            *(mend([(m.start(), m.end(), "!" if m[0] == "d" else m[0] * 2 + "-")]) for m in re.finditer(r"([a-e])(?!\1|-)", text))
        )

    assert fix_text("abcde", look("abcde"), look, unsafe=False) == ("aa-bb-cc-dee-", 4)


def test_fixes_that_do_not_agree_come_one_after_the_other() -> None:
    def look(text: str) -> Mendable:
        embedding = Embedding(Source("a.yaml", text), (), (), lambda *_: None, lambda edits: len(edits) < 2)
        return found(*(mend([(m.start(), m.end(), "A")], embedding=embedding) for m in re.finditer("a", text)))

    looked: list[str] = []
    fixed = fix_text("aba", look("aba"), lambda text: looked.append(text) or look(text), unsafe=False)  # type: ignore[func-returns-value]
    assert (fixed, looked) == (("AbA", 2), ["Aba", "AbA"])


def test_what_takes_too_long_to_tell_apart_is_left_out() -> None:
    looked: list[str] = []

    def look(text: str) -> Mendable:
        looked.append(text)
        return Mendable(FileResult("a.j2", checked="A" not in text), [mend([(at, at + 1, "A")]) for at in range(len(text))])

    assert fix_text("a" * 500, look("a" * 500), look, unsafe=False) == ("a" * 500, 0)
    assert len(looked) == 101


def test_what_overlaps_a_fix_that_is_left_out_is_applied() -> None:
    def look(text: str) -> Mendable:
        return Mendable(FileResult("a.j2", checked="!" not in text), mends if text == "abc" else [])

    mends = [mend([(0, 2, "!")]), mend([(1, 3, "X")])]
    assert fix_text("abc", look("abc"), look, unsafe=False) == ("aX", 1)
