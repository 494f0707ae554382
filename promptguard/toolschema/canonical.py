"""Tool schemas in their canonical order, as Python values and as bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, overload

from promptguard.toolschema.errors import ToolSchemaError
from promptguard.toolschema.order import MAX_VALUES, Canonicalizer, RefusedError, TooManyError
from promptguard.toolschema.plain import refusal
from promptguard.toolschema.regular import regular_json

FORM_VERSION = 1
"""Goes up when the same tools come out as other bytes than before."""


_TRIES = 8  # of the short cut, beyond those that it paid for


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
            1,000,000 values. Errors that the methods of objects raise are told as this one.
    """
    return _canonical(tools, sort_properties)[0]


def canonical_json(tools: object, *, sort_properties: bool = False) -> bytes:
    """The canonical form as compact JSON: UTF-8, no spaces, no escapes beyond what JSON demands, no byte order mark.

    The bytes are those of ``json.dumps(canonical_tools(tools), ensure_ascii=False, separators=(",", ":"))``.

    Args, Raises: as ``canonical_tools``.
    """
    if type(tools) is list and not sort_properties:
        try:
            return _list_json(tools)
        except TooManyError as error:
            raise ToolSchemaError(str(error), pointer="") from None
        except Exception:  # what is wrong in it, the whole way says with its place in the whole list
            return _canonical(tools, sort_properties)[1]
    return _canonical(tools, sort_properties)[1]


def tools_fingerprint(tools: object, *, sort_properties: bool = False) -> str:
    """A short name for the tools, for logs and tests: the same on every machine and under every hash seed.

    It is the version of the canonical form, a dash, and the first 16 hexadecimal digits of the SHA-256 of ``canonical_json``:
    ``1-0123456789abcdef``. The version goes up when a release of promptguard changes the canonical form.

    Args, Raises: as ``canonical_tools``.
    """
    digest = hashlib.sha256(canonical_json(tools, sort_properties=sort_properties)).hexdigest()
    return f"{FORM_VERSION}-{digest[:16]}"


def _list_json(tools: list[Any]) -> bytes:
    """The wire form of a list of tools: each regular tool by the short cut, the others on the whole way."""
    whole = Canonicalizer()
    tries = _TRIES
    parts: list[tuple[str, bytes, bytes]] = []
    for tool in tools:
        made = regular_json(tool) if tries and type(tool) is dict else None
        if made is not None:
            tries += 1
            parts.append(made)
        else:
            tries = max(tries - 1, 0)
            value = whole.tools([tool])
            parts.append((*whole.tool_key(value[0]), whole.wire(value[0])))
    if not parts:
        return b"[]"
    texts = [text for _, _, text in sorted(parts, key=itemgetter(0, 1))]
    texts[0] = b"[" + texts[0]
    texts[-1] += b"]"
    return b",".join(texts)  # the only copy of the whole


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
