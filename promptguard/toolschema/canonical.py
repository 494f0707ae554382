"""Tool schemas in their canonical order, as Python values and as bytes."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, overload

import orjson

from promptguard.toolschema.dialects import SCHEMA_KEYS, element_role
from promptguard.toolschema.errors import RefusedError, ToolSchemaError, TooManyError
from promptguard.toolschema.order import MAX_VALUES, Canonicalizer
from promptguard.toolschema.plain import refusal
from promptguard.toolschema.regular import regular_json, regular_schema

FORM_VERSION = 1
"""Goes up when the same tools come out as other bytes than before."""


_TRIES = 8  # of the short cut, beyond those that it paid for
_MAX_SIZE = 16 * MAX_VALUES  # bytes; more values than are allowed, or texts so long that time does not matter


@overload
def canonical_tools(tools: Sequence[Any], *, sort_properties: bool = False) -> list[dict[str, Any]]: ...
@overload
def canonical_tools(tools: Mapping[str, Any], *, sort_properties: bool = False) -> dict[str, Any]: ...
@overload
def canonical_tools(tools: object, *, sort_properties: bool = False) -> Any: ...
def canonical_tools(tools: object, *, sort_properties: bool = False) -> Any:
    """The tools in canonical order: what prints the result in its own order (``json.dumps``, ``tojson``) prints the same text.

    Args:
        tools: a list of tools, one tool, or what holds a list of them (the result of MCP ``tools/list``, a request), in the
            dialect of OpenAI chat or responses, Anthropic, MCP or Gemini; or a bare JSON Schema. Made of dicts and lists,
            pydantic models, dataclasses, or objects of the SDKs. It is not changed.
        sort_properties: put ``properties`` into alphabetical order as well. By default they keep theirs: a model reads it, and
            writes the arguments in it.

    Returns:
        The same values in new dicts and lists, in the shape that was given: a list for a list, a dict for anything else. Fields
        of models and dataclasses that are ``None`` are left out, as the SDKs leave them out of a request; ``None`` in a dict
        stays.

    Raises:
        ToolSchemaError: there is no tool in it, or something in it cannot be written as JSON: NaN, infinity, a key that is no
            text, a lone surrogate, a value of another type, a value that contains itself, more than 100 levels, more than
            3,000,000 values. Errors that the methods of objects raise are told as this one.
    """
    _check_switch(sort_properties)
    texts = _list_texts(tools, sort_properties)
    return _canonical(tools, sort_properties)[0] if texts is None else list(map(_value, texts))


def canonical_json(tools: object, *, sort_properties: bool = False) -> bytes:
    """The canonical form as compact JSON: UTF-8, no spaces, no escapes beyond what JSON demands, no byte order mark.

    The bytes are those of ``json.dumps(canonical_tools(tools), ensure_ascii=False, separators=(",", ":"))``.

    Args, Raises: as ``canonical_tools``.
    """
    _check_switch(sort_properties)
    texts = _list_texts(tools, sort_properties)
    return _canonical(tools, sort_properties)[1] if texts is None else join(texts)


def _check_switch(sort_properties: object) -> None:
    if not isinstance(sort_properties, bool):
        raise ToolSchemaError("must be True or False", pointer="", where="sort_properties")


def tools_fingerprint(tools: object, *, sort_properties: bool = False) -> str:
    """A short name for the tools, for logs and tests: the same on every machine and under every hash seed.

    It is the version of the canonical form, a dash, and the first 16 hexadecimal digits of the SHA-256 of ``canonical_json``:
    ``1-0123456789abcdef``. The version goes up when a release of promptguard changes the canonical form.

    Args, Raises: as ``canonical_tools``.
    """
    digest = hashlib.sha256(canonical_json(tools, sort_properties=sort_properties)).hexdigest()
    return f"{FORM_VERSION}-{digest[:16]}"


def tool_texts(tools: Iterable[Any], *, parsed: bool = False) -> list[bytes]:
    """The elements of a list of tools in canonical order, each as compact JSON.

    Each regular tool takes the short cut, the others the whole way. ``tools`` may be an iterator that makes them one by one:
    none is kept. They are JSON for sure if they were ``parsed`` from a text.

    Raises:
        TooManyError: there are too many values in them.
        Exception: something in them cannot be written, or there may be too many values; the whole way says what and where.
    """
    whole = Canonicalizer()
    size = 0
    tries = _TRIES
    parts: list[tuple[str, bytes, bytes]] = []
    for tool in tools:
        made = regular_json(tool, parsed) if tries and type(tool) is dict else None
        if made is not None:
            tries += 1
        else:
            tries = max(tries - 1, 0)
            made = _irregular(whole, tool, parsed)
        parts.append(made)
        size += len(made[2])
        if size > _MAX_SIZE:
            raise RefusedError
    parts.sort(key=itemgetter(0, 1))
    texts = [text for _, _, text in parts]
    # A value takes two bytes at least, itself and a comma or bracket. The lists of what is regular are members of objects.
    left = whole.budget.left
    if size > 2 * left and sum(text.count(b",") + 2 * text.count(b":") for text in texts) > left:
        raise RefusedError
    return texts


def _irregular(whole: Canonicalizer, tool: Any, parsed: bool) -> tuple[str, bytes, bytes]:
    """What ``regular_json`` gives, of a tool that is not regular; its schemas may be."""
    if type(tool) is dict and element_role(tool) == "tool":
        inner = tool["function"] if type(tool.get("function")) is dict else tool
        found = {key: regular_schema(inner[key], parsed) for key in SCHEMA_KEYS if type(inner.get(key)) is dict}
        short = {key: orjson.Fragment(text) for key, text in found.items() if text is not None}
        left = whole.budget.left
        rest: dict[str, Any] = {**inner, **{key: {} for key in short}}
        (value,) = whole.tools([rest if inner is tool else {**tool, "function": rest}])
        (value if inner is tool else value["function"]).update(short)  # the keys keep their places
        with contextlib.suppress(TypeError):  # beside a number that orjson does not write as Python
            return (*whole.tool_key(value), whole.wire(value))
        whole.budget.left = left  # it is counted anew
    (value,) = whole.tools([tool])
    return (*whole.tool_key(value), whole.wire(value))


def join(texts: list[bytes]) -> bytes:
    """Elements as a JSON list; with a single copy of the whole."""
    if not texts:
        return b"[]"
    texts = texts.copy()
    texts[0] = b"[" + texts[0]
    texts[-1] += b"]"
    return b",".join(texts)


def _list_texts(tools: object, sort_properties: bool) -> list[bytes] | None:
    """``tool_texts`` of a list; ``None`` where the whole way has to be taken."""
    if type(tools) is not list or sort_properties:
        return None
    try:
        return tool_texts(tools)
    except TooManyError as error:
        raise ToolSchemaError(str(error), pointer="") from None
    except Exception:  # what is wrong, if anything, the whole way says with its place in the whole list
        return None


def _value(text: bytes) -> Any:
    with contextlib.suppress(ValueError):  # an integer beyond the range of floats
        value = orjson.loads(text)
        if orjson.dumps(value) == text:
            return value
    return json.loads(text)  # numbers that orjson reads or writes as others


def _canonical(tools: object, sort_properties: bool) -> tuple[Any, bytes]:
    canonicalizer = Canonicalizer(sort_properties=sort_properties)
    try:
        value = canonicalizer.tools(tools)
        return value, canonicalizer.wire(value)
    except TooManyError as error:
        raise ToolSchemaError(str(error), pointer="") from None
    except Exception as error:  # the methods of strangers' objects may raise anything
        what = str(error) if isinstance(error, RefusedError) else ""
        raise refusal(tools, MAX_VALUES) or ToolSchemaError(what or "cannot be written as JSON", pointer="") from None
