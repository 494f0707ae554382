"""Tool schemas in the dialects that agents write them in, as the tools of an OpenAI chat request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.source import Place, Source, Span
from promptguard.prompts.request import Tool

MAX_BYTES = 8 * 1024 * 1024
MAX_NESTING = 100

_DIALECTS = "OpenAI, Anthropic, MCP or Gemini tools"
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|NaN|-?Infinity', re.DOTALL)


def load_tools(path: Path) -> tuple[tuple[Tool, ...], Source]:
    """Read a file of tool schemas.

    Returns:
        The tools in the order of the file, as ``as_openai_tools`` gives them, and the file as a source.

    Raises:
        InputError: the file cannot be read, is not strict JSON, or holds no tools.
    """
    source = Source(path=str(path), text=read_text(path, limit=MAX_BYTES, what="the tools file"), kind="json")
    return as_openai_tools(_parse(source), source.path), source


def as_openai_tools(value: object, where: str) -> tuple[Tool, ...]:
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
    tools = tuple(_tools(value, where))
    if not tools:
        raise InputError("holds no tools", where=where, hint="write [] to run without tools")
    return tools


def _tools(value: object, where: str) -> Iterator[Tool]:
    """The tools of a list, or of an object that is a tool or has some under a known key."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):  # the whole answer of a server to tools/list
        value = value["result"]
    if isinstance(value, Mapping) and "tools" in value:
        value = value["tools"]
    elements = value if isinstance(value, list) else [value]
    for number, element in enumerate(elements, 1):
        name = f"element {number}"
        if not isinstance(element, Mapping):
            raise InputError(f"{name} is not an object", where=where, hint=f"give a list of {_DIALECTS}")
        key = next((key for key in _DECLARATIONS if key in element), None)
        if key is None:
            yield _tool(element, name, where)
            continue
        declarations = element[key]
        if not isinstance(declarations, list):
            raise InputError(f"{key} of {name} is not a list", where=where)
        for position, declaration in enumerate(declarations, 1):
            inner = f"declaration {position} of {name}"
            if not isinstance(declaration, Mapping):
                raise InputError(f"{inner} is not an object", where=where)
            yield _tool(declaration, inner, where)


def _tool(element: Mapping[str, Any], label: str, where: str) -> Tool:
    kind = element.get("type", "function")
    wrapped = "function" in element
    function = element["function"] if wrapped else element
    if not isinstance(function, Mapping):
        raise InputError(f"function of {label} is not an object", where=where)
    name = function.get("name")
    if name is None:
        hint = f"it has type {json.dumps(kind)}, only functions have a schema" if kind != "function" else f"give {_DIALECTS}"
        raise InputError(f"{label} has no name", where=where, hint=hint)
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of {label} is not a text", where=where)
    label = f"{label} ({name})"
    if not isinstance(function.get("description", ""), str):
        raise InputError(f"the description of {label} is not a text", where=where)
    key = next((key for key in _SCHEMA_KEYS if function.get(key) is not None), None)
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


def _parse(source: Source) -> object:
    """Parse strict JSON: no equal keys in an object, no NaN, no lone surrogates, no number that overflows, bounded nesting."""
    try:
        value = json.loads(source.text, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg.lower()}", where=_at(source, error.pos)) from None
    except RecursionError:
        raise InputError(f"nested deeper than {MAX_NESTING} levels", where=source.path) from None
    except ValueError as error:  # an integer of thousands of digits, or a float that overflows
        raise InputError(f"a number is out of range ({error})", where=source.path) from None
    _check(source)
    return value


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:20]} overflows")
    return number


def _check(source: Source) -> None:
    """Look for what ``json.loads`` lets through. The text has been parsed, so that only the tokens matter that are looked at."""
    keys: list[set[str] | None] = []  # one entry for each open bracket; None for an array
    text: tuple[str, int] | None = None
    for match in _TOKEN.finditer(source.text):
        lexeme, start = match.group(), match.start()
        if lexeme[0] == '"':
            value = json.loads(lexeme) if "\\" in lexeme else lexeme[1:-1]
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise InputError("a lone surrogate in a text", where=_at(source, start), hint="write the character out in UTF-8")
            text = (value, start)
        elif lexeme == ":" and text is not None:
            seen = keys[-1]
            if seen is not None and text[0] in seen:
                raise InputError(f"the key {json.dumps(text[0])} stands twice in one object", where=_at(source, text[1]))
            if seen is not None:
                seen.add(text[0])
        elif lexeme in "{[":
            keys.append(set() if lexeme == "{" else None)
            if len(keys) > MAX_NESTING:
                raise InputError(f"nested deeper than {MAX_NESTING} levels", where=_at(source, start))
        elif lexeme in "}]":
            keys.pop()
        elif lexeme != ",":
            raise InputError(f"{lexeme} is not JSON", where=_at(source, start), hint="write null or a number")


def _at(source: Source, offset: int) -> str:
    return str(Place(source, Span(offset, offset)))
