"""PG401 to PG406: tool schemas in JSON, JSONL and YAML files; PG303 for a byte order mark in front of them."""

from __future__ import annotations

from promptguard.checks.base import IN_LITERALS, Document, Hit, byte_order_mark, mentions, shown
from promptguard.checks.tools_order import Part, check_order
from promptguard.checks.tools_places import JSONPlaces, Places, Range, YAMLPlaces
from promptguard.checks.tools_schema import check_names, check_schemas
from promptguard.core import json_text
from promptguard.core.errors import InputError
from promptguard.core.finding import Severity
from promptguard.core.json_text import escape
from promptguard.core.light import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, lru_cache, regex
from promptguard.core.source import Source, Span
from promptguard.parse.strict import not_json, parse
from promptguard.parse.tool_marks import is_json_lines
from promptguard.toolschema.dialects import looks_like_tools, text_looks_like_tools, visit

if TYPE_CHECKING:
    from collections.abc import Generator

    from promptguard.checks.literals import LiteralKind, VolatileLiteral
    from promptguard.parse.yaml import Node, Stream
    from promptguard.toolschema.document import Form

    _Read = Generator[Hit, None, list[Part]]

_LINE = regex(r"[^\r\n]+")


def check(document: Document, _options: Mapping[str, Any]) -> Iterator[Hit]:
    """What is wrong with the tool schemas of a file."""
    if document.pointer is not None:
        read = _read_beside
    else:
        yield from byte_order_mark(document, "which many readers of JSON and YAML do not take")
        read = _read_yaml if document.source.kind == "yaml" else _read_lines if _is_lines(document) else _read_json
    parts = yield from read(document)
    yield from check_order(document, parts)
    yield from check_names(document, parts)
    for part in parts:
        yield from check_schemas(document, part)
        yield from _check_literals(document, part)


# Reading: what cannot be read is a finding; what can be is returned.


def _is_lines(document: Document) -> bool:
    return document.source.path.lower().endswith((".jsonl", ".ndjson")) or is_json_lines(document.text)


def _read_lines(document: Document) -> _Read:
    parts: list[Part] = []
    for line in _LINE.finditer(document.text):
        if text_looks_like_tools(line.group()):
            parts += yield from _read_value(document, *line.span(), "wire")
    return parts


def _read_json(document: Document) -> _Read:
    return (yield from _read_value(document, 0, len(document.text), "file"))


def _read_value(document: Document, start: int, end: int, form: Form) -> _Read:
    places = JSONPlaces(document.text, start, end)
    try:
        value = parse(document.source, span=Span(start, end), exact_numbers=True)
    except InputError as error:
        at = document.source.offset(error.where)
        again = _duplicates(document, places)
        yield from map(_duplicate(document), again)
        if all(at != second[0] for _, second, _ in again) and document.block_at(at) is not None:
            yield _broken(document, at, error)
        try:
            return [Part(json_text.loads_any_number(document.text[start:end]), places, start, end, form, strict=False)]
        except ValueError as broken:
            from json import JSONDecodeError

            if isinstance(broken, JSONDecodeError) and not error.what.startswith("not JSON"):
                problem, at = not_json(document.text[start:end], broken)  # equal keys stand ahead of it
                yield _broken(document, start + at, InputError(problem))
            return []
        except RecursionError:
            return []
    return [Part(value, places, start, end, form, strict=document.pointer is None)]


def _read_yaml(document: Document) -> _Read:
    from promptguard.parse.yaml import read_yaml

    try:
        stream = read_yaml(document.source)
    except InputError as error:
        at = document.source.offset(error.where)
        yield _broken(document, at, error)
        return []
    parts: list[Part] = []
    for root in stream.documents:
        parts += yield from _read_node(document, stream, root)
    return parts


def _read_beside(document: Document) -> _Read:
    """Tools beside a prompt: the value that is the region. The rest of the file is none of theirs."""
    (region,) = document.regions
    if document.source.kind != "yaml":
        return (yield from _read_value(document, region.start, region.end, "file"))
    stream, lists = _yaml_lists(document.source)
    return (yield from _read_node(document, stream, lists[region.start]))


@lru_cache(maxsize=1)
def _yaml_lists(source: Source) -> tuple[Stream, dict[int, Node]]:
    """A YAML text, and its lists by their starts; a file may have many documents."""
    from promptguard.parse.yaml import read_yaml

    stream = read_yaml(source)
    lists: dict[int, Node] = {}
    seen: set[int] = set()
    stack = list(stream.documents)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            stack += node.children
            if node.kind == "sequence":
                lists[node.start] = node
    return stream, lists


