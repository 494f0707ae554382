"""Which tools take the short cut; that it gives the same bytes is in test_properties."""

import json
from itertools import permutations
from typing import Any

import pytest
from tool_strategies import DIALECTS

from promptguard import canonical_json, canonical_tools
from promptguard.toolschema import canonical, regular
from promptguard.toolschema.order import Canonicalizer
from promptguard.toolschema.regular import MAX_SCHEMAS, regular_json

SCHEMA = {
    "required": ["c", "a", "b"],
    "type": "object",
    "$defs": {"e": {"type": ["string", "null"]}, "d": {"enum": [1, None, "x"]}},
    "properties": {
        "b": {"default": [2, 1.5], "anyOf": [{"type": "null"}, {"$ref": "#/$defs/d"}]},
        "a": {"items": {"type": "string"}, "type": "array", "default": []},
        "c": {"oneOf": [{"maximum": 1e-4, "multipleOf": 0.1}], "examples": [1.0, 9999999999999998.0], "allOf": []},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_regular_tools_take_it(dialect: str) -> None:
    tool = DIALECTS[dialect]("f", "Finds.", SCHEMA)
    assert regular_json(tool) == ("f", b"", json.dumps(canonical_tools(tool), separators=(",", ":")).encode())
    annotated = {"name": "f", "inputSchema": SCHEMA, "annotations": {"title": "F", "readOnlyHint": True}}
    assert regular_json(annotated) == ("f", b"", json.dumps(canonical_tools(annotated), separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "parameters",
    [
        {"minimum": 1e-5},
        {"default": 1e16},
        {"default": -0.5},
        {"default": float("nan")},
        {"default": float("inf")},
        {"minimum": 2**64},
        {"x-a": 1},
        {"enum": {"a"}},
        {"default": [[1]]},
        {"default": {"a": 1}},
        {"items": {"$defs": {}}},
        {"items": {"properties": []}},
        {1: 2},
        {"title": "\ud800"},
    ],
)
def test_others_do_not(parameters: Any) -> None:
    assert regular_json({"name": "f", "parameters": parameters}) is None


@pytest.mark.parametrize(("count", "short"), [(MAX_SCHEMAS - 1, True), (MAX_SCHEMAS, False)])
def test_tools_of_many_schemas_go_the_whole_way(count: int, short: bool) -> None:
    wide = {"name": "f", "parameters": {"properties": {str(number): {} for number in range(count)}}}
    assert (regular_json(wide) is not None) is short
    assert json.loads(canonical_json([wide])) == [wide]


def test_the_deepest_regular_tool_is_not_nested_too_deep() -> None:
    schema: dict[str, Any] = {"enum": [1]}
    for number in range(MAX_SCHEMAS - 1):
        schema = {"properties": {"a": schema}} if number % 2 else {"anyOf": [schema]}
    tool = {"function": {"name": "f", "parameters": schema}}
    assert regular_json(tool) is not None
    assert canonical_tools({"tools": [tool]}) == {"tools": [tool]}


def test_regular_and_other_tools_are_sorted_together() -> None:
    tools = [{"name": "c", "parameters": {}}, {"name": "a", "parameters": {}}, {"name": "b", "x": 0.5}, {"type": "bash"}]
    assert [tool.get("name") for tool in json.loads(canonical_json(tools))] == ["a", "b", None, "c"]


@pytest.mark.parametrize("key", ["description", "strict", "title", "type", "name"])
def test_an_object_where_none_belongs_goes_the_whole_way(key: str) -> None:
    tool = {"name": "f", key: {"b": 1, "a": 2}}
    assert regular_json(tool) is None
    tools = [tool, {"name": "g"}]
    assert canonical_json(tools) == json.dumps(canonical_tools(tools), separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "f", "x-a": {"b": 1, "a": 2}, "parameters": SCHEMA, "outputSchema": {"not": {}, "type": "object"}},
        {"function": {"name": "f", "x-a": 1, "parameters": SCHEMA}, "x-b": 1},
        {"name": "f", "x-a": 1e-5, "parameters": SCHEMA},
        {"name": "f", "x-a": 2**70, "inputSchema": SCHEMA},
        {"name": {"b": 1, "a": 2}, "title": "t", "inputSchema": {"title": "t", "items": {}}},
        {"type": "bash", "input_schema": {"required": ["b", "a"]}},
        {"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]},
    ],
)
def test_schemas_of_unusual_tools_come_out_as_on_the_whole_way(tool: Any) -> None:
    other = {"name": "e", "x": 1}
    assert canonical_json([tool, other])[1:-1] in {
        b",".join(pair) for pair in permutations(canonical_json({"tools": [one]})[10:-2] for one in (tool, other))
    }


def test_a_tool_that_another_one_interrupts_goes_the_whole_way(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = regular.convert

    def interrupted(value: Any, kind: Any) -> Any:
        if "interrupted" in value:
            monkeypatch.setattr(regular, "convert", convert)
            value.pop("interrupted")
            assert regular_json({"name": "g"}) is not None
        return convert(value, kind)

    monkeypatch.setattr(regular, "convert", interrupted)
    assert regular_json({"name": "f", "interrupted": True}) is None
    assert regular_json({"name": "f"}) is not None


def test_tools_without_a_name_have_one_order() -> None:
    tools = [{"strict": True, "function": {"description": "x"}}, {"name": "g"}, {"type": "b", "x": 2}, {"type": "b", "x": 1}]
    expected = b'[{"type":"b","x":1},{"type":"b","x":2},{"function":{"description":"x"},"strict":true},{"name":"g"}]'
    for order in permutations(tools):
        assert canonical_json([dict(reversed(tool.items())) for tool in order]) == expected
        assert json.dumps(canonical_tools(order), separators=(",", ":")).encode() == expected


def test_the_short_cut_is_given_up_where_it_never_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(canonical, "regular_json", lambda tool, parsed: tried.append(tool))
    tools = [{"name": f"{number:03}", "x": {}} for number in range(100)]
    assert json.loads(canonical_json(tools)) == tools
    assert len(tried) == 8


def test_one_canonicalizer_serves_all_other_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(canonical, "Canonicalizer", lambda: made.append(Canonicalizer()) or made[0])
    canonical_json([{"name": "a", "x": 1e-5}, {"name": "b", "x": 0.5}, {"name": "c"}])
    assert len(made) == 1
