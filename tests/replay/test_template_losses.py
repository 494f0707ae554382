"""What a chat template is said to lose is what the engine prefills again. Measured on the embedded llama-server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import defects
import pytest

from promptguard.engines.base import Engine
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import TOOL_LOOP_AND_USER, conversations
from promptguard.prompts.counting import counter
from promptguard.prompts.preservation import CLOCK, check_template
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import chat_template_source
from promptguard.replaying.result import Result

ENCODE = counter(None).encode
DEFECTIVE = {
    "arguments_tojson": "arguments",
    "drops_reasoning": "history",
    "empty_think_block": "generation-prompt",
    "end_of_last_message": "history",
    "tools_behind_history": "tools",
    "tools_in_last_user": "tools",
    "trims_content": "content",
}


def template(renderer: Renderer, name: str) -> ChatTemplate:
    text = path(name).read_text(encoding="utf-8")
    return ChatTemplate(renderer, chat_template_source(text, f"{name}.jinja"))


def path(name: str) -> Path:
    return Path(defects.CHAT_TEMPLATES) / f"{name}.jinja"


def prefilled_again(engine: Engine, held: str, after: str) -> int:
    """Tokens of what the engine holds that it computes again for the next prompt."""
    tokens = engine.tokenize(held)
    engine.place(tokens)
    return len(tokens) - engine.complete(engine.tokenize(after)).cached


@pytest.mark.parametrize("name", DEFECTIVE)
def test_what_is_lost(embedded: Engine, renderer: Renderer, name: str) -> None:
    found = check_template(template(renderer, name), ENCODE)
    assert [defect.kind for defect in found.defects] == [DEFECTIVE[name]]
    turns = {(str(told.conversation), at): turn for told in found.conversations for at, turn in enumerate(told.turns)}
    breaks = found.defects[0].breaks
    seen = {each.conversation.name: each for each in breaks}.values()  # one of each conversation
    measured = []
    for each in seen:
        turn = turns[str(each.conversation), each.turn]
        assert ENCODE(turn.prompt + turn.reply) == embedded.tokenize(turn.prompt + turn.reply)
        measured.append(prefilled_again(embedded, turn.prompt + turn.reply, turn.after))
    assert measured == [each.tokens_lost for each in seen]


def test_nothing_is_lost(embedded: Engine, renderer: Renderer) -> None:
    told = [each for each in conversations() if each.name == TOOL_LOOP_AND_USER]
    found = check_template(template(renderer, "append_only"), ENCODE, told=told)
    turns = [turn for each in found.conversations for turn in each.turns]
    assert [prefilled_again(embedded, turn.prompt + turn.reply, turn.after) for turn in turns] == [0] * 15


def test_what_a_date_costs(embedded: Engine, renderer: Renderer) -> None:
    chat = template(renderer, "date_header")
    defect = check_template(chat, ENCODE).defects[0]
    worst = defect.worst
    request = worst.conversation.request(worst.turn + 1)
    before, after = (chat.render(request, clock=clock).text for clock in (CLOCK, CLOCK.replace(day=12)))
    assert prefilled_again(embedded, before, after) == worst.tokens_lost


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("append_only", set()),
        ("end_of_last_message", {"K9"}),
        ("tools_behind_history", {"K9"}),
    ],
)
def test_the_replay_agrees(embedded: Engine, measure: Callable[..., Result], name: str, expected: set[str]) -> None:
    assert set(defects.causes(measure(embedded, chat_template=path(name))).values()) == expected
