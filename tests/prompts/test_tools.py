import json
from pathlib import Path

import pytest

from promptguard.core.errors import InputError
from promptguard.prompts.tools import load_tools
from promptguard.toolschema.openai import as_openai_tools

SCHEMA = {"type": "object", "required": ["q"], "properties": {"q": {"type": "string"}}}
CHAT = {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": SCHEMA}}
GEMINI = {"name": "find", "description": "Finds.", "parameters": SCHEMA}

DIALECTS = {
    "chat": [CHAT],
    "one tool": CHAT,
    "chat without type": [{"function": CHAT["function"]}],
    "responses": [{"type": "function", "name": "find", "description": "Finds.", "parameters": SCHEMA}],
    "bare function": GEMINI,
    "anthropic": [{"name": "find", "description": "Finds.", "input_schema": SCHEMA}],
    "mcp": [{"name": "find", "description": "Finds.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}],
    "mcp result": {"tools": [{"name": "find", "description": "Finds.", "inputSchema": SCHEMA}], "nextCursor": "x"},
    "mcp answer": {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"tools": [{"name": "find", "description": "Finds.", "inputSchema": SCHEMA}]},
    },
    "gemini": {"functionDeclarations": [GEMINI]},
    "gemini list": [{"functionDeclarations": [GEMINI]}],
    "gemini request": {"tools": [{"function_declarations": [GEMINI]}]},
}


@pytest.mark.parametrize("value", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_gives_the_same_chat_tool(value: object) -> None:
    (tool,) = as_openai_tools(value, "tools.json")
    assert tool == CHAT
    assert list(tool) == ["type", "function"]
    assert list(tool["function"]) == ["name", "description", "parameters"]
    assert tool["function"]["parameters"] is SCHEMA


def test_a_chat_tool_is_passed_on_as_it_is() -> None:
    tool = {"function": {"strict": True, "parameters": SCHEMA, "name": "find"}, "type": "function"}
    assert as_openai_tools([tool], "tools.json")[0] is tool


def test_several_tools_keep_their_order() -> None:
    value = [{"functionDeclarations": [{"name": "b"}, {"name": "a"}]}, {"name": "c", "input_schema": SCHEMA}]
    assert [tool["function"]["name"] for tool in as_openai_tools(value, "t")] == ["b", "a", "c"]


def test_a_tool_may_lack_description_and_parameters() -> None:
    assert as_openai_tools({"name": "ping"}, "t") == ({"type": "function", "function": {"name": "ping"}},)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tools": []}, "t: holds no tools; write [] to run without tools"),
        ([CHAT, CHAT, {"type": "object"}], 't: element 3 has no name; it has type "object", only functions have a schema'),
        ({"openapi": "3.1.0"}, "t: element 1 has no name; give OpenAI, Anthropic, MCP or Gemini tools"),
        ([CHAT, "find"], "t: element 2 is not an object; give a list of OpenAI, Anthropic, MCP or Gemini tools"),
        ("find", "t: element 1 is not an object; give a list of OpenAI, Anthropic, MCP or Gemini tools"),
        ([{"name": 7}], "t: the name of element 1 is not a text"),
        ([{"name": ""}], "t: the name of element 1 is not a text"),
        ([{"function": "find"}], "t: function of element 1 is not an object"),
        ([{"name": "find", "description": 1}], "t: the description of element 1 (find) is not a text"),
        (
            [{"name": "find", "input_schema": []}],
            "t: input_schema of element 1 (find) is not an object; it has to be a JSON Schema",
        ),
        ([{"functionDeclarations": {}}], "t: functionDeclarations of element 1 is not a list"),
        ([{"functionDeclarations": [None]}], "t: declaration 1 of element 1 is not an object"),
    ],
)
def test_what_is_not_a_tool(value: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        as_openai_tools(value, "t")
    assert str(error.value) == message


def write(folder: Path, data: bytes) -> Path:
    path = folder / "tools.json"
    path.write_bytes(data)
    return path


def test_a_file_gives_its_tools_and_its_text(tmp_path: Path) -> None:
    text = json.dumps([CHAT], indent=2).replace("\n", "\r\n")
    tools, source = load_tools(write(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert tools == (CHAT,)
    assert (source.path, source.text, source.kind) == (str(tmp_path / "tools.json"), text, "json")


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b'[{"name": "a"},\n {"name" "b"}]', ":2:10", "not JSON: expecting ':' delimiter"),
        (b"", ":1:1", "not JSON: expecting value"),
        (b'[{"name": "a"}]\n[]', ":2:1", "not JSON: extra data"),
        (b'{"name": "\xff"}', ":1:11", "not UTF-8"),
        ('{"name": "a"}'.encode("utf-16"), ":1:1", "not UTF-8"),
        (b'{"name": "a",\n "x": {"k": 1, "j": {"k": 2}, "\\u006b": 3}}', ":2:31", 'the key "k" stands twice in one object'),
        (b'{"name": "a",\n "x": [1, NaN]}', ":2:11", "NaN is not JSON"),
        (b'{"name": "a", "x": -Infinity}', ":1:20", "-Infinity is not JSON"),
        (b'{"name": "NaN", "x": "\\ud83d"}', ":1:22", "a lone surrogate in a text"),
        (b'{"name": "a", "x": 1e999}', ":1:20", "a number is out of range (1e999)"),
        (b'{"name": "a", "x": ' + b"9" * 5000 + b"}", ":1:20", "a number is out of range"),
        (b'{"x": ' + b"[" * 100 + b"]" * 100 + b"}", ":1:106", "nested deeper than 100 levels"),
        (b"[" * 100_000 + b"]" * 100_000, ":1:101", "nested deeper than 100 levels"),
        (b" " * (8 * 1024 * 1024 + 1), "", "larger than 8,388,608 bytes"),
    ],
)
def test_what_is_not_strict_json(tmp_path: Path, data: bytes, place: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        load_tools(write(tmp_path, data))
    assert error.value.where == f"{tmp_path / 'tools.json'}{place}"
    assert message in error.value.what


def test_surrogate_pairs_and_equal_keys_of_different_objects_are_fine(tmp_path: Path) -> None:
    path = write(tmp_path, b'[{"name": "a", "description": "\\ud83d\\ude00"}, {"name": "b", "description": "a: {[,"}]')
    assert [tool["function"]["description"] for tool in load_tools(path)[0]] == ["😀", "a: {[,"]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: .*does not exist"):
        load_tools(tmp_path / "nothing.json")


def test_gemini_spells_types_in_capitals_and_no_engine_does() -> None:
    schema = {"type": "OBJECT", "properties": {"type": {"type": "STRING", "enum": ["STRING"]}}, "required": ["type"]}
    (tool,) = as_openai_tools({"functionDeclarations": [{"name": "f", "parameters": schema}]}, "t")
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"type": {"type": "string", "enum": ["STRING"]}},
        "required": ["type"],
    }
