"""Whether tools are in canonical order, and where they leave it."""

from __future__ import annotations

import json
from typing import Any

from promptguard.core.json_text import escape
from promptguard.toolschema.canonical import canonical_json, canonical_tools
from promptguard.toolschema.plain import plain

_SHOWN = 60
_MANY = 1_000_000


def first_disorder(tools: object) -> str | None:
    """The first place at which tools leave the canonical order, in words with what to do; ``None`` where they keep it.

    Raises:
        ToolSchemaError: there is no tool in it, or JSON cannot carry it.
    """
    wanted = canonical_tools(tools)
    given = json.loads(json.dumps(tools, default=lambda value: plain(value, _MANY)))  # in its own order
    if json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode() == canonical_json(tools):
        return None
    pointer, here, there = _first(given, wanted, "")
    return (
        f"the tools are not in canonical order: at {pointer or '/'} stands {_shown(here)}, where {_shown(there)} belongs;"
        " pass them through promptguard.canonical_tools() once, or run promptguard format on their file"
    )


def _first(given: Any, wanted: Any, pointer: str) -> tuple[str, Any, Any]:
    if isinstance(given, dict) and isinstance(wanted, dict):
        for key, other in zip(given, wanted, strict=False):
            if key != other:
                return pointer, key, other
            if _differ(given[key], wanted[key]):
                return _first(given[key], wanted[key], f"{pointer}/{escape(key)}")
    if isinstance(given, list) and isinstance(wanted, list):
        names = [[_name(item) for item in side] for side in (given, wanted)]
        for at, (one, other) in enumerate(zip(given, wanted, strict=False)):
            if names[0][at] != names[1][at]:
                return f"{pointer}/{at}", names[0][at], names[1][at]
            if _differ(one, other):
                return _first(one, other, f"{pointer}/{at}")
    return pointer, given, wanted


def _differ(one: Any, other: Any) -> bool:
    return json.dumps(one) != json.dumps(other)


def _name(tool: Any) -> Any:
    """What tells a tool from others, of anything else the thing itself."""
    inner = tool.get("function", tool) if isinstance(tool, dict) else tool
    return inner.get("name", "") if isinstance(inner, dict) else inner


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
