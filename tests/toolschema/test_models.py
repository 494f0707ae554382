"""Models of pydantic that hold what JSON cannot say, or not in one way."""

from __future__ import annotations

import math
from typing import Any

import pydantic
import pytest

from promptguard import canonical_json
from promptguard.toolschema.errors import ToolSchemaError


class Tool(pydantic.BaseModel):
    name: str
    inputSchema: dict[str, Any]  # noqa: N815 (as MCP spells it)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"x-tags": {"alpha", "beta"}}, "set is no JSON value"),
        ({"x": [frozenset({"a"})]}, "frozenset is no JSON value"),
        ({"default": math.nan}, "nan is not a JSON value"),
        ({"default": math.inf}, "inf is not a JSON value"),
        ({"default": {1: 2, "1": 3}}, "the key 1 is not a text"),
    ],
)
def test_what_json_cannot_say_is_refused_in_a_model_too(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolSchemaError, match=said):
        canonical_json([Tool(name="a", inputSchema=schema)])


def test_a_model_is_what_its_json_says() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "default": None}}}
    assert canonical_json([Tool(name="a", inputSchema=schema)]) == canonical_json([{"name": "a", "inputSchema": schema}])
