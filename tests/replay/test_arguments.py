import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptguard.replaying.arguments import admits_type, example_arguments
from promptguard.replaying.patterns import matching_text


def example(schema: object) -> object:
    """The argument ``x`` of a tool that has this schema for it."""
    return example_arguments({"type": "object", "properties": {"x": schema}, "required": ["x"]})["x"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "x"),
        ({"type": "STRING"}, "x"),
        ({}, "x"),
        (True, "x"),
        ({"type": "string", "minLength": 10}, "x and more"),
        ({"type": "string", "minLength": 12}, "x and more and more"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "format": "email"}, "jo@example.com"),
        ({"type": "string", "format": "email", "maxLength": 4}, "x"),
        ({"type": "string", "format": "uuid"}, "3f2b8c1e-5d47-4a90-b6e2-9c0d1f7a8b34"),
        ({"type": "string", "format": "colour"}, "x"),
        ({"pattern": "^[A-Z]{2,3}-[0-9]{4}$"}, "AA-1111"),
        ({"type": "string", "pattern": "(?=lookahead)"}, "x"),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "null"}, None),
        ({"type": "boolean"}, True),
        ({"enum": ["b", "a"]}, "b"),
        ({"enum": [None, "a"], "type": "string"}, "a"),
        ({"const": {"k": [1]}}, {"k": [1]}),
        ({"type": "integer", "default": 7}, 7),
        ({"type": "integer", "default": "7"}, 1),
        ({"type": "string", "default": None, "examples": ["", "tea"]}, "tea"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "maximum": -5}, -5),
        ({"type": "integer", "minimum": 5, "exclusiveMinimum": True}, 6),
        ({"type": "integer", "exclusiveMinimum": 5, "minimum": 2}, 6),
        ({"type": "integer", "multipleOf": 7, "minimum": 10}, 14),
        ({"type": "integer", "multipleOf": 7, "maximum": 5}, 0),
        ({"type": "number"}, 1),
        ({"type": "number", "multipleOf": 0.1, "minimum": 0.25, "maximum": 0.5}, 0.3),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "array"}, ["x"]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [1, 2, 3]),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, ["a", "b"]),
        ({"type": "array", "items": False}, []),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]}, [1, False]),
        ({"type": "array", "items": [{"type": "integer"}, {"const": "z"}]}, [1, "z"]),
        ({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 9}}, [9]),
        ({"type": "object"}, {}),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"key_1": 1}),
        ({"type": "object", "required": ["k"], "additionalProperties": {"type": "integer"}}, {"k": 1}),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 1}]}, "x"),
        ({"oneOf": [False, {"const": 3}]}, 3),
        ({"type": "string", "anyOf": [{"type": "integer"}, {"minLength": 3}]}, "x and more"),
        ({"allOf": [{"type": "integer", "minimum": 3}, {"minimum": 8, "maximum": 9}]}, 8),
        ({"allOf": [{"type": ["number", "string"]}, {"type": ["string", "null"]}]}, "x"),
        ({"allOf": [{"anyOf": [{"type": "integer"}]}, {"anyOf": [{"minimum": 4}]}]}, 4),
        ({"$ref": "#/nowhere"}, "x"),
        ({"$ref": "https://example.com/schema"}, "x"),
        (False, None),
    ],
)
def test_one_argument(schema: object, expected: object) -> None:
    value = example(schema)
    assert value == expected
    assert type(value) is type(expected)


def test_required_arguments_and_two_others_in_the_order_of_the_properties() -> None:
    properties = {name: {"type": "boolean"} for name in ("a", "b", "c", "d", "e")}
    schema = {"type": "object", "properties": properties, "required": ["e", "b"]}
    assert list(example_arguments(schema)) == ["a", "b", "c", "e"]


def test_texts_name_what_they_are() -> None:
    schema = {
        "properties": {"home_town": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2}}
    }
    assert example_arguments(schema) == {"home_town": "home town", "tags": ["tag", "tag 2"]}


def test_references_are_followed() -> None:
    schema = {"properties": {"x": {"$ref": "#/$defs/a~1b%20c/0", "minimum": 4}}, "$defs": {"a/b c": [{"type": "integer"}]}}
    assert example_arguments(schema) == {"x": 4}


def test_a_recursion_ends_where_the_schema_lets_it() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "required": ["next"],
    }
    schema = {"$defs": {"node": node}, "$ref": "#/$defs/node"}
    value = example_arguments(schema)
    jsonschema.validate(value, schema)
    assert json.dumps(value).count("next") == 4


@pytest.mark.parametrize("schema", [None, True, False, [], 3, "x", {}, {"type": "string"}, {"enum": []}, {"type": "object"}])
def test_without_an_object_there_are_no_arguments(schema: object) -> None:
    assert example_arguments(schema) == {}


def test_endless_and_huge_schemas_are_bounded() -> None:
    cycle = {"$ref": "#"}
    itself = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]}
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    wide = {"properties": {f"p{n}": {"type": "string", "minLength": 10**9} for n in range(5000)}, "minProperties": 10**9}
    long = {"properties": {"x": {"type": "array", "minItems": 10**9}, "y": {"pattern": "((a{999}){999}){999}"}}}
    for schema in (cycle, itself, {"$defs": doubling, "$ref": "#/$defs/d0"}, wide, long):
        assert len(json.dumps(example_arguments(schema))) < 250_000


