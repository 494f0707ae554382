"""The dialects that tool schemas are written in: how they are told apart, and where tools and schemas are in them."""

from __future__ import annotations

from promptguard.core import json_text
from promptguard.core import patterns as re
from promptguard.core.light import Any, Iterator, Literal, Mapping, regex
from promptguard.parse.strict import Number
from promptguard.toolschema.vocabulary import HOLDER, SCHEMA, TOOL, Role

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "mcp", "gemini", "function"]

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Where a tool has the JSON Schema of its arguments."""

_WRAPPERS = ("function", "custom")
DECLARATIONS = ("functionDeclarations", "function_declarations")
"""Where Gemini has the tools of a list."""
_HOLDERS = ("tools", "functions")
# What may stand beside a list of tools: the rest of an MCP result, and how the tools are to be used.
_OF_A_RESULT = frozenset({"nextCursor", "_meta", "ttlMs", "cacheScope", "resultType"})
_ON_THEIR_USE = frozenset(
    {"tool_choice", "toolChoice", "toolConfig", "tool_config", "parallel_tool_calls", "function_call", "$schema"}
)
_BESIDE_TOOLS = frozenset(_HOLDERS) | _OF_A_RESULT | _ON_THEIR_USE
_ANSWER = frozenset({"jsonrpc", "id", "result"})
_MESSAGES = ("messages", "contents", "input", "prompt")
_FLAT_FUNCTION = frozenset({"type", "name", "description", "strict"})
_COMBINATIONS = ("$ref", "allOf", "anyOf", "any_of", "oneOf")

_VOCABULARIES = {"schema": SCHEMA, "tool": TOOL, "holder": HOLDER}
_TOOL_KEY = regex(r"parameters|function|input_?schema|\\u", re.IGNORECASE)  # one of these is in every tools file


def root_role(value: Mapping[Any, Any]) -> Role | None:
    """What an object is on its own: a holder of tools, a tool or a schema; ``None`` where it is none of these."""
    result = value.get("result")
    if _is_holder(value) or (isinstance(result, Mapping) and _is_holder(result)):
        return "holder"
    if is_tool(value):
        return "tool"
    return "schema" if not value or _is_schema(value) else None


def element_role(value: Mapping[Any, Any]) -> Role:
    """What an object in a list of tools is: a bare JSON Schema, or a tool, if only one that the provider brings along."""
    return "schema" if not is_tool(value) and _is_schema(value) else "tool"


def visit(value: Any, start: Role | None = None) -> Iterator[tuple[str, Role, dict[str, Any], dict[str, Any]]]:
    """Every tool and every schema, in the order of the text, each ahead of what is inside it.

    Args:
        value: what ``canonical_tools`` takes, as plain dicts and lists.
        start: what the value is; by default what ``canonical_tools`` takes it for.

    Yields:
        Its JSON pointer; ``tool`` or ``schema``; the object itself; the outermost schema that it is in (for a tool, the
        tool), which a ``$ref`` starts from.
    """
    if start is None:
        start = "tools" if isinstance(value, list) else root_role(value) if isinstance(value, dict) else None
    stack: list[tuple[Any, str, Role | None, dict[str, Any] | None]] = [(value, "", start, None)]
    while stack:
        value, pointer, role, root = stack.pop()
        members: list[tuple[Any, str, Role | None, dict[str, Any] | None]] = []
        if isinstance(value, list):
            for number, item in enumerate(value):
                inner = element_role(item) if role == "tools" and isinstance(item, dict) else role
                members.append((item, f"{pointer}/{number}", inner, root))
        elif isinstance(value, dict) and role in ("properties", "map"):
            members = [(item, f"{pointer}/{json_text.escape(key)}", "schema", root) for key, item in value.items()]
        elif isinstance(value, dict) and role in _VOCABULARIES:
            vocabulary = _VOCABULARIES[role]
            if role == "schema":
                root = value if root is None else root
            if role != "holder":
                yield pointer, role, value, root or value
            members = [(item, f"{pointer}/{json_text.escape(key)}", vocabulary.role(key), root) for key, item in value.items()]
        stack.extend(reversed(members))


def is_tool(value: Mapping[Any, Any]) -> bool:
    """Whether an object has what only tools have: a name, a wrapped function, or function declarations."""
    if isinstance(value.get("name"), str):
        return True
    wrapped = [value[key] for key in _WRAPPERS if key in value]
    if wrapped:
        return not isinstance(wrapped[0], (str, int, float, Number, type(None)))  # a dict or a model
    return any(_is_list(value.get(key)) for key in DECLARATIONS)


def tool_name(tool: Mapping[str, Any]) -> str | None:
    """The name of a tool, or that of its first function; ``None`` where it has none."""
    for key in ("name", *_WRAPPERS):
        found = tool.get(key)
        name = found.get("name") if type(found) is dict else found
        if type(name) is str:
            return name
    functions = declared(tool)
    return tool_name(functions[0]) if functions and isinstance(functions[0], Mapping) else None


def declared(tool: Mapping[str, Any]) -> list[Any] | None:
    """The functions that a tool of Gemini declares; ``None`` where it is not one."""
    return next((tool[key] for key in DECLARATIONS if isinstance(tool.get(key), list)), None)


def detect(value: object) -> Dialect | None:
    """The dialect of a JSON value that holds tool schemas beyond doubt, ``None`` for any other.

    It is a list of tools, one tool, or an object that has a list of them under ``tools`` or ``functions`` (the result or answer
    of MCP ``tools/list`` among them). At least one tool has a name and a schema of its arguments; the others may be tools of the
    provider or bare JSON Schemas. An object with tools and anything beside them but what belongs to them is a record (a request,
    a sample of a data set) or a manifest, and none of these.
    ``function`` is a function without a wrapper (``name``, ``parameters``), which Gemini and older OpenAI requests share. Of a
    mixed list it is the dialect of the first tool.
    """
    if isinstance(value, list):
        return _detect_list(value)
    if not isinstance(value, Mapping):
        return None
    inner, foreign = _unwrap(value)
    held = _held(inner)
    if held is None:
        return _detect_tool(inner)
    return _detect_list(held) if not foreign else None


def describe_record(value: object) -> str | None:
    """What an object is that has tools and that ``detect`` passes over because of what is beside them; ``None`` for any other."""
    if not isinstance(value, Mapping):
        return None
    inner, foreign = _unwrap(value)
    held = _held(inner)
    if not foreign or held is None or _detect_list(held) is None:
        return None
    if any(key in _MESSAGES for key in foreign):
        return "is a request with messages, which is a record"
    shown = ", ".join(json_text.quote(key)[:40] for key in foreign[:3])
    return f"has more than tools in it ({shown}), so it is a record or a manifest"


def tools_beside(value: object) -> str | None:
    """The key of the tools in an object that ``detect`` passes over because of what is beside them: a request, an agent."""
    if not isinstance(value, Mapping):
        return None
    inner, foreign = _unwrap(value)
    if inner is not value or not foreign:
        return None
    key = next((key for key in _HOLDERS if isinstance(value.get(key), list)), None)
    return key if key is not None and _detect_list(value[key]) is not None else None


def has_messages(value: Mapping[Any, Any]) -> bool:
    """Whether an object is what an API is sent: it has messages, as a list or as one text."""
    return any(key in value for key in _MESSAGES)


def _unwrap(value: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], list[str]]:
    """What has the tools, if anything has (the result in an answer of MCP), and the keys that do not belong beside them."""
    result = value.get("result")
    if "jsonrpc" in value and isinstance(result, Mapping):
        return result, [key for key in value if key not in _ANSWER] + [key for key in result if key not in _BESIDE_TOOLS]
    return value, [key for key in value if key not in _BESIDE_TOOLS]


def _held(value: Mapping[Any, Any]) -> list[Any] | None:
    return next((value[key] for key in _HOLDERS if isinstance(value.get(key), list)), None)


def looks_like_tools(value: object) -> bool:
    """Whether ``detect`` knows a dialect."""
    return detect(value) is not None


def text_looks_like_tools(text: str) -> bool:
    """Whether a JSON text holds tool schemas, by what is in it.

    Never fails: what is not JSON holds none. Equal keys, NaN and the like do not matter here, so that a tools file that is
    wrong is still known for a tools file.
    """
    if not _TOOL_KEY.search(text):
        return False
    try:
        return looks_like_tools(json_text.loads_any_number(text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return False


def _detect_list(elements: list[Any]) -> Dialect | None:
    found = None
    for element in elements:
        if not isinstance(element, Mapping):
            return None
        dialect = _detect_tool(element)
        if dialect is None and not may_stand_among_tools(element):
            return None
        found = found or dialect
    return found


def _detect_tool(tool: Mapping[str, Any]) -> Dialect | None:
    function = tool.get("function")
    if isinstance(function, Mapping):
        named = _is_name(function.get("name")) and tool.get("type", "function") == "function"
        named = named and "arguments" not in function  # else it is a call
        return "openai-chat" if named and _has_arguments(function.get("parameters", {}), empty=True) else None
    functions = declared(tool)
    if functions is not None:
        known = all(map(_is_declaration, functions)) and any(map(_says_more, functions))
        return "gemini" if known else None
    if not _is_name(tool.get("name")):
        return None
    if _has_arguments(tool.get("input_schema")):
        return "anthropic"
    if _has_arguments(tool.get("inputSchema")):
        return "mcp"
    if tool.get("type") == "function":
        return "openai-responses" if _is_flat_function(tool) else None
    if any(_has_arguments(tool.get(key)) for key in SCHEMA_KEYS):
        return "function"
    return None


def _is_flat_function(tool: Mapping[str, Any]) -> bool:
    """Whether ``type: function`` with a name is a tool, not an entry of a contract's interface or a list of symbols."""
    if "parameters" not in tool:
        return "description" in tool and _FLAT_FUNCTION.issuperset(tool)
    return _has_arguments(tool["parameters"], empty=True) and "inputs" not in tool and "outputs" not in tool


