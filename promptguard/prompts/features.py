"""What a chat template does with what it is given: found by trying, with texts that are looked for in what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import SWITCHES_OF_THINKING
from promptguard.prompts.preservation import CLOCK
from promptguard.prompts.request import Message, Request, Tool, Traced

_ARGUMENTS = {"a-key": "a-value"}
_SPELLED = '{"a-key" :"a-value"}'  # as no serializer does
_TOOLS: tuple[Tool, ...] = (
    {
        "type": "function",
        "function": {
            "name": "a_tool",
            "description": "a-description",
            "parameters": {"type": "object", "properties": {"a-key": {"type": "string", "description": "a-meaning"}}},
        },
    },
)


@dataclass(frozen=True)
class Features:
    """What a chat template prints.

    Attributes:
        messages: what the user says; otherwise it is no chat template.
        system: a system message.
        tools: the tools that are offered.
        tool_calls: the tool calls of a reply, and their results.
        reasoning: the reasoning of a reply that calls a tool, while the tools are still at work.
        arguments: the forms in which it takes the arguments of a tool call.
    """

    messages: bool
    system: bool
    tools: bool
    tool_calls: bool
    reasoning: bool
    arguments: tuple[Literal["object", "string"], ...]


def find_features(template: ChatTemplate) -> Features:
    """Try what a chat template prints, fed as a llama-server does.

    Raises:
        TemplateError: it does not parse, or exceeds a limit.
    """
    raw = ChatTemplate(
        template.renderer, template.source, arguments="raw", bos_token=template.bos_token, eos_token=template.eos_token
    )
    able = template.capabilities
    user: Message = {"role": "user", "content": "a-question"}
    result: Message = {"role": "tool", "tool_call_id": "call00001", "name": "a_tool", "content": "a-result"}
    tried: list[tuple[ChatTemplate, Sequence[Message], tuple[Tool, ...]]] = [
        (template, [user], ()),
        (template, [user], _TOOLS),
        (template, [user, _reply(_ARGUMENTS), result], _TOOLS),
        (template, [user, {**_reply(_ARGUMENTS), "reasoning_content": "a-thought"}, result], _TOOLS),
        (raw, [user, _reply(_SPELLED), result], _TOOLS),
    ]
    thinking = dict.fromkeys(SWITCHES_OF_THINKING, True)
    calls = [fed.call(Request(tuple(messages), tools, thinking), clock=CLOCK) for fed, messages, tools in tried]
    made = template.renderer.render_chats(template.source, calls)
    chat, offered, called, thought, spelled = (each.text if isinstance(each, Traced) else "" for each in made)
    takes_calls = "a-value" in called and "a-result" in called
    arguments: list[Literal["object", "string"]] = []
    if takes_calls and able.object_arguments:
        arguments.append("object")
    if _SPELLED in spelled:
        arguments.append("string")
    return Features(
        messages="a-question" in chat,
        system=able.system_role,
        tools="a-description" in offered,
        tool_calls=takes_calls,
        reasoning="a-thought" in thought,
        arguments=tuple(arguments),
    )


def _reply(arguments: Any) -> dict[str, Any]:
    call = {"id": "call00001", "type": "function", "function": {"name": "a_tool", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}
