"""Plausible arguments for a tool call, made from the tool's JSON Schema.

What is made is always JSON, always the same for the same schema, and bounded in size. It is valid for the schemas that tools have
in practice; where a schema asks for what is not understood here (``not``, ``if``, lookahead in a pattern) it is a best effort.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any
from urllib.parse import unquote

from promptguard.replaying.patterns import matching_text

MAX_WORK = 10_000  # schemas looked at and merged
MAX_DEPTH = 24  # of values and of choices inside one another
MAX_REFERENCES = 30  # in a chain of $ref and allOf
MAX_TEXT = 2_000  # characters of one text, or of one value taken over from the schema
MAX_ITEMS = 20
MAX_MEMBERS = 100
OPTIONAL_MEMBERS = 2  # a model gives some optional arguments, rarely all
OPTIONAL_DEPTH = 5
SIMPLE_DEPTH = 6  # below this a choice takes its simplest alternative

_NOTHING: Any = object()
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_FORMATS = {
    "date-time": "2026-05-04T08:30:00Z",
    "date": "2026-05-04",
    "time": "08:30:00Z",
    "duration": "PT1H30M",
    "email": "jo@example.com",
    "idn-email": "jo@example.com",
    "hostname": "host.example.com",
    "idn-hostname": "host.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/page",
    "uri-reference": "/page",
    "iri": "https://example.com/page",
    "iri-reference": "/page",
    "uri-template": "https://example.com/{page}",
    "uuid": "3f2b8c1e-5d47-4a90-b6e2-9c0d1f7a8b34",
    "json-pointer": "/name",
    "relative-json-pointer": "1/name",
    "regex": "^[a-z]+$",
}
_HINTS = {
    "string": ("pattern", "minLength", "maxLength", "format"),
    "object": ("properties", "required", "additionalProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "contains"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}

_Schema = Mapping[str, Any]


def example_arguments(schema: object) -> dict[str, Any]:
    """Arguments that a model could give to a tool with this schema; ``{}`` where it has none or does not describe an object."""
    try:
        value = _Example(schema).value(schema, "arguments", 0)
    except _ImpossibleError:
        return {}
    return value if isinstance(value, dict) else {}


def admits_type(schema: object, value: object) -> bool:
    """Whether ``type`` of a schema admits a JSON value; a schema without it admits all."""
    if not isinstance(schema, Mapping):
        return schema is not False
    types = _types(schema)
    return not types or any(_is(value, kind) for kind in types)


class _ImpossibleError(Exception):
    """Nothing can be made from a schema, or not within the limits."""


class _Example:
    """One run over one schema. ``hint`` is the name of what is made, ``index`` its position where several must differ."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._left = MAX_WORK

    def value(self, schema: object, hint: str, depth: int, index: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise _ImpossibleError
        flat = self._flat(schema, 0)
        for key in ("anyOf", "oneOf"):
            options = flat.get(key)
            if isinstance(options, list) and options:
                return self._choice({name: flat[name] for name in flat if name != key}, options, hint, depth, index)
        given, found = self._given(flat, index)
        if found:
            return given
        kinds = _types(flat)
        if not kinds:
            kinds = [next((kind for kind, keys in _HINTS.items() if any(key in flat for key in keys)), "string")]
        kind = next((kind for kind in kinds if kind != "null"), "null")
        if kind == "object":
            return self._object(flat, depth, index)
        if kind == "array":
            return self._array(flat, hint, depth, index)
        if kind == "string":
            return _text(flat, hint, index)
        if kind in ("integer", "number"):
            return _number(flat, index, whole=kind == "integer")
        return index % 2 == 0 if kind == "boolean" else None

    def _maybe(self, schema: object, hint: str, depth: int, index: int) -> Any:
        try:
            return self.value(schema, hint, depth, index)
        except _ImpossibleError:
            return _NOTHING

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise _ImpossibleError

    def _choice(self, base: _Schema, options: Sequence[object], hint: str, depth: int, index: int) -> Any:
        """The value of the first alternative that has one. ``null`` comes last, but first where a recursion has to end."""
        simple = depth > SIMPLE_DEPTH

        def order(option: object) -> int:
            if isinstance(option, Mapping) and _types(option) == ["null"]:
                return 0 if simple else 2
            return 1

        options = options[:MAX_MEMBERS]
        self._spend(len(options))
        made = (self._maybe({"allOf": [base, option]}, hint, depth + 1, index) for option in sorted(options, key=order))
        value = next((value for value in made if value is not _NOTHING), _NOTHING)
        if value is _NOTHING:
            raise _ImpossibleError
        return value

    def _given(self, schema: _Schema, index: int) -> tuple[Any, bool]:
        """A value that the schema names itself, and whether there is one."""
        if "const" in schema and _is_small(schema["const"]):
            return schema["const"], True
        enum = schema.get("enum")
        if isinstance(enum, list):
            self._spend(len(enum[:MAX_MEMBERS]))
            values = [value for value in enum[:MAX_MEMBERS] if admits_type(schema, value) and _is_small(value)]
            if not values:
                raise _ImpossibleError
            return values[index % len(values)], True
        examples = schema.get("examples")
        values = [schema.get("default"), *(examples[:3] if isinstance(examples, list) else [])]
        # An empty default (null, "", [], {}) says that the argument can be left out, not what it looks like.
        values = [
            value for value in values if value not in (None, "", [], {}) and admits_type(schema, value) and _is_small(value)
        ]
        return (values[index], True) if index < len(values) else (None, False)

    def _object(self, schema: _Schema, depth: int, index: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        names = schema.get("required")
        names = names if isinstance(names, list) else []
        self._spend((len(properties) + len(names)) // MAX_MEMBERS)
        required = list(dict.fromkeys(name for name in names if isinstance(name, str)))[:MAX_MEMBERS]
        least = _size(schema, "minProperties", 0)
        wanted = max(least, len(required) + (OPTIONAL_MEMBERS if depth < OPTIONAL_DEPTH else 0))
        wanted = min(wanted, _size(schema, "maxProperties", wanted), MAX_MEMBERS)
        chosen: dict[str, Any] = {}
        for name in required:
            value = self._maybe(properties.get(name, self._other(schema)), name, depth + 1, index)
            if value is _NOTHING and depth >= SIMPLE_DEPTH:  # an alternative further up may end the recursion
                raise _ImpossibleError
            chosen[name] = None if value is _NOTHING else value
        for name in list(properties)[:MAX_MEMBERS]:
            if len(chosen) >= wanted:
                break
            value = _NOTHING if name in chosen else self._maybe(properties[name], name, depth + 1, index)
            if value is not _NOTHING:
                chosen[name] = value
        for number in range(1, 1 + min(least, MAX_MEMBERS) - len(chosen)):
            chosen[f"key_{number}"] = self.value(self._other(schema), "value", depth + 1, index + number - 1)
        return {**{name: chosen[name] for name in properties if name in chosen}, **chosen}

    @staticmethod
    def _other(schema: _Schema) -> object:
        """The schema of members that ``properties`` does not name."""
        other = schema.get("additionalProperties", True)
        return other if other is not False else True

    def _array(self, schema: _Schema, hint: str, depth: int, index: int) -> list[Any]:
        items = schema.get("items", True)
        head = schema.get("prefixItems", items if isinstance(items, list) else [])
        head = head[:MAX_ITEMS] if isinstance(head, list) else []
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        if "contains" in schema:
            rest = {"allOf": [rest, schema["contains"]]}
        least = max(_size(schema, "minItems", 0), _size(schema, "minContains", 0))
        wanted = min(max(least, len(head), 1), _size(schema, "maxItems", MAX_ITEMS), MAX_ITEMS)
        values: list[Any] = []
        for position in range(wanted):
            item = head[position] if position < len(head) else rest
            value = self._maybe(item, hint.removesuffix("s"), depth + 1, index + position)
            if value is _NOTHING and position < least:
                raise _ImpossibleError
            if value is _NOTHING:
                break
            values.append(value)
        if schema.get("uniqueItems") is True:
            values = list({json.dumps(value, sort_keys=True): value for value in values}.values())
        return values

    def _flat(self, schema: object, depth: int) -> dict[str, Any]:
        """A schema with its ``$ref`` and ``allOf`` merged into it."""
        self._spend(1)
        if schema is False or depth > MAX_REFERENCES:
            raise _ImpossibleError
        if not isinstance(schema, Mapping):
            return {}
        flat = {key: schema[key] for key in schema if key not in ("$ref", "allOf")}
        self._spend(len(flat))
        if isinstance(schema.get("$ref"), str):
            flat = self._merged(self._flat(self._target(schema["$ref"]), depth + 1), flat)
        parts = schema.get("allOf")
        for part in parts if isinstance(parts, list) else []:
            flat = self._merged(flat, self._flat(part, depth + 1))
        return flat

    def _target(self, reference: str) -> object:
        """What a reference inside the document points to; anything for one that leads out of it."""
        if not reference.startswith("#"):
            return True
        node = self._root
        for escaped in unquote(reference[1:]).split("/")[1:]:
            part = escaped.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isascii() and part.isdigit() and len(part) < 6 and int(part) < len(node):
                node = node[int(part)]
            else:
                return True
        return node

    def _merged(self, first: _Schema, second: _Schema) -> dict[str, Any]:
        """A schema that asks for what both ask for."""
        merged = dict(first)
        for key, new in second.items():
            old = merged.get(key)
            if old is None:
                merged[key] = new
            elif key == "properties" and isinstance(old, Mapping) and isinstance(new, Mapping):
                self._spend(len(old) + len(new))
                merged[key] = {**old, **{name: {"allOf": [old[name], new[name]]} if name in old else new[name] for name in new}}
            elif key == "required" and isinstance(old, list) and isinstance(new, list):
                self._spend(len(old) + len(new))
                merged[key] = [*old, *new]
            elif key == "type":
                merged[key] = _common_types(merged, second)
            elif key in ("anyOf", "oneOf"):  # both are choices to us, so that the second finds room under the other name
                merged["oneOf" if key == "anyOf" else "anyOf"] = new
            elif key == "enum" and isinstance(old, list) and isinstance(new, list):
                self._spend(MAX_MEMBERS)
                merged[key] = [value for value in old[:MAX_MEMBERS] if value in new[:MAX_MEMBERS]]
            elif key in ("minimum", "minLength", "minItems", "minProperties") and _is_number(old) and _is_number(new):
                merged[key] = max(old, new)
            elif key in ("maximum", "maxLength", "maxItems", "maxProperties") and _is_number(old) and _is_number(new):
                merged[key] = min(old, new)
            else:
                merged[key] = new
        return merged


def _types(schema: _Schema) -> list[str]:
    """The types that a schema names, in lower case as Gemini does not write them; empty where it names none."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return [kind.lower() for kind in kinds[:MAX_MEMBERS] if isinstance(kind, str) and kind.lower() in _TYPES]


def _common_types(first: _Schema, second: _Schema) -> list[str]:
    """The types that both schemas admit; an integer is a number."""
    sides = [_types(first), _types(second)]
    if not all(sides):
        return sides[0] or sides[1]
    wide = [{*side, "integer"} if "number" in side else set(side) for side in sides]
    common = [kind for kind in _TYPES if kind in wide[0] and kind in wide[1]]
    if not common:
        raise _ImpossibleError
    return [kind for kind in common if kind != "integer"] if "number" in common else common


def _is(value: object, kind: str) -> bool:
    if kind in ("integer", "number"):
        return _is_number(value) and (kind == "number" or isinstance(value, int) or float(str(value)).is_integer())
    python: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
    }
    return isinstance(value, python[kind])


def _is_number(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and math.isfinite(value))


def _is_small(value: object) -> bool:
    """Whether a value taken over from the schema is JSON and no longer than ``MAX_TEXT``, without writing a longer one out."""
    room, stack = MAX_TEXT, [value]
    while stack and room >= 0:
        item = stack.pop()
        room -= len(item) if isinstance(item, str) else 4
        if isinstance(item, dict):
            stack.extend(list(item)[:MAX_TEXT])
            stack.extend(list(item.values())[:MAX_TEXT])
        elif isinstance(item, list):
            stack.extend(item[:MAX_TEXT])
        elif not (item is None or isinstance(item, str | bool) or _is_number(item)):
            return False
    return room >= 0


def _size(schema: _Schema, key: str, default: int) -> int:
    """A limit on a length, itself limited to ``MAX_TEXT``."""
    value = schema.get(key)
    return int(max(0, min(value, MAX_TEXT))) if value is not None and _is_number(value) else default


def _text(schema: _Schema, hint: str, index: int) -> str:
    low, high = _size(schema, "minLength", 0), _size(schema, "maxLength", MAX_TEXT)
    if isinstance(schema.get("pattern"), str):
        text = matching_text(schema["pattern"], low, index)
        if text is not None and len(text) <= high:
            return text
    kind = schema.get("format")
    if isinstance(kind, str) and low <= len(_FORMATS.get(kind, "")) <= high and kind in _FORMATS:
        return _FORMATS[kind]
    text = " ".join(hint[:MAX_TEXT].replace("_", " ").split()) or "text"
    text = f"{text} {index + 1}" if index else text
    text += " and more" * -(-max(0, low - len(text)) // len(" and more"))
    return text[: max(low, min(high, MAX_TEXT))] if len(text) > high or len(text) > MAX_TEXT else text


def _number(schema: _Schema, index: int, *, whole: bool) -> int | float:
    """A number within the bounds: a whole one from 1 where there is one, which every engine prints alike."""
    low, low_open = _bound(schema, "minimum", "exclusiveMinimum", max)
    high, high_open = _bound(schema, "maximum", "exclusiveMaximum", min)
    step = _fraction(schema["multipleOf"]) if _is_number(schema.get("multipleOf")) and schema["multipleOf"] > 0 else None

    def fits(number: Fraction) -> bool:
        above = low is None or number > low or (number == low and not low_open)
        return above and (high is None or number < high or (number == high and not high_open))

    unit = Fraction(step.numerator) if step else Fraction(1)  # the multiples of p/q that are whole are those of p
    candidates = [unit * math.ceil(max(low or 1, Fraction(1)) / unit) + unit * extra for extra in (index, index + 1, 0, 1)]
    for edge, round_ in ((low, math.ceil), (high, math.floor)):
        if edge is not None:
            candidates += [unit * round_(edge / unit) + unit * extra for extra in (0, 1, -1)]
    if not whole and step:
        candidates += [step * (math.ceil(low / step) + extra) for extra in (0, 1)] if low is not None else []
        candidates += [step * (math.floor(high / step) - extra) for extra in (0, 1)] if high is not None else []
    elif not whole and low is not None and high is not None:
        candidates.append((low + high) / 2)
    found = next((number for number in candidates if fits(number)), None)
    if found is None:
        raise _ImpossibleError
    return found.numerator if found.denominator == 1 else float(found)


def _bound(
    schema: _Schema, inclusive: str, exclusive: str, stricter: Callable[[Fraction, Fraction], Fraction]
) -> tuple[Fraction | None, bool]:
    """A bound and whether it is itself excluded. In draft 4 the exclusive one is a flag of the other."""
    plain = _fraction(schema[inclusive]) if _is_number(schema.get(inclusive)) else None
    strict = _fraction(schema[exclusive]) if _is_number(schema.get(exclusive)) else None
    if strict is None or plain is None:
        return (plain, schema.get(exclusive) is True) if strict is None else (strict, True)
    return (strict, True) if stricter(plain, strict) == strict else (plain, False)


def _fraction(number: float) -> Fraction:
    """The number as it is written: 0.1 is a tenth."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))
