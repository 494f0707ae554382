"""Prompts made by hand: a small ChatML template with its trace, a tokenizer that splits into words, a template with places."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from promptguard.core.source import Place, Source, Span
from promptguard.prompts.divergence import Divergence, first_divergence
from promptguard.prompts.request import Message, Piece, Prompt, Request, Traced, chat_template_source

CHAT_TEMPLATE = """\
{{ bos_token }}
{% if date %}Today: {{ strftime_now("%d %b %Y") }}{% endif %}
<|im_start|>{{ message.role }}
{{ message.content }}
# Tools
{{ tool | tojson }}
<think>{{ message.reasoning_content }}</think>
<tool_call>{{ call.name }}{{ call.arguments }}</tool_call>
<|im_end|>
"""
_VOCABULARY: dict[str, int] = {}


@dataclass
class Style:
    """How the chat template behaves; every default keeps the prefix."""

    date: str = ""
    tools: str = "first"  # or "last": in front of the latest user message only; "end"; "never"
    reasoning: str = "all"  # or "latest": only behind the latest user message
    generation: str = ""  # printed behind the header of the generation prompt only
    end: str = "<|im_end|>"  # what ends an assistant message of the history
    trim: bool = False
    indent: int | None = None


@dataclass
class Writer:
    source: Source = field(default_factory=lambda: chat_template_source(CHAT_TEMPLATE, "chat.jinja"))
    text: str = ""
    pieces: list[Piece] = field(default_factory=list)

    def literal(self, text: str) -> None:
        start = self.source.text.find(text)
        self._add(text, Span(start, start + len(text)) if start >= 0 else Span(0, 0), None)

    def expression(self, name: str, value: str) -> None:
        start = self.source.text.index("{{ " + name)
        self._add(value, Span(start, self.source.text.index("}}", start) + 2), name)

    def _add(self, text: str, span: Span, expression: str | None) -> None:
        if text:
            self.pieces.append(Piece(len(self.text), len(self.text) + len(text), Place(self.source, span), expression))
            self.text += text


def tokenize(text: str) -> tuple[list[int], list[int]]:
    matches = list(re.finditer(r"<\|\w+\|>| ?\w+|\s|[^\w\s]", text))
    return [_VOCABULARY.setdefault(m.group(), len(_VOCABULARY)) for m in matches], [m.start() for m in matches]


def prompt(request: Request, reply: Message | None = None, style: Style | None = None, *, traced: bool = True) -> Prompt:
    """The request rendered, followed by the reply as the model wrote it."""
    style = style or Style()
    writer = Writer()
    latest = max((at for at, message in enumerate(request.messages) if message["role"] == "user"), default=-1)
    if style.date:
        writer.literal("Today: ")
        writer.expression("strftime_now", style.date)
        writer.literal("\n")
    if request.messages and request.messages[0]["role"] != "system" and style.tools == "first":
        _tools(writer, request, style)
    for at, message in enumerate(request.messages):
        if at == latest and style.tools == "last":
            _tools(writer, request, style)
        writer.literal("<|im_start|>")
        writer.expression("message.role", message["role"])
        writer.literal("\n")
        if message["role"] == "assistant":
            _assistant(writer, message, style, reasoning=style.reasoning == "all" or at > latest)
            writer.literal(style.end)
        else:
            content = message.get("content") or ""
            writer.expression("message.content", content.strip() if style.trim else content)
            if message["role"] == "system" and style.tools == "first":
                _tools(writer, request, style)
            writer.literal("<|im_end|>")
        writer.literal("\n")
    if style.tools == "end":
        _tools(writer, request, style)
    writer.literal("<|im_start|>")
    writer.literal("assistant")
    writer.literal("\n")
    writer.literal(style.generation)
    start = len(writer.text)
    if reply is not None:
        _assistant(writer, reply, style, reasoning=True)
        writer.literal("<|im_end|>")
    tokens, starts = tokenize(writer.text)
    trace = Traced(writer.text, tuple(writer.pieces)) if traced else None
    head = len(tokenize(writer.text[:start])[0])
    return Prompt(request, writer.text, tokens, starts, trace, reply, start, head)


def _tools(writer: Writer, request: Request, style: Style) -> None:
    if request.tools:
        writer.literal("# Tools\n")
        for tool in request.tools:
            writer.expression("tool | tojson", json.dumps(tool, ensure_ascii=False, indent=style.indent))
            writer.literal("\n")


def _assistant(writer: Writer, message: Message, style: Style, *, reasoning: bool) -> None:
    if reasoning and message.get("reasoning_content"):
        writer.literal("<think>")
        writer.expression("message.reasoning_content", message["reasoning_content"])
        writer.literal("</think>")
    content = message.get("content") or ""
    writer.expression("message.content", content.strip() if style.trim else content)
    for call in message.get("tool_calls", ()):
        writer.literal("<tool_call>")
        writer.expression("call.name", call["function"]["name"])
        writer.expression("call.arguments", call["function"]["arguments"])
        writer.literal("</tool_call>")


def template(source: str, path: str = "system.j2", **values: str) -> Traced:
    """A template with ``{{ name }}`` in it and nothing else, rendered with places."""
    file = Source(path, source, "jinja")
    text, pieces, at = "", [], 0
    for match in [*re.finditer(r"\{\{ (.+?) \}\}", source), None]:
        end = match.start() if match else len(source)
        for start, stop, value, expression in [(at, end, source[at:end], None)] + (
            [(match.start(), match.end(), values[re.sub(r"\W.*", "", match.group(1))], match.group(1))] if match else []
        ):
            if value:
                pieces.append(Piece(len(text), len(text) + len(value), Place(file, Span(start, stop)), expression))
                text += value
        at = match.end() if match else len(source)
    return Traced(text, tuple(pieces))


def tool(name: str, description: str = "", **parameters: Any) -> dict[str, Any]:
    function = {
        "name": name,
        "description": description or f"Does what {name} does.",
        "parameters": parameters or {"type": "object"},
    }
    return {"type": "function", "function": function}


def tools_file(*tools: Any, indent: int | None = 2) -> Traced:
    return template(json.dumps(list(tools), indent=indent, ensure_ascii=False), "tools.json")


def message(role: str, content: str = "", **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def call(name: str, arguments: str, call_id: str = "call-1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def ask(*messages: Message, system: str | Traced | None = None, tools: Any = (), file: Traced | None = None) -> Request:
    traced = Traced(system) if isinstance(system, str) else system
    head = (message("system", traced.text),) if traced else ()
    return Request((*head, *messages), tuple(tools), system=traced, tools_source=file)


def diverge(before: Prompt, after: Prompt) -> Divergence:
    found = first_divergence(before, after)
    assert found is not None
    return found


def at(found: Divergence) -> tuple[str, str, str | None]:
    """Code of the cause, block, and place."""
    return found.cause.code, found.block, str(found.place) if found.place else None
