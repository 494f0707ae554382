"""Requests as a chat template sees them, and replies as a model emits them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

from promptguard.core.errors import InputError, TemplateError
from promptguard.core.source import Source
from promptguard.prompts.rendering import Renderer
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
)
"""Texts of the tokens with which the usual model families end a reply."""

_ANY_TIME = datetime(2026, 1, 1, tzinfo=timezone.utc)
_OPEN_MARKER = re.compile(r"[<\[][^<>\[\]\s]*\Z")


@dataclass(frozen=True)
class Capabilities:
    """What a chat template can take; a llama-server adapts a request to it.

    Attributes:
        system_role: it prints a system message.
        string_content: it prints a content that is a string.
        typed_content: it prints a content that is a list of parts.
        object_arguments: it takes the arguments of a tool call as an object.
        reasoning: it prints the reasoning of a reply.
    """

    system_role: bool = True
    string_content: bool = True
    typed_content: bool = False
    object_arguments: bool = True
    reasoning: bool = True


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
        """What the template can take, found by trying, as a llama-server does when it loads one."""
        user = {"role": "user", "content": "a-question"}
        typed = {"role": "user", "content": [{"type": "text", "text": "a-question"}]}
        answer = {"role": "assistant", "content": "an-answer", "reasoning_content": "a-thought"}
        function = {"name": "a_tool", "arguments": {"a-key": "a-value"}}
        calls = [{"id": "call00001", "type": "function", "function": function}]
        call = {"role": "assistant", "content": "", "tool_calls": calls}
        result = {"role": "tool", "content": "a-result", "tool_call_id": "call00001"}
        properties = {"a-key": {"type": "string", "description": "a-description"}}
        parameters = {"type": "object", "properties": properties, "required": ["a-key"]}
        tool = {"type": "function", "function": {"name": "a_tool", "description": "a-tool", "parameters": parameters}}
        return Capabilities(
            system_role="a-rule" in self._try([{"role": "system", "content": "a-rule"}, user]),
            string_content="a-question" in self._try([user]),
            typed_content="a-question" in self._try([typed]).replace(str(typed["content"]), ""),
            object_arguments="a-value" in self._try([user, call, result, answer, user], [tool]),
            reasoning="a-thought" in self._try([user, answer]),
        )

    def _try(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        try:
            prompt = self.renderer.render_chat(
                self.source, messages, tools, add_generation_prompt=True, clock=_ANY_TIME, trace=False
            )
        except TemplateError:
            return ""
        return prompt.text

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
        able = self.capabilities if self.arguments == "parsed" else None
        messages, tools = prepare(request, self.arguments, able)
        thinking = {"enable_thinking": able.reasoning} if able else {}
        return self.renderer.render_chat(
            self.source,
            messages,
            tools,
            add_generation_prompt=add_generation_prompt,
            clock=clock,
            bos_token=self.bos_token,
            eos_token=self.eos_token,
            kwargs={**thinking, **request.template_kwargs},
            server=self.arguments == "parsed",
            trace=trace,
        )

    def _reply_start(prompt: str, whole: str) -> int:
    """Where the reply starts in a conversation that may lack the end of the prompt, such as an empty think block."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, whole, strict=False)))
    if common == len(prompt):
        return common
    # "<think>" in the prompt and "<tool_call>" in the conversation have "<" in common, which belongs to the reply
    marker = _OPEN_MARKER.search(prompt, 0, common)
    return marker.start() if marker else common


def _without_end(text: str, eog_tokens: Sequence[str]) -> str:
    stripped = text.rstrip()
    for token in eog_tokens:
        if token and stripped.endswith(token):
            return stripped.removesuffix(token)
    return text
