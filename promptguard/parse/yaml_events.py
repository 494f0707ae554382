"""YAML of every shape, from the events of PyYAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import yaml

from promptguard.core.errors import InputError
from promptguard.core.source import Place, Source, Span
from promptguard.parse.yaml import MAX_DEPTH, MAX_NODES, Node, Stream

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVERS: dict[str | None, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_PREFIX = "tag:yaml.org,2002:"
_HEAD_COMMENT = re.compile(r"[|>][^\n#]*#")
_LINE_END = re.compile(r"[\r\n\x85\u2028\u2029]")
_NOT_PRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_events(source: Source) -> Stream:
    """As ``read_yaml``."""
    try:
        return _Builder(source).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source.path}:{mark.line + 1}:{mark.column + 1}" if mark else source.path
        raise InputError(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.reader.ReaderError as error:
        found = _NOT_PRINTABLE.search(source.text)
        place = Place(source, Span(found.start(), found.start())) if found else source.path
        raise InputError(f"not YAML: {error.reason}", where=str(place)) from None
    except UnicodeEncodeError as error:
        place = Place(source, Span(error.start, error.start))
        raise InputError("a lone surrogate in a text", where=str(place), hint="write the character out in UTF-8") from None


@lru_cache(maxsize=1 << 14)
def resolve(text: str) -> str:
    """What a plain scalar is to PyYAML, as in ``Node.type``."""
    for tag, pattern in [*_RESOLVERS.get(text[:1], ()), *_RESOLVERS.get(None, ())]:
        if pattern.match(text):
            return str(tag).removeprefix(_PREFIX)
    return "str"


class _Builder:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.anchor: int | None = None
        self.tag: int | None = None
        self.anchors: dict[str, tuple[Node, int, int]] = {}
        self.count = 0

    def build(self) -> Stream:
        documents: list[Node] = []
        open_nodes: list[_Open] = []
        for event in yaml.parse(self.source.text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors.clear()
                if event.version or event.tags:
                    self.tag = _first(self.tag, event)
                continue
            anchor = None
            if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                closed = open_nodes.pop()
                node, size, depth, anchor = closed.node, self.count - closed.count, closed.depth, closed.anchor
            elif isinstance(event, yaml.AliasEvent):
                node, size, depth = self._alias(event)
                self._grow(size, event)
            elif isinstance(event, yaml.NodeEvent):
                node, size, depth = self._node(event), 1, 1
                self._grow(1, event)
                if node.kind != "scalar":
                    if len(open_nodes) >= MAX_DEPTH:
                        raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
                    open_nodes.append(_Open(node, event.anchor, self.count - 1))
                    continue
                anchor = event.anchor
            else:
                continue
            if anchor:
                self.anchors[anchor] = (node, size, depth)
            if not open_nodes:
                documents.append(node)
                continue
            parent = open_nodes[-1]
            parent.depth = max(parent.depth, depth + 1)
            if len(open_nodes) + depth > MAX_DEPTH + 1:
                raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
            parent.add(node)
        return Stream(self.source, documents, self._comments(), self.anchor, self.tag)

    def _node(self, event: Any) -> Node:
        start = event.start_mark.index
        if event.anchor:
            self.anchor = _first(self.anchor, event)
        if event.tag:
            self.tag = _first(self.tag, event)
        if isinstance(event, yaml.ScalarEvent):
            # An explicit tag is not looked at: a document that has one is left alone.
            plain = bool(event.implicit[0])
            return Node("scalar", start, event.value, plain, resolve(event.value) if plain else "str")
        return Node("mapping" if isinstance(event, yaml.MappingStartEvent) else "sequence", start)

    def _alias(self, event: Any) -> tuple[Node, int, int]:
        found = self.anchors.get(event.anchor)
        if found is None:  # or it stands inside what its anchor names
            raise self._error(f"the alias *{event.anchor[:80]} has no complete anchor before it", event)
        return found

    def _grow(self, size: int, event: Any) -> None:
        self.count += size
        if self.count > MAX_NODES:
            raise self._error(f"unfolds into more than {MAX_NODES:,} values", event)

    def _error(self, what: str, event: Any) -> InputError:
        return InputError(what, where=str(Place(self.source, Span(event.start_mark.index, event.start_mark.index))))

    def _comments(self) -> list[int]:
        """Comments stand between tokens, or behind the ``|`` or ``>`` of a block scalar; a ``#`` elsewhere is text."""
        text = self.source.text
        found: list[int] = []
        if "#" not in text:
            return found
        end = 0
        for token in yaml.scan(text, Loader=_Loader):
            start = token.start_mark.index
            found += _comments_between(text, end, start)
            head = _HEAD_COMMENT.match(text, start) if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">") else None
            if head is not None:
                found.append(head.end() - 1)
            end = max(end, token.end_mark.index)
        return [*found, *_comments_between(text, end, len(text))]


def _comments_between(text: str, start: int, end: int) -> Iterator[int]:
    while (start := text.find("#", start, end)) >= 0:
        yield start
        line_end = _LINE_END.search(text, start, end)
        if line_end is None:
            return
        start = line_end.end()


def _first(known: int | None, event: Any) -> int:
    return int(event.start_mark.index) if known is None else known


class _Open:
    """A collection whose end has not come yet; ``count`` is how many nodes there were before it."""

    __slots__ = ("anchor", "count", "depth", "key", "node")

    def __init__(self, node: Node, anchor: str | None, count: int) -> None:
        self.node = node
        self.anchor = anchor
        self.count = count
        self.depth = 1
        self.key: Node | None = None

    def add(self, child: Node) -> None:
        if self.node.kind == "sequence":
            self.node.children.append(child)
        elif self.key is None:
            self.key = child
        else:
            self.node.keys.append(self.key)
            self.node.children.append(child)
            self.key = None
