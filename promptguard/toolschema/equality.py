"""Whether two values say the same tools."""

from __future__ import annotations

import re
from typing import Any

import orjson

from promptguard.parse.strict import Number

_HOLDERS = frozenset({"result", "tools", "functions", "functionDeclarations", "function_declarations"})
_WRAPPERS = ("function", "custom")
_MAX_INT = 2**63
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TEXTS = re.compile(_TEXT)
# A quote behind a brace or comma opens a text: inside of one, a backslash stands before it.
_REQUIRED = re.compile(rb'"required"(?<=[{,]"required"):\[%b(?:,%b)+\]' % (_TEXT, _TEXT))


def same_value(before: Any, after: Any) -> bool:
    """Whether two JSON values are equal, apart from the order that the canonical form sets.

    It knows nothing of how the canonical form is made. Keys may stand in any order; so may the texts of a ``required`` list, and
    the tools of a list of tools. All else is exact: ``1``, ``1.0`` and ``true`` are three values, numbers are compared as they
    are written where they come as ``Number``, and every other list keeps its order.
    """
    return _exact(spelled(before)) == _exact(spelled(after))


def same_values(before: list[bytes], after: list[bytes]) -> bool:
    """Whether there are the same values in two lists, in any order, each given as ``spelled``."""
    if sorted(before) == sorted(after):
        return True
    return sorted(map(_exact, before)) == sorted(map(_exact, after))


def spelled(value: Any) -> bytes:
    """A spelling that two values share only if they are the same; those that are share ``_exact`` of it."""
    if type(value) is list:
        return b"[" + b",".join(sorted(_exact(spelled(item)) for item in value)) + b"]"
    if not _has_list(value):
        return _dumps(value)
    parts = []
    for key in sorted(value):
        member = value[key]
        inner = spelled(member) if key in _HOLDERS or (key in _WRAPPERS and type(member) is dict) else _dumps({key: member})
        parts.append(orjson.dumps(key) + b":" + inner)
    return b"{" + b",".join(parts) + b"}"


def _has_list(value: Any) -> bool:
    """Whether there may be a list of tools in a value, in a place where the canonical form sorts it."""
    return type(value) is dict and not (
        _HOLDERS.isdisjoint(value) and not _has_list(value.get("function")) and not _has_list(value.get("custom"))
    )


def _exact(spelled: bytes) -> bytes:
    return _REQUIRED.sub(_in_one_order, spelled)


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # numbers that orjson does not write
        return orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS)


def _in_one_order(required: re.Match[bytes]) -> bytes:
    key = b'"required"'
    return b"%b:[%b]" % (key, b",".join(sorted(_TEXTS.findall(required.group(), len(key)))))


def _plain(value: Any) -> Any:
    """A value that orjson writes, and in one way only."""
    kind = type(value)
    if kind is dict:
        return {name: _plain(item) for name, item in value.items()}
    if kind is list:
        return [_plain(item) for item in value]
    if kind is Number:
        return orjson.Fragment(f"number {value.exact}")
    if kind is float or (kind is int and not -_MAX_INT <= value < _MAX_INT):
        return orjson.Fragment(f"{kind.__name__} {value!r}")
    return value
