"""Why two tool lists differ, and where in the tools file the difference stands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptguard.parse.json import JSONIndex, Node, index
from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame, Origin, origin
from promptguard.prompts.blame.text import blame_values
from promptguard.prompts.request import Request, Tool, Traced
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import listed, ordinal, show
from promptguard.toolschema.dialects import SCHEMA_KEYS

_SORT_ONCE = "send the tools in one fixed order: sort them by name once, at session start"
_DEEPEST = 200  # a difference further down in a schema is not looked for
_FILE_DEPTH = 6  # tools stand at most this deep in a tools file

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class _Change:
    """The first difference between two values, in the order in which they are written."""

    kind: Literal["value", "key-order", "list-order", "added", "removed"]
    path: Path
    before: Any = None
    after: Any = None


def blame_tools(before: Request, after: Request) -> Blame | None:
    """Why the tools of two requests differ, ``None`` where they are spelled the same."""
    old, new = [_spelled(tool) for tool in before.tools], [_spelled(tool) for tool in after.tools]
    if old == new:
        return None
    position = first_difference(old, new)
    old_names, new_names = _names(before.tools), _names(after.tools)
    old_file, new_file = _ToolsFile(before.tools_source), _ToolsFile(after.tools_source)
    if position < min(len(old), len(new)) and old_names[position] == new_names[position]:
        return _blame_tool(before.tools[position], after.tools[position], new_names, position, new_file)
    if Counter(old_names) == Counter(new_names):
        return _blame_order(old_names, new_names, position, new_file)
    return _blame_set(old_names, new_names, old_file, new_file)


def _blame_order(old: Sequence[str], new: Sequence[str], position: int, file: _ToolsFile) -> Blame:
    here, expected = new[position], old[position]
    moved_to = new.index(expected, position)
    explanation = (
        f"the tools are listed in another order: {show(here)} stands {ordinal(position + 1)}, where {show(expected)} stood"
        f" before, which is {ordinal(moved_to + 1)} now"
    )
    place = file.place(file.tool(new, position))
    related = file.place(file.tool(new, moved_to))
    return Blame(causes.LIST_ORDER, explanation, place, (related.place,) if related else (), _SORT_ONCE)


def _blame_set(old: Sequence[str], new: Sequence[str], old_file: _ToolsFile, new_file: _ToolsFile) -> Blame:
    old_count, new_count = Counter(old), Counter(new)
    added, removed = list((new_count - old_count).elements()), list((old_count - new_count).elements())
    parts = []
    if removed:
        parts.append(f"{_tools(removed)} {'was' if len(removed) == 1 else 'were'} removed")
    if added:
        at = new.index(added[0])
        where = "at the end" if new[len(new) - len(added) :] == added else f"at position {at + 1} of {len(new)}"
        parts.append(f"{_tools(added)} {'was' if len(added) == 1 else 'were'} added {where}")
    stayed_old = [name for name in old if name in new_count]
    stayed_new = [name for name in new if name in old_count]
    if stayed_old != stayed_new and Counter(stayed_old) == Counter(stayed_new):
        parts.append("the others stand in another order")
    places = [new_file.place(new_file.tool(new, new.index(name))) for name in added]
    places += [old_file.place(old_file.tool(old, old.index(name))) for name in removed]
    known = [place for place in places if place is not None]
    related = tuple(place.place for place in known[1:])
    return Blame(causes.TOOL_SET, " and ".join(parts), known[0] if known else None, related)


def _tools(names: Sequence[str]) -> str:
    return f"the tool {show(names[0])}" if len(names) == 1 else f"the tools {listed(names)}"


def _blame_tool(old: Tool, new: Tool, names: Sequence[str], position: int, file: _ToolsFile) -> Blame:
    """Why one tool differs from what it was."""
    change = _first_change(old, new, ())
    root = file.tool(names, position)
    node = file.inside(root, change.path)
    tool, where = show(names[position]), "/" + "/".join(str(part) for part in change.path)
    if change.kind == "key-order":
        explanation = f"the keys of the tool {tool} stand in another order, from {where} on; the values are the same"
        return Blame(causes.SCHEMA_ORDER, explanation, file.place(node, key=True))
    if change.kind == "list-order":
        explanation = f"the list at {where[: where.rfind('/')]} of the tool {tool} has the same items in another order"
        return Blame(causes.SCHEMA_ORDER, explanation, file.place(node))
    if isinstance(change.before, str) and isinstance(change.after, str):
        char = first_difference(change.before, change.after)
        text = f"the text at {where} of the tool {tool}"
        return blame_values(change.before, change.after, char, where=text, source=file.place(node, char))
    place = file.place(node, key=change.kind == "added") or file.place(root)
    if change.kind == "value":
        shown = f"changed from {show(_spelled(change.before))} to {show(_spelled(change.after))}"
    else:
        shown = f"was {change.kind}"
    return Blame(causes.UNKNOWN, f"{where} of the tool {tool} {shown}", place)


def _first_change(old: Any, new: Any, path: Path) -> _Change:
    while len(path) < _DEEPEST:
        step = _step(old, new, path)
        if step is None:
            return _Change("value", path, old, new)
        if isinstance(step, _Change):
            return step
        path, old, new = (*path, step), old[step], new[step]
    return _Change("value", path, old, new)


def _step(old: Any, new: Any, path: Path) -> _Change | str | int | None:
    """The member to go down into, or the change itself; ``None`` where the values are not of the same kind of container."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for old_key, new_key in zip(old, new, strict=False):
            if old_key != new_key:
                if old.keys() == new.keys():
                    return _Change("key-order", (*path, new_key))
                gone = old_key not in new
                return _Change("removed" if gone else "added", (*path, old_key if gone else new_key))
            if _spelled(old[old_key]) != _spelled(new[new_key]):
                return str(new_key)
        longer = old if len(old) > len(new) else new
        name = list(longer)[min(len(old), len(new))]
        return _Change("removed" if longer is old else "added", (*path, name))
    if isinstance(old, list) and isinstance(new, list):
        first, second = [_spelled(item) for item in old], [_spelled(item) for item in new]
        position = first_difference(first, second)
        if Counter(first) == Counter(second):
            return _Change("list-order", (*path, position))
        if position < min(len(old), len(new)):
            return position
        return _Change("removed" if len(old) > len(new) else "added", (*path, position))
    return None


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _names(tools: Sequence[Tool]) -> list[str]:
    return [_name(tool) for tool in tools]


