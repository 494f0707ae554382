"""A model whose cache cannot be rewound: what that costs is the engine's, and told apart from what the prompt threw away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_templates import CHATML
from gguf_sources import write_source

from promptguard.models.make import make_tiny
from promptguard.replaying.result import Result

Execute = Callable[..., Result]


@pytest.fixture
def window(tmp_path: Path) -> dict[str, Any]:
    """The twin of a Gemma 3 with a sliding window of 64 tokens, and its chat template."""
    source = write_source(tmp_path / "gemma3.gguf", "gemma3", window=64)
    report = make_tiny(source, tmp_path / "tiny.gguf")
    assert report.window == 64
    template = tmp_path / "chat.jinja"
    template.write_text(CHATML)
    return {"model": report.path, "chat_template": template}


def failed(result: Result) -> list[str]:
    return [check.name for check in result.checks if not check.passed]


@pytest.mark.parametrize("whole", [False, True])
def test_a_prompt_that_only_grows_loses_nothing(execute: Execute, window: dict[str, Any], whole: bool) -> None:
    result = execute(**window, swa_full=whole)
    assert result.passed
    assert [(turn.prompt_loss, turn.engine_loss) for turn in result.turns] == [(0, 0)] * 3
    assert result.hit_rate == result.ceiling


def test_a_change_in_the_middle_costs_the_prompt_and_the_engine_apart(execute: Execute, window: dict[str, Any]) -> None:
    result = execute(**window, inject="extra-space@2")
    first, second, third = result.turns
    assert (first.prompt_loss, first.engine_loss) == (0, 0)
    for turn in (second, third):  # the space comes, and goes again
        assert turn.cached == 0
        assert turn.engine_loss == turn.reusable > 1000
        assert turn.prompt_loss == turn.ideal - turn.reusable > 500
        assert turn.divergence.cause.code == "WS"
        assert turn.divergence.tokens_lost == turn.prompt_loss
    assert failed(result) == ["hit-rate", "prompt-loss", "engine-loss"]
    messages = {check.name: check.message for check in result.checks}
    assert messages["engine-loss"] == (
        f"the engine did not reuse {second.reusable:,} reusable tokens at worst, on 2 turns: it cannot go back, as models with a "
        "sliding window or a recurrent state cannot (llama-server: --swa-full)"
    )
    lost = f"the prompt changed and threw away {third.prompt_loss:,} reusable tokens at worst"
    assert messages["prompt-loss"].startswith(lost)


def test_with_the_whole_cache_kept_the_same_change_costs_the_prompt_alone(execute: Execute, window: dict[str, Any]) -> None:
    limited, whole = (execute(**window, inject="extra-space@2", swa_full=full) for full in (False, True))
    assert [turn.engine_loss for turn in whole.turns] == [0, 0, 0]
    assert [turn.prompt_loss for turn in whole.turns] == [turn.prompt_loss for turn in limited.turns]
    assert [turn.cached for turn in whole.turns] == [turn.reusable for turn in whole.turns]
    assert "engine-loss" not in failed(whole)


def test_a_change_within_the_window_costs_the_prompt_alone(execute: Execute, window: dict[str, Any]) -> None:
    """llama.cpp keeps the window and one batch of 512 tokens, so it can go back a little."""
    result = execute(**window, inject="drop-history@3")
    assert [turn.engine_loss for turn in result.turns] == [0, 0, 0]
    assert [turn.prompt_loss > 0 for turn in result.turns] == [False, False, True]
    assert failed(result) == ["prompt-loss"]


def test_an_engine_loss_within_its_tolerance_is_not_the_prompts_pardon(execute: Execute, window: dict[str, Any]) -> None:
    result = execute(**window, inject="extra-space@2", engine_loss_tolerance=10_000, min_hit_rate=0.1)
    assert failed(result) == ["prompt-loss"]


def test_an_engine_that_computes_more_than_a_chat_template_loses_is_reported(execute: Execute, window: dict[str, Any]) -> None:
    window["chat_template"].write_text(CHATML.replace("{% for m in", "{{ messages | length }}\n{% for m in"))
    result = execute(**window)
    (found,) = result.template.findings
    assert found.prefilled == found.tokens > found.tokens_lost
    assert result.checks[-1].message.endswith(f"(but the engine computed {found.prefilled:,} again)")
