"""Quick looks at a file that may hold tool schemas, before or instead of parsing it."""

from __future__ import annotations

import re
from typing import Literal

# What every tools file has in it, whatever its dialect: without one of these a file need not be parsed.
_MARKS = (b"parameters", b"input_schema", b"inputSchema", b"function")
_SCHEMA_KEY = "(?:parameters|parametersJsonSchema|input_?[sS]chema|function_?[dD]eclarations)"
_BROKEN_TOOLS = {
    "json": [r'"name"\s*:\s*"', rf'"{_SCHEMA_KEY}"\s*:\s*[\[{{]', r'"type"\s*:\s*"object"'],
    "yaml": [r"\bname\s*:", rf"\b{_SCHEMA_KEY}\s*:", r"\btype\s*:\s*[\"']?object\b"],
}
_SUSPICIOUS = {kind: [re.compile(pattern) for pattern in patterns] for kind, patterns in _BROKEN_TOOLS.items()}


def may_hold_tools(data: bytes) -> bool:
    """``False`` where the bytes can hold no tool schemas that anybody wrote; quick."""
    return any(mark in data for mark in _MARKS)


def seems_tools(text: str, kind: Literal["json", "jsonl", "yaml"]) -> bool:
    """Whether a text that cannot be parsed is likely to be a tools file that is broken, rather than a file of another sort."""
    return all(pattern.search(text) for pattern in _SUSPICIOUS["yaml" if kind == "yaml" else "json"])
