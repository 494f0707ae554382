"""The fixed set of conversations: what is in it, and that every pair of variants is."""

from __future__ import annotations

import json
from itertools import combinations

import pytest

from promptguard.prompts.conversations import Conversation, conversations

TOLD = conversations()


def variants(told: Conversation) -> dict[str, object]:
    found = {"conversation": told.name, "mode": told.mode, "system": told.system}
    return {**found, "arguments": told.arguments} if told.calls_tools else found


def test_every_pair_of_variants_is_covered() -> None:
    known = [variants(told) for told in TOLD]
    calling = {told.name for told in TOLD if told.calls_tools}
    for first, second in combinations(("conversation", "mode", "system", "arguments"), 2):
        if "arguments" in (first, second):
            known = [each for each in known if each["conversation"] in calling]
        values = [{each[name] for each in known} for name in (first, second)]
        covered = {(each[first], each[second]) for each in known}
        assert covered == {(one, other) for one in values[0] for other in values[1]}


def test_there_are_seven_conversations_of_three_modes() -> None:
    assert len({told.name for told in TOLD}) == 7
    assert {told.mode for told in TOLD} == {"reasoning", "plain", "thinking off"}
    assert len(TOLD) == 21


@pytest.mark.parametrize("told", TOLD, ids=str)
def test_each_turn_sends_what_the_turn_before_sent_and_what_came_of_it(told: Conversation) -> None:
    for turn in range(len(told.replies)):
        sent, next_sent = told.request(turn).messages, told.request(turn + 1).messages
        assert next_sent[: len(sent)] == sent
        assert next_sent[len(sent)] == told.reply(turn)
        assert {message["role"] for message in next_sent[len(sent) + 1 :]} == {told.following(turn)}
    assert told.request(len(told.replies)).messages == told.messages


@pytest.mark.parametrize("told", TOLD, ids=str)
def test_replies_fit_their_variant(told: Conversation) -> None:
    replies = [message for message in told.messages if message["role"] == "assistant"]
    assert all(("reasoning_content" in reply) == (told.mode == "reasoning") for reply in replies)
    arguments = [call["function"]["arguments"] for reply in replies for call in reply.get("tool_calls", ())]
    assert all(isinstance(each, str) == (told.arguments == "raw") for each in arguments)
    assert all(each != json.dumps(json.loads(each), ensure_ascii=False) for each in arguments if told.arguments == "raw")


def test_thinking_is_switched_by_the_usual_variables() -> None:
    kwargs = {told.mode: told.request(0).template_kwargs for told in TOLD}
    assert kwargs == {
        "reasoning": {"enable_thinking": True, "thinking": True},
        "plain": {},
        "thinking off": {"enable_thinking": False, "thinking": False},
    }


def test_a_variant_is_named_in_words() -> None:
    assert str(TOLD[0]) == "plain chat (reasoning, with a system message)"
    assert str(TOLD[4]) == "tool loop of four calls (no reasoning, arguments as a string, without a system message)"
