"""The JSON Schema of the configuration file, made from the table of options."""

from __future__ import annotations

import json
from typing import Any

from promptguard.core.config import OPTIONS, Option

_TYPES = {"text": "string", "path": "string", "integer": "integer", "number": "number", "boolean": "boolean", "list": "array"}


def config_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of ``promptguard.toml``, and so of the table ``[tool.promptguard]`` in ``pyproject.toml``."""
    tables = {}
    for command, options in OPTIONS.items():
        properties = {option.name: _property(option) for option in options}
        tables[command] = {
            "description": f"Options of `promptguard {command}`; a flag on the command line comes before the value here.",
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "promptguard configuration",
        "type": "object",
        "properties": tables,
        "additionalProperties": False,
    }


def config_schema_text() -> str:
    """The schema as it stands in docs/schemas/config-1.json."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


def _property(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": option.help, "type": _TYPES[option.kind]}
    text: dict[str, Any] = {"type": "string", "minLength": 1}
    if option.kind == "list":
        return schema | {"items": text | ({"pattern": f"^{option.pattern}$"} if option.pattern else {})}
    if option.choices:
        schema["enum"] = list(option.choices)
    elif schema["type"] == "string":
        schema["minLength"] = 1
    if option.pattern:
        schema["pattern"] = f"^{option.pattern}$"
    if option.minimum is not None:
        schema["minimum"] = option.minimum
    if option.maximum is not None:
        schema["maximum"] = option.maximum
    return schema
