"""Where the values of a file of tool schemas stand in its text."""

from __future__ import annotations

from promptguard.core.json_text import escape
from promptguard.core.light import TYPE_CHECKING, Iterator, Protocol, Sequence, regex
from promptguard.core.source import Span

if TYPE_CHECKING:
    from promptguard.parse.json import JSONIndex
    from promptguard.parse.json import Node as JSONNode
    from promptguard.parse.yaml import Node as YAMLNode

Range = tuple[int, int]

_ESCAPE = regex(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_QUOTED = regex(r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\n]|'')*'?")
_SHOWN = 400  # code points of a YAML value whose end is not known
_PROPERTIES = regex(r"(?:[&!]\S*(?:\s|#[^\n]*)*)*")


class Places(Protocol):
    """Ranges of code points by JSON pointer. A pointer must lead to a value."""

    def value(self, pointer: str) -> Range:
        """The first line of a value."""

    def whole(self, pointer: str) -> Range | None:
        """All of a value, ``None`` where its end is not known."""

    def key(self, pointer: str) -> Range:
        """The key of a member of an object; the value where it has none."""

    def inside(self, pointer: str, ranges: Sequence[Range], text: str) -> list[Range]:
        """Ascending ranges of a text, which is the value, as they stand in the file."""

    def duplicates(self) -> Iterator[tuple[str, Range, Range]]:
        """Every key that its object had before: the pointer of its value, the key, and the first of its kind."""


class JSONPlaces:
    """Places in a JSON text, or in a line of it."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._start, self._end = start, end
        self._made: JSONIndex | None = None
        self._members: dict[int, dict[str | int | None, JSONNode]] = {}

    @property
    def index(self) -> JSONIndex:
        if self._made is None:  # a text without findings needs none
            from promptguard.parse.json import index

            self._made = index(self._text[self._start : self._end])
        return self._made

    def value(self, pointer: str) -> Range:
        start, end = self.whole(pointer)
        return start, _line_end(self._text, start, end)

    def whole(self, pointer: str) -> Range:
        return self._in_file(self._node(pointer).span)

    def key(self, pointer: str) -> Range:
        key = self._node(pointer).key
        return self._in_file(key) if key is not None else self.value(pointer)

    def inside(self, pointer: str, ranges: Sequence[Range], text: str) -> list[Range]:
        low, high = self.whole(pointer)
        raw = self._text[low + 1 : high - 1]
        offsets = iter(_raw_offsets(raw, [offset for found in ranges for offset in found]))
        return [(low + 1 + start, low + 1 + next(offsets)) for start in offsets]

    def duplicates(self) -> Iterator[tuple[str, Range, Range]]:
        stack = [("", self.index.root)] if self.index.root is not None else []
        while stack:
            pointer, node = stack.pop()
            members = [(f"{pointer}/{escape(str(child.name))}", child) for child in node.children]
            first: dict[str | int | None, JSONNode] = {}
            for at, child in members:
                known = first.setdefault(child.name, child)
                if known is not child and known.key is not None and child.key is not None:
                    yield at, self._in_file(child.key), self._in_file(known.key)
            stack.extend(reversed(members))

    def _in_file(self, span: Span) -> Range:
        return self._start + span.start, self._start + span.end

    def _node(self, pointer: str) -> JSONNode:
        node = self.index.root
        assert node is not None
        for part in pointer.split("/")[1:]:
            if node.kind == "array":
                node = node.children[int(part)]
                continue
            members = self._members.get(node.start)
            if members is None:
                members = self._members[node.start] = {child.name: child for child in node.children}
            node = members[_name(part)]
        return node


def _name(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _raw_offsets(raw: str, offsets: Sequence[int]) -> list[int]:
    """Where ascending offsets of a decoded string are in its source."""
    found: list[int] = []
    shift = 0
    escapes = _ESCAPE.finditer(raw) if "\\" in raw else iter(())
    escape = next(escapes, None)
    for offset in offsets:
        while escape is not None and escape.start() - shift < offset:
            shift += len(escape.group()) - 1
            escape = next(escapes, None)
        found.append(offset + shift)
    return found


class YAMLPlaces:
    """Places in a document of a YAML text; the ends of values are not known to its parser."""

    def __init__(self, text: str, root: YAMLNode) -> None:
        self._text = text
        self._root = root
        self._numbers: dict[int, dict[str, int]] = {}

    def value(self, pointer: str) -> Range:
        return self._range(self._find(pointer)[0])

    def whole(self, pointer: str) -> None:
        return None

    def key(self, pointer: str) -> Range:
        node, key = self._find(pointer)
        return self._range(key or node)

    def inside(self, pointer: str, ranges: Sequence[Range], text: str) -> list[Range]:
        node, _ = self._find(pointer)
        quote = "" if node.plain else self._text[node.start]
        if quote in ("", "'", '"') and self._text.startswith(f"{node.text}{quote}", start := node.start + len(quote)):
            return [(start + low, start + high) for low, high in ranges]  # as most are
        from promptguard.parse.yaml_scalars import written_scalar

        written = written_scalar(self._text, node.start, node.text)
        return [written.places.span(*found) if written is not None else self._range(node) for found in ranges]

    def duplicates(self) -> Iterator[tuple[str, Range, Range]]:
        stack = [("", self._root)]
        while stack:
            pointer, node = stack.pop()
            names = [key.text for key in node.keys] or range(len(node.children))
            members = [(f"{pointer}/{escape(str(name))}", child) for name, child in zip(names, node.children, strict=True)]
            first: dict[str, YAMLNode] = {}
            for (at, _), key in zip(members, node.keys, strict=False):
                known = first.setdefault(key.text, key)
                if known is not key:
                    yield at, self._range(key), self._range(known)
            stack.extend(reversed(members))

    def _find(self, pointer: str) -> tuple[YAMLNode, YAMLNode | None]:
        node, key = self._root, None
        for part in pointer.split("/")[1:]:
            if node.kind == "mapping":
                numbers = self._numbers.get(id(node))
                if numbers is None:
                    numbers = self._numbers[id(node)] = {member.text: number for number, member in enumerate(node.keys)}
                number = numbers[_name(part)]
                key = node.keys[number]
            else:
                number, key = int(part), None
            node = node.children[number]
        return node, key

    def _range(self, node: YAMLNode) -> Range:
        """The first line of a value, without its anchor and its tag, and without what tells how it is written."""
        text = self._text
        skipped = _PROPERTIES.match(text, node.start) if text[node.start] in "&!" else None
        start = skipped.end() if skipped is not None else node.start
        if node.plain and text.startswith(node.text, start):
            return start, start + len(node.text)
        end = _line_end(text, start, start + _SHOWN)
        if node.kind != "scalar":
            return start, start + len(text[start:end].rstrip())
        quoted = _QUOTED.match(text, start, end)
        if quoted is not None:
            return quoted.span()
        from promptguard.parse.yaml_scalars import written_scalar

        written = written_scalar(text, start, node.text)
        if written is not None and node.text:
            start = written.places.starts[min(len(node.text) - len(node.text.lstrip()), len(node.text) - 1)]
            end = min(_line_end(text, start, start + _SHOWN), written.end)
        return start, start + len(text[start:end].rstrip())


def _line_end(text: str, at: int, limit: int) -> int:
    end = text.find("\n", at, limit)
    return end if end >= 0 else min(limit, len(text))
