from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from tiny_task import SYSTEM, tool, write_task

from promptguard.core.errors import InputError
from promptguard.prompts.rendering import Renderer
from promptguard.replaying.build import Builder
from promptguard.replaying.inputs import load_inputs

MESSAGES = ({"role": "user", "content": "Hi"},)
Build = Callable[..., Builder]


@pytest.fixture
def build(tmp_path: Path, renderer: Renderer) -> Build:
    """A builder for ``turns`` turns with files of the given names and texts."""
    task = write_task(tmp_path)

    def make(turns: int = 3, seed: int = 0, **texts: tuple[str, str]) -> Builder:
        files = {}
        for kind, (name, text) in texts.items():
            files[kind] = tmp_path / name
            files[kind].write_text(text, encoding="utf-8")
        return Builder(load_inputs(task=task, **files), renderer, turns=turns, seed=seed)

    return make


def system(builder: Builder, turn: int) -> str:
    return builder.request(turn, MESSAGES).messages[0]["content"]


def test_the_clock_moves_a_second_a_turn_and_passes_midnight_before_the_last(build: Build) -> None:
    builder = build(turns=13)
    times = [builder.clock(turn) for turn in range(14)]
    assert {after - before for before, after in pairwise(times)} == {timedelta(seconds=1)}
    assert [time.date() == times[0].date() for time in times] == [True] * 13 + [False]
    assert times[-1] == datetime.fromisoformat("2026-03-12")


def test_a_template_shows_the_time_of_its_turn(build: Build) -> None:
    builder = build(system=("s.j2", "It is {{ now.strftime('%d %H:%M:%S') }}."))
    assert [system(builder, turn) for turn in (1, 2, 3)] == ["It is 11 23:59:58.", "It is 11 23:59:59.", "It is 12 00:00:00."]


def test_what_a_template_asks_for_stands_in_and_is_listed_once(build: Build) -> None:
    builder = build(system=("s.j2", "{{ company }} {{ request_id }}"))
    first, second = system(builder, 1), system(builder, 2)
    assert first.split()[0] == second.split()[0]
    assert first.split()[-1] != second.split()[-1]
    assert [(stand_in.name, stand_in.varies) for stand_in in builder.stand_ins] == [("company", False), ("request_id", True)]


def test_another_seed_gives_other_ids_and_the_same_texts(build: Build) -> None:
    one, again, other = (build(seed=seed, system=("s.j2", "{{ company }} {{ request_id }}")) for seed in (1, 1, 2))
    assert system(one, 1) == system(again, 1) != system(other, 1)
    assert system(one, 1).split()[0] == system(other, 1).split()[0]


def test_a_value_of_the_context_holds_on_every_turn_and_is_no_stand_in(build: Build) -> None:
    builder = build(system=("s.j2", "{{ request_id }} {{ now }}"), context=("c.json", '{"request_id": "fixed", "now": "noon"}'))
    assert [system(builder, turn) for turn in (1, 2, 3)] == ["fixed noon"] * 3
    assert builder.stand_ins == ()


def test_a_plain_system_prompt_is_sent_as_it_is(build: Build) -> None:
    builder = build()
    assert [system(builder, turn) for turn in (0, 1, 2)] == [SYSTEM] * 3
    traced = builder.request(1, MESSAGES).system
    assert [(piece.start, piece.end, piece.place.text) for piece in traced.pieces] == [(0, len(SYSTEM), SYSTEM)]


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_an_empty_system_prompt_is_no_message(build: Build, text: str) -> None:
    request = build(system=("s.md", text)).request(1, MESSAGES)
    assert (request.messages, request.system) == (MESSAGES, None)


def test_braces_make_a_text_a_template_whatever_its_name(build: Build) -> None:
    assert system(build(system=("s.md", "{% if turn == 2 %}two{% else %}other{% endif %}")), 2) == "two"
    assert system(build(system=("t.md", 'Answer like {"a": 1}.')), 2) == 'Answer like {"a": 1}.'


def test_the_tools_of_a_file_are_the_same_on_every_turn(build: Build) -> None:
    builder = build()
    assert builder.tools(1) == builder.tools(2)
    assert [each["function"]["name"] for each in builder.tools(1)[0]] == ["get_weather", "get_time"]


def test_a_template_of_tools_is_rendered_on_every_turn(build: Build) -> None:
    text = json.dumps([tool("get_weather"), tool("get_time")]).replace("Ask a service.", "Session {{ session_id }}.")
    builder = build(tools=("tools.json.j2", text))
    first, second = (builder.tools(turn)[0] for turn in (1, 2))
    assert first != second
    assert [each["function"]["name"] for each in first] == [each["function"]["name"] for each in second]
    assert [stand_in.name for stand_in in builder.stand_ins] == ["session_id"]
    traced = builder.request(1, MESSAGES).tools_source
    assert json.loads(traced.text) == list(builder.tools(1)[0])
    assert {piece.expression for piece in traced.pieces} == {None, "session_id"}


def test_tools_that_are_no_json_on_one_turn_are_an_error_that_names_it(build: Build) -> None:
    builder = build(tools=("tools.json.j2", "{% if turn == 2 %}[{% else %}[]{% endif %}"))
    assert builder.tools(1)[0] == ()
    with pytest.raises(InputError, match=r"tools\.json\.j2: does not render to JSON on turn 2 \("):
        builder.tools(2)


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "[1e999]"])
def test_a_hostile_template_of_tools_is_an_error(build: Build, text: str) -> None:
    with pytest.raises(InputError, match=r"tools\.json\.j2"):
        build(tools=("tools.json.j2", text)).tools(1)
