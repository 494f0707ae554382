"""YAML as a tree of nodes with the exact place and spelling of every scalar.

Two equal keys are both kept, nesting costs no recursion, aliases are counted as copies, and what a rewrite would lose (comments,
anchors, tags, several documents) is known with its place. PyYAML reads the text, unless it is as plain as most prompt files are:
to import PyYAML takes as long as all else that is done for a small one.
"""

from __future__ import annotations

from promptguard.core.errors import InputError
from promptguard.core.light import Any, Iterator, Literal, NamedTuple, Sequence
from promptguard.core.source import Place, Source, Span

MAX_DEPTH = 100
MAX_NODES = 500_000

_TRUE = ("yes", "true", "on")

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
        comments: where each begins, in order.
        anchor, tag: where the first of them stands, ``None`` where there is none. A ``%`` directive counts as a tag.
    """

    source: Source
    documents: list[Node]
    comments: Sequence[int] = ()
    anchor: int | None = None
    tag: int | None = None

    def place(self, offset: int) -> Place:
        return Place(self.source, Span(offset, offset))


def read_yaml(source: Source) -> Stream:
    """Read a YAML text.

    Raises:
        InputError: it is not YAML, is nested more than ``MAX_DEPTH`` deep, or unfolds into more than ``MAX_NODES`` values.
    """
    from promptguard.parse.yaml_simple import read_simple

    stream = read_simple(source)
    if stream is not None:
        return stream
    from promptguard.parse.yaml_events import read_events

    return read_events(source)


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
    if node.type == "bool":
        return node.text.lower() in _TRUE
    if node.type in ("int", "float"):
        return _number(node.type, node.text)
    return None if node.type == "null" else node.text


def _number(kind: str, text: str) -> int | float:
    bare = text.removeprefix("-")
    if bare.isascii() and bare.isdecimal() and (bare == "0" or bare[0] != "0"):
        return int(text)
    whole, _, rest = bare.partition(".")
    if bare.isascii() and whole.isdecimal() and rest.isdecimal():
        return float(text)
    from promptguard.parse.yaml_types import number

    return number(kind, text)  # octal, sexagesimal, with underscores, infinite


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
        finite = abs(float(python_value(node))) < float("inf")
    except (ValueError, OverflowError):
        finite = False
    if not finite:
        hint = "write null or a number"
        raise InputError(f"{node.text[:40]} is not a number in JSON", where=str(stream.place(node.start)), hint=hint)
