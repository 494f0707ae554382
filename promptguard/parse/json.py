"""JSON with the exact place of every value and key.

The scanner is our own: offsets are code points, two equal keys are both kept, nesting costs no recursion, and a file that stops
being JSON half-way still gives the places of what came before. It accepts what Python's ``json`` accepts (``NaN`` included).
"""

from __future__ import annotations

from promptguard.core import json_text
from promptguard.core.light import Iterator, Literal, NamedTuple, Sequence, regex
from promptguard.core.source import Span

MAX_DEPTH = 500

_SPACE = regex(r"[ \t\r\n]*")
_STRING = regex(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_SCALAR = regex(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?Infinity|NaN|true|false|null")
_ESCAPE = regex(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_INDEX = regex(r"[0-9]{1,9}")

Kind = Literal["object", "array", "string", "scalar"]


class Node:
    """A value in a JSON text.

    Attributes:
        kind: ``scalar`` is a number, ``true``, ``false`` or ``null``.
        start, end: its code points in the text, quotes and brackets included.
        name: its key in an object, its index in an array, ``None`` for the whole document.
        key: the span of its key, quotes included, in an object.
        children: the members of an object or array as they stand in the text, equal keys included.
    """

    __slots__ = ("children", "end", "key", "kind", "name", "start")

    def __init__(self, kind: Kind, start: int, end: int, name: str | int | None = None, key: Span | None = None) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.name = name
        self.key = key
        self.children: list[Node] = []

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def child(self, name: str | int) -> Node | None:
        """The member with that key or index (as a number or its digits); of equal keys the last, as in Python's ``json``."""
        if self.kind == "array":
            index = int(name) if _INDEX.fullmatch(str(name)) else -1
            return self.children[index] if 0 <= index < len(self.children) else None
        return next((child for child in reversed(self.children) if child.name == name), None)


class JSONIndex(NamedTuple):
    """The places of the values of a JSON text.

    Attributes:
        text: the text.
        root: the whole document, ``None`` where the text does not even begin with a value.
        error: the code point where the text stops being JSON, ``None`` where all of it is.
    """

    text: str
    root: Node | None
    error: int | None = None

    def node(self, pointer: str | Sequence[str | int]) -> Node | None:
        """The value at a JSON pointer (RFC 6901), given as a string or as its parts."""
        parts = _parts(pointer) if isinstance(pointer, str) else pointer
        found = self.root
        for part in parts:
            found = found.child(part) if found is not None else None
        return found

    def value(self, pointer: str | Sequence[str | int]) -> Span | None:
        """The span of the value at a JSON pointer."""
        found = self.node(pointer)
        return found.span if found is not None else None

    def key(self, pointer: str | Sequence[str | int]) -> Span | None:
        """The span of the key of the value at a JSON pointer, ``None`` outside objects."""
        found = self.node(pointer)
        return found.key if found is not None else None

    def string(self, node: Node) -> str | None:
        """The decoded value of a string, ``None`` for another kind."""
        return _decode(self.text[node.start : node.end]) if node.kind == "string" else None

    def inside(self, node: Node, offset: int) -> int | None:
        """The code point in the text that the code point at ``offset`` of a decoded string comes from.

        The first one of an escape; the closing quote for an offset at or beyond the end; ``None`` where ``node`` is no string.
        """
        if node.kind != "string":
            return None
        source, decoded = node.start + 1, 0
        end = node.end - 1
        for match in _ESCAPE.finditer(self.text, source, end):
            plain = match.start() - source
            if offset < decoded + plain:
                break
            source, decoded = match.start(), decoded + plain
            width = len(_decode(f'"{match.group()}"'))
            if offset < decoded + width:
                return source
            source, decoded = match.end(), decoded + width
        return min(source + max(0, offset - decoded), end)

    def duplicates(self) -> Iterator[Node]:
        """Every member whose key stood in the same object before."""
        stack = [self.root] if self.root is not None else []
        while stack:
            node = stack.pop()
            stack.extend(reversed(node.children))
            if node.kind == "object":
                seen: set[str | int | None] = set()
                for child in node.children:
                    if child.name in seen:
                        yield child
                    seen.add(child.name)


def index(text: str) -> JSONIndex:
    """Find the places of all values; never fails (see ``JSONIndex.error``). A byte order mark in front is skipped."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    root: Node | None = None
    open_nodes: list[Node] = []
    name: str | int | None = None
    key: Span | None = None

    def partial(error: int) -> JSONIndex:
        for node in open_nodes:
            node.end = error
        return JSONIndex(text, root, error)

    while True:
        # A value starts here.
        mark = text[at : at + 1]
        if mark in ("{", "["):
            if len(open_nodes) >= MAX_DEPTH:
                return partial(at)
            node = Node("object" if mark == "{" else "array", at, at + 1, name, key)
        else:
            match = (_STRING if mark == '"' else _SCALAR).match(text, at)
            if match is None:
                return partial(at)
            node = Node("string" if mark == '"' else "scalar", at, match.end(), name, key)
        if open_nodes:
            open_nodes[-1].children.append(node)
        else:
            root = node
        at = _skip(text, node.end)
        if mark in ("{", "["):
            open_nodes.append(node)
            closes = text[at : at + 1] == ("}" if mark == "{" else "]")
            first = True
        else:
            closes = first = False
        # Behind a value: close what ends here, then come to the next value.
        while open_nodes:
            parent = open_nodes[-1]
            closes = closes or (not first and text[at : at + 1] == ("}" if parent.kind == "object" else "]"))
            if not closes:
                break
            parent.end = at + 1
            open_nodes.pop()
            at = _skip(text, at + 1)
            closes = first = False
        if not open_nodes:
            return JSONIndex(text, root, at if at < len(text) else None)
        parent = open_nodes[-1]
        if not first:
            if text[at : at + 1] != ",":
                return partial(at)
            at = _skip(text, at + 1)
        if parent.kind == "array":
            name, key = len(parent.children), None
        else:
            match = _STRING.match(text, at)
            if match is None:
                return partial(at)
            name, key = _decode(match.group()), Span(at, match.end())
            at = _skip(text, match.end())
            if text[at : at + 1] != ":":
                return partial(at)
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _decode(quoted: str) -> str:
    return str(json_text.loads(quoted)) if "\\" in quoted else quoted[1:-1]


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
