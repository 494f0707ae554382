"""The canonical form of a file of 2,000 tools against rfc8785 on the same input, and how its memory grows.

Run it as ``python benchmarks/canonical_json.py`` with the ``test`` extra installed. The tools are those of the four-tool task,
each under 500 names. The file is read as they are written, and with all keys and tools shuffled. Exits with 1 where
``canonical_json`` is less than 5 times as fast as ``rfc8785.dumps`` on the same parsed tools.

rfc8785 takes parsed values, so that from the bytes of a file its users parse first: with ``json.loads``, which lets equal keys
and NaN pass. ``format_text`` is what ``promptguard format`` does with the text of a file: it refuses those, and checks before it
gives a result that it says the same and that formatting it again changes nothing.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
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
WANTED = 5
ROUNDS = 11
ROUNDS_THAT_JUDGE = 31
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


def fastest(works: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Processor seconds of the fastest round of each; they take turns, so that other work on the machine hits all alike."""
    found = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            found[name] = min(found[name], time.process_time() - start)
    return found


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def compare(theirs: dict[str, Callable[[], object]], ours: dict[str, Callable[[], object]]) -> None:
    """Print the times, and how many times the speed of theirs each of ours has."""
    (base, first), *others = fastest({**theirs, **ours}).items()
    print(f"    {base:44}{1000 * first:8.1f} ms")
    for name, taken in others:
        print(f"    {name:44}{1000 * taken:8.1f} ms  {first / taken:5.2f} times the speed")


def is_fast(label: str, given: list[dict[str, Any]]) -> bool:
    """The canonicalizer alone, on the same parsed tools: whether it has the speed that is wanted."""
    taken = fastest({"theirs": lambda: rfc8785.dumps(given), "ours": lambda: canonical_json(given)}, ROUNDS_THAT_JUDGE)
    ratio = taken["theirs"] / taken["ours"]
    times = f"{1000 * taken['ours']:.1f} ms against {1000 * taken['theirs']:.1f} ms"
    said = "ok" if ratio >= WANTED else "MISSED"
    print(f"{label}: canonical_json has {ratio:.2f} times the speed of rfc8785.dumps ({times}), {WANTED} wanted: {said}")
    return ratio >= WANTED


def from_bytes(data: bytes) -> None:
    theirs = {"json.loads, rfc8785.dumps": lambda: rfc8785.dumps(json.loads(data))}
    ours = {
        "json.loads, canonical_json": lambda: canonical_json(json.loads(data)),
        "format_text, promises checked: wire form": lambda: format_text(data.decode(), path="tools.json", form="wire"),
        "format_text, promises checked: file form": lambda: format_text(data.decode(), path="tools.json"),
    }
    compare(theirs, ours)


def from_parsed(given: list[dict[str, Any]]) -> None:
    theirs = {"rfc8785.dumps": lambda: rfc8785.dumps(given)}
    compare(theirs, {"canonical_json": lambda: canonical_json(given), "canonical_tools": lambda: canonical_tools(given)})


def show_memory() -> None:
    print("peak memory in MB, and its growth from half as many tools")
    before = (0, 0)
    for count in SIZES:
        given = tools(count, shuffle=True)
        text = json.dumps(given, indent=2)
        now = peak(lambda given=given: canonical_json(given)), peak(lambda text=text: format_text(text, path="tools.json"))
        grown = [f" ({size / old:.2f} times)" if old else "" for size, old in zip(now, before, strict=True)]
        print(f"  {count:5,} tools  canonical_json {now[0] / 1e6:6.1f}{grown[0]}  format_text {now[1] / 1e6:6.1f}{grown[1]}")
        before = now


def main() -> int:
    mixed = tools(COUNT, shuffle=True)
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tools.json")
        for label, made in (("as written", tools(COUNT)), ("shuffled", mixed)):
            file.write_text(json.dumps(made, indent=2))
            files[f"a file of {COUNT:,} tools, {label}"] = file.read_bytes()
    fast = [is_fast(label, json.loads(data)) for label, data in files.items()]
    for label, data in files.items():
        print(f"{label}: from its {len(data):,} bytes to canonical bytes")
        from_bytes(data)
    for label, made in (
        ("with the keys of an OpenAI tool", mixed),
        ("with an unknown key in each", irregular(mixed, 1)),
        ("with an unknown key in every tenth", irregular(mixed, 10)),
        ("of MCP", [mcp(tool) for tool in mixed]),
        ("of Anthropic", [anthropic(tool) for tool in mixed]),
    ):
        print(f"{COUNT:,} parsed tools, shuffled, {label}")
        from_parsed(made)
    show_memory()
    return 0 if all(fast) else 1


if __name__ == "__main__":
    sys.exit(main())
