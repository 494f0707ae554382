from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.numbers import percent
from promptguard.core.source import Place, Source, Span
from promptguard.report.common import excerpt, quoted_pair, seconds, turn_ranges, where
from promptguard.report.plain import fit, visible, width


def at(text: str, start: int, end: int) -> Place:
    return Place(Source("a.j2", text), Span(start, end))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 日本", "plain é 日本"),
        ("\x1b[31mred\r\n\t", r"\x1b[31mred\r\n\t"),
        ("a\u202eb\u200bc\xa0d\u2028", r"a\u202eb\u200bc\xa0d\u2028"),
        ("\ud800\U000e0001", r"\ud800\U000e0001"),
    ],
)
def test_visible(text: str, expected: str) -> None:
    assert visible(text) == expected


@given(st.text())
def test_visible_is_printable(text: str) -> None:
    assert visible(text).isprintable()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b", "a  b", ('"a b"', '"a  b"')),
        (r"a\nb", "a b", (r'"a\nb"', '"a b"')),
        ("\xe9", "e\u0301", (r'"\xe9"', r'"e\u0301"')),
        ("…x\xe9…", "…xe\u0301…", (r'"…x\xe9…"', r'"…xe\u0301…"')),
        ("…a…b", "…a…b", (r'"…a\u2026b"', r'"…a\u2026b"')),
    ],
)
def test_a_difference_can_be_seen(before: str, after: str, expected: tuple[str, str]) -> None:
    assert quoted_pair(before, after) == expected


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_width(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize(("text", "expected"), [("abcdef", "abcdef"), ("abcdefg", "abcd.."), ("日本語版", "日本..")])
def test_fit(text: str, expected: str) -> None:
    assert fit(text, 6) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(0.8, "80.0%"), (0.79999, "79.9%"), (0.829, "82.9%"), (1.0, "100.0%"), (0.0, "0.0%")]
)
def test_rates_are_rounded_down(value: float, expected: str) -> None:
    assert percent(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(0.0123, "12 ms"), (0.9996, "1.00 s"), (61.5, "61.50 s")])
def test_seconds(value: float, expected: str) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(("numbers", "expected"), [([4], "turn 4"), ([2, 3, 4], "turns 2-4"), ([1, 3, 4, 9], "turns 1, 3-4, 9")])
def test_turn_ranges(numbers: list[int], expected: str) -> None:
    assert turn_ranges(numbers) == expected


def test_an_embedded_text_names_the_file_that_holds_it() -> None:
    inner = Source("<chat template>", "x", parent=at("ab", 1, 2))
    assert where(Place(inner, Span(0, 1))) == "<chat template>:1:1 (in a.j2:1:2)"


@pytest.mark.parametrize(
    ("place", "text", "marker"),
    [
        (at("one\ntwo three\n", 8, 13), "two three", "    ^^^^^"),
        (at("one\r\ntwo\r\n", 5, 8), "two", "^^^"),
        (at("日本 {{ x }}", 3, 10), "日本 {{ x }}", "     ^^^^^^^"),
        (at("日本", 1, 2), "日本", "  ^^"),
        (at("a\t{{ x }}", 2, 9), "a   {{ x }}", "    ^^^^^^^"),
        (at("\x1b{{ x }}", 1, 8), "\\x1b{{ x }}", "    ^^^^^^^"),
        (at("ab\ncd", 1, 5), "ab", " ^"),
        (at("ab\n", 2, 3), "ab", "  ^"),
        (at("", 0, 0), "", "^"),
    ],
)
def test_the_marker_is_under_the_place(place: Place, text: str, marker: str) -> None:
    found = excerpt(place)
    assert (found.text, found.marker) == (text, marker)


@pytest.mark.parametrize(
    ("start", "text", "marker"),
    [
        (0, "{{ x }}aaaaaaaaa..", "^^^^^^^"),
        (50, "..aaaaa{{ x }}aaaa..", "       ^^^^^^^"),
        (93, "..aaaaaaaaa{{ x }}", "           ^^^^^^^"),
    ],
)
def test_a_long_line_is_cut_around_the_place(start: int, text: str, marker: str) -> None:
    line = "a" * start + "{{ x }}" + "a" * (93 - start)
    found = excerpt(at(line, start, start + 7), cells=20)
    assert (found.text, found.marker) == (text, marker)


@given(st.text(min_size=1), st.data())
def test_an_excerpt_fits(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = excerpt(at(text, start, end), cells=40)
    assert found.text.isprintable()
    assert width(found.text) <= 40
