"""What every format of a replay's report says of the user's chat template."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from promptguard.core.source import Place, Source, Span
from promptguard.replaying.gate import Gate, judge
from promptguard.replaying.result import Result, TemplateCheck, TemplateFinding
from promptguard.report.files import render

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "replay-1.json").read_text(encoding="utf-8"))
TEMPLATE = Source("chat.jinja", "{{ a }}\n{{ b | trim }}\n", "chat-template")
TRIMS = TemplateFinding(
    "PG506",
    "blanks are removed",
    "print it as it is",
    Place(TEMPLATE, Span(8, 22)),
    conversation="reply with blanks",
    reply=1,
    before="a\\n",
    after="a",
    tokens=448,
    tokens_lost=12,
    prefilled=12,
)
FAILS = TemplateFinding("PG507", "tool calls cannot be rendered: no", "mend the template", None)
LOST = '12 of 448 tokens, behind reply 1 of "reply with blanks"; the engine computed 12 again'


@pytest.fixture
def found(clean: Result) -> Result:
    result = replace(clean, template=TemplateCheck((TRIMS, FAILS)))
    return replace(result, checks=judge(result, Gate()))


def test_the_check_names_the_worst_and_counts_the_others(found: Result) -> None:
    check = found.checks[-1]
    assert (check.name, check.passed, check.value, check.limit) == ("chat-template", False, 12, 0)
    assert check.message == (
        'PG506 chat.jinja:2:1: blanks are removed: 12 tokens lost behind reply 1 of "reply with blanks" '
        "(the engine computed 12 again); and 1 more"
    )


@pytest.mark.parametrize(
    ("prefilled", "end"),
    [(30, " (but the engine computed 30 again)"), (None, ", not tried on the engine, whose context is too small")],
)
def test_what_the_engine_says_to_it(clean: Result, prefilled: int | None, end: str) -> None:
    result = replace(clean, template=TemplateCheck((replace(TRIMS, prefilled=prefilled),)))
    assert judge(result, Gate())[-1].message.endswith(f'of "reply with blanks"{end}')


def test_a_template_that_fails_is_not_within_any_tolerance(clean: Result) -> None:
    check = judge(replace(clean, template=TemplateCheck((FAILS,))), Gate(prompt_loss=1000))[-1]
    assert (check.passed, check.message) == (False, "PG507: tool calls cannot be rendered: no")


def test_text(found: Result) -> None:
    assert (
        """
chat template: PG506: blanks are removed
  --> chat.jinja:2:1
  2 | {{ b | trim }}
    | ^^^^^^^^^^^^^^
  before  "a\\n"
  after   "a"
  lost    """
        + LOST
        + """
  fix     print it as it is

chat template: PG507: tool calls cannot be rendered: no
  fix     mend the template

hit-rate       passed  """
        in render(found, "text")
    )


def test_markdown(found: Result) -> None:
    text = render(found, "markdown")
    assert "**PG506** at <code>chat.jinja&#58;2&#58;1</code>, chat template: blanks are removed\n" in text
    assert "**PG507**, chat template: tool calls cannot be rendered&#58; no\n" in text


def test_junit(found: Result) -> None:
    text = render(found, "junit")
    assert f"lost: {LOST}".replace('"', "&quot;") in text
    assert "\n\nPG507: tool calls cannot be rendered: no\nfix: mend the template</failure>" in text


def test_json(found: Result) -> None:
    value = json.loads(render(found, "json"))
    Draft202012Validator(SCHEMA).validate(value)
    assert [(each["code"], each["prefilled"]) for each in value["chat_template"]["findings"]] == [("PG506", 12), ("PG507", None)]
