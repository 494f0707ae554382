"""JSON and YAML files: tool schemas, and prompts in their strings."""

from __future__ import annotations

import json

from promptguard.checks.base import Document, Region
from promptguard.core.errors import InputError
from promptguard.core.source import Source
from promptguard.lint.reading.names import FileKind
from promptguard.lint.reading.prompts import Origin
from promptguard.parse.json import index
from promptguard.toolschema.document import holds_tools
from promptguard.toolschema.marks import may_hold_tools, seems_tools


def may_hold_data(path: str, kind: FileKind, head: bytes) -> bool:
    """Whether a JSON or YAML file may hold tool schemas or prompts; quick."""
    return may_hold_tools(head)


def data_documents(path: str, text: str, kind: FileKind, origin: Origin, *, declared: bool, named: bool) -> list[Document]:
    """What a JSON or YAML file holds; see ``read_documents``."""
    if kind == "jsonl":
        return [tools_document(Source(path, text, "json"), origin)] if any(map(_is_tools, text.split("\n"))) else []
    if kind == "json":
        source = Source(path, text, "json")
        if _is_tools(text):
            return [tools_document(source, origin)]
        error = index(text).error
        if error is not None and (named or declared):
            raise InputError("not JSON", where=f"{path}:{':'.join(map(str, source.line_column(error)))}")
    return []


def tools_document(source: Source, origin: Origin) -> Document:
    """The document of a file of tool schemas."""
    region = Region(0, len(source.text), "tools")
    return Document(source, "tools", regions=(region,), prompt=origin.prompt, bom=origin.bom)


def _is_tools(text: str) -> bool:
    """Whether a JSON text holds tool schemas, or would if it were not broken."""
    return holds_tools(text) or (seems_tools(text, "json") and not _is_json(text))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
