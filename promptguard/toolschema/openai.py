"""Tool schemas of any dialect as those of the OpenAI chat API, which engines take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from promptguard.core.errors import InputError
from promptguard.toolschema.dialects import DECLARATIONS, SCHEMA_KEYS

_NAMES = "OpenAI, Anthropic, MCP or Gemini tools"
_GEMINI_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


def as_openai_tools(value: object, where: str) -> tuple[Mapping[str, Any], ...]:
    """Turn tool schemas of any common dialect into those of the OpenAI chat API.

    A tool that is in that form already is passed on as it is. Of any other, name, description and schema are taken over; the
    schema stays the same object, with its keys in their order.

    Args:
        value: one tool or a list of tools: OpenAI chat or responses, Anthropic (``input_schema``), MCP (``inputSchema``, also the
            result of ``tools/list``), Gemini (``functionDeclarations``).
        where: the file that errors name.

    Raises:
        InputError: there is no tool in it, or something in it is none.
    """
    if value == []:
        return ()
    tools = tuple(_chat_tools(value, where))
    if not tools:
        raise InputError("holds no tools", where=where, hint="write [] to run without tools")
    return tools


def _chat_tools(value: object, where: str) -> Iterator[Mapping[str, Any]]:
    """The tools of a list, or of an object that is a tool or has some under a known key."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):  # the whole answer of a server to tools/list
        value = value["result"]
    if isinstance(value, Mapping) and "tools" in value:
        value = value["tools"]
    elements = value if isinstance(value, list) else [value]
    for number, element in enumerate(elements, 1):
        name = f"element {number}"
        if not isinstance(element, Mapping):
            raise InputError(f"{name} is not an object", where=where, hint=f"give a list of {_NAMES}")
        key = next((key for key in DECLARATIONS if key in element), None)
        if key is None:
            yield _chat_tool(element, name, where)
            continue
        declarations = element[key]
        if not isinstance(declarations, list):
            raise InputError(f"{key} of {name} is not a list", where=where)
        for position, declaration in enumerate(declarations, 1):
            inner = f"declaration {position} of {name}"
            if not isinstance(declaration, Mapping):
                raise InputError(f"{inner} is not an object", where=where)
            spelled = _lower_types(declaration)
            yield _chat_tool(declaration if spelled == declaration else spelled, inner, where)


def _lower_types(value: Any) -> Any:
    """A Gemini schema with the names of its types as JSON Schema, and every other engine, spells them."""
    if isinstance(value, Mapping):
        return {
            key: item.lower() if key == "type" and isinstance(item, str) and item in _GEMINI_TYPES else _lower_types(item)
            for key, item in value.items()
        }
    return [_lower_types(item) for item in value] if isinstance(value, list) else value


def _chat_tool(element: Mapping[str, Any], label: str, where: str) -> Mapping[str, Any]:
    kind = element.get("type", "function")
    wrapped = "function" in element
    function = element["function"] if wrapped else element
    if not isinstance(function, Mapping):
        raise InputError(f"function of {label} is not an object", where=where)
    name = function.get("name")
    if name is None:
        hint = f"it has type {json.dumps(kind)}, only functions have a schema" if kind != "function" else f"give {_NAMES}"
        raise InputError(f"{label} has no name", where=where, hint=hint)
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of {label} is not a text", where=where)
    label = f"{label} ({name})"
    if not isinstance(function.get("description", ""), str):
        raise InputError(f"the description of {label} is not a text", where=where)
    key = next((key for key in SCHEMA_KEYS if function.get(key) is not None), None)
    if key is not None and not isinstance(function[key], Mapping):
        raise InputError(f"{key} of {label} is not an object", where=where, hint="it has to be a JSON Schema")
    if wrapped:
        return element if "type" in element else {"type": "function", **element}
    plain: dict[str, Any] = {"name": name}
    if "description" in function:
        plain["description"] = function["description"]
    if key is not None:
        plain["parameters"] = function[key]
    return {"type": "function", "function": plain}
