"""The order, rule by rule, and what is refused."""

import dataclasses
import enum
import json
import tracemalloc
from collections import OrderedDict
from functools import partial
from itertools import permutations
from types import MappingProxyType
from typing import Any

import pytest

from promptguard import ToolSchemaError, canonical_json, canonical_tools, tools_fingerprint
from promptguard.toolschema import canonical
from promptguard.toolschema.document import format_text
from promptguard.toolschema.order import Canonicalizer
from promptguard.toolschema.plain import refusal


def schema(**keywords: Any) -> str:
    return canonical_json(keywords).decode()


def keys(value: dict[str, Any]) -> list[str]:
    return list(canonical_tools(value))


def test_keywords_have_their_order_and_unknown_ones_follow_by_code_point() -> None:
    given = {key: {} for key in ("x-b", "$defs", "required", "properties", "Z", "description", "ä", "type", "$ref", "x-a")}
    assert keys(given) == ["$ref", "type", "description", "properties", "required", "$defs", "Z", "x-a", "x-b", "ä"]


def test_properties_keep_their_order_and_definitions_do_not() -> None:
    assert schema(properties={"b": {}, "a": {}}) == '{"properties":{"b":{},"a":{}}}'
    assert schema(**{"$defs": {"b": {}, "a": {}}}) == '{"$defs":{"a":{},"b":{}}}'
    sorted_too = canonical_json({"properties": {"b": {}, "a": {}}}, sort_properties=True)
    assert sorted_too == b'{"properties":{"a":{},"b":{}}}'


def test_required_follows_the_properties_then_the_alphabet() -> None:
    made = canonical_tools({"required": ["z", "a", "y", "b", "y"], "properties": {"b": {}, "a": {}}})
    assert made["required"] == ["b", "a", "y", "y", "z"]
    assert canonical_tools({"required": ["b", "a"]})["required"] == ["a", "b"]
    by_name = canonical_tools({"required": ["a", "b"], "properties": {"b": {}, "a": {}}}, sort_properties=True)
    assert by_name["required"] == ["a", "b"]


@pytest.mark.parametrize("required", [True, "b", [2, 1], ["b", None], {"b": 1, "a": 2}])
def test_a_required_that_is_no_list_of_names_stays(required: Any) -> None:
    assert json.dumps(canonical_tools({"properties": {}, "required": required})["required"]) == json.dumps(required)


@pytest.mark.parametrize("keyword", ["default", "const", "enum", "examples", "example"])
def test_values_that_a_model_reads_stay_as_they_are(keyword: str) -> None:
    value = [{"required": ["b", "a"], "b": {"type": 1, "$ref": 2, "a": []}}, 2, 1]
    assert schema(**{keyword: value}) == json.dumps({keyword: value}, separators=(",", ":"))


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf", "prefixItems"])
def test_lists_of_schemas_keep_their_order(keyword: str) -> None:
    assert schema(**{keyword: [{"type": "b", "$ref": "c"}, True, {}]}) == f'{{"{keyword}":[{{"$ref":"c","type":"b"}},true,{{}}]}}'


@pytest.mark.parametrize("number", [10**309, -(10**309), 10**4299])
def test_integers_beyond_the_range_of_floats_are_exact(number: int) -> None:
    tools = [{"name": "f", "parameters": {"maximum": number}}]
    assert canonical_tools(tools) == tools
    assert canonical_json(tools) == b'[{"name":"f","parameters":{"maximum":%d}}]' % number


def test_under_unknown_keys_all_keys_are_in_alphabetical_order() -> None:
    assert (
        schema(type="object", x={"type": 1, "$ref": [{"b": 1, "a": 2}]})
        == '{"type":"object","x":{"$ref":[{"a":2,"b":1}],"type":1}}'
    )


def test_a_property_that_is_called_like_a_keyword_is_a_property() -> None:
    inner = {"description": "d", "type": "string"}
    names = ["required", "properties", "type", "default", "enum", "$defs", "items"]
    made = canonical_tools({"properties": {name: dict(inner) for name in names}, "required": names[::-1]})
    assert made["required"] == names
    assert list(made["properties"]) == names
    assert all(list(found) == ["type", "description"] for found in made["properties"].values())


def test_tools_are_sorted_by_name_and_equal_names_stay_as_they_are() -> None:
    tools = [{"name": "b"}, {"function": {"name": "a"}}, {"name": "B", "x": 1}, {"name": "b", "x": 0}, {"name": "é"}]
    assert canonical_tools(tools) == [tools[2], tools[1], tools[0], tools[3], tools[4]]


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_wrappers_whose_first_functions_share_a_name_have_one_order(key: str) -> None:
    wrappers: list[dict[str, Any]] = [
        {key: [{"name": "f", "description": text}, {"name": "g"}]} for text in ("b", "a", "b c", "ä")
    ]
    tools = [*wrappers, {"name": "f", "parameters": {}}]
    expected = [tools[4], wrappers[1], wrappers[2], wrappers[0], wrappers[3]]
    for order in permutations(tools):
        assert canonical_tools(list(order)) == expected
        assert canonical_tools({"tools": order}) == {"tools": expected}
        assert json.loads(format_text(json.dumps(order), path="t").text) == expected


