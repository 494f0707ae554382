"""A chat template that fails in ``promptguard lint`` fails in ``promptguard replay --chat-template``, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import defects
import pytest
from chat_templates import CHATML
from models_for_tests import with_chat_template
from tiny_task import write_task

from promptguard.engines.base import Engine
from promptguard.linting.check import check_file
from promptguard.linting.settings import Settings
from promptguard.models.default import default_model
from promptguard.replaying.gate import Gate
from promptguard.replaying.result import Result, TemplateCheck
from promptguard.replaying.run import Options

FIXTURES = sorted(Path(defects.CHAT_TEMPLATES).glob("*.jinja"))
FAILS_ON_PARALLEL_CALLS = (
    "{% for m in messages %}{% if m.tool_calls and m.tool_calls[1] %}{{ 1 / 0 }}{% endif %}{% endfor %}" + CHATML
)

Measure = Callable[..., Result]


@pytest.fixture
def judged(embedded: Engine, measure: Measure, tmp_path: Path) -> Measure:
    """Replay the small task with a chat template."""
    task = write_task(tmp_path)

    def run(chat_template: Path, **options: object) -> Result:
        return measure(embedded, options=Options(**options), task=task, chat_template=chat_template)  # type: ignore[arg-type]

    return run


def codes_of_lint(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return sorted(record.code for record in check_file(str(path), text, Settings(str(path.parent)), named=True).records)


def found_in(result: Result) -> TemplateCheck:
    assert result.template is not None
    return result.template


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_replay_fails_where_lint_does(judged: Measure, path: Path) -> None:
    result = judged(path)
    codes = codes_of_lint(path)
    assert sorted(each.code for each in found_in(result).findings) == codes
    assert {check.name: check.passed for check in result.checks}["chat-template"] is (codes == [])
    assert result.passed is (codes == [])
    assert [each.prefilled for each in found_in(result).findings] == [each.tokens_lost for each in found_in(result).findings]


def test_the_fixtures_show_every_kind_of_defect() -> None:
    assert {code for path in FIXTURES for code in codes_of_lint(path)} == {f"PG50{number}" for number in range(1, 7)}


def test_a_shape_on_which_a_template_fails(judged: Measure, tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text(FAILS_ON_PARALLEL_CALLS, encoding="utf-8")
    found = found_in(judged(path)).findings[-1]
    assert (found.code, found.explanation) == (
        "PG507",
        "several tool calls in one reply cannot be rendered: the template does not render: ZeroDivisionError: division by zero",
    )
    assert "PG507" in codes_of_lint(path)


def test_the_tolerance_of_prompt_loss_holds_for_a_finding(judged: Measure) -> None:
    path = Path(defects.CHAT_TEMPLATES) / "trims_content.jinja"
    lost = found_in(judged(path)).findings[0].tokens_lost
    enough, less = (judged(path, gate=Gate(prompt_loss=limit)).checks[-1] for limit in (lost, lost - 1))
    assert (enough.passed, less.passed) == (True, False)
    assert enough.message == f"it loses {lost} tokens at worst, within the tolerance of {lost}"


def test_what_is_accepted_is_said(judged: Measure) -> None:
    result = judged(
        Path(defects.CHAT_TEMPLATES) / "trims_content.jinja", accepted=lambda _template, code, _place: code == "PG506"
    )
    assert found_in(result) == TemplateCheck((), ("PG506",))
    assert result.checks[-1].message == "nothing was found in the chat template but what is accepted: PG506"


def test_nothing_is_tried_without_a_chat_template(embedded: Engine, measure: Measure, tmp_path: Path) -> None:
    result = measure(embedded, task=write_task(tmp_path))
    assert (result.template, len(result.checks), result.notes) == (None, 3, ())


def test_of_the_template_of_a_model_a_note_is_made(execute: Callable[..., Result], tmp_path: Path) -> None:
    text = (Path(defects.CHAT_TEMPLATES) / "trims_content.jinja").read_text(encoding="utf-8")
    result = execute(model=with_chat_template(tmp_path / "trims.gguf", text))
    assert (result.passed, result.template) == (True, None)
    assert "PG506 (10 tokens); the gate does not judge it" in result.notes[-1]
    assert not any("the gate does not judge it" in note for note in execute(model=default_model()).notes)


@pytest.mark.parametrize(
    ("name", "pin"),
    [("date_header", ""), ("pinnable_date", ', or pin the date: {"date_string": "01 Jan 2026"} in chat_template_kwargs')],
)
def test_to_pin_the_date_is_offered_where_a_variable_of_the_template_does(judged: Measure, name: str, pin: str) -> None:
    result = judged(Path(defects.CHAT_TEMPLATES) / f"{name}.jinja")
    (divergence,) = [turn.divergence for turn in result.turns if turn.divergence is not None]
    assert divergence.remedy == f"use a chat template that prints no date or time of its own{pin}"


@pytest.mark.parametrize(
    ("mark", "remedy"),
    [
        ("", "use a chat template that keeps the reasoning of earlier turns, or switch reasoning off"),
        ("<think>\n\n</think>\n\n", "use a chat template that keeps the reasoning of earlier turns"),
    ],
)
def test_to_switch_reasoning_off_is_offered_where_it_helps(judged: Measure, tmp_path: Path, mark: str, remedy: str) -> None:
    text = (Path(defects.CHAT_TEMPLATES) / "drops_reasoning.jinja").read_text(encoding="utf-8")
    (tmp_path / "chat.jinja").write_text(
        text.replace(
            "-%}{{- '<|im_start|>assistant\\n' -}}", f"-%}}{{{{- '<|im_start|>assistant\\n{mark}' -}}}}".replace("\n", "\\n")
        ),
        encoding="utf-8",
    )
    divergences = [turn.divergence for turn in judged(tmp_path / "chat.jinja").turns if turn.divergence is not None]
    assert {each.remedy for each in divergences} == {remedy}
