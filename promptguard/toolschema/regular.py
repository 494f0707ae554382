"""The wire form of regular tools at the speed of C.

Nearly every tool is regular: it has common keys, and values of the types that these keys have as a rule. msgspec reads such a
tool into structures whose fields stand in canonical order, and prints them. What it does not take (rare or unknown keys, objects
where there are none as a rule, no name) is left to ``order``, which takes everything; tests hold the two to the same bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, convert
from orjson import OPT_PASSTHROUGH_SUBCLASS, dumps

from promptguard.parse.strict import MAX_NESTING
from promptguard.toolschema.order import in_order
from promptguard.toolschema.vocabulary import SCHEMA, TOOL, Role, Vocabulary

# msgspec looks for a key in one field after the other, so that every further field costs time.
_SCHEMA_KEYS = """
    $schema $ref type title description format const enum default minLength maxLength pattern minimum exclusiveMinimum maximum
    multipleOf items minItems maxItems uniqueItems properties additionalProperties required allOf anyOf oneOf examples
"""
_DEFINITIONS_KEYS = "definitions $defs"  # of the outermost schema alone
_FUNCTION_KEYS = (
    "type name title description parameters input_schema inputSchema outputSchema strict input_examples annotations cache_control"
)
# Keys of objects under unknown or other keys stand in alphabetical order.
_ANNOTATIONS_KEYS = ("destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint", "title")
_CACHE_CONTROL_KEYS = ("ttl", "type")

_Float = Annotated[float, msgspec.Meta(ge=1e-4, lt=1e16)]  # in this range, msgspec writes what Python writes
_Scalar = str | int | _Float | bool | None
_List = list[_Scalar] | _Scalar
_encode = msgspec.json.Encoder().encode
# The schemas that a tool may have. In each other, they are two levels each, below a list, a tool, a function, and with a list in
# the last one: not too deep. And objects may stand in each other so often that a few unfold into more than memory holds.
MAX_SCHEMAS = (MAX_NESTING - 4) // 2
_counter: list[Callable[[], object]] = [itertools.count().__next__]  # of each tool, another one, which ends at the limit


def regular_json(tool: dict[str, Any], parsed: bool = False) -> tuple[str, bytes, bytes] | None:
    """What a tool is sorted by, as ``Canonicalizer.tool_key``, and its canonical form as compact JSON.

    ``None`` where the tool is not regular, has no name, or is no JSON at all. One that was ``parsed`` from a text is JSON.
    """
    try:
        made = _read(tool, _Tool, parsed)
        name = made.name
        if type(name) is not str:
            name = made.function.name
        return (name, b"", _encode(made)) if type(name) is str else None
    except Exception:  # what the methods of strangers' objects raise is told on the whole way
        return None


def regular_schema(schema: dict[str, Any], parsed: bool = False) -> bytes | None:
    """The canonical form of the schema of a tool or of its function, as ``regular_json``."""
    try:
        return _encode(_read(schema, _Root, parsed))
    except Exception:
        return None


def _read(value: dict[str, Any], structure: Any, parsed: bool) -> Any:
    _counter[0] = mine = iter(range(MAX_SCHEMAS)).__next__
    made = convert(value, structure)
    if _counter[0] is not mine:
        raise RuntimeError  # another thread counted in between
    if not parsed:  # refuse sets, which msgspec takes for lists, and types of their own, whose methods may say something else
        dumps(value, option=OPT_PASSTHROUGH_SUBCLASS)
    return made


def _structure(name: str, keys: list[tuple[str, str]], order: Callable[[Any], None] | None = None, **more: Any) -> Any:
    """A structure with a field for each key, of the type that stands beside it; ``order`` orders what is inside the fields."""
    fields = [
        (key.replace("$", "dollar_"), f"{kind} | msgspec.UnsetType", msgspec.field(default=UNSET, name=key)) for key, kind in keys
    ]
    namespace = {"__post_init__": order} if order is not None else {}
    return msgspec.defstruct(name, fields, namespace=namespace, module=__name__, forbid_unknown_fields=True, gc=False, **more)


def _typed(keys: str, vocabulary: Vocabulary, types: dict[Role, str], **exceptions: str) -> list[tuple[str, str]]:
    """The keys in canonical order, each with the type of its role, or its own where it is an exception."""
    chosen = keys.split()
    return [(key, exceptions.get(key) or types[role]) for key, role in vocabulary.roles.items() if key in chosen]


def _order_schema(schema: Any) -> None:
    _counter[0]()  # or raise
    properties = schema.properties
    if properties is not UNSET:
        schema.properties = _schemas(properties)
    required = schema.required
    if required is not UNSET and len(required) > 1:
        schema.required = in_order(required, properties)


def _order_root(schema: Any) -> None:
    _order_schema(schema)
    if schema.definitions is not UNSET:
        schema.definitions = dict(sorted(_schemas(schema.definitions).items()))
    if schema.dollar_defs is not UNSET:
        schema.dollar_defs = dict(sorted(_schemas(schema.dollar_defs).items()))


def _schemas(by_name: Any) -> dict[str, Any]:
    """A dict of schemas; of a mapping of another type, msgspec would read the members even if they have no end."""
    if type(by_name) is not dict:
        raise TypeError
    made: dict[str, Any] = convert((by_name,), _Schemas).schemas  # a structure, since msgspec keeps what it knows of its type
    return made


_SCHEMA_TYPES: dict[Role, str] = {
    "schema": "_Schema | list[_Schema | _Scalar] | _Scalar",
    "properties": "Any",
    "map": "Any",
    "required": "list[str]",
    "literal": "_List",
    "other": "_List",
}
_Schema = _structure("_Schema", _typed(_SCHEMA_KEYS, SCHEMA, _SCHEMA_TYPES), _order_schema)
_Root = _structure("_Root", _typed(f"{_SCHEMA_KEYS} {_DEFINITIONS_KEYS}", SCHEMA, _SCHEMA_TYPES), _order_root)
_Schemas = _structure("_Schemas", [("schemas", "dict[str, _Schema | _Scalar]")], array_like=True)
_Annotations = _structure("_Annotations", [(key, "_Scalar") for key in _ANNOTATIONS_KEYS])
_CacheControl = _structure("_CacheControl", [(key, "_Scalar") for key in _CACHE_CONTROL_KEYS])
_TOOL_TYPES: dict[Role, str] = {
    "tool": "_Function",
    "schema": "_Root | _Scalar",
    "literal": "_List",
    "other": "_Scalar",
}
_EXCEPTIONS = {"annotations": "_Annotations | _Scalar", "cache_control": "_CacheControl | _Scalar"}
_Function = _structure("_Function", _typed(_FUNCTION_KEYS, TOOL, _TOOL_TYPES, **_EXCEPTIONS))
_Tool = _structure("_Tool", _typed(f"function {_FUNCTION_KEYS}", TOOL, _TOOL_TYPES, **_EXCEPTIONS))
