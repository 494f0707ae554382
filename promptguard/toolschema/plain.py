"""Plain JSON values from what agents build tools of, without importing any of their libraries."""

from __future__ import annotations

import math
from itertools import islice

from promptguard.core.json_text import escape
from promptguard.core.light import Any, Iterable, Mapping
from promptguard.parse.strict import MAX_NESTING
from promptguard.toolschema.errors import ToolSchemaError, TooManyError

_SHOWN = 40


def plain(value: Any, limit: int) -> Any:
    """The JSON value that an object stands for, its members as they are; a value that is plain already comes back itself.

    Raises:
        TypeError: JSON has nothing for it; the message says what it is.
        TooManyError: it gives more than ``limit`` members; those of a type of its own may have no end.
    """
    kind = type(value)
    if kind in (dict, list, str, int, float, bool, type(None)):
        return value
    from enum import Enum

    if isinstance(value, Enum):
        return plain(value.value, limit)
    for base in (str, int, float):
        if isinstance(value, base):
            return base.__str__(value) if base is str else base(value)
    if isinstance(value, Mapping):
        return dict(_members(value.items(), limit))
    if isinstance(value, (list, tuple)):
        return _members(value, limit)
    if isinstance(value, type):
        raise TypeError(f"the class {value.__name__} is no JSON value")
    return plain(_fields(value, limit), limit)


def _members(given: Iterable[Any], limit: int) -> list[Any]:
    found = list(islice(given, limit + 1))
    if len(found) > limit:
        raise TooManyError(limit)
    return found


def _fields(value: Any, limit: int) -> Mapping[str, Any]:
    """What a model, a dataclass or a tool object of an SDK says of itself."""
    import dataclasses

    if hasattr(value, "model_dump"):  # pydantic 2
        _check_model(value.model_dump(mode="python", by_alias=True, exclude_none=True), limit)
        found = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    elif hasattr(value, "__fields__") and hasattr(value, "dict"):  # pydantic 1
        found = value.dict(by_alias=True, exclude_none=True)
    elif dataclasses.is_dataclass(value):
        pairs = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        found = {name: item for name, item in pairs if item is not None}
    elif hasattr(value, "to_dict"):
        found = value.to_dict()
    else:
        found = None
    if not isinstance(found, Mapping):
        raise TypeError(f"a value of type {type(value).__qualname__} is no JSON value")
    return found


def _check_model(dumped: object, limit: int) -> None:
    """See that a model holds nothing that its JSON says in another way each time, or not at all.

    pydantic writes a set in the order of its hashes, NaN as null, and keys that are numbers as texts that may be there already.

    Raises:
        TypeError: it does.
        TooManyError: it holds more than ``limit`` values.
    """
    stack = [dumped]
    seen = 0
    while stack:
        value = stack.pop()
        seen += 1
        if seen > limit:
            raise TooManyError(limit)
        if isinstance(value, (set, frozenset)):
            raise TypeError(f"a value of type {type(value).__name__} is no JSON value")
        if isinstance(value, float) and not math.isfinite(value):
            raise TypeError(f"{value} is not a JSON value")
        if type(value) is dict:  # what is of another type is no pydantic's, and is read with care later
            for key in value:
                if not isinstance(key, str):
                    raise TypeError(f"the key {str(key)[:_SHOWN]} is not a text")
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            stack.extend(value)


def refusal(tools: object, max_values: int) -> ToolSchemaError | None:
    """The first thing in a value that JSON cannot carry, with its pointer; ``None`` where there is none.

    It is slow and exact. The canonicalizer asks it only when it has met something that it cannot write.
    """
    stack: list[tuple[object, str, tuple[object, ...]]] = [(tools, "", ())]
    seen = 0
    while stack:
        given, pointer, above = stack.pop()
        try:
            value = _with_plain_keys(plain(given, max_values - seen))
        except TooManyError:
            return ToolSchemaError(str(TooManyError(max_values)), pointer="")
        except Exception as error:
            return ToolSchemaError(_said(error), pointer=pointer, hint="give plain dicts and lists")
        what = _scalar_refusal(value)
        if what is not None:
            return ToolSchemaError(what, pointer=pointer)
        if not isinstance(value, (dict, list)):
            continue
        if any(given is outer for outer in above):
            return ToolSchemaError("the value contains itself", pointer=pointer)
        above = (*above, given)
        if len(above) > MAX_NESTING:
            return ToolSchemaError(f"nested deeper than {MAX_NESTING} levels", pointer=pointer)
        seen += len(value)
        if seen > max_values:
            return ToolSchemaError(str(TooManyError(max_values)), pointer="")
        members = list(value.items() if isinstance(value, dict) else enumerate(value))
        for key, _ in members:
            if isinstance(value, dict) and not isinstance(key, str):
                try:
                    shown = repr(key)[:_SHOWN]
                except Exception:
                    shown = f"of type {type(key).__qualname__}"
                return ToolSchemaError(f"the key {shown} is not a text", pointer=pointer, hint="JSON has texts for keys")
            if isinstance(key, str) and _has_surrogate(key):
                return ToolSchemaError("a lone surrogate in a key", pointer=pointer)
        stack.extend((item, f"{pointer}/{escape(str(key))}", above) for key, item in reversed(members))
    return None


def _with_plain_keys(value: Any) -> Any:
    """A value whose keys, where they are texts of a type of their own, are plain texts: the methods of such a type may raise."""
    if type(value) is not dict or all(type(key) is str for key in value):
        return value
    return {str.__str__(key) if isinstance(key, str) else key: item for key, item in value.items()}


def _said(error: Exception) -> str:
    """The message of an error; its type where it has none, or where asking for it raises."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


def _scalar_refusal(value: object) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON value"
    if isinstance(value, str) and _has_surrogate(value):
        return "a lone surrogate in a text"
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:
            return "an integer of more digits than sys.set_int_max_str_digits allows (4,300 by default)"
    return None


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
