from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from promptguard.core.source import Place, Source, Span
from promptguard.replaying.result import Result
from promptguard.report.json import render

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "replay-1.json").read_text(encoding="utf-8"))


def valid(result: Result) -> Any:
    value = json.loads(render(result))
    Draft202012Validator(SCHEMA).validate(value)
    return value


def objects(schema: Any) -> list[dict[str, Any]]:
    children = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    here = [schema] if isinstance(schema, dict) and "properties" in schema else []
    return here + [found for child in children for found in objects(child)]


def test_the_schema_is_one_and_closed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert all(item["additionalProperties"] is False and item["required"] == list(item["properties"]) for item in objects(SCHEMA))


@pytest.mark.parametrize(("name", "verdict"), [("clean", "passed"), ("clock", "failed"), ("broken_off", "error")])
def test_reports_match_the_schema(name: str, verdict: str, request: pytest.FixtureRequest) -> None:
    assert valid(request.getfixturevalue(name))["verdict"] == verdict


def test_keys_are_in_the_order_of_the_schema(clock: Result) -> None:
    value = valid(clock)
    assert list(value) == list(SCHEMA["properties"])
    assert list(value["turns"][0]) == list(SCHEMA["$defs"]["turn"]["properties"])
    assert list(value["totals"]) == list(SCHEMA["$defs"]["totals"]["properties"])


def test_a_run_without_turns(clean: Result) -> None:
    value = valid(replace(clean, turns=(), checks=(), stand_ins=(), notes=(), error="the engine did not start"))
    assert value["totals"]["hit_rate"] == 0
    assert value["turns"] == []


def test_derived_numbers(clean: Result) -> None:
    turns = (replace(clean.turns[0], cached=110, prefilled=10), replace(clean.turns[1], seconds_uncached=0.3))
    value = valid(replace(clean, turns=turns))
    first = value["turns"][0]
    assert (first["hit"], first["foreign"], first["attainable"]) == (100, 10, 100)
    assert (value["totals"]["hit_tokens"], value["totals"]["cached_tokens"]) == (240, 250)
    assert value["totals"]["seconds_uncached"] is None


def test_the_ratio_of_the_times(clean: Result) -> None:
    value = valid(replace(clean, turns=tuple(replace(turn, seconds=0.1, seconds_uncached=0.4) for turn in clean.turns)))
    assert value["totals"]["uncached_ratio"] == 4.0


def test_the_place_of_an_embedded_template(clock: Result) -> None:
    turn = clock.turns[0]
    assert turn.divergence is not None
    outer = Place(Source("tokenizer_config.json", '{\n "chat_template": ""}'), Span(21, 21))
    inner = Place(Source("<chat template>", "a\nbc", parent=outer), Span(2, 4))
    found = replace(turn.divergence, place=inner, related=(outer,))
    divergence = valid(replace(clock, turns=(replace(turn, divergence=found), *clock.turns[1:])))["turns"][0]["divergence"]
    parent = {"path": "tokenizer_config.json", "line": 2, "column": 20, "start": 21, "end": 21, "parent": None}
    assert divergence["place"] == {"path": "<chat template>", "line": 2, "column": 1, "start": 2, "end": 4, "parent": parent}
    assert divergence["related"] == [parent]


def test_settings_become_json(clean: Result) -> None:
    settings = {
        "system": PurePosixPath("a/b.j2"),
        "timeout": float("inf"),
        "report": ("json=x",),
        "live": False,
        "more": {1: None},
    }
    assert valid(replace(clean, settings=settings))["settings"] == {
        "system": "a/b.j2",
        "timeout": "inf",
        "report": ["json=x"],
        "live": False,
        "more": {"1": None},
    }


def test_text_that_utf_8_cannot_hold(clean: Result) -> None:
    assert valid(replace(clean, notes=("a\ud800b\x00",)))["notes"] == ["a?b\x00"]