def test_tools_of_the_provider_are_sorted_by_what_they_have() -> None:
    tools = [{"googleSearch": {}}, {"functionDeclarations": [{"name": "z"}, {"name": "c"}]}, {"type": "bash"}, {"title": "a"}]
    assert [next(iter(tool)) for tool in canonical_tools(tools)] == ["title", "type", "functionDeclarations", "googleSearch"]


@pytest.mark.parametrize(
    ("tool", "order"),
    [
        ({"function": {"name": "f"}, "type": "function"}, ["type", "function"]),
        ({"strict": 1, "parameters": {}, "description": "", "name": "f"}, ["name", "description", "parameters", "strict"]),
        (
            {"cache_control": {}, "input_examples": [], "input_schema": {}, "description": "", "name": "f"},
            ["name", "description", "input_schema", "input_examples", "cache_control"],
        ),
        (
            {"_meta": {}, "annotations": {}, "outputSchema": {}, "inputSchema": {}, "title": "", "name": "f", "x": 1},
            ["name", "title", "inputSchema", "outputSchema", "annotations", "_meta", "x"],
        ),
        ({"response": {}, "parameters": {}, "behavior": "", "name": "f"}, ["name", "behavior", "parameters", "response"]),
    ],
    ids=["chat", "function", "anthropic", "mcp", "gemini"],
)
def test_the_keys_of_a_tool_have_their_order_in_every_dialect(tool: dict[str, Any], order: list[str]) -> None:
    assert keys(tool) == order


def test_a_holder_keeps_its_shape_and_what_is_beside_the_tools() -> None:
    messages = [{"role": "user", "content": {"b": 1, "a": 2}}]
    request = {"tools": [{"name": "b"}, {"name": "a"}], "model": "m", "messages": messages}
    assert json.dumps(canonical_tools(request)) == json.dumps(
        {"tools": [{"name": "a"}, {"name": "b"}], "messages": messages, "model": "m"}
    )
    agent = {"name": "agent", "tools": [{"name": "b"}, {"name": "a"}], "about": {"b": 1, "a": 2}}
    assert canonical_json(agent) == b'{"tools":[{"name":"a"},{"name":"b"}],"about":{"b":1,"a":2},"name":"agent"}'
    answer = {"result": {"nextCursor": "n", "tools": []}, "id": 1, "jsonrpc": "2.0"}
    assert canonical_json(answer) == b'{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"n"}}'


def test_numbers_and_texts_are_written_as_python_writes_them() -> None:
    value = [1.0, -0.0, 1e16, 1e-5, 2**60, 2**64, 10**40, "\u2028\x7f/😀\x01"]
    assert schema(default=value) == json.dumps({"default": value}, ensure_ascii=False, separators=(",", ":"))


class Color(str, enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Function:
    parameters: Any
    name: str
    description: str | None = None


class Named:
    def to_dict(self) -> dict[str, Any]:
        return {"input_schema": {"type": "object"}, "name": "f"}


class Old:
    """What a model of pydantic 1 looks like."""

    __fields__ = ("name",)

    def dict(self, *, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        assert by_alias
        assert exclude_none
        return {"parameters": {}, "name": "f"}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (Function({"type": "object"}, "f"), '{"name":"f","parameters":{"type":"object"}}'),
        (Named(), '{"name":"f","input_schema":{"type":"object"}}'),
        (Old(), '{"name":"f","parameters":{}}'),
        (
            MappingProxyType({"parameters": OrderedDict(type="object"), "name": "f"}),
            '{"name":"f","parameters":{"type":"object"}}',
        ),
        ({"name": "f", "parameters": {"enum": (Color.RED,), Color.RED: 1}}, '{"name":"f","parameters":{"enum":["red"],"red":1}}'),
        ({"name": Color.RED, "parameters": None}, '{"name":"red","parameters":null}'),
    ],
)
def test_objects_are_taken_for_what_they_say_of_themselves(tool: Any, expected: str) -> None:
    assert canonical_json([tool]).decode() == f"[{expected}]"
    assert canonical_json((tool,)).decode() == f"[{expected}]"
    assert canonical_json(tool).decode() == expected
    assert canonical_json({"tools": [tool]}).decode() == f'{{"tools":[{expected}]}}'


def circular() -> list[Any]:
    parameters: dict[str, Any] = {"type": "object"}
    parameters["items"] = parameters
    return [{"name": "f", "parameters": parameters}]


def unfolding(key: str) -> list[Any]:
    """40 small dicts that stand twice in one another: 2**40 values when they are written out."""
    value: dict[str, Any] = {"type": "object"}
    for _ in range(40):
        value = {key: [value, value]}
    return [{"name": "f", "parameters": value}]


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"items": value}
    return value


