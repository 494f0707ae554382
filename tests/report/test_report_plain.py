from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.report.plain import marked, visible, width


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        ("a\tbc", 2, 3, ("a   bc", "    ^")),
        ("a\tb", 1, 2, ("a   b", " ^^^")),
        ("日本語x", 1, 2, ("日本語x", "  ^^")),
        ("e\u0301x", 2, 3, ("e\u0301x", " ^")),
        ("e\u0301x", 1, 2, ("e\u0301x", "^")),
        ("\u200bx", 1, 2, (r"\u200bx", "      ^")),
        ("👩\u200d🚀!", 3, 4, (r"👩\u200d🚀!", "          ^")),
        ("\u1112\u1161\u11ab!", 3, 4, ("\u1112\u1161\u11ab!", "  ^")),
        ("ab", 2, 2, ("ab", "  ^")),
        ("", 0, 0, ("", "^")),
    ],
)
def test_carets(text: str, start: int, end: int, expected: tuple[str, str]) -> None:
    assert marked(text, start, end, 100) == expected


def cells(line: str, first: int, last: int) -> str:
    """What stands in some cells of a line, without combining characters at either end."""
    found, at = "", 0
    for char in line:
        if first <= at < last:
            found += char
        at += width(char)
    return found.strip("\u0301")


@given(st.text("ab日é😀\u0301\x1b\u200b", min_size=1, max_size=300), st.data())
def test_the_text_above_the_carets_is_the_text_at_the_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1).filter(lambda at: width(text[at]) > 0))
    end = data.draw(st.integers(start + 1, min(len(text), start + 5)))
    line, marker = marked(text, start, end, 100)
    assert width(line) <= 100
    first = marker.index("^")
    assert cells(line, first, len(marker)) == visible(text[start:end]).strip("\u0301")
