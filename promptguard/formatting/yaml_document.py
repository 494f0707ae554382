"""YAML tool schemas in canonical form, or the reason why they are left as they are."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from promptguard.core.errors import InputError
from promptguard.core.source import Place, Source
from promptguard.formatting.result import Document, Options
from promptguard.formatting.yaml_text import MAX_KEY, long_key, write_yaml
from promptguard.parse.yaml import Node, Stream, check_json, python_value, read_yaml
from promptguard.toolschema.dialects import looks_like_tools
from promptguard.toolschema.document import Note, format_text
from promptguard.toolschema.equality import same_value
from promptguard.toolschema.errors import BrokenPromiseError
from promptguard.toolschema.unsafe import normalize_descriptions

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


def format_yaml(source: Source, options: Options) -> Document | None:
    """Bring a YAML text of tool schemas into canonical form.

    A text with comments, anchors or several documents is never rewritten, since those would be lost; it is only told whether its
    order is canonical. One with tags or merge keys is not even told that.

    Returns:
        The result, ``None`` where the text holds no tool schemas.

    Raises:
        InputError: it is not YAML, or says what JSON cannot say.
        BrokenPromiseError: the result would not say the same, or is not stable.
    """
    stream = read_yaml(source)
    roots = [root for root in stream.documents if _holds_tools(root)]
    if not roots:
        return None
    for root in roots:
        check_json(stream, root)
    if options.wire:
        return _wire(stream, options)
    unknown = _unknown(stream, roots)
    if unknown:
        return Document(source.text, note=unknown)
    obstacle = _obstacle(stream)
    normalized: tuple[Note, ...] = ()
    if options.unsafe_fixes and obstacle is None:
        normalized = _normalize(stream, roots[0])
    before = python_value(roots[0])
    warnings: tuple[Note, ...] = ()
    moved = None
    for root in roots:
        more, value = _canonical(stream, root, sort_properties=options.sort_properties)
        warnings += more
        moved = moved or _reorder(root, value)
    if obstacle is not None:
        unsafe = _first_to_normalize(stream, roots) if options.unsafe_fixes else None
        if moved is not None:
            what = f"not canonical, {moved[1]}; not rewritten{' and not normalized' if unsafe else ''} because {obstacle}"
            return Document(source.text, warnings, kept=True, note=Note(stream.place(moved[0]), what))
        note = Note(unsafe, f"not normalized because {obstacle}") if unsafe else None
        return Document(source.text, warnings, kept=note is not None, note=note)
    text = write_yaml(roots[0])
    _promise(source.path, before, roots[0], text, sort_properties=options.sort_properties)
    return Document(text, warnings, normalized)


def yaml_values(source: Source) -> list[Any]:
    """The values of the documents of a YAML text.

    Raises:
        InputError: it is not YAML.
        ValueError: it has a number that Python does not take.
    """
    return [python_value(root) for root in read_yaml(source).documents]


def tool_values(source: Source) -> Iterator[tuple[Any, Callable[[str], Place]]]:
    """The values of the documents that hold tool schemas, each with what gives the place of a JSON pointer into it."""
    stream = read_yaml(source)
    for root in stream.documents:
        if _holds_tools(root):
            yield python_value(root), partial(_place, stream, root)


def _place(stream: Stream, root: Node, pointer: str) -> Place:
    return stream.place(_node(root, pointer).start)


def _node(node: Node, pointer: str) -> Node:
    """The node at a JSON pointer."""
    for name in _names(pointer):
        node = node.children[[key.text for key in node.keys].index(name) if node.kind == "mapping" else int(name)]
    return node


def _at(value: Any, pointer: str) -> Any:
    """The value at a JSON pointer."""
    for name in _names(pointer):
        value = value[name if isinstance(value, dict) else int(name)]
    return value


def _names(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _holds_tools(root: Node) -> bool:
    try:
        return looks_like_tools(python_value(root))
    except (ValueError, OverflowError):  # a number that Python does not take: in a tools file that is said with its place
        return True


def _unknown(stream: Stream, roots: list[Node]) -> Note | None:
    """What keeps the order of a text from being known."""
    if stream.tag is not None:
        what = "a directive" if stream.source.text.startswith("%", stream.tag) else "tags"
        return Note(stream.place(stream.tag), f"left as it is because it has {what}")
    for root in roots:
        stack = [root]
        while stack:
            node = stack.pop()
            merge = next((key for key in node.keys if key.type == "merge"), None)
            if merge is not None:
                return Note(stream.place(merge.start), "left as it is because it has merge keys")
            stack.extend(reversed(node.children))
    return None


def _obstacle(stream: Stream) -> str | None:
    """Why a rewrite would lose something."""
    key = long_key(stream.documents[0])
    for place, what in (
        (next(iter(stream.comments), None), "comments"),
        (stream.anchor, "anchors"),
        (stream.documents[1].start if len(stream.documents) > 1 else None, "several documents"),
        (key.start if key is not None else None, f"a key of more than {MAX_KEY:,} characters"),
    ):
        if place is not None:
            return f"it has {what} (line {stream.place(place).line})"
    return None


def _first_to_normalize(stream: Stream, roots: list[Node]) -> Place | None:
    for root in roots:
        _, changes = normalize_descriptions(python_value(root))
        if changes:
            return _place(stream, root, changes[0].pointer)
    return None


def _normalize(stream: Stream, root: Node) -> tuple[Note, ...]:
    value, changes = normalize_descriptions(python_value(root))
    notes = []
    for change in changes:
        node = _node(root, change.pointer)
        node.text, node.plain = _at(value, change.pointer), False
        notes.append(Note(stream.place(node.start), f"normalized {change.what} of {change.pointer}"))
    return tuple(notes)


def _canonical(stream: Stream, root: Node, *, sort_properties: bool) -> tuple[tuple[Note, ...], Any]:
    """The warnings about a document and its canonical value."""
    text = _JsonText(stream)
    text.add(root, dates=True)
    formatted = text.format(sort_properties=sort_properties, unsafe_fixes=False)
    return text.in_yaml(formatted.warnings), json.loads(formatted.text)


def _wire(stream: Stream, options: Options) -> Document:
    if len(stream.documents) > 1:
        where = str(stream.place(stream.documents[1].start))
        raise InputError("there are several documents, and the wire form is one", where=where, hint="split the file")
    unknown = _unknown(stream, stream.documents)
    if unknown:
        raise InputError(unknown.message.replace("left as it is", "there is no wire form"), where=str(unknown.place))
    text = _JsonText(stream)
    text.add(stream.documents[0], dates=False)
    formatted = text.format(sort_properties=options.sort_properties, unsafe_fixes=options.unsafe_fixes)
    return Document(formatted.text, text.in_yaml(formatted.warnings), text.in_yaml(formatted.normalized))


class _JsonText:
    """A YAML document as JSON on one line, numbers as they are spelled where JSON has that spelling, and the way back."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parts: list[str] = []
        self._length = 0
        self._offsets: list[int] = []
        self._starts: list[int] = []

    def add(self, node: Node, *, dates: bool) -> None:
        """Append a value. ``dates``: as texts, rather than an error."""
        self._offsets.append(self._length)
        self._starts.append(node.start)
        if node.kind == "scalar":
            self._put(self._scalar(node, dates=dates))
            return
        opening, closing = "{}" if node.kind == "mapping" else "[]"
        self._put(opening)
        for position, child in enumerate(node.children):
            if position:
                self._put(",")
            if node.kind == "mapping":
                self._offsets.append(self._length)
                self._starts.append(node.keys[position].start)
                self._put(json.dumps(node.keys[position].text, ensure_ascii=False) + ":")
            self.add(child, dates=dates)
        self._put(closing)

    def format(self, *, sort_properties: bool, unsafe_fixes: bool) -> Any:
        path = self._stream.source.path
        text = "".join(self._parts)
        try:
            return format_text(
                text, path=path, form="wire", sort_properties=sort_properties, unsafe_fixes=unsafe_fixes, max_chars=len(text)
            )
        except InputError as error:
            found = re.search(r":1:(\d+)$", error.where or "")
            raise InputError(
                error.what, where=self._place(int(found[1]) - 1) if found else error.where, hint=error.hint
            ) from None

    def in_yaml(self, notes: tuple[Note, ...]) -> tuple[Note, ...]:
        """Notes on the JSON text as notes on the YAML text."""
        return tuple(Note(self._stream.place(self._start(note.place.span.start)), note.message) for note in notes)

    def _place(self, offset: int) -> str:
        return str(self._stream.place(self._start(offset)))

    def _start(self, offset: int) -> int:
        return self._starts[bisect_right(self._offsets, offset) - 1]

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _scalar(self, node: Node, *, dates: bool) -> str:
        if node.type in ("int", "float") and _JSON_NUMBER.fullmatch(node.text):
            return node.text
        if node.type == "timestamp" and not dates:
            where = str(self._stream.place(node.start))
            what = f"{node.text} is a date; the wire form is JSON, which has none"
            raise InputError(what, where=where, hint="put it into quotes")
        return json.dumps(python_value(node), ensure_ascii=False)