def _is_declaration(value: object) -> bool:
    if not isinstance(value, Mapping) or not _is_name(value.get("name")):
        return False
    schemas = [value[key] for key in SCHEMA_KEYS if key in value]
    return all(_has_arguments(schema, empty=True) for schema in schemas)


def _says_more(function: Mapping[str, Any]) -> bool:
    """Whether there is more of a function than its name."""
    return "description" in function or any(key in function for key in SCHEMA_KEYS)


def may_stand_among_tools(value: Mapping[str, Any]) -> bool:
    """Whether an object can be an element of a list that has tools in it: a tool of the provider, or a bare JSON Schema."""
    return isinstance(value.get("type"), str) or isinstance(value.get("name"), str) or len(value) == 1 or _is_schema(value)


def _has_arguments(schema: object, *, empty: bool = False) -> bool:
    """Whether a value is a schema of named arguments; ``empty`` lets pass one that says nothing."""
    if not isinstance(schema, Mapping):
        return False
    if not schema:
        return empty
    kind = schema.get("type")
    is_object = isinstance(kind, str) and kind.lower() == "object"
    return is_object or isinstance(schema.get("properties"), Mapping) or any(key in schema for key in _COMBINATIONS)


def _is_holder(value: Mapping[Any, Any]) -> bool:
    return any(_is_list(value.get(key)) for key in _HOLDERS)


def _is_schema(value: Mapping[Any, Any]) -> bool:
    return any(key in SCHEMA.roles for key in value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))
