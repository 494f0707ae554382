"""Quick looks at a file that may hold tool schemas, before or instead of parsing it."""

from __future__ import annotations

from promptguard.core.light import Literal, regex

# What every tools file has in it, whatever its dialect: without one of these a file need not be parsed.
_MARKS = (b"parameters", b"input_schema", b"inputSchema", b"function")
_SCHEMA_KEY = "(?:parameters|parametersJsonSchema|input_?[sS]chema|function_?[dD]eclarations)"
_BROKEN_TOOLS = {
    "json": [r'"name"\s*:\s*"', rf'"{_SCHEMA_KEY}"\s*:\s*[\[{{]', r'"type"\s*:\s*"object"'],
    "yaml": [r"\bname\s*:", rf"\b{_SCHEMA_KEY}\s*:", r"\btype\s*:\s*[\"']?object\b"],
}
_TEMPLATED = regex(r"\{[{%]")
_NAME_WORD = regex(r"[a-z]+")
_CAMEL = regex(r"(?<=[a-z])(?=[A-Z])")
_ABOUT_SCHEMAS = frozenset(
    {"schema", "schemas", "definition", "definitions", "spec", "specs", "list", "json", "yaml", "yml", "jsonl", "ndjson"}
)
_CLOSING = {"{": "}", "[": "]"}
_CONFIGURES = frozenset({"tsconfig", "jsconfig"})  # tsconfig.tools.json, which may have comments
_SUSPICIOUS = {kind: [regex(pattern) for pattern in patterns] for kind, patterns in _BROKEN_TOOLS.items()}


def may_hold_tools(data: bytes) -> bool:
    """``False`` where the bytes can hold no tool schemas that anybody wrote; quick."""
    for mark in _MARKS:  # noqa: SIM110 - faster than any(), and asked of every file
        if mark in data:
            return True
    return False


def seems_tools(text: str, kind: Literal["json", "jsonl", "yaml"]) -> bool:
    """Whether a text that cannot be parsed is likely to be a tools file that is broken, rather than a file of another sort."""
    return all(pattern.search(text) for pattern in _SUSPICIOUS["yaml" if kind == "yaml" else "json"])


def is_json_lines(text: str) -> bool:
    """Whether a text is several lines that are JSON each, as data sets are often written, whatever the name of the file; quick
    where it is not.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return False
    from promptguard.core import json_text  # YAML does without

    try:
        for line in lines:
            bare = line.strip()
            if bare[0] in _CLOSING and bare[-1] != _CLOSING[bare[0]]:
                return False  # as the first line of most, without the import that an error is
            json_text.loads_any_number(line)
    except (ValueError, RecursionError):
        return False
    return True


def says_tools(path: str) -> bool:
    """Whether the name of a JSON or YAML file says that it holds tool schemas: ``tools.json``, ``get_time.tool.json``; quick."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    if "tool" not in name.lower():
        return False
    found = _NAME_WORD.findall(_CAMEL.sub("_", name).lower())
    rest = [word for word in found if word not in _ABOUT_SCHEMAS]
    return found[0] not in _CONFIGURES and ("tools" in rest or rest[-1:] == ["tool"])


def should_parse(path: str, text: str) -> bool:
    """Whether a text is surely meant to be JSON or YAML, as the name of its file says tools; a template makes it only later."""
    return says_tools(path) and not _TEMPLATED.search(text)
