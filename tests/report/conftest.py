from __future__ import annotations

from dataclasses import replace

import pytest

from promptguard.core.source import Place, Source, Span
from promptguard.prompts.divergence import Cause, Divergence
from promptguard.prompts.standins import StandIn
from promptguard.replaying.gate import Gate, judge
from promptguard.replaying.result import Result, Subject, Turn

SYSTEM = Source("prompts/system.j2", "You help.\nTime: {{ now }}.\nBe brief.\n", "jinja")
CLOCK = Divergence(
    token=9,
    char=16,
    block="system",
    before="Time: 12:00:01.",
    after="Time: 12:00:02.",
    cause=Cause("K1", "clock"),
    explanation="the text is a time that moves on",
    remedy="move it into the last user message",
    tokens_lost=91,
    place=Place(SYSTEM, Span(16, 25)),
    expression="now",
)
SUBJECT = Subject(
    engine="llama-server (embedded)",
    model="tiny.gguf",
    build="b11549",
    context=16384,
    slots=1,
    slot=0,
    url=None,
    chat_template="<chat template of tiny.gguf>",
    chat_template_sha256="0123456789abcdef" * 4,
    task="four_tool",
    system="prompts/system.j2",
    tools="tools.json",
    rendered_by="llama-server",
)


def judged(*turns: Turn, **fields: object) -> Result:
    result = Result(subject=SUBJECT, turns=turns, warm_up_tokens=100, checks=(), seconds_total=2.5, seconds_engine=2.0)
    return replace(result, checks=judge(result, Gate()), **fields)


@pytest.fixture
def clean() -> Result:
    return judged(
        Turn(1, "user 1", 120, 100, 20, 100, 100, 0.02),
        Turn(2, "result of get_weather", 180, 140, 40, 140, 140, 0.04),
        stand_ins=(StandIn("now", "clock", varies=True), StandIn("team", "text", varies=False)),
        notes=("the server was busy",),
    )


@pytest.fixture
def clock() -> Result:
    return judged(
        Turn(1, "user 1", 120, 9, 111, 100, 9, 0.1, divergence=CLOCK),
        Turn(2, "result of get_weather", 180, 9, 171, 140, 9, 0.2, divergence=replace(CLOCK, after="Time: 12:00:03.")),
        Turn(3, "user 2", 260, 9, 251, 200, 9, 1.5, divergence=CLOCK),
    )


@pytest.fixture
def broken_off(clock: Result) -> Result:
    return replace(clock, turns=clock.turns[:1], checks=(), error="the engine died (exit code -6)\nlast log line")
