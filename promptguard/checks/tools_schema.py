"""PG403 and PG406: tools that a server refuses or reads in another way than they are meant."""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, shown
from promptguard.checks.tools_order import Part, name_pointer, tool_lists
from promptguard.checks.tools_places import Range
from promptguard.core.finding import Severity
from promptguard.core.light import Any, Iterator, Sequence
from promptguard.toolschema.dialects import SCHEMA_KEYS, visit

_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_MAY_DEFINE_MORE = ("$ref", "ref", "allOf", "anyOf", "any_of", "oneOf", "patternProperties", "if", "dependentSchemas")
# A branch of these may name properties that the schema around it has.
_BRANCHES = frozenset({"allOf", "anyOf", "any_of", "oneOf", "not", "if", "then", "else", "dependentSchemas"})


def check_names(document: Document, parts: Sequence[Part]) -> Iterator[Hit]:
    """PG403, and PG406 for tools without a name."""
    alone: dict[str, tuple[Part, str]] = {}  # parts that are one tool each are a list of tools, one on each line
    for part in parts:
        at = name_pointer(part.value, "") if isinstance(part.value, dict) and not any(tool_lists(part.value)) else None
        if at is None:
            yield from _check_lists(document, part)
            continue
        other, first = alone.setdefault(_name(part.value), (part, at))
        if other is not part:
            yield _again(document, part, at, other.places.value(first))


def _again(document: Document, part: Part, pointer: str, first: Range) -> Hit:
    start, end = part.places.value(pointer)
    message = f"a second tool with the name `{shown(document.text[start:end])}`"
    if (start, end) == first:  # it is the first tool once more, merged into this one
        start, end = part.places.value(pointer.rpartition("/")[0])
        message = f"`{shown(document.text[start:end])}` is a second tool with the name `{shown(document.text[slice(*first)])}`"
    return Hit("PG403", start, end, message, related=((*first, "the first one"),), pointer=pointer)


def _check_lists(document: Document, part: Part) -> Iterator[Hit]:
    seen: dict[tuple[str, str], str] = {}
    for pointer, tools in tool_lists(part.value):
        # Tools in a tool are its own; function declarations share one space.
        space = pointer if pointer.count("/") > 1 and pointer.endswith("/tools") else ""
        for number in range(len(tools)):
            at = f"{pointer}/{number}"
            if not isinstance(tools[number], dict):
                yield _hit(part, at, "this element of the list of tools is no object", "error")
                continue
            name_at = name_pointer(part.value, at)
            if name_at is None or not _name(tools[number]):
                if _needs_name(tools[number]):
                    yield _hit(part, name_at or at, "this tool has no name", "error")
                continue
            first = seen.setdefault((space, _name(tools[number])), name_at)
            if first != name_at:
                yield _again(document, part, name_at, part.places.value(first))


def _name(tool: dict[str, Any]) -> str:
    inner = next((tool[key] for key in ("function", "custom") if isinstance(tool.get(key), dict)), tool)
    return str(tool.get("name") or inner.get("name") or "")


def _needs_name(tool: dict[str, Any]) -> bool:
    return "name" in tool or isinstance(tool.get("function"), dict) or any(key in tool for key in SCHEMA_KEYS)


def check_schemas(document: Document, part: Part) -> Iterator[Hit]:
    """PG406 for the schemas of the arguments."""
    # Tools that the provider brings along have a ``type`` of their own.
    elements = {f"{pointer}/{number}" for pointer, tools in tool_lists(part.value) for number in range(len(tools))}
    refers = False
    for pointer, role, schema, _ in visit(part.value):
        refers = refers or "$ref" in schema
        if role != "schema":
            continue
        if "type" in schema and pointer not in elements:
            yield from _check_type(document, part, pointer, schema["type"])
        if "properties" in schema and not isinstance(schema["properties"], dict):
            yield _hit(
                part,
                f"{pointer}/properties",
                "properties are an object with schemas by name, and this is none",
                "error",
            )
        if "required" in schema:
            yield from _check_required(document, part, pointer, schema)
    if refers:
        from promptguard.toolschema.references import dangling_references

        for at, _ in dangling_references(part.value):
            yield _quoting(document, part, at, "the reference {} points nowhere", "warning")


def _check_type(document: Document, part: Part, pointer: str, kind: object) -> Iterator[Hit]:
    kinds = kind if isinstance(kind, list) else [kind]
    for number, name in enumerate(kinds):
        at = f"{pointer}/type/{number}" if isinstance(kind, list) else f"{pointer}/type"
        if not isinstance(name, str):
            yield _hit(part, at, "the type of a schema is a name or a list of names, and this is none", "error")
        elif name.lower() not in _TYPES and name != "TYPE_UNSPECIFIED":
            yield _quoting(document, part, at, "JSON Schema has no type {}", "warning")


def _check_required(document: Document, part: Part, pointer: str, schema: dict[str, Any]) -> Iterator[Hit]:
    required, properties = schema["required"], schema.get("properties")
    if not isinstance(required, list):
        yield _hit(part, f"{pointer}/required", "required is a list of the names of properties, and this is none", "error")
        return
    names = properties if isinstance(properties, dict) and _is_closed(schema, pointer) else None
    seen: set[str] = set()
    for number, name in enumerate(required):
        at = f"{pointer}/required/{number}"
        if not isinstance(name, str):
            yield _hit(part, at, "required is a list of names, and this is none", "error")
            continue
        if name in seen:
            yield _quoting(document, part, at, "{} is required twice", "warning")
        elif names is not None and name not in names:
            yield _quoting(document, part, at, "{} is required and is no property", "warning")
        seen.add(name)


def _is_closed(schema: dict[str, Any], pointer: str) -> bool:
    """Whether a schema names all properties that it speaks of."""
    is_open = any(key in schema for key in _MAY_DEFINE_MORE) or isinstance(schema.get("additionalProperties"), dict)
    return not is_open and _BRANCHES.isdisjoint(pointer.split("/"))


def _hit(part: Part, pointer: str, message: str, severity: Severity) -> Hit:
    start, end = part.places.value(pointer)
    return Hit("PG406", start, end, message, severity=severity, pointer=pointer)


def _quoting(document: Document, part: Part, pointer: str, message: str, severity: Severity) -> Hit:
    start, end = part.places.value(pointer)
    quote = f"`{shown(document.text[start:end])}`"
    return Hit("PG406", start, end, message.replace("{}", quote), severity=severity, pointer=pointer)
