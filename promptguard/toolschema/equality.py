"""Whether two values say the same tools."""

from __future__ import annotations

from typing import Any

import orjson

from promptguard.parse.strict import Number

_HOLDERS = frozenset({"result", "tools", "functions", "functionDeclarations", "function_declarations"})
_MAX_INT = 2**63


def same_value(before: Any, after: Any) -> bool:
    """Whether two JSON values are equal, apart from the order that the canonical form sets.

    It knows nothing of how the canonical form is made. Keys may stand in any order; so may the texts of a ``required`` list, and
    the tools of a list of tools. All else is exact: ``1``, ``1.0`` and ``true`` are three values, numbers are compared as they
    are written where they come as ``Number``, and every other list keeps its order.
    """
    return _tools(before) == _tools(after)


def _tools(value: Any) -> bytes:
    """A spelling that two values share if, and only if, they say the same."""
    if type(value) is list:
        return b"[" + b",".join(sorted(map(_tools, value))) + b"]"
    if type(value) is not dict:
        return _spelled(_plain(value))
    parts = []
    for key in sorted(value):
        member = value[key]
        spelled = _tools(member) if key in _HOLDERS else _spelled(_plain(member, key))
        parts.append(orjson.dumps(key) + b":" + spelled)
    return b"{" + b",".join(parts) + b"}"


def _spelled(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _plain(value: Any, key: str = "") -> Any:
    """A value that orjson spells in one way only; ``key`` is the key that it has in an object."""
    kind = type(value)
    if kind is dict:
        return {name: item if type(item) is str else _plain(item, name) for name, item in value.items()}
    if kind is list:
        if key == "required" and all(type(item) is str for item in value):
            return sorted(value)
        return [_plain(item) for item in value]
    if kind is Number:
        return orjson.Fragment(f"number {value.exact}")
    if kind is float or (kind is int and not -_MAX_INT <= value < _MAX_INT):
        return orjson.Fragment(f"{kind.__name__} {value!r}")
    return value
