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
from promptguard.prompts.preservation import check_template
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import chat_template_source
from promptguard.replaying.chat_template import computed_again, prefilled_again
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


@pytest.mark.parametrize("name", DEFECTIVE)
def test_what_is_lost(embedded: Engine, renderer: Renderer, name: str) -> None:
    found = check_template(template(renderer, name), ENCODE)
    assert [defect.kind for defect in found.defects] == [DEFECTIVE[name]]
    seen = {each.conversation.name: each for each in found.defects[0].breaks}.values()  # one of each conversation
    assert all(ENCODE(each.held) == embedded.tokenize(each.held) for each in seen)
    assert [prefilled_again(embedded, each) for each in seen] == [each.tokens_lost for each in seen]


def test_nothing_is_lost(embedded: Engine, renderer: Renderer) -> None:
    told = [each for each in conversations() if each.name == TOOL_LOOP_AND_USER]
    found = check_template(template(renderer, "append_only"), ENCODE, told=told)
    turns = [turn for each in found.conversations for turn in each.turns]
    assert [computed_again(embedded, turn.prompt + turn.reply, turn.after) for turn in turns] == [0] * 15


def test_what_a_date_costs(embedded: Engine, renderer: Renderer) -> None:
    worst = check_template(template(renderer, "date_header"), ENCODE).defects[0].worst
    assert prefilled_again(embedded, worst) == worst.tokens_lost


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
