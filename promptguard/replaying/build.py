"""From the user's files to the request of each turn: what changes between turns changes here, as it would in an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from promptguard.core.errors import InputError
from promptguard.core.source import Place, Source, Span
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Message, Piece, Request, Tool, Traced
from promptguard.prompts.standins import StandIn
from promptguard.replaying.inject import Injection
from promptguard.replaying.inputs import Inputs
from promptguard.toolschema.openai import as_openai_tools

# The last turn of the scripted task is the first one of the new day.
MIDNIGHT = datetime(2026, 3, 12)  # noqa: DTZ001 - the wall clock of an agent, which has no zone


class Builder:
    """Build the request of a turn.

    Args:
        inputs: the user's files.
        renderer: renders the templates.
        turns: number of turns of the task: the clock passes midnight between the last two.
        seed: seed of the values that differ between turns.
        inject: a defect to plant.
    """

    def __init__(self, inputs: Inputs, renderer: Renderer, *, turns: int, seed: int, inject: Injection | None = None) -> None:
        self.inputs = inputs
        self.renderer = renderer
        self._turns = turns
        self._seed = seed
        self._inject = inject
        self.injected = False  # whether the defect has changed a request yet
        self._stand_ins: dict[str, StandIn] = {}

    @property
    def stand_ins(self) -> tuple[StandIn, ...]:
        """What the context did not give, in the order met."""
        return tuple(self._stand_ins.values())

    def clock(self, turn: int) -> datetime:
        """The time of a turn; turn 0 is the warm-up."""
        return MIDNIGHT + timedelta(seconds=turn - self._turns)

    def tools(self, turn: int) -> tuple[tuple[Tool, ...], Traced]:
        """The tools as they are sent on a turn, and the text that they were read from."""
        source = self.inputs.tools_source
        if self.inputs.tools is not None:
            return self.inputs.tools, _whole(source)
        traced = self._render(source, turn)
        try:
            value = json.loads(traced.text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise InputError(f"does not render to JSON on turn {turn} ({error})", where=source.path) from None
        return as_openai_tools(value, source.path), traced

    def request(self, turn: int, messages: Sequence[Message]) -> Request:
        """The request of a turn, with the system message in front of ``messages``."""
        inputs = self.inputs
        system = self._render(inputs.system, turn) if inputs.system_is_template else _whole(inputs.system)
        tools, tools_text = self.tools(turn)
        request = Request(messages=tuple(messages), tools=tools, system=system, tools_source=tools_text)
        if self._inject is not None:
            planted = self._inject(request, turn, self.clock(turn))
            self.injected = self.injected or repr(planted) != repr(request)  # equal dicts can have their keys in another order
            request = planted
        if request.system is not None and request.system.text.strip():
            head: tuple[Message, ...] = ({"role": "system", "content": request.system.text},)
        else:
            head = ()
            request = replace(request, system=None)
        return replace(request, messages=head + tuple(request.messages))

    def _render(self, source: Source, turn: int) -> Traced:
        rendered = self.renderer.render_system(source, self.inputs.context, clock=self.clock(turn), turn=turn, seed=self._seed)
        for stand_in in rendered.stand_ins:
            self._stand_ins.setdefault(stand_in.name, stand_in)
        return rendered.traced


def _whole(source: Source) -> Traced:
    """A source that is sent as it is."""
    end = len(source.text)
    return Traced(source.text, (Piece(0, end, Place(source, Span(0, end))),) if end else ())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
