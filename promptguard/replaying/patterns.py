"""A text that a regular expression matches, for the common part of the language. The expression is never run."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_PATTERN = 300
MAX_NESTING = 20
MAX_TEXT = 2_000

_Range = tuple[str, str]
_ALPHABET = "abcdefghijklmnopqrstuvwxyz123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0"
_CLASSES = {"d": [("0", "9")], "w": [("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_")], "s": [(" ", " ")]}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})[?+]?", re.ASCII)


def matching_text(pattern: str, low: int, index: int) -> str | None:
    """A text of at least ``low`` characters that a regular expression matches; ``None`` where that is more than is known here."""
    for extra in (0, 1, 3, low):
        try:
            text = _Pattern(pattern, extra, index).text()
        except _UnknownError:
            return None
        if len(text) >= low:
            return text
    return None


class _UnknownError(Exception):
    """A regular expression that is not understood here, or that asks for too long a text."""


class _Pattern:
    """Write a text along a regular expression: the first alternative, and every repetition ``extra`` times more than it must."""

    def __init__(self, pattern: str, extra: int, index: int) -> None:
        if len(pattern) > MAX_PATTERN:
            raise _UnknownError
        self._pattern = pattern
        self._extra = extra
        self._index = index
        self._at = 0

    def text(self) -> str:
        text = self._alternatives(0)
        if self._at < len(self._pattern):
            raise _UnknownError
        return text

    def _alternatives(self, depth: int) -> str:
        if depth > MAX_NESTING:
            raise _UnknownError
        text = self._sequence(depth)
        while self._peek() == "|":
            self._at += 1
            self._sequence(depth)
        return text

    def _sequence(self, depth: int) -> str:
        text = ""
        while self._peek() not in ("", "|", ")"):
            atom = self._atom(depth)
            times = self._times()
            if len(text) + len(atom) * times > MAX_TEXT:
                raise _UnknownError
            text += atom * times
        return text

    def _times(self) -> int:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            return 1
        self._at = match.end()
        sign, low, comma, high = match.groups()
        if sign:
            least, most = {"*": (0, MAX_TEXT), "+": (1, MAX_TEXT), "?": (0, 1)}[sign]
        else:
            least = int(low)
            most = (int(high) if high else MAX_TEXT) if comma else least
        return min(most, least + self._extra)

    def _atom(self, depth: int) -> str:
        character = self._take()
        if character in "^$":
            return ""
        if character == "(":
            self._group_head()
            text = self._alternatives(depth + 1)
            if self._peek() != ")":
                raise _UnknownError
            self._at += 1
            return text
        if character == "[":
            return self._set()
        if character == "\\":
            escaped = self._escape()
            return escaped if isinstance(escaped, str) else self._pick(escaped, inside=True)
        if character in "*+?{":
            raise _UnknownError
        return "a" if character == "." else character

    def _group_head(self) -> None:
        """Skip what follows the bracket of a group that only groups; lookaround and flags are not understood."""
        if self._peek() == "?":
            match = re.compile(r"\?(?::|P?<[A-Za-z_]\w*>)").match(self._pattern, self._at)
            if match is None:
                raise _UnknownError
            self._at = match.end()

    def _escape(self) -> str | list[_Range]:
        """What an escape stands for: a text, or the ranges of a class."""
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isalnum():
            raise _UnknownError
        return character

    def _set(self) -> str:
        inside = self._peek() != "^"
        self._at += 0 if inside else 1
        ranges: list[_Range] = []
        while (character := self._take()) != "]":
            first: str | list[_Range] = self._escape() if character == "\\" else character
            if isinstance(first, list):
                ranges += first
            elif self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", "\\", ""):
                ranges.append((first, self._pattern[self._at + 1]))
                self._at += 2
            else:
                ranges.append((first, first))
        return self._pick(ranges, inside=inside)

    def _pick(self, ranges: Sequence[_Range], *, inside: bool) -> str:
        """A character in the ranges, or outside them."""
        fitting = [each for each in _ALPHABET if any(low <= each <= high for low, high in ranges) == inside]
        if not fitting and inside and ranges:
            return ranges[0][0]
        if not fitting:
            raise _UnknownError
        return fitting[self._index % len(fitting)]

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise _UnknownError
        self._at += 1
        return character
