"""Strict JSON: what every parser reads alike, or an error at its place.

``parse`` runs at the speed of Python's own parser. Only when that has met something does a slower scan look for the place.
"""

from __future__ import annotations

from promptguard.core import json_text
from promptguard.core import patterns as re
from promptguard.core.errors import InputError
from promptguard.core.json_text import RefusedError
from promptguard.core.light import TYPE_CHECKING, Any, regex
from promptguard.core.source import Place, Source, Span

if TYPE_CHECKING:
    from json import JSONDecodeError
    from typing import NoReturn

MAX_NESTING = 100
"""Levels of objects and arrays. Real tool schemas stay below 40; far above 100, other parsers give up."""

_SURROGATE = regex(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
_LONE = regex(r"[\ud800-\udfff]")
_TOKEN = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:]|NaN|-?Infinity|-?\d[\d.eE+-]*', re.DOTALL)
_SHOWN = 20
_INFINITY = float("inf")
_LONGEST_EXPONENT = 1000


class Number:
    """A number as it is written in a text: exact at any size, and not lost in a float.

    Attributes:
        lexeme: the number as it was written.
    """

    __slots__ = ("lexeme",)

    def __init__(self, lexeme: str) -> None:
        self.lexeme = lexeme

    def __repr__(self) -> str:
        return f"Number({self.lexeme!r})"

    @property
    def integer(self) -> bool:
        return not any(mark in self.lexeme for mark in ".eE")

    @property
    def canonical(self) -> str:
        """As Python writes the float where that has exactly the value, else as it is.

        ``1.50`` is ``1.5``, ``1e3`` is ``1000.0`` and ``1E16`` is ``1e+16``. A number with more digits than a float holds
        stays.
        """
        if self.integer:
            return self.lexeme
        written = repr(float(self.lexeme))
        return written if Number(written).exact == self.exact else self.lexeme

    @property
    def exact(self) -> str:
        """A spelling that two numbers share if they are the same number of the same kind.

        ``1.50``, ``1.5`` and ``15e-1`` share one; ``1`` and ``1.0`` do not, nor do ``0.0`` and ``-0.0``.
        """
        if self.integer:
            return self.lexeme
        sign = "-" if self.lexeme.startswith("-") else ""
        mantissa, _, exponent = self.lexeme.lstrip("-").lower().partition("e")
        whole, _, fraction = mantissa.partition(".")
        digits = (whole + fraction).lstrip("0")
        significant = digits.rstrip("0")
        if not significant:
            return f"{sign}0e0"
        shift = len(digits) - len(significant) - len(fraction)
        return f"{sign}{significant}e{_added(exponent, shift)}"


def parse(source: Source, *, span: Span | None = None, exact_numbers: bool = False) -> Any:
    """Parse strict JSON.

    Args:
        source: the text; a byte order mark is no part of it.
        span: the part of it to parse, all of it by default.
        exact_numbers: give a ``Number`` for all but integers of up to 18 digits.

    Raises:
        InputError: not JSON, equal keys in an object, NaN or an infinity, a lone surrogate, a number beyond the range of floats
            or of Python's integers, or more than ``MAX_NESTING`` levels; with file, line and column.
    """
    start = span.start if span is not None else 0
    text = source.text[start : span.end] if span is not None else source.text
    try:
        value = (_EXACT if exact_numbers else _PYTHON).decode(text)
    except ValueError as error:
        from json import JSONDecodeError

        if isinstance(error, JSONDecodeError):
            problem, at = not_json(text, error)
            raise InputError(problem, where=_at(source, start + at)) from None
        _refuse(source, start, text, exact_numbers)
    except (RefusedError, RecursionError):
        _refuse(source, start, text, exact_numbers)
    if deeper_than(value, MAX_NESTING) or _SURROGATE.search(text):
        _check(source, start, text, exact_numbers)
    return value


