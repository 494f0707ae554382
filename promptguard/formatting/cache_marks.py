"""Anthropic's ``cache_control``, which stands on a tool and means all tools up to it: sorting can move it off the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from promptguard.toolschema.dialects import tool_name

KEY = "cache_control"


def moved_marks(before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    """The marks of the last tool of a list that are no longer on the last one in the canonical value.

    Args:
        before: a value that holds tool schemas.
        after: the same in canonical form.

    Yields:
        The JSON pointer of the mark in ``before``, that in ``after``, and what to say about it.
    """
    for (pointer, old), (_, new) in zip(_lists(before), _lists(after), strict=True):
        if not (_marked(old[-1:]) and not _marked(new[-1:])):
            continue
        name = tool_name(old[-1])
        marked = [number for number, tool in enumerate(new) if _marked([tool])]
        position = max(marked, key=lambda number: (tool_name(new[number]) == name, number))
        message = (
            f"{KEY} was on the last tool and moves with {json.dumps(name, ensure_ascii=False)}: "
            "the tools behind it are no longer in what it caches; put it on the last tool"
        )
        yield f"{pointer}/{len(old) - 1}/{KEY}", f"{pointer}/{position}/{KEY}", message


def _lists(value: Any, pointer: str = "") -> Iterator[tuple[str, list[Any]]]:
    """The lists of tools in a value, with their JSON pointers, in an order of their own."""
    if isinstance(value, list):
        yield pointer, value
    elif isinstance(value, dict):
        for key in ("result", "tools", "functions"):
            if key in value:
                yield from _lists(value[key], f"{pointer}/{key}")


def _marked(tools: list[Any]) -> bool:
    return any(isinstance(tool, dict) and tool.get(KEY) is not None for tool in tools)
