"""The shapes that the SDKs of the providers and an MCP server emit."""

import asyncio
import json
import random
from typing import Any

import anthropic
import mcp
import mcp.server
import openai
import pydantic
from google.genai import types as gemini
from openai.types.responses import FunctionTool
from tool_strategies import shuffled

from promptguard import canonical_json, canonical_tools
from promptguard.toolschema.dialects import detect, looks_like_tools
from promptguard.toolschema.document import format_text


class Find(pydantic.BaseModel):
    """Find documents."""

    query: str = pydantic.Field(description="What to look for.")
    limit: int | None = None
    kinds: list[str] = []


def holds(emitted: Any, sent: Any, dialect: str) -> None:
    """The objects of the SDK and the JSON that it sends come out as the same bytes, which are in canonical form."""
    text = json.dumps(sent)
    wire = canonical_json(emitted)
    assert detect(json.loads(text)) == dialect
    assert wire == canonical_json(json.loads(text))
    assert wire == canonical_json(shuffled(sent, random.Random(1)))
    assert wire.decode() == format_text(text, path="t", form="wire").text
    assert wire == json.dumps(canonical_tools(emitted), ensure_ascii=False, separators=(",", ":")).encode()


def test_openai_chat() -> None:
    tool = openai.pydantic_function_tool(Find)
    holds([tool], [tool], "openai-chat")
    made = canonical_tools(tool)
    assert list(made["function"]) == ["name", "description", "parameters", "strict"]
    assert list(made["function"]["parameters"]["properties"]) == ["query", "limit", "kinds"]
    assert made["function"]["parameters"]["required"] == ["query", "limit", "kinds"]


def test_openai_responses() -> None:
    tool = FunctionTool(type="function", name="find", parameters=Find.model_json_schema(), strict=True)
    holds([tool], [tool.to_dict()], "openai-responses")
    assert list(canonical_tools(tool)) == ["type", "name", "parameters", "strict"]


def test_what_is_none_in_a_model_is_left_out() -> None:
    tool = FunctionTool(type="function", name="find", parameters=Find.model_json_schema(), strict=None)
    assert tool.to_dict()["strict"] is None
    assert "strict" not in canonical_tools(tool)
    assert canonical_tools(tool.to_dict())["strict"] is None  # a plain value is never changed


def test_anthropic() -> None:
    def find(query: str, limit: int = 5) -> str:
        """Find documents.

        Args:
            query: what to look for
        """
        return query * limit

    tool = anthropic.beta_tool(find)
    holds([tool], [tool.to_dict()], "anthropic")
    schema = '{"type":"object","properties":{"query":{"type":"string","title":"Query","description":"what to look for"}'
    assert canonical_json(tool).decode().startswith(f'{{"name":"find","description":"Find documents.","input_schema":{schema}')


def test_gemini() -> None:
    properties = {"query": gemini.Schema(type=gemini.Type.STRING), "limit": gemini.Schema(type=gemini.Type.INTEGER)}
    schema = gemini.Schema(type=gemini.Type.OBJECT, required=["limit", "query"], properties=properties)
    functions = [gemini.FunctionDeclaration(name=name, description="Finds.", parameters=schema) for name in ("find", "ask")]
    tools = [gemini.Tool(function_declarations=functions), gemini.Tool(google_search=gemini.GoogleSearch())]
    holds(tools, [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools], "gemini")
    query = '"query":{"type":"STRING"},"limit":{"type":"INTEGER"}'
    declared = f'"description":"Finds.","parameters":{{"type":"OBJECT","properties":{{{query}}},"required":["query","limit"]}}'
    ask, find = f'{{"name":"ask",{declared}}}', f'{{"name":"find",{declared}}}'
    assert canonical_json(tools).decode() == f'[{{"functionDeclarations":[{ask},{find}]}},{{"googleSearch":{{}}}}]'


def test_gemini_makes_a_declaration_of_a_function() -> None:
    def find(query: str, limit: int = 5) -> str:
        """Finds documents."""
        return f"{query} {limit}"

    declaration = gemini.FunctionDeclaration.from_callable_with_api_option(callable=find, api_option="GEMINI_API")
    tools = [gemini.Tool(function_declarations=[declaration])]
    holds(tools, [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools], "gemini")
    (made,) = canonical_tools(tools)
    (function,) = made["functionDeclarations"]
    assert (function["name"], list(function["parameters"]["properties"])) == ("find", ["query", "limit"])


def test_gemini_in_the_spelling_of_python() -> None:
    snake = gemini.Tool(function_declarations=[gemini.FunctionDeclaration(name="f", parameters_json_schema={"type": "object"})])
    tool = snake.model_dump(mode="json", exclude_none=True)
    assert looks_like_tools(tool)
    assert canonical_json(tool) == b'{"function_declarations":[{"name":"f","parameters_json_schema":{"type":"object"}}]}'


def test_an_mcp_server() -> None:
    server = mcp.server.MCPServer("test")

    @server.tool()
    def find(query: str, limit: int = 5) -> list[str]:
        """Find documents."""
        return [query] * limit

    @server.tool(title="Ask")
    def ask(question: str) -> str:
        """Ask a person."""
        return question

    async def listed() -> mcp.types.ListToolsResult:
        async with mcp.Client(server) as client:
            return await client.list_tools()

    result = asyncio.run(listed())
    sent = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    holds(result, sent, "mcp")
    holds(result.tools, sent["tools"], "mcp")
    assert [tool["name"] for tool in canonical_tools(result)["tools"]] == ["ask", "find"]
    assert list(canonical_tools(result.tools)[1]) == ["name", "description", "inputSchema", "outputSchema"]
