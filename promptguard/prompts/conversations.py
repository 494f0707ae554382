"""The conversations with which a chat template is tried: what agents send, in the variants that chat templates treat apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from promptguard.prompts.chat import Arguments
from promptguard.prompts.request import Message, Request, Tool, Traced

Mode = Literal["reasoning", "plain", "thinking off"]
"""``reasoning``: thinking is asked for, and every reply has reasoning. ``plain``: nothing is asked for, and no reply has any.
``thinking off``: it is switched off, so no reply has any; an engine gives no reasoning then.
"""
Following = Literal["tool", "user"]
"""What follows a reply: the results of its tool calls, or a new user message."""

SWITCHES_OF_THINKING = ("enable_thinking", "thinking")
"""The variables by which the usual chat templates switch thinking on and off."""

_KWARGS: dict[Mode, Mapping[str, Any]] = {
    "reasoning": dict.fromkeys(SWITCHES_OF_THINKING, True),
    "plain": {},
    "thinking off": dict.fromkeys(SWITCHES_OF_THINKING, False),
}


@dataclass(frozen=True)
class Conversation:
    """A conversation in one variant.

    Attributes:
        name: what happens in it, such as ``tool loop of four calls``.
        mode: whether replies have reasoning, and what the chat template is told of it.
        arguments: ``raw`` where the chat template is handed the arguments of tool calls as the string that the model wrote, as
            llama-cpp-python does, ``parsed`` where it is handed objects, as a llama-server does.
        messages: all of it. Replies are the assistant messages.
        tools: what is offered.
    """

    name: str
    mode: Mode
    arguments: Arguments
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]

    @property
    def system(self) -> bool:
        """Whether it begins with a system message."""
        return bool(self.messages[0]["role"] == "system")

    @cached_property
    def replies(self) -> tuple[int, ...]:
        """The positions of the replies that something follows."""
        return tuple(at for at, message in enumerate(self.messages[:-1]) if message["role"] == "assistant")

    @property
    def calls_tools(self) -> bool:
        return any(message.get("tool_calls") for message in self.messages)

    def request(self, turn: int) -> Request:
        """What is sent on a turn, from 0; on the last one the whole conversation."""
        ends = [*self.replies, len(self.messages)]
        messages = self.messages[: ends[turn]]
        system = Traced(messages[0]["content"]) if self.system else None
        return Request(messages, self.tools, _KWARGS[self.mode], system)

    def reply(self, turn: int) -> Message:
        """What the model answers on a turn."""
        return self.messages[self.replies[turn]]

    def following(self, turn: int) -> Following:
        """What is sent next."""
        return "tool" if self.messages[self.replies[turn] + 1]["role"] == "tool" else "user"

    def __str__(self) -> str:
        parts: list[str] = [self.mode if self.mode != "plain" else "no reasoning"]
        if self.calls_tools:
            parts.append("arguments as a string" if self.arguments == "raw" else "arguments as an object")
        parts.append("with a system message" if self.system else "without a system message")
        return f"{self.name} ({', '.join(parts)})"


PLAIN_CHAT = "plain chat"
TOOL_LOOP = "tool loop of four calls"
TOOL_LOOP_AND_USER = "tool loop, then a new user message"
PARALLEL_CALLS = "parallel calls"
EMPTY_CONTENT = "tool call with empty content"
BLANKS = "reply with blanks at its ends"
SPECIAL_CHARACTERS = "non-ASCII and HTML characters"


@cache
def conversations() -> tuple[Conversation, ...]:
    """The fixed set: each conversation in each mode, the other variants so that every pair of variants is covered."""
    return tuple(_told())


def _told() -> Iterator[Conversation]:
    yield from _variants(PLAIN_CHAT, _plain_chat, "ps", "pn", "ps")
    yield from _variants(TOOL_LOOP, _tool_loop, "ps", "rn", "pn")
    yield from _variants(TOOL_LOOP_AND_USER, lambda teller: _tool_loop(teller, user=True), "ps", "rn", "pn")
    yield from _variants(PARALLEL_CALLS, _parallel_calls, "rn", "ps", "rs")
    yield from _variants(EMPTY_CONTENT, _empty_content, "pn", "rs", "ps")
    yield from _variants(BLANKS, _blanks, "pn", "ps", "pn")
    yield from _variants(SPECIAL_CHARACTERS, _special_characters, "rs", "pn", "rn")


def _variants(name: str, tell: Callable[[_Teller], None], *variants: str) -> Iterator[Conversation]:
    """A conversation in its modes; of a variant the first letter is that of ``arguments``, the second says whether there is a
    system message (``s``) or none (``n``).
    """
    for mode, variant in zip(_KWARGS, variants, strict=True):
        teller = _Teller(mode, "raw" if "r" in variant else "parsed")
        tell(teller)
        head = [{"role": "system", "content": _SYSTEM}] if "s" in variant else []
        yield Conversation(name, mode, teller.arguments, (*head, *teller.messages), _TOOLS)


class _Teller:
    """Writes down what is said."""

    def __init__(self, mode: Mode, arguments: Arguments) -> None:
        self.mode = mode
        self.arguments = arguments
        self.messages: list[Message] = []
        self._ids = 0

    def user(self, content: str) -> None:
        self.messages.append({"role": "user", "content": content})

    def says(self, content: str, reasoning: str) -> None:
        self.messages.append(self._reply(content, reasoning))

    def calls(self, content: str | None, reasoning: str, *calls: tuple[str, Mapping[str, Any], str]) -> None:
        """A reply that calls tools, and the results: name, arguments and result of each call."""
        made, results = [], []
        for name, arguments, result in calls:
            self._ids += 1
            identifier = f"call{self._ids:05d}"  # Mistral's chat templates demand nine letters and digits
            given: Any = arguments
            if self.arguments == "raw":
                # as a model may write it and no serializer does
                given = json.dumps(arguments, ensure_ascii=False, separators=(",", ": "))
            made.append({"id": identifier, "type": "function", "function": {"name": name, "arguments": given}})
            results.append({"role": "tool", "tool_call_id": identifier, "name": name, "content": result})
        self.messages += [{**self._reply(content, reasoning), "tool_calls": made}, *results]

    def _reply(self, content: str | None, reasoning: str) -> dict[str, Any]:
        reply: dict[str, Any] = {"role": "assistant", "content": content}
        if self.mode == "reasoning":
            reply["reasoning_content"] = reasoning
        return reply


# Messages of one role begin with the same words, so that a defect looks the same in every conversation.

_SYSTEM = "You plan journeys by rail for a small company.\nAnswer in one or two sentences."


def _tool(name: str, description: str, **parameters: tuple[str, str]) -> Tool:
    properties = {key: {"type": kind, "description": text} for key, (kind, text) in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)[:1]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_TOOLS: tuple[Tool, ...] = (
    _tool(
        "find_trains",
        "Finds direct trains between two stations.",
        origin=("string", "Station of departure."),
        destination=("string", "Station of arrival."),
        seats=("integer", "Seats that must be free."),
    ),
    _tool(
        "get_weather", "Tells the weather at a place.", place=("string", "Name of the place."), days=("integer", "Days ahead.")
    ),
    _tool(
        "book_seats", "Books seats on a train.", train=("string", "Number of the train."), quiet=("boolean", "Quiet carriage.")
    ),
    _tool("send_message", "Sends a message.", to=("string", "Who reads it."), text=("string", "What it says.")),
)


def _plain_chat(teller: _Teller) -> None:
    teller.user("Please tell me how early one should be at the station.")
    teller.says("I would be there ten minutes ahead.", "The user asks for a rule of thumb, no tool is needed.")
    teller.user("Please tell me the same for a journey abroad.")
    teller.says("I would allow half an hour, since passports may be checked.", "The user goes abroad: there may be checks.")
    teller.user("Please sum it up in one line.")


def _tool_loop(teller: _Teller, *, user: bool = False) -> None:
    teller.user("Please book two quiet seats from Bremen to Basel tomorrow, unless it snows, and tell Ada.")
    teller.calls(
        "I am looking for a direct train first.",
        "The user needs a train, so that comes first.",
        (
            "find_trains",
            {"origin": "Bremen", "destination": "Basel", "seats": 2},
            '{"trains": [{"number": "ICE 73", "at": 9.1}]}',
        ),
    )
    teller.calls(
        "",
        "The user does not want to travel in snow.",
        ("get_weather", {"place": "Basel", "days": 1}, '{"sky": "clear", "celsius": 4}'),
    )
    teller.calls(
        "I can book them, as the sky stays clear.",
        "The user wants quiet seats on this train.",
        ("book_seats", {"train": "ICE 73", "quiet": True}, '{"carriage": 7, "seats": [41, 42]}'),
    )
    teller.calls(
        "",
        "The user wants Ada to know.",
        ("send_message", {"to": "ada", "text": "Carriage 7, seats 41 and 42."}, '{"sent": true}'),
    )
    if user:
        teller.says("I booked seats 41 and 42 in carriage 7, and Ada knows.", "The user can be told: all is done.")
        teller.user("Please tell Ada the number of the train, too.")


def _parallel_calls(teller: _Teller) -> None:
    teller.user("Please compare the weather in Basel and in Chur tomorrow.")
    teller.calls(
        "",
        "The user names two places, so two calls at once.",
        ("get_weather", {"place": "Basel", "days": 1}, '{"sky": "clear", "celsius": 4}'),
        ("get_weather", {"place": "Chur", "days": 1}, '{"sky": "snow", "celsius": -3}'),
    )
    teller.says("I would go to Basel: it is clear there, and it snows in Chur.", "The user wants to know where it is nicer.")
    teller.user("Please do the same for the day after.")


def _empty_content(teller: _Teller) -> None:
    teller.user("Please look up the weather in Basel tomorrow.")
    teller.calls(
        None if teller.arguments == "raw" else "",  # clients send null; a server makes it an empty text
        "The user asks for the weather of one place.",
        ("get_weather", {"place": "Basel", "days": 1}, '{"sky": "clear", "celsius": 4}'),
    )


def _blanks(teller: _Teller) -> None:
    teller.user("Please write a line for the door of the office.")
    teller.says("\n\n  I would write: back on Monday.", "The user wants a short sign.")
    teller.user("Please write another one for the phone.")
    teller.says("I would say: we call back on Monday.  \n\n", "The user wants the same to be said.")
    teller.user("Please write both into one list.")


def _special_characters(teller: _Teller) -> None:
    teller.user("Please find the weather for the café “Läufelfingen”, <b>tomorrow</b> & not later.")
    teller.calls(
        "",
        "The user means a place with an umlaut: ä, not ae.",
        ("get_weather", {"place": "Läufelfingen <Dorf> & 'Umgebung'", "days": 1}, '{"sky": "2 < 3 & 5 > 4 🌤", "note": "«klar»"}'),
    )
    teller.says("I found <em>clear</em> sky & 4 °C in Läufelfingen 🌤.", "The user gets the sign as well: 🌤.")
    teller.user("Please say it in Chinese: 明天天气怎么样")
