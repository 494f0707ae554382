"""The cold run is computed, not run: it must be what a run without a warm-up would have measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promptguard.engines.embedded import EmbeddedServer
from promptguard.models.default import default_model
from promptguard.prompts.rendering import Renderer
from promptguard.replaying.inject import parse_injection
from promptguard.replaying.inputs import load_inputs
from promptguard.replaying.result import Result
from promptguard.replaying.run import Options, Replay


@pytest.mark.parametrize("inject", [None, "extra-space@2", "clock-head"])
def test_the_cold_hit_rate_is_that_of_a_run_without_a_warm_up(
    execute: Callable[..., Result], tmp_path: Path, renderer: Renderer, inject: str | None
) -> None:
    warm = execute(inject=inject)
    sent: list[tuple[str, list[int]]] = []

    class Recorder(EmbeddedServer):
        def complete(self, tokens, *, cache=True):
            sent.append(("complete", list(tokens)))
            return super().complete(tokens, cache=cache)

        def place(self, tokens):
            sent.append(("place", list(tokens)))
            super().place(tokens)

    inputs = load_inputs(task=tmp_path / "task")
    options = Options(inject=parse_injection(inject) if inject else None)
    with Recorder(default_model(), context=4096) as engine:
        Replay(inputs, renderer, options).run(engine.connect())
    (what, resident), *rest = sent
    assert (what, len(resident)) == ("complete", warm.warm_up_tokens)
    with EmbeddedServer(default_model(), context=4096) as engine:
        engine.connect()
        done = [getattr(engine, name)(tokens) for name, tokens in rest]
    turns = [completion for completion in done if completion is not None]
    assert len(turns) == len(warm.turns) == 3
    cached = sum(completion.cached for completion in turns)
    assert turns[0].cached == 0
    assert warm.cold_hit_rate == cached / sum(completion.cached + completion.prefilled for completion in turns)
    assert warm.cold_hit_rate < warm.hit_rate
