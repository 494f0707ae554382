"""Requests and replies as the text and the tokens that the engine sees.

Where the engine has a renderer of its own, that one is the truth. Ours is used in its stead only when both give the same text for
every request of the run: then the clock of the chat template can be moved from turn to turn, and every character has a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from promptguard.core.errors import TemplateError
from promptguard.core.source import Source
from promptguard.engines.base import Engine
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Message, Prompt, Request, Traced
from promptguard.prompts.sequences import common_prefix
from promptguard.prompts.tokens import token_starts


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

    def render_all(self, requests: Sequence[Request], clocks: Sequence[datetime]) -> list[Traced]:
        """The prompts of a run, each at its own time."""
        if self._own:
            return self._ours(requests, clocks)
        theirs: list[str] = []
        for number, request in enumerate(requests):
            text = self._engine.apply_template(request)
            if text is None:
                return self._ours(requests, clocks)
            theirs.append(text)
            if number == 0 and not self._same(request, text):
                break
        else:
            if all(self._same(request, text) for request, text in zip(requests[1:], theirs[1:], strict=True)):
                self.rendered_by = "promptguard (checked against the engine)"
                return self._ours(requests, clocks)
        theirs.extend(self._engine.apply_template(request) or "" for request in requests[len(theirs) :])
        self.rendered_by = "the engine"
        self.notes.append(
            "the engine renders this chat template differently from promptguard, so its own rendering is measured: a clock in "
            "the chat template is not moved between the turns, and places in the chat template are not known"
        )
        return [Traced(text) for text in theirs]

    def render_live(self, request: Request, clock: datetime) -> Traced:
        """One prompt as the engine itself will render it when it is asked to answer."""
        text = self._engine.apply_template(request)
        if text is None:
            return self._ours([request], [clock])[0]
        self.rendered_by = "the engine"
        return Traced(text)

    def prompt(self, request: Request, traced: Traced) -> Prompt:
        return Prompt(request=request, text=traced.text, tokens=self._engine.tokenize(traced.text), trace=traced)

    def with_reply(self, prompt: Prompt, reply: Message, clock: datetime) -> Prompt:
        """``prompt`` followed by the tokens that the model would have generated, without the one that ends the reply."""
        text = self._template.reply_text(prompt.request, reply, prompt.text, clock=clock)
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

    def with_starts(self, prompt: Prompt) -> Prompt:
        """``prompt`` with the code point at which each token starts, where the engine's pieces add up to the text."""
        if prompt.starts is not None:
            return prompt
        pieces = self._engine.pieces(prompt.text)
        starts = token_starts(prompt.text, pieces)
        if starts is None or len(starts) != len(prompt.tokens):
            return prompt
        return replace(prompt, starts=starts)

    def _ours(self, requests: Sequence[Request], clocks: Sequence[datetime]) -> list[Traced]:
        return [self._template.render(request, clock=clock) for request, clock in zip(requests, clocks, strict=True)]

    def _same(self, request: Request, theirs: str) -> bool:
        """Whether we render ``request`` to what the engine gave a moment ago (its clock may have gone on since)."""
        try:
            ours = self._ours([request], [datetime.now()])[0].text  # noqa: DTZ005 - servers print their local time
            if ours == theirs:
                return True
            again = self._engine.apply_template(request)
            return self._ours([request], [datetime.now()])[0].text == again  # noqa: DTZ005
        except TemplateError:
            return False
