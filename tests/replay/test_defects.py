"""Every defect fails with its cause and its place; a clean prompt loses nothing. Measured on the embedded llama-server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import defects
import pytest
from defects import causes, failed

from promptguard.engines.base import Engine
from promptguard.replaying.result import Result, Turn

Measure = Callable[..., Result]


def first_loss(result: Result) -> Turn:
    return next(turn for turn in result.turns if turn.prompt_loss)


def place(turn: Turn) -> tuple[str, int, int]:
    assert turn.divergence is not None
    assert turn.divergence.place is not None
    found = turn.divergence.place
    return Path(found.source.path).name, found.line, found.column


def position(text: str, needle: str, start: int = 0) -> tuple[int, int]:
    """Line and column of the first ``needle`` behind ``start``, from 1."""
    offset = text.index(needle, start)
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def test_the_default_run_passes_at_its_ceiling(embedded: Engine, measure: Measure) -> None:
    result = measure(embedded)
    assert failed(result) == []
    assert result.passed
    assert len(result.turns) == 13
    assert [(turn.prompt_loss, turn.engine_loss, turn.foreign) for turn in result.turns] == [(0, 0, 0)] * 13
    assert result.hit_rate == result.ceiling
    assert result.hit_rate > 0.9
    assert all(turn.cached + turn.prefilled == turn.prompt for turn in result.turns)
    assert result.subject.rendered_by == "promptguard (checked against the engine)"


def test_an_empty_prompt_can_still_pass(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    system = defects.write(tmp_path, "system.txt", "")
    tools = defects.write(tmp_path, "tools.json.j2", "[]")
    result = measure(embedded, system=system, tools=tools)
    assert result.passed
    assert result.ceiling > 0.85


def test_clock_at_the_head(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    result = measure(embedded, system=defects.clock_at_the_head(tmp_path))
    assert failed(result) == ["hit-rate", "prompt-loss"]
    assert set(causes(result).values()) == {"K1"}
    assert len(causes(result)) == 13
    assert place(first_loss(result)) == ("system.j2", 1, 6)
    assert first_loss(result).divergence.block == "system"
    assert result.hit_rate < 0.05


def test_clock_at_the_end(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    system = defects.clock_at_the_end(tmp_path)
    result = measure(embedded, system=system)
    assert failed(result) == ["hit-rate", "prompt-loss"]
    assert set(causes(result).values()) == {"K1"}
    line, column = position(system.read_text(), "{{ now")
    assert place(first_loss(result)) == ("system.j2", line, column)


def test_uuid_in_a_tool_description(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    tools = defects.uuid_in_a_tool(tmp_path)
    result = measure(embedded, tools=tools)
    assert failed(result) == ["hit-rate", "prompt-loss"]
    assert set(causes(result).values()) == {"K2"}
    assert place(first_loss(result)) == ("tools.json.j2", *position(tools.read_text(), "{{ request_id"))
    assert first_loss(result).divergence.block == "tools"


def test_tools_reordered_in_one_turn_fails_in_spite_of_its_hit_rate(embedded: Engine, measure: Measure) -> None:
    result = measure(embedded, inject="reorder-tools@7")
    assert result.hit_rate > 0.8
    assert failed(result) == ["prompt-loss"]
    assert causes(result) == {7: "K3", 8: "K3"}
    text = (defects.TASK / "tools.json").read_text()
    name, line, column = place(first_loss(result))
    assert name == "tools.json"
    offset = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
    second = json.loads(text)[1]
    assert text[offset] == "{"
    assert second["function"]["name"] in text[offset : offset + 120]


def test_keys_reordered_in_one_turn_fails_in_spite_of_its_hit_rate(embedded: Engine, measure: Measure) -> None:
    result = measure(embedded, inject="reorder-keys@7")
    assert result.hit_rate > 0.8
    assert failed(result) == ["prompt-loss"]
    assert causes(result) == {7: "K4", 8: "K4"}
    # What the server prints first of the reversed schema is its last key; the outer keys it orders itself.
    text = (defects.TASK / "tools.json").read_text(encoding="utf-8")
    keys = list(json.loads(text)[0]["function"]["parameters"])
    schema = text.index('"parameters"')
    expected = {7: keys[-1], 8: keys[0]}
    for turn in result.turns[6:8]:
        name, line, column = place(turn)
        assert name == "tools.json"
        assert column == 9  # of the schema itself, not of one nested in it
        assert text.splitlines()[line - 1].startswith(f'        "{expected[turn.number]}":')
        assert line == position(text, f'\n        "{expected[turn.number]}":', schema)[0] + 1
        assert turn.divergence.block == "tools"


def test_one_extra_space_in_one_turn(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    system = defects.one_extra_space(tmp_path)
    result = measure(embedded, system=system)
    assert failed(result) == ["prompt-loss"]
    assert causes(result) == {6: "WS", 7: "WS"}
    line, column = position(system.read_text(), "{% if turn")
    assert place(first_loss(result)) == ("system.j2", line, column + len("{% if turn == 6 %}"))
    assert first_loss(result).divergence.block == "system"


def test_the_oldest_history_pair_dropped(embedded: Engine, measure: Measure) -> None:
    result = measure(embedded, inject="drop-history@7")
    assert failed(result) == ["prompt-loss"]
    assert causes(result) == {7: "K8", 8: "K8"}
    assert first_loss(result).divergence.block == "history"
    assert result.ceiling == measure(embedded).ceiling  # that of the same task with its whole history


def test_a_sliding_window_over_the_history(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    result = measure(embedded, task=defects.keep_last_messages(tmp_path, 8))
    assert failed(result) == ["hit-rate", "prompt-loss"]
    assert set(causes(result).values()) == {"K8"}
    assert result.ceiling == measure(embedded).ceiling


def test_a_chat_template_that_drops_reasoning(embedded: Engine, measure: Measure) -> None:
    template = defects.CHAT_TEMPLATES / "drops_reasoning.jinja"
    result = measure(embedded, chat_template=template)
    assert "prompt-loss" in failed(result)
    assert causes(result) == {6: "K9", 9: "K9"}  # on the second and the third user message
    assert "reasoning" in first_loss(result).divergence.explanation
    assert place(first_loss(result)) == ("drops_reasoning.jinja", *position(template.read_text(), "{{- '<think>"))


def test_a_chat_template_with_the_tools_in_the_last_user_message(embedded: Engine, measure: Measure) -> None:
    template = defects.CHAT_TEMPLATES / "tools_in_last_user.jinja"
    result = measure(embedded, chat_template=template)
    assert "prompt-loss" in failed(result)
    assert causes(result) == {6: "K9", 9: "K9"}
    assert "prints the tools only with the latest user message" in first_loss(result).divergence.explanation
    assert place(first_loss(result)) == ("tools_in_last_user.jinja", *position(template.read_text(), "{{- '# Tools"))


def test_a_chat_template_that_prints_the_date(embedded: Engine, measure: Measure) -> None:
    template = defects.CHAT_TEMPLATES / "date_header.jinja"
    result = measure(embedded, chat_template=template)
    assert failed(result) == ["prompt-loss", "chat-template"]
    assert causes(result) == {13: "K1"}  # the day changes before the last turn
    assert place(first_loss(result)) == ("date_header.jinja", *position(template.read_text(), "{{- 'Today is"))


@pytest.mark.parametrize("defect", ["clock-head", "clock-tail", "uuid-in-tool", "extra-space"])
def test_what_the_engine_prefilled_again_is_what_was_predicted(embedded: Engine, measure: Measure, defect: str) -> None:
    result = measure(embedded, inject=defect)
    assert "prompt-loss" in failed(result)
    assert [turn.cached for turn in result.turns] == [turn.reusable for turn in result.turns]
    assert any(turn.prompt_loss for turn in result.turns)


def test_the_example_of_the_readme(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    template = readme.partition("```jinja\n")[2].partition("```")[0]
    result = measure(embedded, system=defects.write(tmp_path, "system.j2", template))
    assert causes(result) == dict.fromkeys(range(1, 14), "K2")
    assert place(first_loss(result)) == ("system.j2", 1, 52)
    assert first_loss(result).prompt_loss == 2517
    clean = defects.write(tmp_path, "system.j2", template.replace(" Session {{ session_id }}.", ""))
    assert measure(embedded, system=clean).passed
