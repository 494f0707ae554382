"""Which tools take the short cut; that it gives the same bytes is in test_properties."""

import json
from typing import Any

import pytest
from tool_strategies import DIALECTS

from promptguard import canonical_json, canonical_tools
from promptguard.toolschema.regular import regular_json

SCHEMA = {
    "required": ["c", "a", "b"],
    "type": "object",
    "$defs": {"e": {"type": ["string", "null"]}, "d": {"enum": [1, None, "x"]}},
    "properties": {
        "b": {"default": {"z": 1, "y": 2}, "anyOf": [{"type": "null"}, {"$ref": "#/$defs/d"}]},
        "a": {"items": {"type": "string"}, "type": "array", "default": []},
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_regular_tools_take_it(dialect: str) -> None:
    tool = DIALECTS[dialect]("f", "Finds.", SCHEMA)
    assert regular_json(tool) == json.dumps(canonical_tools(tool), separators=(",", ":")).encode()
    annotated = {"name": "f", "inputSchema": SCHEMA, "annotations": {"title": "F", "readOnlyHint": True}}
    assert regular_json(annotated) == json.dumps(canonical_tools(annotated), separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "parameters",
    [
        {"minimum": 0.5},
        {"x-a": 1},
        {"enum": {"a"}},
        {"default": [[1]]},
        {"items": {"properties": []}},
        {1: 2},
        {"title": "\ud800"},
    ],
)
def test_others_do_not(parameters: Any) -> None:
    assert regular_json({"name": "f", "parameters": parameters}) is None


def test_more_objects_and_lists_than_levels_allowed_are_counted_on_the_whole_way() -> None:
    wide = {"name": "f", "parameters": {"properties": {str(number): {} for number in range(200)}}}
    assert regular_json(wide) is None
    assert json.loads(canonical_json([wide])) == [wide]


def test_regular_and_other_tools_are_sorted_together() -> None:
    tools = [{"name": "c", "parameters": {}}, {"name": "a", "parameters": {}}, {"name": "b", "x": 0.5}, {"type": "bash"}]
    assert [tool.get("name") for tool in json.loads(canonical_json(tools))] == ["a", "b", None, "c"]
