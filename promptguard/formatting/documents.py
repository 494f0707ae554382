"""The text of one file in canonical form, by the kind of the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any, Literal

from promptguard.core.errors import InputError
from promptguard.core.source import Place, Source, Span
from promptguard.formatting.cache_marks import KEY, moved_marks
from promptguard.formatting.result import NO_TOOLS, Document, Options
from promptguard.formatting.yaml_document import format_yaml, tool_values, yaml_values
from promptguard.parse.json import index
from promptguard.parse.strict import parse
from promptguard.parse.tool_marks import is_json_lines, seems_tools, should_parse
from promptguard.toolschema.dialects import describe_record
from promptguard.toolschema.document import Note, format_lines, format_text, holds_tools, read

Kind = Literal["json", "jsonl", "yaml"]

SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
"""How the names of files end that may hold tool schemas, in lower case."""


def kind_of(path: str) -> Kind:
    """The kind of a file by its name: JSON unless that says otherwise."""
    suffix = PurePath(path).suffix.lower()
    return "jsonl" if suffix in (".jsonl", ".ndjson") else "yaml" if suffix in (".yaml", ".yml") else "json"


def kind_of_text(text: str, path: str) -> Kind:
    """The kind of a file by its name and its text: data sets of JSON Lines are often named ``.json``."""
    kind = kind_of(path)
    return "jsonl" if kind == "json" and is_json_lines(text.removeprefix("\ufeff")) else kind


def reason_to_pass(text: str, path: str) -> str:
    """Why a text that holds no tool schemas is left alone, as the end of a sentence that begins with the file."""
    kind = kind_of_text(text, path)
    try:
        if kind == "yaml":
            values = yaml_values(Source(path, text.removeprefix("\ufeff"), "yaml"))
        else:
            lines = text.removeprefix("\ufeff").split("\n") if kind == "jsonl" else [text.removeprefix("\ufeff")]
            values = [json.loads(line) for line in lines if line.strip()]
    except (InputError, ValueError, OverflowError, RecursionError):
        return NO_TOOLS
    return next((what for value in values if (what := describe_record(value))), NO_TOOLS)


def format_document(text: str, path: str, options: Options, *, named: bool) -> Document | None:
    """Bring the text of a file into canonical form.

    Args:
        text: the text; a byte order mark is dropped.
        path: the file that errors name; its suffix says what it is.
        options: how.
        named: the user named the file, so that one that cannot be parsed is an error whatever is in it; it is one too where the
            name of the file says that it holds tools.

    Returns:
        The result, ``None`` where the text holds no tool schemas.

    Raises:
        InputError: the text is refused; names file, line and column.
        BrokenPromiseError: the result would not say the same, or is not stable.
    """
    named = named or should_parse(path, text)
    document = _format(text, path, options, named=named)
    if document is None or document.text == text:
        return document
    warnings = document.warnings
    if options.written and warnings:
        again = _format(document.text, path, options, named=named)
        warnings = again.warnings if again is not None else warnings
    if KEY in text:
        warnings += tuple(_moved_marks(text, document.text, path, options))
    return replace(document, warnings=warnings)


def _format(text: str, path: str, options: Options, *, named: bool) -> Document | None:
    kind = kind_of_text(text, path)
    if kind == "yaml":
        return _yaml(text, path, options, named=named)
    if kind == "jsonl":
        return _lines(text, path, options, meant=should_parse(path, text))
    reading = not (options.sort_properties or options.unsafe_fixes) and read(text)
    if not holds_tools(text, reading) and (_is_json(text) or not (named or seems_tools(text, kind))):
        if named and seems_tools(text, kind):  # the second of two equal keys may have hidden the tools
            parse(Source(path, text.removeprefix("\ufeff"), "json"), exact_numbers=True)
        return None
    formatted = format_text(
        text,
        path=path,
        form="wire" if options.wire else "file",
        sort_properties=options.sort_properties,
        unsafe_fixes=options.unsafe_fixes,
        max_chars=options.max_bytes,
        reading=reading,
    )
    return Document(formatted.text, formatted.warnings, formatted.normalized)


def _moved_marks(before: str, after: str, path: str, options: Options) -> Iterator[Note]:
    kind = kind_of_text(before, path)
    made: Kind = "json" if options.wire and kind == "yaml" else kind
    for (old, old_place), (new, new_place) in zip(_values(before, path, kind), _values(after, path, made), strict=True):
        for old_pointer, new_pointer, message in moved_marks(old, new):
            yield Note(new_place(new_pointer) if options.written else old_place(old_pointer), message)


def _values(text: str, path: str, kind: Kind) -> Iterator[tuple[Any, Callable[[str], Place]]]:
    """The values of a text that hold tool schemas, each with what gives the place of a JSON pointer into it."""
    source = Source(path, text.removeprefix("\ufeff"), "yaml" if kind == "yaml" else "json")
    if kind == "yaml":
        yield from tool_values(source)
        return
    start = 0
    for part in source.text.split("\n") if kind == "jsonl" else [source.text]:
        if holds_tools(part):
            yield json.loads(part, parse_int=float), partial(_json_place, source, start, part)
        start += len(part) + 1


def _json_place(source: Source, start: int, part: str, pointer: str) -> Place:
    found = index(part).value(pointer)
    assert found is not None, pointer
    return Place(source, Span(start + found.start, start + found.end))


def _lines(text: str, path: str, options: Options, *, meant: bool) -> Document | None:
    found = False
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n")):
        if holds_tools(line):
            found = True
        elif (seems_tools(line, "jsonl") or (meant and line.strip())) and not _is_json(line):
            format_text("\n" * number + line, path=path)  # says what is wrong, and where
    if not found:
        return None
    formatted = format_lines(
        text,
        path=path,
        sort_properties=options.sort_properties,
        unsafe_fixes=options.unsafe_fixes,
        max_chars=options.max_bytes,
    )
    made = formatted.text.replace("\r\n", "\n")  # no text of JSON holds a bare carriage return
    return Document(made if made.endswith("\n") else made + "\n", formatted.warnings, formatted.normalized)


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _yaml(text: str, path: str, options: Options, *, named: bool) -> Document | None:
    try:
        return format_yaml(Source(path, text.removeprefix("\ufeff"), "yaml"), options)
    except InputError:
        if named or seems_tools(text, "yaml"):
            raise
        return None
