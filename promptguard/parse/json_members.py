"""The members of a large JSON object or array with their places, without an index of all that is in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A member of an object or an element of an array.

    Attributes:
        name: its key or index.
        start, end: range of its value in the text.
        value: decoded; of equal keys inside of it the last one counts.
    """

    name: str | int
    start: int
    end: int
    value: Any


def members(text: str, start: int = 0) -> Iterator[Member]:
    """The members of the object or array that begins at a place, space in front of it passed over; nothing for another value.

    Raises:
        ValueError: it is no JSON; members that come ahead of the fault have been given by then.
    """
    at = _skip(text, start)
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return
    closing = "}" if opening == "{" else "]"
    at = _skip(text, at + 1)
    if text[at : at + 1] == closing:
        return
    index = 0
    while True:
        name: Any = index
        if opening == "{":
            if text[at : at + 1] != '"':
                raise ValueError(f"a key is missing at {at}")
            name, at = _decode(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise ValueError(f"a colon is missing at {at}")
            at = _skip(text, at + 1)
        value, end = _decode(text, at)
        yield Member(name, at, end, value)
        at = _skip(text, end)
        if text[at : at + 1] == closing:
            return
        if text[at : at + 1] != ",":
            raise ValueError(f"a comma is missing at {at}")
        at = _skip(text, at + 1)
        index += 1


def _decode(text: str, at: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError(f"nested too deeply at {at}") from None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
