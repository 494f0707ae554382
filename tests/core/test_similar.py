from __future__ import annotations

import pytest

from promptguard.core.similar import closest

KNOWN = ("ignore", "ignore-file", "block")


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("ignroe", KNOWN, "ignore"),
        ("ignore-next-line", KNOWN, "ignore-file"),
        ("blok", KNOWN, "block"),
        ("ignore", KNOWN, "ignore"),
        ("off", KNOWN, None),
        ("", KNOWN, None),
        ("", ("",), None),
        ("ab", (), None),
        ("abc", ("abd", "abe"), "abd"),
        ("abcde", ("abczz",), "abczz"),  # 0.6
        ("abcdef", ("abczzz",), None),  # 0.5
        ("acb", ("abc",), "abc"),
        ("a" * 100, ("a" * 101,), "a" * 101),
        ("a" * 101, ("a" * 101,), None),
    ],
)
def test_closest(word: str, known: tuple[str, ...], expected: str | None) -> None:
    assert closest(word, known) == expected