def _name(tool: Tool) -> str:
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    return str(name or "")


class _ToolsFile:
    """The tools file that a request's tools came from, whatever dialect it is written in."""

    def __init__(self, traced: Traced | None) -> None:
        self.traced = traced
        self.index: JSONIndex | None = index(traced.text) if traced is not None else None
        self.tools = list(self._find()) if self.index is not None else []

    def tool(self, names: Sequence[str], position: int) -> Node | None:
        """The tool at a position of a request: of tools with the same name, the one with the same rank."""
        name = names[position]
        rank = list(names[:position]).count(name)
        same = [node for found, node in self.tools if found == name]
        return same[rank] if rank < len(same) else None

    def inside(self, root: Node | None, path: Path) -> Node | None:
        """The value at a path of a tool as the request spells it."""
        if root is None:
            return None
        bare = path[1:] if path[:1] == ("function",) else path
        for start in (path, bare):
            for key in SCHEMA_KEYS:
                spelled = [key if part == "parameters" and at < 2 else part for at, part in enumerate(start)]
                node: Node | None = root
                for part in spelled:
                    node = node.child(part) if node is not None else None
                if node is not None:
                    return node
        return None

    def place(self, node: Node | None, char: int | None = None, *, key: bool = False) -> Origin | None:
        """Where a value starts in the user's file; ``char`` is a code point of a string value, ``key`` asks for its key."""
        if node is None or self.index is None:
            return None
        at = node.start
        if key and node.key is not None:
            at = node.key.start
        elif char is not None:
            inside = self.index.inside(node, char)
            at = inside if inside is not None else at
        return origin(self.traced, at)

    def _find(self) -> Iterator[tuple[str, Node]]:
        """Every object that is a tool, with its name, in the order of the file."""
        stack = [(self.index.root, 0)] if self.index is not None and self.index.root is not None else []
        while stack:
            node, depth = stack.pop()
            name = self._tool_name(node)
            if name is not None:
                yield name, node
            elif depth < _FILE_DEPTH:
                stack.extend((child, depth + 1) for child in reversed(node.children))

    def _tool_name(self, node: Node) -> str | None:
        if node.kind != "object" or self.index is None:
            return None
        name = (node.child("function") or node).child("name")
        return self.index.string(name) if name is not None else None
