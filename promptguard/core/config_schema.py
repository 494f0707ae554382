"""The JSON Schema of the configuration file, made from the table of options."""

from __future__ import annotations

import json
from collections.abc import Sequence

from promptguard.core.light import Any
from promptguard.core.option_tables import OPTIONS, PROMPT_OPTIONS, TABLES
from promptguard.core.options import Option, RuleOptions

_TYPES = {
    "text": "string",
    "path": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "array",
    "lists": "object",
    "tables": "array",
}


def config_schema(rules: RuleOptions) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of ``promptguard.toml``, and so of the table ``[tool.promptguard]`` in ``pyproject.toml``."""
    tables: dict[str, Any] = {}
    for command, options in OPTIONS.items():
        about = f"Options of `promptguard {command}`; a flag on the command line comes before the value here."
        tables[command] = {"description": about, **_table(options)}
    tables["prompts"] = {"description": TABLES["prompts"], "type": "array", "items": _table(PROMPT_OPTIONS)}
    by_code = {code: _table(options) for code, options in rules.items()}
    tables["rules"] = {
        "description": TABLES["rules"],
        "type": "object",
        "properties": by_code,
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "promptguard configuration",
        "type": "object",
        "properties": tables,
        "additionalProperties": False,
    }


def config_schema_text(rules: RuleOptions) -> str:
    """The schema as it stands in docs/schemas/config-1.json."""
    return json.dumps(config_schema(rules), indent=2, ensure_ascii=False) + "\n"


def _table(options: Sequence[Option]) -> dict[str, Any]:
    table: dict[str, Any] = {
        "type": "object",
        "properties": {option.name: _property(option) for option in options},
        "additionalProperties": False,
    }
    required = [option.name for option in options if option.required]
    return table | ({"required": required} if required else {})


def _property(option: Option) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": option.help, "type": _TYPES[option.kind]}
    text: dict[str, Any] = {"type": "string", "minLength": 1}
    if option.kind == "tables":
        return schema | {"items": _table(option.fields)}
    if option.kind == "lists":
        return schema | {"additionalProperties": {"type": "array", "items": text}}
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
