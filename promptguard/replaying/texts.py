"""Requests and replies as the text and the tokens that the engine sees.

Where the engine has a renderer of its own, that one is the truth. Ours is used in its stead only when both give the same text for
every request of the run: then the clock of the chat template can be moved from turn to turn, and every character has a place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from promptguard.core.errors import InputError, TemplateError
from promptguard.core.source import Source
from promptguard.engines.base import Engine
from promptguard.prompts.chat import END_OF_GENERATION, ChatTemplate, prepare
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Message, Prompt, Request
from promptguard.prompts.sequences import common_prefix
from promptguard.prompts.tokens import token_starts

ENGINE = "the engine"


class Texts:
    """Render and tokenize for one engine.

    Args:
        engine: the engine.
        renderer: our renderer.
        template: the chat template.
        own: render with ``template`` whatever the engine's own renderer says (it holds another template).
    """

    def __init__(self, engine: Engine, renderer: Renderer, template: Source, *, own: bool) -> None:
        self._engine = engine
        info = engine.info
        self._template = ChatTemplate(
            renderer, template, arguments=info.arguments, bos_token=info.bos_token, eos_token=info.eos_token
        )
        self._own = own
        self.rendered_by = "promptguard"
        self.notes: list[str] = []

    def render_all(self, requests: Sequence[Request], clocks: Sequence[datetime]) -> list[str]:
        """The prompts of a run, each at its own time."""
        texts = self._render_all(requests, clocks)
        self.notes.extend(_left_out(requests, texts))
        return texts

    def _render_all(self, requests: Sequence[Request], clocks: Sequence[datetime]) -> list[str]:
        if self._own:
            return self._ours(requests, clocks)
        ours: list[str] = []
        for request in requests:
            theirs = self._engine.apply_template(request)
            if theirs is None:
                return self._ours(requests, clocks)
            same = self._same(request, theirs)
            if same is None:
                break
            ours.append(same)
        else:
            self.rendered_by = "promptguard (checked against the engine)"
            return self._ours(requests, clocks) if self._tells_time else ours
        self.rendered_by = ENGINE
        self.notes.append(
            "the engine renders this chat template differently from promptguard, so its own rendering is measured: a clock in "
            "the chat template is not moved between the turns, and places in the chat template are not known"
        )
        return [self._engine.apply_template(request) or "" for request in requests]

    def render_live(self, request: Request, clock: datetime) -> str:
        """One prompt as the engine itself will render it when it is asked to answer."""
        text = self._engine.apply_template(request)
        if text is None:
            return self._ours([request], [clock])[0]
        self.rendered_by = ENGINE
        return text

    def prompt(self, request: Request, text: str) -> Prompt:
        """A request with its tokens.

        Raises:
            InputError: there are none.
        """
        tokens = self._engine.tokenize(text)
        if not tokens:
            where = self._template.source.path
            raise InputError("the chat template prints nothing", where=where, hint="use another chat template")
        return Prompt(request=request, text=text, tokens=tokens)

    def with_reply(self, prompt: Prompt, reply: Message, clock: datetime, following: str) -> Prompt:
        """``prompt`` followed by the tokens that the model would have generated, without the one that ends the reply.

        Args:
            prompt: what the reply answers.
            reply: the assistant message.
            clock: the time of the turn.
            following: the next prompt, which tells the reply where our renderer refuses the chat template.
        """
        try:
            text = self._template.reply_text(prompt.request, reply, prompt.text, clock=clock)
        except TemplateError:
            if not following.startswith(prompt.text):
                raise
            text = following[len(prompt.text) :]
            ends = [text.find(token) for token in END_OF_GENERATION if token in text]
            text = text[: min(ends)] if ends else ""
        whole = self._engine.tokenize(prompt.text + text)
        start = len(prompt.tokens)
        if common_prefix(whole, prompt.tokens) < start:  # a model cannot merge what it says into a token of the prompt
            whole = [*prompt.tokens, *self._engine.tokenize_reply(text)]
        return replace(
            prompt,
            text=prompt.text + text,
            tokens=whole,
            reply=reply,
            reply_start=len(prompt.text),
            reply_start_token=start,
        )

    def located(self, prompt: Prompt, clock: datetime) -> Prompt:
        """``prompt`` with all that is known of where its parts come from; only a prompt that is to be explained needs it.

        Args:
            prompt: with or without a reply.
            clock: the time at which it was rendered.
        """
        starts = prompt.starts
        if starts is None:
            found = token_starts(prompt.text, self._engine.pieces(prompt.text))
            starts = found if found is not None and len(found) == len(prompt.tokens) else None
        trace = None
        if self.rendered_by != ENGINE:
            trace = self._template.render(prompt.request, clock=clock)
            if not trace.text.startswith(prompt.text[: prompt.reply_start]):
                trace = None
        request = prompt.request
        if self._engine.info.arguments == "parsed":  # the order of the outer keys is the server's own
            request = replace(request, tools=tuple(prepare(request, "parsed")[1]))
        return replace(prompt, request=request, starts=starts, trace=trace)

    def _ours(self, requests: Sequence[Request], clocks: Sequence[datetime]) -> list[str]:
        pairs = zip(requests, clocks, strict=True)
        return [self._template.render(request, clock=clock, trace=False).text for request, clock in pairs]

    @property
    def _tells_time(self) -> bool:
        """Whether the chat template can print the time: only under these names does it get one."""
        return any(name in self._template.source.text for name in ("strftime_now", "date_string", "datetime"))

    def _same(self, request: Request, theirs: str) -> str | None:
        """Our rendering of ``request`` where it equals what the engine just gave (its clock may have gone on since)."""
        for _ in range(2):
            try:
                ours = self._ours([request], [datetime.now()])[0]  # noqa: DTZ005 - servers print their local time
            except TemplateError:
                return None
            if ours == theirs:
                return ours
            if not self._tells_time:
                return None
            theirs = self._engine.apply_template(request) or ""
        return None


def _left_out(requests: Sequence[Request], texts: Sequence[str]) -> list[str]:
    """What the chat template does not print, and a run therefore says nothing about."""
    notes = []
    tools = [str(tool["function"]["name"]) for tool in requests[0].tools]
    if tools and not any(name in texts[0] for name in tools):
        notes.append("the chat template does not print the tools: this run says nothing about them")
    for request, text in zip(requests, texts, strict=True):
        last = request.messages[-1]
        content = str(last.get("content", "")).strip()[:60]
        if last["role"] == "tool" and content not in text and json.dumps(content, ensure_ascii=False)[1:-1] not in text:
            notes.append("the chat template does not print tool results: this run says nothing about them")
            break
    return notes