def _read_node(document: Document, stream: Stream, root: Node) -> _Read:
    from promptguard.parse.yaml import check_json, merged, python_value

    kept = "comments" if stream.comments else "anchors" if stream.anchor is not None else None
    kept = kept or ("other documents" if len(stream.documents) > 1 else None)
    again = _duplicates(document, YAMLPlaces(document.text, root))
    strict = not again and stream.tag is None and not _merges(root)
    try:
        check_json(stream, root)
    except InputError as error:
        strict = False
        at = document.source.offset(error.where)
        if all(at != second[0] for _, second, _ in again) and document.block_at(at) is not None:
            yield _broken(document, at, error)
    try:
        whole = merged(root)
        value = python_value(whole)
    except (ValueError, OverflowError):  # a number that Python does not take; check_json has said so
        return []
    beside = document.pointer is not None
    if not beside and not looks_like_tools(value):
        return []
    yield from map(_duplicate(document), again)
    return [Part(value, YAMLPlaces(document.text, whole), 0, 0, None, strict and not beside, kept)]


def _duplicates(document: Document, places: Places) -> list[tuple[str, Range, Range]]:
    """Equal keys in the tools; what else the file has is none of theirs."""
    return [found for found in places.duplicates() if document.block_at(found[1][0]) is not None]


def _merges(root: Node) -> bool:
    stack = [root]
    while stack:
        node = stack.pop()
        if any(key.type == "merge" for key in node.keys):
            return True
        stack.extend(node.children)
    return False


def _broken(document: Document, at: int, error: InputError) -> Hit:
    end = min(at + 1, len(document.text))
    return Hit("PG406", max(0, end - 1), end, error.what)


def _duplicate(document: Document) -> Callable[[tuple[str, Range, Range]], Hit]:
    def make(found: tuple[str, Range, Range]) -> Hit:
        pointer, (start, end), first = found
        message = f"the key `{shown(document.text[start:end])}` stands twice in one object"
        return Hit("PG402", start, end, message, related=((*first, "the first one"),), pointer=pointer)

    return make


# PG405

_IN_LITERALS = (*IN_LITERALS, "/home/", "/Users/", "\\Users\\")
_MESSAGES: dict[LiteralKind, str] = {
    "clock": "a time that was written into the tools when they were made: `{}`",
    "id": "an id that is drawn anew: `{}`",
    "temp-path": "a temporary path with a random part: `{}`",
    "environment": "the folder of one machine: `{}`",
}
# A default that is a time of a certain second comes from a clock, one of a full minute or the end of a day from a person.
_SECOND = regex(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}")
_ROUND = regex(r"\d:\d{2}:00(?:[.,]0+)?(?![.,:\d])|23:59:59")
_LONGEST_TIME = 40


def _check_literals(document: Document, part: Part) -> Iterator[Hit]:
    for pointer, label, text in _texts(part.value):
        lead = f"{label}: " if label else ""
        found = _volatile_literals(lead + text)
        literals = [
            (one.start - len(lead), one.end - len(lead), one.kind, one.changes) for one in found if one.start >= len(lead)
        ]
        if label and len(text) < _LONGEST_TIME:
            if _ROUND.search(text):
                continue
            if not literals and _SECOND.match(text):
                literals = [(0, len(text), "clock", "request")]
        if not literals:
            continue
        ranges = part.places.inside(pointer, [(start, end) for start, end, _, _ in literals], text)
        for (start, end), (_, _, kind, changes) in zip(ranges, literals, strict=True):
            message = _MESSAGES[kind].format(shown(document.text[start:end]))
            severity: Severity = "error" if changes in ("request", "minute") else "warning"
            yield Hit("PG405", start, end, message, changes=changes, severity=severity, pointer=pointer)


def _volatile_literals(text: str) -> Iterable[VolatileLiteral]:
    if not mentions(text, _IN_LITERALS):
        return ()
    from promptguard.checks.literals import volatile_literals  # most tools do without

    return volatile_literals(text)


def _texts(value: Any) -> Iterator[tuple[str, str, str]]:
    """The texts in which tools say something, each with its pointer and the property that it is a value of, if it is one.

    Examples, patterns and constants show what a value looks like; they are left out.
    """
    for pointer, role, schema, _ in visit(value):
        for key in ("title", "description"):
            if isinstance(schema.get(key), str):
                yield f"{pointer}/{key}", "", schema[key]
        if role == "schema":
            label = pointer.rpartition("/")[2]
            for key in ("default", "enum"):
                yield from _strings(f"{pointer}/{key}", label, schema.get(key))


def _strings(pointer: str, label: str, value: Any) -> Iterator[tuple[str, str, str]]:
    stack = [(pointer, label, value)]
    while stack:
        pointer, label, value = stack.pop()
        if isinstance(value, str):
            yield pointer, label, value
        elif isinstance(value, list):
            stack += [(f"{pointer}/{number}", label, item) for number, item in enumerate(value)][::-1]
        elif isinstance(value, dict):
            stack += [(f"{pointer}/{escape(key)}", key, item) for key, item in value.items()][::-1]
