"""Tools that come in another order on every turn: they break the prefix as they are, and keep it in canonical form."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from defects import causes, failed

import promptguard
from promptguard.engines.base import Engine
from promptguard.prompts.request import Request
from promptguard.replaying.inject import Injection
from promptguard.replaying.result import Result
from promptguard.replaying.run import Options


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same value with the keys of its objects in another order, but for properties, whose order a model reads."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {
            key: {name: shuffled(value[key][name], rng) for name in value[key]}
            if key == "properties"
            else shuffled(value[key], rng)
            for key in keys
        }
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def agent(canonical: bool) -> Injection:
    """An agent whose tools come out of a hash map anew on every turn, with or without ``canonical_tools`` behind it."""

    def change(request: Request, turn: int, _clock: datetime) -> Request:
        rng = random.Random(turn)
        tools = [shuffled(json.loads(json.dumps(tool)), rng) for tool in request.tools]
        rng.shuffle(tools)
        if canonical:
            tools = list(promptguard.canonical_tools(tools))
        return replace(request, tools=tuple(tools))

    return Injection("shuffle", change, None)


def test_raw_they_fail(embedded: Engine, measure: Callable[..., Result]) -> None:
    result = measure(embedded, options=Options(inject=agent(canonical=False)))
    assert failed(result) == ["hit-rate", "prompt-loss"]
    assert set(causes(result).values()) <= {"K3", "K4"}
    assert len(causes(result)) == 13


def test_in_canonical_form_they_pass_without_a_loss(embedded: Engine, measure: Callable[..., Result]) -> None:
    result = measure(embedded, options=Options(inject=agent(canonical=True)))
    assert failed(result) == []
    assert (result.prompt_loss, result.engine_loss) == (0, 0)
    assert result.hit_rate == pytest.approx(result.ceiling, abs=0)
