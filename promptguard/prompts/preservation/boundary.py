"""The two sides of a turn boundary: the prompt with its reply, and the next prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from promptguard.core.errors import TemplateError
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import Conversation
from promptguard.prompts.rendering import Budget, ChatCall
from promptguard.prompts.replies import Own, as_written, reply_start, with_objects, without_end
from promptguard.prompts.request import Message, Request, Traced
from promptguard.prompts.segments import text_of
from promptguard.prompts.sequences import common_prefix, first_difference

Encode = Callable[[str], Sequence[int]]
"""Gives the token ids of a text."""

_THINK_MARK = re.compile(r"[<\[]\|?(/|END_)?(?:START_)?[\w:]{0,12}?think(?:ing)?\b[^<>\[\]\s]{0,20}[>\]]", re.IGNORECASE)
_HEADER = 100  # code points at the end of a prompt that hold the header of the reply, where the text ahead of it is not found
_FAR = 256  # code points behind a difference that a tokenizer is shown


@dataclass(frozen=True)
class Boundary:
    """Behind a reply of a conversation; with further variables for the template."""

    conversation: Conversation
    turn: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> Message:
        return self.conversation.reply(self.turn)

    def request(self, ahead: int = 0) -> Request:
        request = self.conversation.request(self.turn + ahead)
        return replace(request, template_kwargs={**request.template_kwargs, **self.kwargs}) if self.kwargs else request

    @property
    def answered(self) -> Request:
        request = self.request()
        return replace(request, messages=(*request.messages, self.reply))


@dataclass(frozen=True)
class Outcome:
    """What a boundary looks like.

    Attributes:
        prompt: the prompt.
        reply: what the model emits behind it.
        after: the next prompt.
        rendered: how far the reply is as the template itself renders it, from its start.
        start: where the reply starts in the render of the whole conversation.
        own: what was put into the reply as the model wrote it, where the template renders it in another way.
    """

    boundary: Boundary
    prompt: str
    reply: str
    after: str
    rendered: int
    start: int
    own: Own | None = None

    @property
    def held(self) -> str:
        return self.prompt + self.reply

    @property
    def natural(self) -> bool:
        """Whether a model can give this reply: none is without reasoning where the prompt has begun it."""
        if text_of(self.boundary.reply, "reasoning_content"):
            return True
        marks = list(_THINK_MARK.finditer(self.prompt, self.header))
        return not marks or marks[-1][1] is not None

    @property
    def header(self) -> int:
        """Where the header of the reply starts: behind the text of the last message, as far as that can be found."""
        last = text_of(self.boundary.request().messages[-1]).strip()
        at = self.prompt.rfind(last)
        return at + len(last) if at >= 0 else max(0, len(self.prompt) - _HEADER)


class Bench:
    """Renders the two sides of boundaries, and compares them.

    Args:
        template: the template, fed as a llama-server does.
        encode: gives token ids.
        clock: the time that the template sees.
        budget: of processor time, ``None`` for no other limit than that of one render.

    Attributes:
        source: the template.
        encode: gives token ids; it remembers the last texts.
    """

    def __init__(self, template: ChatTemplate, encode: Encode, clock: datetime, budget: Budget | None) -> None:
        self.source = template.source
        self.renderer = template.renderer
        self._fed = {
            arguments: ChatTemplate(
                template.renderer,
                template.source,
                arguments=arguments,
                bos_token=template.bos_token,
                eos_token=template.eos_token,
                eog_tokens=template.eog_tokens,
            )
            for arguments in ("parsed", "raw")
        }
        self._ends = [token for token in (template.eos_token, *template.eog_tokens) if token]
        self.encode = lru_cache(maxsize=256)(encode)  # a prompt is compared with the one in front of it and the one behind it
        self.clock = clock
        self._budget = budget

    def render(self, calls: Sequence[ChatCall], *, trace: bool = False) -> list[Traced | TemplateError]:
        seconds = self._budget.left if self._budget is not None else None
        return self.renderer.render_chats(self.source, calls, trace=trace, seconds=seconds)

    def call(self, boundary: Boundary, request: Request, *, header: bool = True, clock: datetime | None = None) -> ChatCall:
        template = self._fed[boundary.conversation.arguments]
        return template.call(request, clock=clock or self.clock, add_generation_prompt=header)

    def measure(self, boundaries: Sequence[Boundary]) -> list[Outcome | TemplateError]:
        """Render what stands in front of each boundary and behind it."""
        calls = []
        for boundary in boundaries:
            calls += [
                self.call(boundary, boundary.request()),
                self.call(boundary, boundary.answered, header=False),
                self.call(boundary, boundary.request(1)),
            ]
        made = self.render(calls)
        triples = [made[at : at + 3] for at in range(0, len(made), 3)]
        again = [
            (at, which)
            for at, (boundary, triple) in enumerate(zip(boundaries, triples, strict=True))
            for which in self._more(boundary, triple)
        ]
        more = dict(zip(again, self.render([self._again(boundaries[at], which) for at, which in again]), strict=True))
        return [
            self._outcome(boundary, *triple, *(more.get((at, which)) for which in ("bare", "parsed")))
            for at, (boundary, triple) in enumerate(zip(boundaries, triples, strict=True))
        ]

    def _more(self, boundary: Boundary, triple: Sequence[Traced | TemplateError]) -> Iterator[Literal["bare", "parsed"]]:
        """What else must be rendered to tell the reply."""
        prompt, whole, _ = triple
        if isinstance(prompt, Traced) and isinstance(whole, Traced):
            if not whole.text.startswith(prompt.text):
                yield "bare"
            if boundary.conversation.arguments == "raw" and with_objects(boundary.reply, whole.text) is not None:
                yield "parsed"

    def _again(self, boundary: Boundary, which: Literal["bare", "parsed"]) -> ChatCall:
        if which == "bare":
            return self.call(boundary, boundary.request(), header=False)
        answered = boundary.answered
        reply = with_objects(boundary.reply, "") or boundary.reply
        return self.call(boundary, replace(answered, messages=(*answered.messages[:-1], reply)), header=False)

    def _outcome(
        self,
        boundary: Boundary,
        prompt: Traced | TemplateError,
        whole: Traced | TemplateError,
        after: Traced | TemplateError,
        bare: Traced | TemplateError | None,
        parsed: Traced | TemplateError | None,
    ) -> Outcome | TemplateError:
        if isinstance(prompt, TemplateError):
            return prompt
        if isinstance(after, TemplateError):
            return after
        if isinstance(whole, TemplateError):  # it wants something behind a reply: the reply can be told from what follows
            if not after.text.startswith(prompt.text):
                return whole
            text = after.text[len(prompt.text) :]
            end = min((text.find(token) for token in self._ends if token in text), default=0)
            return Outcome(boundary, prompt.text, text[:end], after.text, end, len(prompt.text))
        if isinstance(bare, TemplateError):
            return bare
        start = len(prompt.text) if bare is None else reply_start(prompt.text, bare.text, whole.text)
        rendered = without_end(whole.text[start:], prompt.text, self._ends)
        objects = None
        if isinstance(parsed, Traced) and parsed.text.startswith(whole.text[:start]):
            objects = without_end(parsed.text[start:], prompt.text, self._ends)
        reply, own = as_written(boundary.reply, rendered, objects)
        return Outcome(boundary, prompt.text, reply, after.text, first_difference(reply, rendered), start, own)

    def lost(self, outcome: Outcome) -> tuple[int, int] | None:
        """Tokens of the prompt with its reply, and how many of them are lost; ``None`` where none is."""
        held, after = outcome.held, outcome.after
        char = first_difference(held, after)
        if char == len(held) and any(after.startswith(end, char) for end in self._ends):
            return None  # no tokenizer joins a text with the special token behind it
        tokens = self.encode(held)
        kept = common_prefix(tokens, self.encode(after[: char + _FAR]))
        return (len(tokens), len(tokens) - kept) if kept < len(tokens) else None
