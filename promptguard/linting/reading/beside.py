"""Tools beside a prompt: in the requests and agents of JSON and YAML files that hold both."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Any, Iterable, Iterator, NamedTuple, Sequence, bisect_right
from promptguard.linting.reading.data import PromptString, Value, child_pointer
from promptguard.linting.reading.strings import is_record
from promptguard.toolschema.dialects import has_messages, tools_beside

if TYPE_CHECKING:
    from promptguard.parse.yaml import Node, Stream

_TOOLS = ("tools", "functions")
_DEEP = 6  # levels of tools down to the schemas of their arguments, and one more


class Beside(NamedTuple):
    """Tools beside a prompt: the number of the part of the file, where what has both lies in it, the tools and their key."""

    number: int
    holder: str
    key: str
    tools: Value


def tools_in_json(root: Value, parts: Sequence[Sequence[PromptString]]) -> list[tuple[Beside, int]]:
    """The tools in a JSON file, each with where they end; ``parts``: its prompts."""
    return [(each, each.tools.end) for each in _beside([root], parts)]


def tools_in_yaml(stream: Stream, roots: Sequence[Value], parts: Sequence[Sequence[PromptString]]) -> list[tuple[Beside, int]]:
    """The same in a YAML file; ``roots``: the values of its documents."""
    beside = _beside(roots, parts)
    starts = _starts(stream.documents) if beside else []
    return [(each, _end(stream.source.text, each.tools, starts)) for each in beside]


def _beside(roots: Sequence[Value], parts: Sequence[Sequence[PromptString]]) -> list[Beside]:
    """The tools of requests and agents: of mappings that have a prompt, and are no recorded ones and lie in none.

    Messages make a request only of the file as a whole: deeper down, and in one of many parts, they are likely to be samples.
    """
    found = []
    for number, (root, prompts) in enumerate(zip(roots, parts, strict=True)):
        groups = {item.group for item in prompts}
        for pointer, holder in _holders(root, groups | {""}):
            value = {name: _plain(child, _DEEP if name in _TOOLS else 0) for name, child in holder.items}
            key = tools_beside(value)
            is_prompt = pointer in groups or (not pointer and (prompts or (len(roots) == 1 and has_messages(value))))
            if key is not None and is_prompt:
                found.append(Beside(number, pointer, key, dict(holder.items)[key]))
    return found


def _holders(root: Value, wanted: set[str]) -> Iterator[tuple[str, Value]]:
    """The mappings at some JSON pointers, but for what is recorded."""
    above = {pointer[:at] for pointer in wanted for at, character in enumerate(pointer) if character == "/"} | wanted
    stack = [("", root)]
    while stack:
        pointer, value = stack.pop()
        if value.kind == "mapping" and is_record(value):
            continue
        if value.kind == "mapping" and pointer in wanted:
            yield pointer, value
        inner = [(child_pointer(pointer, name), child) for name, child in value.items]
        stack += [each for each in reversed(inner) if each[0] in above]


def _plain(value: Value, depth: int) -> Any:
    """A value as Python has it, down to a depth; what is not a text, a list or a mapping is ``None``."""
    if value.kind == "text":
        return value.text
    if value.kind == "other":
        return None
    items = value.items if depth else ()
    if value.kind == "list":
        return [_plain(child, depth - 1) for _, child in items]
    return {name: _plain(child, depth - 1) for name, child in items}


def _starts(roots: Iterable[Node]) -> list[int]:
    """Where the keys and values of a YAML text begin, in order."""
    nodes = {id(root): root for root in roots}
    stack = list(nodes.values())
    while stack:
        node = stack.pop()
        for inner in (*node.keys, *node.children):
            if id(inner) not in nodes:
                nodes[id(inner)] = inner
                stack.append(inner)
    return sorted(node.start for node in nodes.values())


def _end(text: str, value: Value, starts: Sequence[int]) -> int:
    """Where a YAML value ends, its last line end counted: ahead of what begins next, without lines that only divide the two."""
    inside = {id(value): value}
    stack = [value]
    while stack:
        for _, child in stack.pop().items:
            if id(child) not in inside:
                inside[id(child)] = child
                stack.append(child)
    behind = bisect_right(starts, max(each.start for each in inside.values()))
    end = last = starts[behind] if behind < len(starts) else len(text)
    while (at := text.rfind("\n", value.start, last)) >= 0 and not text[at + 1 : last].strip(" \t\r-."):
        last = at
    return min(last + 1, end)
