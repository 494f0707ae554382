"""One request to an engine, and the same request as the text and the tokens that the engine sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from promptguard.core.source import Place, Source

Block = Literal["tools", "system", "history", "user"]
Message = Mapping[str, Any]
Tool = Mapping[str, Any]


@dataclass(frozen=True)
class Piece:
    """A stretch of a rendered text and the place in a template that printed it.

    Attributes:
        start, end: half-open range of code points in the rendered text.
        place: the literal text or the whole ``{{ … }}`` expression that printed it.
        expression: source of the expression without its braces, ``None`` for literal text.
    """

    start: int
    end: int
    place: Place
    expression: str | None = None


@dataclass(frozen=True)
class Traced:
    """A text and, as far as it is known, where each part came from.

    ``pieces`` are in order and do not overlap; they may leave gaps where the origin is not known, and are empty where nothing is
    known at all.
    """

    text: str
    pieces: tuple[Piece, ...] = ()

    def piece_at(self, offset: int) -> Piece | None:
        """The piece that printed the code point at ``offset``, or ``None`` where that is not known."""
        low, high = 0, len(self.pieces)
        while low < high:
            middle = (low + high) // 2
            if self.pieces[middle].end <= offset:
                low = middle + 1
            else:
                high = middle
        if low < len(self.pieces) and self.pieces[low].start <= offset:
            return self.pieces[low]
        return None


@dataclass(frozen=True)
class Request:
    """What an agent sends on one turn, in the shape of the OpenAI chat API, with the origin of its parts.

    Attributes:
        messages: the conversation, the system message first where there is one. ``content`` is a string; an assistant message
            may have ``reasoning_content`` and ``tool_calls`` (arguments as a JSON string); a tool message has ``tool_call_id``.
        tools: ``{"type": "function", "function": {"name", "description", "parameters"}}``, in the order sent.
        template_kwargs: further variables for the chat template.
        system: the system prompt with its trace; ``None`` without a system message.
        tools_source: the JSON text that the tools came from, for places inside them.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    system: Traced | None = None
    tools_source: Traced | None = None


@dataclass(frozen=True)
class Prompt:
    """A request as the engine sees it.

    Attributes:
        request: what was rendered.
        text: the rendered prompt, followed by the reply where ``reply_start`` says so.
        tokens: token ids of ``text``.
        starts: for each token the code point in ``text`` where it starts (same length as ``tokens``), or ``None`` where the
            engine cannot say.
        trace: which part of the chat template printed which part of ``text``; empty pieces where that is not known.
        reply: the assistant message that follows the prompt in ``text``, if one does.
        reply_start: code point in ``text`` where the reply starts; ``len(text)`` without a reply.
        reply_start_token: index in ``tokens`` where the reply starts; ``len(tokens)`` without a reply.
    """

    request: Request
    text: str
    tokens: Sequence[int]
    starts: Sequence[int] | None = None
    trace: Traced | None = None
    reply: Message | None = None
    reply_start: int = -1
    reply_start_token: int = -1

    def __post_init__(self) -> None:
        if self.reply_start < 0:
            object.__setattr__(self, "reply_start", len(self.text))
        if self.reply_start_token < 0:
            object.__setattr__(self, "reply_start_token", len(self.tokens))


def chat_template_source(text: str, path: str) -> Source:
    """A chat template as a source; ``path`` is the file, or the model in angle brackets."""
    return Source(path=path, text=text, kind="chat-template")