def not_json(text: str, error: JSONDecodeError) -> tuple[str, int]:
    """What is wrong with a text, and where, in the same words for every version of Python."""
    at = error.pos
    before = text[:at].rstrip(" \t\r\n")
    comma = at if text.startswith(",", at) and "trailing comma" in error.msg else len(before) - 1  # the first since Python 3.13
    if text.startswith(",", comma) and (comma == at or text.startswith(("]", "}"), at)):
        return "not JSON: a comma ahead of the closing bracket", comma
    return f"not JSON: {re.sub('( starting)? at$', '', error.msg.lower())}", at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedError
    return found


def _constant(_: str) -> NoReturn:
    raise RefusedError


def _float(lexeme: str) -> float:
    number = float(lexeme)
    if abs(number) == _INFINITY:
        raise RefusedError
    return number


def _exact_float(lexeme: str) -> Number:
    _float(lexeme)
    return Number(lexeme)


def _exact_int(lexeme: str) -> int | Number:
    return int(lexeme) if len(lexeme) <= 18 else Number(lexeme)


_PYTHON = json_text.Decoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
_EXACT = json_text.Decoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_exact_float, parse_int=_exact_int)


def deeper_than(value: Any, limit: int) -> bool:
    """Whether objects and arrays stand in each other on more levels than ``limit``."""
    level = [value] if isinstance(value, (dict, list)) else []
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            return True
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
    return False


def _refuse(source: Source, start: int, text: str, exact_numbers: bool) -> NoReturn:
    _check(source, start, text, exact_numbers)
    raise InputError("cannot be parsed here", where=source.path, hint="the call stack is too deep for its nesting")


def _check(source: Source, start: int, text: str, exact_numbers: bool) -> None:
    """Look at the tokens, from the first one on, for what Python's parser cannot place or lets through."""
    keys: list[set[str] | None] = []  # one entry for each open bracket; None for an array
    last: tuple[str, int] | None = None
    for match in _TOKEN.finditer(text):
        lexeme, at = match.group(), start + match.start()
        if lexeme[0] == '"':
            last = (_decoded(lexeme), at)
            if not last[0].isascii() and _LONE.search(last[0]):
                raise InputError("a lone surrogate in a text", where=_at(source, at), hint="write the character out in UTF-8")
        elif lexeme == ":":
            if last is not None and keys and keys[-1] is not None:
                if last[0] in keys[-1]:
                    shown = json_text.quote(last[0])
                    raise InputError(f"the key {shown} stands twice in one object", where=_at(source, last[1]))
                keys[-1].add(last[0])
        elif lexeme in "{[":
            keys.append(set() if lexeme == "{" else None)
            if len(keys) > MAX_NESTING:
                raise InputError(f"nested deeper than {MAX_NESTING} levels", where=_at(source, at))
        elif lexeme in "}]":
            if keys:
                keys.pop()
        elif lexeme[-1] in "Ny":
            raise InputError(f"{lexeme} is not JSON", where=_at(source, at), hint="write null or a number")
        elif _out_of_range(lexeme, exact_numbers):
            shown = lexeme if len(lexeme) <= _SHOWN else f"{lexeme[:_SHOWN]}…"
            raise InputError(f"a number is out of range ({shown})", where=_at(source, at))


def _decoded(lexeme: str) -> str:
    try:
        return str(json_text.loads(lexeme)) if "\\" in lexeme else lexeme[1:-1]
    except ValueError:  # a wrong escape, further on than the parser has come
        return lexeme[1:-1]


def _out_of_range(lexeme: str, exact_numbers: bool) -> bool:
    try:
        if not Number(lexeme).integer:
            return abs(float(lexeme)) == _INFINITY
        if not exact_numbers:
            int(lexeme)
    except ValueError:  # an integer of more digits than Python converts, or no number at all
        return True
    return False


def _added(exponent: str, shift: int) -> str:
    """An exponent and a number; an exponent of hundreds of digits, which only a number that is 0 as a float has, stays a text."""
    return str(int(exponent or "0") + shift) if len(exponent) < _LONGEST_EXPONENT else f"{exponent}{shift:+}"


def _at(source: Source, offset: int) -> str:
    return str(Place(source, Span(offset, offset)))