def _reorder(node: Node, value: Any) -> tuple[int, str] | None:
    """Bring a tree into the order of its canonical value; where and what the first thing was that moved."""
    if node.kind == "scalar":
        return None
    if node.kind == "mapping":
        by_name = {key.text: (key, child) for key, child in zip(node.keys, node.children, strict=True)}
        moved = _first_moved(node.keys, list(by_name), list(value), lambda name: f'"{name}"')
        node.keys = [by_name[name][0] for name in value]
        node.children = [by_name[name][1] for name in value]
        values = list(value.values())
    else:
        moved, values = _reorder_list(node, value), value
    for child, child_value in zip(node.children, values, strict=True):
        below = _reorder(child, child_value)
        moved = below if moved is None or (below is not None and below < moved) else moved
    return moved


def _reorder_list(node: Node, value: list[Any]) -> tuple[int, str] | None:
    old = [_unordered(python_value(child)) for child in node.children]
    new = [_unordered(item) for item in value]
    places: defaultdict[str, list[Node]] = defaultdict(list)
    for key, child in zip(reversed(old), reversed(node.children), strict=True):
        places[key].append(child)
    moved = _first_moved(node.children, old, new, _label)
    if moved is not None:
        node.children = [places[key].pop() for key in new]
    return moved


def _first_moved(nodes: list[Node], old: list[str], new: list[str], label: Callable[[str], str]) -> tuple[int, str] | None:
    for node, before, after in zip(nodes, old, new, strict=True):
        if before != after:
            return node.start, f"{label(after)} belongs before {label(before)}"
    return None


