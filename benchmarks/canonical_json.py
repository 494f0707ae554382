"""How fast the canonical form of 2,000 tools is made, in multiples of rfc8785 on the same input, and how much memory it takes.

Run it as ``python benchmarks/canonical_json.py`` with the ``test`` extra installed. The tools are those of the four-tool task,
each under 500 names: as they stand in the file, with all keys and tools shuffled, with an unknown key in every tool or in every
tenth (irregular tools, for which there is no short cut), and as tools of MCP and Anthropic.
"""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rfc8785

from promptguard import canonical_json, canonical_tools
from promptguard.toolschema.document import format_text

TOOLS = Path(__file__).parent.parent / "fixtures" / "tasks" / "four_tool" / "tools.json"
COUNT = 2000
ROUNDS = 7
SIZES = (250, 500, 1000, 2000)


def tools(count: int, *, shuffle: bool = False) -> list[dict[str, Any]]:
    """Many tools, read from a text, so that no two of them share an object."""
    base = json.loads(TOOLS.read_text())
    made = []
    for number in range(count):
        tool = json.loads(json.dumps(base[number % len(base)]))
        tool["function"]["name"] += f"_{number}"
        made.append(tool)
    return json.loads(json.dumps(shuffled(made, random.Random(0)) if shuffle else made))


def irregular(made: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    return [{**tool, "x-order": {"b": 1, "a": 2}} if number % step == 0 else tool for number, tool in enumerate(made)]


def mcp(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    named = {"name": function["name"], "description": function["description"]}
    return {**named, "annotations": {"title": "T", "readOnlyHint": True}, "inputSchema": function["parameters"]}


def anthropic(tool: dict[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    named = {"name": function["name"], "description": function["description"]}
    return {**named, "cache_control": {"type": "ephemeral", "ttl": "1h"}, "input_schema": function["parameters"]}


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: shuffled(value[key], order) for key in order.sample(list(value), len(value))}
    if isinstance(value, list):
        items = [shuffled(item, order) for item in value]
        return order.sample(items, len(items)) if items and isinstance(items[0], dict) else items
    return value


def fastest(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of the fastest round of each; they take turns, so that other work on the machine hits all alike."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def main() -> None:
    base, mixed = tools(COUNT), tools(COUNT, shuffle=True)
    for label, given in (
        ("as in the file", base),
        ("shuffled", mixed),
        ("irregular", irregular(mixed, 1)),
        ("every tenth irregular", irregular(mixed, 10)),
        ("MCP", [mcp(tool) for tool in mixed]),
        ("Anthropic", [anthropic(tool) for tool in mixed]),
    ):
        text = json.dumps(given, indent=2)
        seconds = fastest(
            {
                "rfc8785.dumps": lambda given=given: rfc8785.dumps(given),
                "canonical_json": lambda given=given: canonical_json(given),
                "canonical_tools": lambda given=given: canonical_tools(given),
                "format_text, promises checked": lambda text=text: format_text(text, path="tools.json"),
            }
        )
        print(f"{COUNT:,} tools, {label} ({len(text):,} characters)")
        for name, taken in seconds.items():
            print(f"  {name:32}{1000 * taken:8.1f} ms  {seconds['rfc8785.dumps'] / taken:5.2f} times the speed of rfc8785")
    print("peak memory in MB, and per tool in kB")
    for count in SIZES:
        given = tools(count, shuffle=True)
        text = json.dumps(given, indent=2)
        wire, file = peak(lambda given=given: canonical_json(given)), peak(lambda text=text: format_text(text, path="tools.json"))
        print(
            f"  {count:5,} tools  canonical_json {wire / 1e6:6.1f} ({wire / count / 1e3:.1f})"
            f"  format_text {file / 1e6:6.1f} ({file / count / 1e3:.1f})"
        )


if __name__ == "__main__":
    main()