class Broken:
    def to_dict(self) -> dict[str, Any]:
        raise RuntimeError("no connection")


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([{"name": "a"}, {"name": "f", "x": [1, float("nan")]}], "tools#/1/x/1: nan is not a JSON value"),
        ([{"name": "f", "parameters": {"default": float("-inf")}}], "tools#/0/parameters/default: -inf is not a JSON value"),
        (
            [{"name": "f", "parameters": {"properties": {"a/~b": {1: 2}}}}],
            "tools#/0/parameters/properties/a~1~0b: the key 1 is not a text; JSON has texts for keys",
        ),
        ([{"name": "f", "x": {True: 2}}], "tools#/0/x: the key True is not a text; JSON has texts for keys"),
        ([{"name": "f", "description": "\ud83d"}], "tools#/0/description: a lone surrogate in a text"),
        ([{"name": "f", "\udc00": 1}], "tools#/0: a lone surrogate in a key"),
        (
            [{"name": "f", "parameters": {"enum": {"a"}}}],
            "tools#/0/parameters/enum: a value of type set is no JSON value; give plain dicts and lists",
        ),
        ([{"name": "f", "x": b"x"}], "tools#/0/x: a value of type bytes is no JSON value; give plain dicts and lists"),
        ([Function], "tools#/0: the class Function is no JSON value; give plain dicts and lists"),
        ([Broken()], "tools#/0: no connection; give plain dicts and lists"),
        (circular(), "tools#/0/parameters/items: the value contains itself"),
        ([deep(100)], f"tools#/0{'/items' * 99}: nested deeper than 100 levels"),
        (
            [{"name": "f", "x": 10**5000}],
            "tools#/0/x: an integer of more digits than sys.set_int_max_str_digits allows (4,300 by default)",
        ),
        ({"openapi": "3.1.0"}, "tools: an object without tools was given; give a list of tools, one tool, or a JSON Schema"),
        ("tools", "tools: a value of type str was given; give a list of tools, one tool, or a JSON Schema"),
        (None, "tools: a value of type NoneType was given; give a list of tools, one tool, or a JSON Schema"),
        ([{"name": "f"}, 1], "tools: element 2 is not an object; give a list of tools"),
    ],
)
@pytest.mark.parametrize("function", [canonical_tools, canonical_json, tools_fingerprint])
def test_what_json_cannot_carry_is_refused_with_its_place(function: Any, tools: Any, message: str) -> None:
    with pytest.raises(ToolSchemaError) as error:
        function(tools)
    assert str(error.value) == message
    assert error.value.where == (f"tools#{error.value.pointer}" if error.value.pointer else "tools")


@pytest.mark.parametrize("key", ["anyOf", "properties", "default", "x-a"])
def test_values_that_unfold_without_end_are_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "Canonicalizer", partial(Canonicalizer, max_values=1000))
    for function in (canonical_json, canonical_tools):
        with pytest.raises(ToolSchemaError, match=r"^tools: unfolds into more than 1,000 values$"):
            function(unfolding(key))
    assert str(refusal(unfolding(key), 1000)) == "tools: unfolds into more than 1,000 values"


@pytest.mark.parametrize("inner", ["parameters", "x-a"], ids=["regular", "irregular"])
@pytest.mark.parametrize("function", [canonical_json, canonical_tools, partial(canonical_json, sort_properties=True)])
def test_values_are_counted_alike_on_every_way(function: Any, inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [{"name": str(number), inner: {"enum": [1, 2, 3]}} for number in range(10)]  # 7 values each: itself, 2, 1 and 3
    monkeypatch.setattr(canonical, "Canonicalizer", partial(Canonicalizer, max_values=70))
    assert function(tools)
    monkeypatch.setattr(canonical, "Canonicalizer", partial(Canonicalizer, max_values=69))
    with pytest.raises(ToolSchemaError, match=r"^tools: unfolds into more than 69 values$"):
        function(tools)


def test_a_text_may_hold_as_many_values_as_fit_into_it() -> None:
    numbers = ",".join(["1"] * 1_000_001)
    assert format_text(f'[{{"name":"f","x":[{numbers}]}}]', path="t", form="wire").changed is False


def test_a_hundred_levels_are_fine() -> None:
    assert canonical_tools(deep(100)) == deep(100)


def test_nothing_of_the_result_is_shared_with_the_input() -> None:
    tool = {"name": "f", "x": [{}], "parameters": {"enum": [], "properties": {}, "default": {"a": []}, "items": {}}}
    made = canonical_tools([tool])[0]
    made["x"][0]["a"] = 1
    made["parameters"]["enum"].append(1)
    for key in ("properties", "default", "items"):
        made["parameters"][key]["a"] = 1
    assert tool == {"name": "f", "x": [{}], "parameters": {"enum": [], "properties": {}, "default": {"a": []}, "items": {}}}


def peak(count: int) -> int:
    tools = [{"name": f"f{number}", "parameters": {"items": {"title": str(number)}}, "x": [number]} for number in range(count)]
    tracemalloc.start()
    canonical_json(tools)
    canonical_tools(tools)
    format_text(json.dumps(tools), path="t")
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def test_memory_grows_with_the_number_of_tools_and_no_faster() -> None:
    peak(1)  # whatever is set up once
    assert peak(1000) < 6 * peak(250)
