"""Where two prompts of one builder first differ, and why."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from promptguard.probing.factors import CAUSES, MAY_BE, Factor
from promptguard.probing.parts import Part, written
from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame
from promptguard.prompts.blame.text import blame_text
from promptguard.prompts.blame.tools import blame_tools
from promptguard.prompts.causes import Cause
from promptguard.prompts.counting import Counter
from promptguard.prompts.divergence import excerpt
from promptguard.prompts.request import Request
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import show

_ID_KEYS = frozenset({"id", "tool_call_id", "tool_use_id", "call_id"})
_CACHE_KEY = "the cache key"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LONGEST_NUMBER = 30
_DIGITS = re.compile(r"(?<![^\W_])-?[0-9a-f]*\d[0-9a-f]*(?![^\W_])", re.IGNORECASE)
_ORDERS = (causes.LIST_ORDER, causes.SCHEMA_ORDER)
_SORT = "sort what has no order of its own (a set, a folder) before it goes into the prompt"
_OF_HASH = (
    "take hashlib instead of hash(), which gives another number in each process; and sort what a number is taken out of (a set)"
)


@dataclass(frozen=True)
class Found:
    """A first difference.

    Attributes:
        part: the part of the first prompt that it is in.
        position: where in the prompt it is: part, value, character.
        pointer, character, before, after: as in ``result.Difference``.
        text: of the first prompt, that ``character`` counts in; ``None`` where it is no text.
        blame: why.
        digits: whether a number, decimal or hexadecimal, stands there in both.
    """

    part: Part
    position: tuple[int, int, int]
    pointer: str
    character: int
    before: str
    after: str
    text: str | None
    blame: Blame
    digits: bool = False


def compare(before: Sequence[Part], after: Sequence[Part], since: float = math.inf) -> Found | None:
    """The first difference of two prompts, ``None`` where there is none.

    Args:
        before: the earlier prompt.
        after: the later one.
        since: reading of ``time.monotonic()`` from before they were built, by which another such reading is known.
    """
    for at in range(max(len(before), len(after))):
        old, new = (side[at] if at < len(side) else None for side in (before, after))
        if old is None or new is None or old.what != new.what:
            return _other_parts(at, before, after)
        for number, pair in enumerate(_pairs(old, new)):
            if pair is not None:
                return _described((at, number), old, new, *pair, since=since)
    return None


_Leaf = tuple[str, Any]
_NONE = ("", None)


def _pairs(old: Part, new: Part) -> Iterator[tuple[_Leaf, _Leaf] | None]:
    """For each value of a part ``None``, or the two that differ."""
    first, second = list(old.leaves()), list(new.leaves())
    for at in range(max(len(first), len(second))):
        one, other = (side[at] if at < len(side) else _NONE for side in (first, second))
        yield None if one == other and type(one[1]) is type(other[1]) else (one, other)
    if not (first or second or old.value == new.value):
        yield (old.pointer, old.value), (new.pointer, new.value)


def _other_parts(at: int, before: Sequence[Part], after: Sequence[Part]) -> Found:
    side, other, verb = (after, before, "added") if at < len(after) else (before, after, "removed")
    if len(before) == len(after):
        verb = "there instead of another part"
    part = side[at]
    blame = Blame(causes.HISTORY_REWRITTEN if part.block == "history" else causes.UNKNOWN, f"{part.what} is {verb}")
    known = other[at] if at < len(other) else None
    shown = [excerpt(written(each), 0) if each is not None else "" for each in (known, part)]
    old, new = shown if side is after else shown[::-1]
    return Found(part, (at, 0, 0), part.pointer, 0, old, new, None, blame)


def _described(at: tuple[int, int], old: Part, new: Part, one: _Leaf, other: _Leaf, *, since: float) -> Found:
    pointer, text = one if one is not _NONE else other
    if one[0] == other[0] and isinstance(one[1], str) and isinstance(other[1], str):
        char = first_difference(one[1], other[1])
        blame = _blame(old, new) or _blame_text(old, pointer, one[1], other[1], since)
        shown = excerpt(one[1], char), excerpt(other[1], char)
        digits = all(_digits(text, char) for text in (one[1], other[1]))
        return Found(old, (*at, char), pointer, char, *shown, one[1], blame, digits)
    shown = _leaf(one, other), _leaf(other, one)
    blame = _blame(old, new) or _blame_values(old, one, other)
    digits = all(type(leaf[1]) in (int, float) for leaf in (one, other))
    return Found(old, (*at, 0), pointer, 0, *shown, text if isinstance(text, str) else None, blame, digits)


def _blame(old: Part, new: Part) -> Blame | None:
    if old.block != "tools":
        return None
    if not all(isinstance(part.value, list) and all(isinstance(tool, dict) for tool in part.value) for part in (old, new)):
        return None
    return blame_tools(Request((), tuple(old.value)), Request((), tuple(new.value)))


def _blame_text(part: Part, pointer: str, before: str, after: str, since: float) -> Blame:
    if part.what == _CACHE_KEY:
        return Blame(causes.CACHE_MARKER, f"the cache key changed from {show(before)} to {show(after)}")
    key = pointer.rpartition("/")[2]
    if key in _ID_KEYS and pointer != part.pointer:
        return Blame(causes.RANDOM_ID, f"an id in {part.what} changed from {show(before)} to {show(after)}")
    char = first_difference(before, after)
    old, new = (_uptime(text, char, since) for text in (before, after))
    if old is not None and new is not None:
        return Blame(causes.CLOCK, f"a reading of a monotonic clock in {part.what} changed from {show(old)} to {show(new)}")
    return blame_text(before, after, where=part.what)


def _uptime(text: str, char: int, since: float) -> str | None:
    """The number at a place of a text, where ``time.monotonic()`` has given it: it and ``time.perf_counter()`` count on in all
    processes from the start of the machine, and ``surroundings.Clock`` lets those of processor time do so.
    """
    for match in _NUMBER.finditer(text, max(0, char - _LONGEST_NUMBER), char + _LONGEST_NUMBER):
        if match.start() <= char <= match.end():
            number = float(match.group())
            if any(since - 1 <= number / unit <= time.monotonic() + 1 for unit in (1, 1e3, 1e6, 1e9)):
                return match.group()
    return None


def _blame_values(part: Part, one: _Leaf, other: _Leaf) -> Blame:
    if one is _NONE or other is _NONE:
        there = other if one is _NONE else one
        return Blame(causes.UNKNOWN, f"{part.what} has {'more' if one is _NONE else 'less'} in it: {there[0]}")
    if one[0] != other[0]:
        return Blame(causes.SCHEMA_ORDER, f"{other[0]} stands in {part.what} where {one[0]} stood")
    return Blame(causes.UNKNOWN, f"{one[0] or part.what} changed from {_json(one[1])} to {_json(other[1])}")


def _leaf(leaf: _Leaf, other: _Leaf) -> str:
    if leaf is _NONE:
        return ""
    key = leaf[0].rpartition("/")[2]
    value = _json(leaf[1])
    return value if leaf[0] == other[0] else f"{key}: {value}"


def _json(value: Any) -> str:
    return excerpt(json.dumps(value, ensure_ascii=False), 0)


def _digits(text: str, char: int) -> bool:
    """Whether the word at a place of a text is a number."""
    words = _DIGITS.finditer(text, max(0, char - _LONGEST_NUMBER), char + 2 * _LONGEST_NUMBER)
    return any(match.start() <= char <= match.end() for match in words)


def cause_of(factor: Factor, found: Found) -> tuple[Cause, str]:
    """The cause and what to do, from what was changed and what the texts look like: the first is proof, the second a guess."""
    blame = found.blame
    if factor == "hash-seed" and found.digits and blame.cause not in (causes.CACHE_MARKER, *_ORDERS):
        return causes.RANDOM_ID, _OF_HASH
    if factor == "hash-seed" and blame.cause is causes.RANDOM_ID:  # an id out of a set
        return causes.LIST_ORDER, _SORT
    if blame.cause in (causes.CACHE_MARKER, CAUSES[factor]) or blame.cause in MAY_BE.get(factor, ()):
        return blame.cause, blame.remedy
    cause = CAUSES[factor]
    if factor in ("hash-seed", "listing-order", "environment-order"):
        return cause, _SORT
    return cause, cause.remedy


def tokens_behind(compared: Sequence[Part], found: Found, count: Counter) -> int:
    """Tokens of a prompt from a difference to the end."""
    at = found.position[0]
    rest = [written(part) for part in compared[at + 1 :]]
    if at < len(compared):
        here = compared[at]
        leaves = [value if isinstance(value, str) else json.dumps(value) for _, value in here.leaves()][found.position[1] :]
        if leaves:
            leaves[0] = leaves[0][found.position[2] :]
        rest.insert(0, "\n".join(leaves))
    return count.count("\n".join(rest))
