"""``--live``: the model answers, the tools are scripted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fake_server import PROPS, SLOT, FakeLlamaServer
from pytest_httpserver import HTTPServer

from promptguard.core.errors import EngineError
from promptguard.replaying.result import Result

Execute = Callable[..., Result]


def causes(result: Result) -> dict[int, str]:
    return {turn.number: turn.divergence.cause.code for turn in result.turns if turn.divergence}


def losses(result: Result) -> list[tuple[int, int]]:
    return [(turn.prompt_loss, turn.engine_loss) for turn in result.turns]


# -- the tiny model, which answers nonsense


def test_a_run_on_the_tiny_model_ends_and_adds_up(execute: Execute) -> None:
    result = execute(live=True, max_tokens=32)
    assert 2 <= len(result.turns) <= 32
    assert result.subject.live
    assert result.error is None
    assert all(turn.cached + turn.prefilled == turn.prompt for turn in result.turns)
    assert [turn.engine_loss for turn in result.turns] == [0] * len(result.turns)
    assert result.hit_rate == sum(turn.cached for turn in result.turns) / sum(turn.prompt for turn in result.turns)


def test_nonsense_that_splits_into_other_tokens_when_it_is_replayed_is_the_replys_fault(execute: Execute) -> None:
    """Line ends one by one from the model, in pairs and more from the tokenizer."""
    result = execute(live=True, max_tokens=32)
    assert causes(result) == {2: "K10"}
    divergence = result.turns[1].divergence
    assert "the text is the same but splits into other tokens" in divergence.explanation
    assert divergence.before == divergence.after
    assert result.turns[1].prompt_loss == result.turns[1].ideal - result.turns[1].cached == 32


def test_two_runs_are_the_same(execute: Execute) -> None:
    first, second = (execute(live=True, max_tokens=16) for _ in range(2))
    assert [(turn.prompt, turn.cached) for turn in first.turns] == [(turn.prompt, turn.cached) for turn in second.turns]


def test_the_limit_of_requests_holds_and_is_said(execute: Execute) -> None:
    result = execute(task=None, live=True, max_turns=2, max_tokens=8)
    assert len(result.turns) == 2
    assert "the model had not finished the task after 2 requests (--max-turns)" in result.notes


def test_the_uncached_run_repeats_what_was_sent(execute: Execute) -> None:
    plain, both = (execute(live=True, max_tokens=16, compare_uncached=flag) for flag in (False, True))
    assert [turn.cached for turn in both.turns] == [turn.cached for turn in plain.turns]
    assert all(turn.seconds_uncached > 0 for turn in both.turns)


def test_a_clock_is_found_in_a_live_run_too(execute: Execute) -> None:
    result = execute(live=True, max_tokens=8, inject="clock-head")
    assert causes(result) == {1: "K1", 2: "K1"}
    assert not result.passed


# -- a model with a plan; every character is a token


class Model:
    """A server whose model says what it was told to, one answer a request."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.held: list[int] = []

    def render(self, body: dict[str, Any]) -> dict[str, str]:
        return {"prompt": "".join(f"[{m['role']}]{said(m)}[/]" for m in body["messages"]) + "[assistant]"}

    def evaluate(self, prompt: list[int], reply: list[int]) -> dict[str, int]:
        cached = 0
        while cached < min(len(prompt) - 1, len(self.held)) and prompt[cached] == self.held[cached]:
            cached += 1
        self.held = prompt + reply
        return {"cache_n": cached, "prompt_n": len(prompt) - cached}

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"timings": self.evaluate(body["prompt"], [])}

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.answers.pop(0)
        generated = answer.pop("generated", said(answer))
        reply = [ord(char) for char in generated]
        timings = self.evaluate([ord(char) for char in self.render(body)["prompt"]], reply)
        return {
            "choices": [{"message": {"role": "assistant", **answer}, "finish_reason": "stop"}],
            "timings": timings,
            "__verbose": {"tokens": [*reply, 0], "content": generated},
        }


