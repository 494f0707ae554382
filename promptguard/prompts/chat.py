"""Requests as a chat template sees them, and replies as a model emits them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, Literal

from promptguard.core.errors import InputError, TemplateError, TemplateLimitError
from promptguard.core.source import Source
from promptguard.prompts.families import adapt
from promptguard.prompts.rendering import ChatCall, Renderer
from promptguard.prompts.replies import as_written, reply_start, with_objects, without_end
from promptguard.prompts.request import Message, Request, Tool, Traced

Arguments = Literal["parsed", "raw"]

END_OF_GENERATION: tuple[str, ...] = (
    "<|im_end|>",  # ChatML: Qwen, Hermes, SmolLM, Kimi
    "<|endoftext|>",
    "<|eot_id|>",  # Llama 3
    "<|eom_id|>",
    "<|end_of_text|>",  # Llama 3 base, Granite
    "<end_of_turn>",  # Gemma
    "<turn|>",
    "<|end|>",  # Phi, gpt-oss
    "<|return|>",
    "<|call|>",
    "</s>",  # Mistral, Llama 2
    "<eos>",
    "<|eos|>",
    "<|EOT|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",  # DeepSeek
    "<|END_OF_TURN_TOKEN|>",  # Command R
    "<|eot|>",
    "<|end_of_turn|>",
    "<|end_of_msg|>",
    "<|endofturn|>",
    "[|endofturn|]",  # EXAONE
    "[e~[",  # MiniMax
    "<|user|>",  # GLM: the next header ends a reply
    "<|observation|>",
    "<seed:eos>",
    "<|role_end|>",
    "<|message_sep|>",  # GigaChat
    "<end_of_utterance>",
    "<|calls|>",  # Solar
    "<SPECIAL_12>",  # Nemotron
    "<\uff5chy_eos:opensource\uff5c>",
)
"""Texts of the tokens with which the usual model families end a reply."""

_ANY_TIME = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Capabilities:
    """What a chat template can take; a llama-server adapts a request to it.

    Attributes:
        system_role: it prints a system message.
        string_content: it prints a content that is a string.
        typed_content: it prints a content that is a list of parts.
        object_arguments: it takes the arguments of a tool call as an object.
    """

    system_role: bool = True
    string_content: bool = True
    typed_content: bool = False
    object_arguments: bool = True


class ChatTemplate:
    """A chat template and the way in which an engine feeds it.

    Args:
        renderer: renders the template.
        source: the template.
        arguments: ``parsed`` for a llama-server, which adapts a request to the template; ``raw`` for llama-cpp-python, which
            hands it over as it is.
        bos_token: text of the token that starts a prompt.
        eos_token: text of the token that ends a reply.
        eog_tokens: further texts with which a reply may end.
    """

    def __init__(
        self,
        renderer: Renderer,
        source: Source,
        *,
        arguments: Arguments = "parsed",
        bos_token: str = "",
        eos_token: str = "",
        eog_tokens: Sequence[str] = END_OF_GENERATION,
    ) -> None:
        self.renderer = renderer
        self.source = source
        self.arguments = arguments
        self.bos_token = bos_token
        self.eos_token = eos_token
        self.eog_tokens = eog_tokens

    @cached_property
    def capabilities(self) -> Capabilities:
        """What the template can take, found by trying, as a llama-server does when it loads one.

        Raises:
            TemplateLimitError: it exceeds a limit, whatever it is given.
        """
        user = {"role": "user", "content": "a-question"}
        typed = {"role": "user", "content": [{"type": "text", "text": "a-question"}]}
        answer = {"role": "assistant", "content": "an-answer"}
        function = {"name": "a_tool", "arguments": {"a-key": "a-value"}}
        calls = [{"id": "call00001", "type": "function", "function": function}]
        call = {"role": "assistant", "content": "", "tool_calls": calls}
        result = {"role": "tool", "content": "a-result", "tool_call_id": "call00001"}
        properties = {"a-key": {"type": "string", "description": "a-description"}}
        parameters = {"type": "object", "properties": properties, "required": ["a-key"]}
        tool = {"type": "function", "function": {"name": "a_tool", "description": "a-tool", "parameters": parameters}}
        tried: list[tuple[list[Message], list[Tool]]] = [
            ([{"role": "system", "content": "a-rule"}, user], []),
            ([user], []),
            ([typed], []),
            ([user, call, result, answer, user], [tool]),
        ]
        try:
            made = self.renderer.render_chats(
                self.source, [ChatCall(messages, tools, add_generation_prompt=True, clock=_ANY_TIME) for messages, tools in tried]
            )
        except TemplateLimitError:
            raise
        except TemplateError:
            made = []
        limits = [each for each in made if isinstance(each, TemplateLimitError)]
        if len(limits) == len(tried):
            raise limits[0]
        texts = [text.text if isinstance(text, Traced) else "" for text in made] or [""] * len(tried)
        return Capabilities(
            system_role="a-rule" in texts[0],
            string_content="a-question" in texts[1],
            typed_content="a-question" in texts[2].replace(str(typed["content"]), ""),
            object_arguments="a-value" in texts[3],
        )

    def call(self, request: Request, *, clock: datetime, add_generation_prompt: bool = True) -> ChatCall:
        """What the template is called with for a request.

        Raises:
            InputError: where the request cannot be given to a template.
        """
        able = self.capabilities if self.arguments == "parsed" else None
        messages, tools = prepare(request, self.arguments, able)
        if self.arguments == "parsed":
            messages = adapt(self.source.text, messages)
        return ChatCall(
            messages,
            tools,
            add_generation_prompt=add_generation_prompt,
            clock=clock,
            bos_token=self.bos_token,
            eos_token=self.eos_token,
            kwargs=request.template_kwargs,
            server=self.arguments == "parsed",
        )

    def render(self, request: Request, *, clock: datetime, add_generation_prompt: bool = True, trace: bool = True) -> Traced:
        """The prompt of a request.

        Args:
            request: what the agent sends.
            clock: the time of the request.
            add_generation_prompt: whether the header of the next reply is added.
            trace: whether the pieces are wanted; without them it takes half the time.

        Raises:
            TemplateError: where the template does not render, refuses the request, or exceeds a limit.
            InputError: where the request cannot be given to a template.
        """
        call = self.call(request, clock=clock, add_generation_prompt=add_generation_prompt)
        return self.renderer.render_chat(self.source, call, trace=trace)

    def reply_text(self, request: Request, reply: Message, prompt_text: str, *, clock: datetime) -> str:
        """The text of a reply as the model emits it, without the token that ends it: that one is never in the cache.

        What a template may change in every reply, the blanks at its ends and the spelling of arguments that are a string, is as
        the reply has it.

        Args:
            request: what the reply answers.
            reply: the assistant message.
            prompt_text: the rendered request, with the header of the reply, from ``render`` or from the engine.
            clock: the time of the request.

        Raises:
            TemplateError: where the template does not render the conversation with the reply at its end.
            InputError: where the reply cannot be given to a template.
        """
        answered = replace(request, messages=(*request.messages, reply))
        whole = self.render(answered, clock=clock, add_generation_prompt=False, trace=False).text
        if self.bos_token and whole.startswith(self.bos_token) and not prompt_text.startswith(self.bos_token):
            whole = whole[len(self.bos_token) :]  # a server leaves to the tokenizer what the tokenizer adds
        start = len(prompt_text)
        if not whole.startswith(prompt_text):
            prompt, bare = (
                self.render(request, clock=clock, add_generation_prompt=header, trace=False).text for header in (True, False)
            )
            start = reply_start(prompt, bare, whole)
        ends = [self.eos_token, *self.eog_tokens]
        parsed = None
        if self.arguments == "raw" and (objects := with_objects(reply, whole)) is not None:
            answered = replace(request, messages=(*request.messages, objects))
            text = self.render(answered, clock=clock, add_generation_prompt=False, trace=False).text
            parsed = without_end(text[start:], prompt_text, ends) if text.startswith(whole[:start]) else None
        return as_written(reply, without_end(whole[start:], prompt_text, ends), parsed)[0]


def prepare(
    request: Request, arguments: Arguments, able: Capabilities | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The messages and tools of a request as they reach the chat template.

    Args:
        request: what the agent sends.
        arguments: ``raw`` as it is (llama-cpp-python), ``parsed`` as a llama-server rebuilds it: a tool keeps only name,
            description and parameters, a message only the fields that it knows, and string arguments of tool calls become
            objects.
        able: what the template can take, for ``parsed``.

    Raises:
        InputError: where arguments are not JSON.
    """
    if arguments == "raw":
        return [dict(message) for message in request.messages], [dict(tool) for tool in request.tools]
    able = able or Capabilities()
    messages = [_message(message, able) for message in request.messages]
    if not able.system_role and messages and messages[0]["role"] == "system":
        system = messages.pop(0)
        if messages:
            messages[0]["content"] = f"{system['content']}\n{messages[0]['content']}"
    if able.typed_content and not able.string_content:
        for message in messages:
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
    elif able.string_content and not able.typed_content:
        for message in messages:
            if not isinstance(message["content"], str):
                texts = [part["text"] for part in message["content"] if part.get("type") == "text"]
                message["content"] = "\n".join(texts)
    return messages, [_tool(tool) for tool in request.tools]


def _message(message: Message, able: Capabilities) -> dict[str, Any]:
    role = message["role"]
    rebuilt: dict[str, Any] = {"role": "system" if role == "developer" else role, "content": message.get("content") or ""}
    for key in ("reasoning_content", "name", "tool_call_id"):
        if message.get(key):
            rebuilt[key] = message[key]
    if message.get("tool_calls"):
        rebuilt["tool_calls"] = [_call(call, able) for call in message["tool_calls"]]
    return rebuilt


def _call(call: Mapping[str, Any], able: Capabilities) -> dict[str, Any]:
    function = call["function"]
    arguments = function["arguments"]
    if able.object_arguments:
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError as error:
                raise InputError(f"the arguments of the call to {function['name']} are not JSON: {error}") from error
    elif not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    rebuilt = {"type": "function", "function": {"name": function["name"], "arguments": arguments}}
    if call.get("id"):
        rebuilt["id"] = call["id"]
    return rebuilt


def _tool(tool: Tool) -> dict[str, Any]:
    function = tool["function"]
    return {
        "type": "function",
        "function": {
            "name": function["name"],
            "description": function.get("description", ""),
            "parameters": function.get("parameters", {}),
        },
    }
