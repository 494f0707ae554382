"""Which values are tool schemas beyond doubt."""

from typing import Any

import pytest

from promptguard.toolschema.dialects import describe_record, detect, looks_like_tools

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
CHAT = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
MCP = {"name": "f", "inputSchema": SCHEMA}
GEMINI = {"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}


@pytest.mark.parametrize(
    ("value", "dialect"),
    [
        ([CHAT], "openai-chat"),
        (CHAT, "openai-chat"),
        ([{"function": {"name": "f"}}], "openai-chat"),
        ([{"type": "function", "name": "f", "parameters": {}}], "openai-responses"),
        ([{"type": "function", "name": "f", "description": "d", "strict": True}], "openai-responses"),
        ([{"name": "f", "input_schema": SCHEMA}], "anthropic"),
        ([MCP], "mcp"),
        ({"tools": [MCP], "nextCursor": "x"}, "mcp"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}}, "mcp"),
        ({"tools": [CHAT], "tool_choice": "auto", "parallel_tool_calls": False}, "openai-chat"),
        ({"tools": [GEMINI], "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "gemini"),
        (GEMINI, "gemini"),
        ([GEMINI, {"googleSearch": {}}], "gemini"),
        ({"tools": [{"function_declarations": [{"name": "f", "description": "d"}]}]}, "gemini"),
        ([{"name": "f", "parameters": SCHEMA}], "function"),
        ({"functions": [{"name": "f", "parameters": {"$ref": "#/x"}}]}, "function"),
        ([{"type": "web_search"}, {"type": "bash_20250124", "name": "bash"}, CHAT, MCP], "openai-chat"),
        ([SCHEMA, MCP], "mcp"),
    ],
)
def test_tools_are_known(value: Any, dialect: str) -> None:
    assert detect(value) == dialect


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"tools": []},
        "f",
        None,
        [CHAT, "f"],
        [CHAT, {"a": 1, "b": 2}],
        [SCHEMA],
        SCHEMA,
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"name": {"type": "string"}}},
        {"name": "pkg", "version": "1.0.0", "scripts": {"test": "x"}, "dependencies": {"a": "^1"}},
        {"name": "pkg", "type": "module", "tools": {"x": 1}},
        {"compilerOptions": {"strict": True}, "include": ["src"]},
        {"openapi": "3.1.0", "paths": {"/f": {"get": {"parameters": [{"name": "q", "in": "query", "schema": SCHEMA}]}}}},
        {"name": "f", "parameters": [{"name": "q", "type": "string"}]},
        {"name": "f", "parameters": {"cores": 2}},
        {"name": "f", "function": "main"},
        {"type": "function", "function": {"name": "f", "parameters": [1]}},
        {"type": "function", "function": {"name": "", "parameters": SCHEMA}},
        {"model": "m", "messages": [], "tools": [CHAT]},
        {"contents": [], "tools": [GEMINI]},
        {"result": {"tools": [MCP]}},
        {"tools": [{"name": "find", "description": "no schema"}]},
        {"functionDeclarations": []},
        {"functionDeclarations": [{"name": "f"}]},
        [{"name": "Ada", "type": "person"}, {"name": "Bob", "type": "person"}],
        [[CHAT]],
        [{"type": "function", "name": "transfer", "inputs": [], "outputs": []}, {"type": "event", "name": "Moved", "inputs": []}],
        [{"type": "function", "name": "transfer", "inputs": [], "parameters": {}}],
        [{"name": "zeta", "type": "function", "line": 3}],
        [{"name": "zeta", "type": "function", "description": "d", "line": 3}],
        [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    ],
)
def test_what_only_looks_a_bit_like_tools_is_left_alone(value: Any) -> None:
    assert not looks_like_tools(value)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"model": "m", "messages": [], "tools": [CHAT]}, "is a request with messages, which is a record"),
        ({"contents": [], "tools": [GEMINI]}, "is a request with messages, which is a record"),
        (
            {"conversations": [], "tools": [CHAT]},
            'has more than tools in it ("conversations"), so it is a record or a manifest',
        ),
        (
            {"id": 1, "query": "q", "answers": [], "tools": [MCP]},
            'has more than tools in it ("id", "query", "answers"), so it is a record or a manifest',
        ),
        ({"question": [], "functions": [MCP]}, 'has more than tools in it ("question"), so it is a record or a manifest'),
        (
            {"model": "m", "history": [], "tools": [CHAT]},
            'has more than tools in it ("model", "history"), so it is a record or a manifest',
        ),
        (
            {"name": "pkg", "version": "1.0.0", "tools": [MCP]},
            'has more than tools in it ("name", "version"), so it is a record or a manifest',
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP], "turn": 3}},
            'has more than tools in it ("turn"), so it is a record or a manifest',
        ),
    ],
)
def test_records_and_manifests_are_left_alone(value: Any, what: str) -> None:
    assert not looks_like_tools(value)
    assert describe_record(value) == what


@pytest.mark.parametrize("value", [[CHAT], {"tools": [CHAT]}, {"tools": [], "messages": []}, {"tools": "x", "a": 1}, MCP, None])
def test_what_is_no_record(value: Any) -> None:
    assert describe_record(value) is None
