"""Tool schemas of all shapes for hypothesis, and the same tools in another order."""

import random
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from promptguard.toolschema.vocabulary import TOOL

EXAMPLES = settings(max_examples=60, deadline=None)

# Properties may be called like keywords, like members of prototypes, or anything else.
NAMES = st.sampled_from(
    ["required", "properties", "type", "default", "$ref", "name", "items", "%s", "a/b", "~", "", "😀", "ä"]
) | st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(
    ['\\"', "\x1b\x7f\u2028", "e\u0301 \r\n"]
)
INTEGERS = st.integers() | st.sampled_from([2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**40])
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1.0, -0.0, 1e16, 1e-5, 1e22, 0.1, 123456789.125])
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)

LITERALS = {"default", "const", "enum", "examples", "example", "input_examples"}


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    by_name = st.dictionaries(NAMES, inner, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "string", ["string", "null"]]),
            "description": TEXTS,
            "title": TEXTS,
            "default": VALUES,
            "enum": st.lists(VALUES, max_size=3),
            "minimum": INTEGERS | FLOATS,
            "properties": by_name,
            "required": st.lists(NAMES, max_size=4),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "additionalProperties": st.booleans() | inner,
            "patternProperties": by_name,
            "$defs": by_name,
            "x-vendor": VALUES,
            "uniqueItems": st.booleans(),
        },
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | _schemas(st.just({})), _schemas, max_leaves=5)
OBJECTS = SCHEMAS.filter(lambda schema: isinstance(schema, dict))


def _wrapped(wrap: Callable[..., dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    names = st.text("abcxyz_", min_size=1, max_size=4)
    tool = st.builds(wrap, names, TEXTS, OBJECTS)
    return st.lists(tool, max_size=4, unique_by=lambda made: str(made.get("name") or made["function"]["name"]))


DIALECTS: dict[str, Callable[..., dict[str, Any]]] = {
    "chat": lambda name, text, schema: {
        "type": "function",
        "function": {"name": name, "description": text, "parameters": schema},
    },
    "responses": lambda name, text, schema: {
        "type": "function",
        "name": name,
        "description": text,
        "parameters": schema,
        "strict": True,
    },
    "anthropic": lambda name, text, schema: {
        "name": name,
        "description": text,
        "input_schema": schema,
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
        "input_examples": [{"b": 1, "a": 2}],
    },
    "mcp": lambda name, text, schema: {
        "name": name,
        "title": text,
        "inputSchema": schema,
        "outputSchema": {"type": "object"},
        "annotations": {"title": text, "readOnlyHint": True},
        "_meta": {"b": {"d": 1, "c": 2}, "a": None},
    },
}
LISTS = st.one_of(*map(_wrapped, DIALECTS.values()))
GEMINI = st.lists(
    _wrapped(lambda name, text, schema: {"name": name, "description": text, "parameters": schema}).map(
        lambda tools: {"functionDeclarations": tools}
    ),
    max_size=3,
)
HELD = LISTS.map(lambda tools: {"tools": tools, "nextCursor": "x"}) | LISTS.map(
    lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "_meta": {}}}
)
TOOLS: st.SearchStrategy[Any] = LISTS | HELD | GEMINI

WORDS = st.text("abz", max_size=3)
FLAT = WORDS | st.integers(-9, 9) | st.booleans() | st.none() | st.floats(0.001, 1000)


def _regular_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": WORDS | st.lists(WORDS, max_size=2),
            "title": WORDS,
            "minimum": FLAT,
            "default": FLAT | st.lists(FLAT, max_size=2),
            "enum": st.lists(FLAT, max_size=3),
            "examples": st.lists(FLAT, max_size=2),
            "properties": st.dictionaries(WORDS, inner, max_size=3),
            "required": st.lists(WORDS, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
        },
    )


_INNER: st.SearchStrategy[Any] = st.recursive(_regular_schemas(st.just({})), _regular_schemas, max_leaves=4)
_DEFINITIONS = st.dictionaries(st.sampled_from(["$defs", "definitions"]), st.dictionaries(WORDS, _INNER, max_size=3))
_REGULAR_SCHEMAS = st.builds(lambda schema, definitions: {**definitions, **schema}, _INNER, _DEFINITIONS)
REGULAR_TOOLS = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        "description": WORDS,
        "title": WORDS,
        "strict": st.booleans(),
        "parameters": _REGULAR_SCHEMAS,
        "inputSchema": _REGULAR_SCHEMAS,
        "annotations": st.fixed_dictionaries({}, optional=dict.fromkeys(("title", "readOnlyHint", "destructiveHint"), FLAT)),
        "cache_control": st.fixed_dictionaries({}, optional={"type": FLAT, "ttl": FLAT}),
    },
).flatmap(lambda tool: st.sampled_from([tool, {"function": tool, "type": "function"}]))
"""Tools for which the short cut must be taken."""


_FUNCTIONS = st.dictionaries(st.sampled_from([*TOOL.roles]), TEXTS | VALUES, max_size=4)
ODD_TOOLS = st.lists(
    st.dictionaries(st.sampled_from([*TOOL.roles, "x-a"]), VALUES | SCHEMAS, max_size=5)
    | st.builds(
        lambda inner, key, value: {"function": inner, key: value},
        _FUNCTIONS,
        st.sampled_from([*TOOL.roles]),
        VALUES,
    )
    | st.builds(
        lambda tool, key, value: {**tool, key: value},
        REGULAR_TOOLS,
        st.sampled_from([*TOOL.roles]),
        VALUES | st.just({"b": 1, "a": 2}),
    ),
    max_size=4,
)
"""Tools of the keys that tools have, with any values under them; many have no name."""


def shuffled(value: Any, order: random.Random, *, properties: bool = False) -> Any:
    """The same tools, with everything in another order that has none: keys, tools, required names."""
    return _Shuffler(order, properties).tools(value)


class _Shuffler:
    def __init__(self, order: random.Random, properties: bool) -> None:
        self.order = order
        self.properties = properties

    def mixed(self, items: Any) -> list[Any]:
        return self.order.sample(list(items), len(items))

    def tools(self, value: Any) -> Any:
        if isinstance(value, list):
            return self.mixed([self.tools(item) for item in value])
        return {key: self.member(key, item) for key, item in self.mixed(value.items())}

    def member(self, key: str, value: Any) -> Any:
        if key in ("tools", "functionDeclarations", "result", "function"):
            return self.tools(value)
        if key in ("parameters", "input_schema", "inputSchema", "outputSchema"):
            return self.schema(value)
        return value if key in LITERALS or key == "nextCursor" else self.other(value)

    def other(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.other(item) for key, item in self.mixed(value.items())}
        return [self.other(item) for item in value] if isinstance(value, list) else value

    def schema(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.schema(item) for item in value]
        if not isinstance(value, dict):
            return value
        made = {}
        for key, item in self.mixed(value.items()):
            if key == "properties" and not self.properties:
                made[key] = {name: self.schema(inner) for name, inner in item.items()}
            elif key in ("properties", "patternProperties", "$defs"):
                made[key] = {name: self.schema(inner) for name, inner in self.mixed(item.items())}
            elif key == "required":
                made[key] = self.mixed(item)
            elif key in ("items", "anyOf", "additionalProperties"):
                made[key] = self.schema(item)
            else:
                made[key] = item if key in LITERALS else self.other(item)
        return made
