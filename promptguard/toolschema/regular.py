"""The wire form of regular tools at the speed of C.

Nearly every tool is regular: it has common keys, and values of the types that these keys have as a rule. msgspec reads such a
tool into structures whose fields stand in canonical order, and prints them. What it does not take (rare or unknown keys, objects
where there are none as a rule, no name) is left to ``order``, which takes everything; tests hold the two to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import UNSET

from promptguard.parse.strict import MAX_NESTING
from promptguard.toolschema.order import order_required
from promptguard.toolschema.vocabulary import SCHEMA, TOOL, Role, Vocabulary

# msgspec looks for a key in one field after the other, so that every further field costs time.
_SCHEMA_KEYS = """
    $schema $ref type title description format const enum default minLength maxLength pattern minimum exclusiveMinimum maximum
    multipleOf items minItems maxItems uniqueItems properties additionalProperties required allOf anyOf oneOf examples
    definitions $defs
"""
_TOOL_KEYS = (
    "type function name title description parameters input_schema inputSchema outputSchema strict input_examples annotations "
    "cache_control"
)

_Float = Annotated[float, msgspec.Meta(ge=1e-4, lt=1e16)]  # in this range, msgspec writes what Python writes
_Scalar = str | int | _Float | bool | None
_Object = dict[str, _Scalar] | _Scalar
_List = list[_Scalar] | _Scalar
_Value = dict[str, _Scalar] | _List
_Examples = list[dict[str, _Scalar] | _Scalar] | _Scalar
_encode = msgspec.json.Encoder().encode
_schemas = [0]  # converted for the tool at hand; a race of threads only sends a tool on the whole way, which gives the same bytes


def regular_json(tool: dict[str, Any]) -> tuple[str, bytes, bytes] | None:
    """What a tool is sorted by, as ``Canonicalizer.tool_key``, and its canonical form as compact JSON.

    ``None`` where the tool is not regular, has no name, or is no JSON at all.
    """
    _schemas[0] = 0
    try:
        made = msgspec.convert(tool, _Tool)
        text = orjson.dumps(tool)  # refuses the sets that msgspec takes for lists
        if text.count(b"{") + text.count(b"[") > MAX_NESTING:  # with fewer of them, it is not nested too deep
            return None
        name = made.name if type(made.name) is str or made.function is UNSET else made.function.name
        return (name, b"", _encode(made)) if type(name) is str else None
    except Exception:  # what the methods of strangers' objects raise is told on the whole way
        return None


def _structure(name: str, keys: str, vocabulary: Vocabulary, types: dict[Role | str, str], order: Callable[[Any], None]) -> Any:
    """A structure with a field for each of the keys; ``order`` puts into order what is inside the fields.

    ``types`` has the type of each role, and of the keys that are exceptions.
    """
    chosen = keys.split()
    fields = [
        (_field(key), f"{types.get(key) or types[role]} | msgspec.UnsetType", msgspec.field(default=UNSET, name=key))
        for key, role in vocabulary.roles.items()
        if key in chosen
    ]
    return msgspec.defstruct(
        name, fields, namespace={"__post_init__": order}, module=__name__, forbid_unknown_fields=True, gc=False
    )


def _field(key: str) -> str:
    return key.replace("$", "dollar_")


def _order_schema(schema: Any) -> None:
    _schemas[0] += 1
    if _schemas[0] > MAX_NESTING:  # a few objects may stand in each other so often that they unfold into more than memory holds
        raise ValueError
    if type(schema.required) is list and len(schema.required) > 1:
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
        "examples": "_Examples",
        Role.OTHER: "_List",
    },
    _order_schema,
)
_Tool = _structure(
    "_Tool",
    _TOOL_KEYS,
    TOOL,
    {
        Role.TOOL: "_Tool",
        Role.SCHEMA: "_Schema | _Scalar",
        Role.LITERAL: "_Examples",
        Role.OTHER: "_Scalar",
        "annotations": "_Object",
        "cache_control": "_Object",
    },
    _order_tool,
)
