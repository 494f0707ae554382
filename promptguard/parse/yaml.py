"""YAML as a tree of nodes with the exact place and spelling of every scalar.

PyYAML reads the events; the tree is ours: two equal keys are both kept, nesting costs no recursion, aliases are counted as
copies, and what a rewrite would lose (comments, anchors, tags, several documents) is known with its place.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

import yaml

from promptguard.core.errors import InputError
from promptguard.core.light import Any, Iterator, Literal, NamedTuple, Sequence
from promptguard.core.source import Place, Source, Span

MAX_DEPTH = 100
MAX_NODES = 500_000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVERS: dict[str | None, list[tuple[str, re.Pattern[str]]]] = yaml.SafeLoader.yaml_implicit_resolvers
_CONSTRUCTOR: Any = yaml.constructor.SafeConstructor()
_PREFIX = "tag:yaml.org,2002:"
_HEAD_COMMENT = re.compile(r"[|>][^\n#]*#")

Kind = Literal["mapping", "sequence", "scalar"]


class Node:
    """A value in a YAML text.

    Attributes:
        kind: what it is.
        start: the code point in the text where it begins.
        text: the text of a scalar, quotes and escapes resolved.
        plain: whether a scalar stands without quotes and is no block scalar.
        type: what a scalar is to PyYAML: ``str``, ``int``, ``float``, ``bool``, ``null``, ``timestamp``, ``merge``, ``value``.
        keys: the keys of a mapping, in the order of ``children``; equal ones included.
        children: the values of a mapping or the elements of a sequence.
    """

    __slots__ = ("children", "keys", "kind", "plain", "start", "text", "type")

    def __init__(
        self,
        kind: Kind,
        start: int,
        text: str = "",
        plain: bool = False,
        type: str = "str",  # noqa: A002 - the name of the attribute
        keys: Sequence[Node] = (),
        children: Sequence[Node] = (),
    ) -> None:
        self.kind = kind
        self.start = start
        self.text = text
        self.plain = plain
        self.type = type
        self.keys = list(keys)
        self.children = list(children)


class Stream(NamedTuple):
    """A YAML text.

    Attributes:
        source: the text.
        documents: the root of each document.
        comment, anchor, tag: where the first of them stands, ``None`` where there is none. A ``%`` directive counts as a tag.
    """

    source: Source
    documents: list[Node]
    comment: int | None
    anchor: int | None
    tag: int | None

    def place(self, offset: int) -> Place:
        return Place(self.source, Span(offset, offset))


def read_yaml(source: Source) -> Stream:
    """Read a YAML text.

    Raises:
        InputError: it is not YAML, is nested more than ``MAX_DEPTH`` deep, or unfolds into more than ``MAX_NODES`` values.
    """
    try:
        return _Builder(source).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source.path}:{mark.line + 1}:{mark.column + 1}" if mark else source.path
        raise InputError(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.reader.ReaderError as error:
        found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", source.text)
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


def python_value(node: Node) -> Any:
    """The value as PyYAML's safe loader gives it, with two differences: keys are texts, and so are dates.

    Raises:
        ValueError: a number that Python does not take.
    """
    # An explicit stack would say the same in three times the lines; the depth is bounded.
    if node.kind == "mapping":
        return {key.text: python_value(child) for key, child in zip(node.keys, node.children, strict=True)}
    if node.kind == "sequence":
        return [python_value(child) for child in node.children]
    if node.type in ("int", "float", "bool"):
        return getattr(_CONSTRUCTOR, f"construct_yaml_{node.type}")(yaml.ScalarNode(_PREFIX + node.type, node.text))
    return None if node.type == "null" else node.text


def merged(root: Node) -> Node:
    """A tree in which the merge keys (``<<: *base``) are replaced by what they stand for, each value at the place where it is
    written; what has none is shared with the tree that was given.

    A key of the mapping itself wins, then that of the mapping that is merged first. A merge key of anything but mappings stays.
    The result unfolds into no more values than the text does (see ``MAX_NODES``), since an alias counts as a copy there.
    """
    made: dict[int, Node] = {}

    def resolved(node: Node) -> Node:  # the depth is bounded
        found = made.get(id(node))
        if found is None:
            found = made[id(node)] = _merged(node, [resolved(child) for child in node.children])
        return found

    return resolved(root)


def _merged(node: Node, children: list[Node]) -> Node:
    pairs = list(zip(node.keys, children, strict=True)) if node.kind == "mapping" else []
    if not any(_bases(key, child) for key, child in pairs):
        same = all(new is old for new, old in zip(children, node.children, strict=True))
        return node if same else _with(node, node.keys, children)
    seen = {key.text for key, child in pairs if not _bases(key, child)}
    keys: list[Node] = []
    values: list[Node] = []
    for key, child in pairs:
        bases = _bases(key, child)
        if not bases:
            keys.append(key)
            values.append(child)
        for base in bases:
            for inner_key, inner in zip(base.keys, base.children, strict=True):
                if inner_key.text not in seen:
                    seen.add(inner_key.text)
                    keys.append(inner_key)
                    values.append(inner)
    return _with(node, keys, values)


def _with(node: Node, keys: list[Node], children: list[Node]) -> Node:
    return Node(node.kind, node.start, node.text, node.plain, node.type, keys, children)


def _bases(key: Node, value: Node) -> list[Node]:
    """The mappings that a merge key names; none for another key."""
    if key.type != "merge":
        return []
    bases = value.children if value.kind == "sequence" else [value]
    return bases if all(base.kind == "mapping" for base in bases) else []


def check_json(stream: Stream, root: Node) -> None:
    """See that a document says nothing that JSON cannot say.

    Raises:
        InputError: equal keys in a mapping, a key that is no text, a number that is not finite, a lone surrogate; with its place.
    """
    for node in _nodes(root):
        if node.kind == "mapping":
            seen: set[str] = set()
            for key in node.keys:
                _check_key(stream, key)
                if key.text in seen:
                    raise InputError(f'the key "{key.text[:80]}" stands twice in one mapping', where=str(stream.place(key.start)))
                seen.add(key.text)
        elif node.kind == "scalar":
            _check_scalar(stream, node)


def _nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed([*node.children, *node.keys]))


def _check_key(stream: Stream, key: Node) -> None:
    if key.kind != "scalar":
        raise InputError("a key that is no text", where=str(stream.place(key.start)))
    if key.type not in ("str", "merge"):
        what = {"bool": "true or false", "int": "a number", "float": "a number", "timestamp": "a date"}.get(key.type, key.type)
        raise InputError(
            f"the key {key.text[:80] or '(nothing)'} is read as {what}",
            where=str(stream.place(key.start)),
            hint="put it into quotes",
        )


def _check_scalar(stream: Stream, node: Node) -> None:
    if any("\ud800" <= character <= "\udfff" for character in node.text):
        hint = "write the character out in UTF-8"
        raise InputError("a lone surrogate in a text", where=str(stream.place(node.start)), hint=hint)
    if node.type not in ("int", "float"):
        return
    try:
        finite = math.isfinite(python_value(node))
    except (ValueError, OverflowError):
        finite = False
    if not finite:
        hint = "write null or a number"
        raise InputError(f"{node.text[:40]} is not a number in JSON", where=str(stream.place(node.start)), hint=hint)


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
        return Stream(self.source, documents, self._first_comment(), self.anchor, self.tag)

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

    def _first_comment(self) -> int | None:
        """Comments stand between tokens, or behind the ``|`` or ``>`` of a block scalar; a ``#`` elsewhere is text."""
        text = self.source.text
        if "#" not in text:
            return None
        end = 0
        for token in yaml.scan(text, Loader=_Loader):
            start = token.start_mark.index
            at = text.find("#", end, start)
            if at < 0 and isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
                head = _HEAD_COMMENT.match(text, start)
                at = head.end() - 1 if head else -1
            if at >= 0:
                return at
            end = max(end, token.end_mark.index)
        at = text.find("#", end)
        return at if at >= 0 else None


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