def test_types_admit_what_json_schema_says() -> None:
    values = [None, True, 1, 1.0, 1.5, "a", [], {}]
    assert [admits_type({"type": "integer"}, value) for value in values] == [False, False, True, True, False, False, False, False]
    assert [admits_type({"type": ["object", "null"]}, value) for value in values] == [True] + [False] * 6 + [True]
    assert admits_type({}, 1)
    assert not admits_type(False, 1)


@pytest.mark.parametrize(
    ("pattern", "low", "text"),
    [
        ("^[a-z0-9-]{3,40}$", 0, "aaa"),
        ("^[a-z]+$", 4, "aaaa"),
        (r"^\d{4}-\d{2}$", 0, "1111-11"),
        (r"^(?:ab|c)?(?<n>x|y)\.$", 0, "x."),
        (r"^(ab)*z$", 4, "abababz"),
        (r"[^a-c\d]\w\s", 0, "da "),
        (r"^[\w.-]+@[\w-]+\.com$", 0, "a@a.com"),
        (r"^[!\]-]$", 0, "!"),
        (r"^a{2,}?b$", 0, "aab"),
        ("^.{0,2}$", 9, None),
        ("(a", 0, None),
        ("a)", 0, None),
        ("[a", 0, None),
        ("*a", 0, None),
        (r"(a)\1", 0, None),
        ("(?i)a", 0, None),
        ("(" * 50 + ")" * 50, 0, None),
        ("a" * 301, 0, None),
    ],
)
def test_texts_for_patterns(pattern: str, low: int, text: str | None) -> None:
    assert matching_text(pattern, low, 0) == text


# -- properties

PATTERNS = ["^[a-z]{2,5}$", r"^\d{3}-\w+$", "^(red|green)$", "^x?y*z+$"]
BOUNDS = st.integers(-50, 50)


@st.composite
def texts(draw: st.DrawFn) -> dict:
    low = draw(st.integers(0, 30))
    lengths = {"minLength": low, "maxLength": low + draw(st.integers(0, 30))}
    kinds = [
        lengths,
        {"format": draw(st.sampled_from(["date", "email", "date-time", "ipv4"]))},
        {"pattern": draw(st.sampled_from(PATTERNS))},
    ]
    return {"type": "string", **draw(st.sampled_from([{}, *kinds]))}


@st.composite
def numbers(draw: st.DrawFn) -> dict:
    schema: dict = {"type": draw(st.sampled_from(["integer", "number"]))}
    low = draw(BOUNDS)
    step = draw(st.sampled_from([None, 1, 3, 10]))
    if step:
        schema["multipleOf"] = step
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["minimum", "exclusiveMinimum"]))] = low
    if draw(st.booleans()):
        schema[draw(st.sampled_from(["maximum", "exclusiveMaximum"]))] = low + 2 + 2 * (step or 0)
    return schema


LEAVES = st.one_of(
    texts(),
    numbers(),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(
        lambda values: {"enum": values}, st.lists(st.integers() | st.text(max_size=5), min_size=1, max_size=4, unique_by=repr)
    ),
    st.builds(lambda value: {"const": value}, st.text(max_size=5) | st.integers() | st.booleans()),
    st.builds(lambda value: {"type": "integer", "default": value}, st.integers()),
    st.just({"$ref": "#/$defs/shared"}),
)


def objects(children: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    def build(properties: dict, keep: int, closed: bool) -> dict:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:keep],
            **({"additionalProperties": False} if closed else {}),
        }

    return st.builds(
        build, st.dictionaries(st.text("abcxyz_", min_size=1, max_size=6), children, max_size=5), st.integers(0, 5), st.booleans()
    )


def arrays(children: st.SearchStrategy[dict]) -> st.SearchStrategy[dict]:
    return st.builds(
        lambda items, low: {"type": "array", "items": items, "minItems": low, "maxItems": low + 2}, children, st.integers(0, 3)
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda children: st.one_of(
        objects(children),
        arrays(children),
        st.builds(lambda options: {"anyOf": options}, st.lists(children, min_size=1, max_size=3)),
        st.builds(lambda part: {"allOf": [part, {"description": "as above"}]}, children),
    ),
    max_leaves=12,
)
SHARED = {"type": "object", "properties": {"id": {"type": "integer"}, "more": {"$ref": "#/$defs/shared"}}, "required": ["id"]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
KEYWORDS = [
    "type",
    "enum",
    "const",
    "default",
    "examples",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "minContains",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
]
VALUES = st.one_of(JSON, st.sampled_from(["object", "array", "string", "number", "#", "#/properties/a", "[a", r"\d{2}"]))
WEIRD = st.recursive(
    st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=5),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYWORDS),
        inner | VALUES | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_size=5,
    ),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(objects(SCHEMAS))
def test_arguments_are_valid_for_ordinary_schemas(schema: dict) -> None:
    schema = {**schema, "$defs": {"shared": SHARED}}
    arguments = example_arguments(schema)
    jsonschema.validate(arguments, schema, jsonschema.Draft202012Validator, format_checker=jsonschema.FormatChecker())
    assert example_arguments(json.loads(json.dumps(schema))) == arguments


@settings(max_examples=200, deadline=None)
@given(WEIRD | JSON)
def test_weird_schemas_give_json(schema: object) -> None:
    json.dumps(example_arguments(schema), allow_nan=False)
    arguments = example_arguments({"properties": {"a": schema}, "required": ["a"]})
    assert list(arguments) == ["a"]
    assert len(json.dumps(arguments, allow_nan=False)) < 250_000