def _label(element: str) -> str:
    """What to call an element of a list that the canonical form sorts: a tool, or a name in ``required``."""
    value = json.loads(element)
    if isinstance(value, dict):
        value = value.get("function", value)
    name = value.get("name") if isinstance(value, dict) else value
    return json.dumps(name, ensure_ascii=False) if isinstance(name, str) else "another element"


def _unordered(value: Any) -> str:
    """A text that is the same for two elements that differ only in what the canonical form sorts."""
    return json.dumps(_sorted(value), sort_keys=True)


def _sorted(value: Any) -> Any:
    """A value with every list sorted, so that two that differ only in what the canonical form sorts become one."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((_sorted(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def _promise(path: str, before: Any, root: Node, text: str, *, sort_properties: bool) -> None:
    """See that what is about to be written says the same, and would be left as it is."""
    stream = read_yaml(Source(path, text, "yaml"))
    again = stream.documents[0] if len(stream.documents) == 1 else None
    if again is None or _spelled(again) != _spelled(root) or not same_value(before, python_value(again)):
        raise BrokenPromiseError(
            "the canonical text would not say the same", where=path, hint="please report it; nothing is written"
        )
    _reorder(again, _canonical(stream, again, sort_properties=sort_properties)[1])
    if write_yaml(again) != text:
        raise BrokenPromiseError("the canonical text is not stable", where=path, hint="please report it; nothing is written")


def _spelled(node: Node) -> Any:
    """A tree with types and, but for texts and null and true and false, spellings."""
    if node.kind == "mapping":
        return [(_spelled(key), _spelled(child)) for key, child in zip(node.keys, node.children, strict=True)]
    if node.kind == "sequence":
        return ["-", *map(_spelled, node.children)]
    return node.type, python_value(node) if node.type in ("null", "bool") else node.text