def said(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or []
    return (message.get("content") or "") + "".join(f"<{c['function']['name']}{c['function']['arguments']}>" for c in calls)


def call(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"city": "Bern"}'}
    return {"content": "", "tool_calls": [{"id": "x", "type": "function", "function": function}]}


@pytest.fixture
def live(execute: Execute, httpserver: HTTPServer) -> Callable[..., tuple[Result, FakeLlamaServer]]:
    def run(*answers: dict[str, Any], **settings: object) -> tuple[Result, FakeLlamaServer]:
        model, fake = Model(list(answers)), FakeLlamaServer(httpserver)
        fake.answers["/props"] = {**PROPS, "default_generation_settings": {"n_ctx": 16384}}
        fake.answers["/slots"] = [{**SLOT, "n_ctx": 16384}]
        fake.answers["/apply-template"] = model.render
        fake.answers["/completion"] = model.complete
        fake.answers["/v1/chat/completions"] = model.chat
        return execute(live=True, server=fake.url, **settings), fake

    return run


def test_calls_get_their_scripted_results_and_the_last_answer_ends_the_run(live: Callable[..., Any]) -> None:
    result, fake = live(call("get_weather"), {"content": "Clear."}, {"content": "Rain."})
    assert [turn.label for turn in result.turns] == ["user 1", "result of get_weather", "user 2"]
    assert losses(result) == [(0, 0)] * 3
    assert result.hit_rate == result.ceiling
    assert result.passed
    last = fake.bodies("/v1/chat/completions")[-1]
    assert [message["role"] for message in last["messages"]] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert last["messages"][3]["content"] == "clear, 21 degrees"
    assert (last["temperature"], last["max_tokens"]) == (0.0, 256)


def test_an_unknown_tool_gets_an_error_as_its_result(live: Callable[..., Any]) -> None:
    result, fake = live(call("launch"), {"content": "No."}, {"content": "No."})
    assert result.turns[1].label == "result of launch"
    last = fake.bodies("/v1/chat/completions")[-1]
    assert json.loads(last["messages"][3]["content"]) == {"error": "there is no tool named launch"}


def test_a_model_that_calls_for_ever_is_stopped(live: Callable[..., Any]) -> None:
    result, fake = live(*[call("get_weather") for _ in range(9)], max_turns=5)
    assert (len(result.turns), len(fake.bodies("/v1/chat/completions"))) == (5, 5)
    assert losses(result) == [(0, 0)] * 5


def test_a_reply_that_the_engine_trims_is_the_replys_fault(live: Callable[..., Any]) -> None:
    result, _ = live({"content": "Clear.", "generated": "Clear. \n"}, {"content": "Rain."})
    assert causes(result) == {2: "K10"}
    assert "the white space at the end of the reply" in result.turns[1].divergence.explanation
    assert result.turns[1].divergence.before.endswith("Clear. \\n")
    assert result.turns[1].prompt_loss == 2


def test_reasoning_that_is_not_replayed_is_found(live: Callable[..., Any]) -> None:
    answer = {"content": "Clear.", "reasoning_content": "Hm.", "generated": "(Hm.)Clear."}
    result, _ = live(answer, {"content": "Rain."})
    assert [turn.prompt_loss > 0 for turn in result.turns] == [False, True]
    assert causes(result) == {2: "K9"}


def test_a_server_that_counts_other_prompts_than_it_renders_cannot_be_measured(
    live: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Model.chat

    def one_more(self: Model, body: dict[str, Any]) -> dict[str, Any]:
        answer = chat(self, body)
        answer["timings"]["prompt_n"] += 1
        return answer

    monkeypatch.setattr(Model, "chat", one_more)
    with pytest.raises(EngineError, match=r"the engine counts \d+ prompt tokens where its own rendering has \d+; without --live"):
        live({"content": "Clear."})
