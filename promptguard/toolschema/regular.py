"""The wire form of regular tools at the speed of C.

Nearly every tool is regular: it has common keys, and values of the types that these keys have as a rule. msgspec reads such a
tool into structures whose fields stand in canonical order, and prints them. What it does not take (rare or unknown keys, numbers
with a fraction, objects where there are none as a rule) is left to ``order``, which takes everything; a test holds the two to the
same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import orjson
from msgspec import UNSET

from promptguard.parse.strict import MAX_NESTING
from promptguard.toolschema.order import order_required
from promptguard.toolschema.vocabulary import SCHEMA, TOOL, Role, Vocabulary

# msgspec looks for a key in one field after the other, so that every further field costs time.
_SCHEMA_KEYS = """
    $schema $ref type title description format const enum default minLength maxLength pattern minimum exclusiveMinimum maximum
    items minItems maxItems uniqueItems properties additionalProperties required anyOf definitions $defs
"""
_TOOL_KEYS = (
    "type function name title description parameters input_schema inputSchema outputSchema strict annotations cache_control"
)

_Scalar = str | int | bool | None
_List = list[_Scalar] | _Scalar
_Value = dict[str, _Scalar] | _List
_encode = msgspec.json.Encoder().encode


def regular_json(tool: dict[str, Any]) -> bytes | None:
    """The canonical form of a tool as compact JSON, ``None`` where the tool is not regular (or no JSON at all)."""
    try:
        text = orjson.dumps(tool)  # refuses the sets that msgspec takes for lists
        if text.count(b"{") + text.count(b"[") > MAX_NESTING:  # with fewer of them, it is not nested too deep
            return None
        return _encode(msgspec.convert(tool, _Tool))
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _structure(name: str, keys: str, vocabulary: Vocabulary, types: dict[Role, str], order: Callable[[Any], None]) -> Any:
    """A structure with a field for each of the keys; ``order`` puts into order what is inside the fields."""
    chosen = keys.split()
    fields = [
        (_field(key), f"{types[role]} | msgspec.UnsetType", msgspec.field(default=UNSET, name=key))
        for key, role in vocabulary.roles.items()
        if key in chosen
    ]
    return msgspec.defstruct(
        name, fields, namespace={"__post_init__": order}, module=__name__, forbid_unknown_fields=True, gc=False
    )


def _field(key: str) -> str:
    return key.replace("$", "dollar_")


def _order_schema(schema: Any) -> None:
    if schema.required is not UNSET:
        order_required(schema.required, schema.properties)
    if schema.definitions is not UNSET:
        schema.definitions = dict(sorted(schema.definitions.items()))
    if schema.dollar_defs is not UNSET:
        schema.dollar_defs = dict(sorted(schema.dollar_defs.items()))


def _order_tool(tool: Any) -> None:
    if type(tool.annotations) is dict:
        tool.annotations = dict(sorted(tool.annotations.items()))
    if type(tool.cache_control) is dict:
        tool.cache_control = dict(sorted(tool.cache_control.items()))


_Schema = _structure(
    "_Schema",
    _SCHEMA_KEYS,
    SCHEMA,
    {
        Role.SCHEMA: "_Schema | list[_Schema | _Scalar] | _Scalar",
        Role.PROPERTIES: "dict[str, _Schema | _Scalar]",
        Role.MAP: "dict[str, _Schema | _Scalar]",
        Role.REQUIRED: "list[str]",
        Role.LITERAL: "_Value",
        Role.OTHER: "_List",
    },
    _order_schema,
)
_Tool = _structure(
    "_Tool",
    _TOOL_KEYS,
    TOOL,
    {Role.TOOL: "_Tool", Role.SCHEMA: "_Schema | _Scalar", Role.OTHER: "_Value"},
    _order_tool,
)
