"""Which values are tool schemas beyond doubt."""

from typing import Any

import pytest

from promptguard.toolschema.dialects import detect, looks_like_tools

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
        ([{"name": "f", "input_schema": SCHEMA}], "anthropic"),
        ([MCP], "mcp"),
        ({"tools": [MCP], "nextCursor": "x"}, "mcp"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}}, "mcp"),
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
    ],
)
def test_what_only_looks_a_bit_like_tools_is_left_alone(value: Any) -> None:
    assert not looks_like_tools(value)
