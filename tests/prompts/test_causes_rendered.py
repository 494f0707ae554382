"""Causes in a system prompt that is rendered from a template, judged by what the names in it are bound to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from chatml import ask, at, diverge, message, prompt

from promptguard.core.source import Source
from promptguard.prompts.blame.outline import outline
from promptguard.prompts.divergence import Divergence
from promptguard.prompts.rendering import Renderer

CLOCK = datetime(2026, 11, 3, 11, 30)  # noqa: DTZ001
USER = message("user", "What is the weather like in Ulm today, please?")
REPLY = message("assistant", "It is sunny.")
RULES = "\nAnswer briefly and in English, and never guess.\n"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def diverging(renderer: Renderer, text: str, *contexts: dict[str, Any], turns: tuple[int, int] = (1, 2)) -> Divergence:
    """The template rendered on two turns, half an hour and more apart, by stand-ins or with one context for each."""
    source = Source("s.j2", text + RULES, "jinja")
    before, after = (
        renderer.render_system(source, context, clock=CLOCK + timedelta(minutes=31 * turn), turn=turn, seed=0).traced
        for turn, context in zip(turns, contexts or ({}, {}), strict=True)
    )
    return diverge(prompt(ask(USER, system=before), REPLY), prompt(ask(USER, REPLY, USER, system=after)))


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("{% for d in retrieved_docs %}<doc>{{ d.content }}</doc>{% endfor %}", "K6", 35),
        ("{% for m in memories %}* {{ m }}\n{% endfor %}", "K6", 26),
        ("{% for m in memories %}{{ m.text }}{% endfor %}", "K6", 24),
        ("{% for m in memories if m.fresh recursive %}{{ m.text }}{% endfor %}", "K6", 45),
        ("{% for k, v in user.items() %}{{ k }}={{ v }}\n{% endfor %}", "K15", 39),
        ("{% set a = user %}{% set b = a.name %}{{ b }}", "K15", 39),
        ("{% set step = memories[0] %}{{ step }}", "K6", 29),
        ("{% macro m(a, b='x') %}<{{ b }}>{% endmacro %}{{ m(1, user.name) }}", "K15", 25),
        ("{% macro m(a, b='x') %}<{{ b }}>{% endmacro %}{{ m(b=memories[0].text, a=(1, ')')) }}", "K6", 25),
        ("{% with x = uuid4() %}{{ x }}{% endwith %}", "K2", 23),
    ],
)
def test_a_name_counts_as_what_it_is_bound_to(renderer: Renderer, text: str, code: str, column: int) -> None:
    assert at(diverging(renderer, text)) == (code, "system", f"s.j2:1:{column}")


def test_a_binding_counts_where_it_holds(renderer: Renderer) -> None:
    text = "{% for x in memories %}{% endfor %}{{ x }}"
    assert at(diverging(renderer, text, {"x": "a cat"}, {"x": "the dog"})) == ("K0", "system", "s.j2:1:36")


@pytest.mark.parametrize("text", ["{% if", "{% endif %}{% else %}{% elif %}{{ x }}", "{% for %}{% macro %}{% set = %}{{ x }}"])
def test_a_template_that_is_none_says_nothing(text: str) -> None:
    found = outline(Source("s.j2", text, "jinja"))
    assert found is not None
    assert (found.path(len(text)), found.behind("x", len(text) - 1)) == ([], ["x"])


def test_lots_that_are_drawn(renderer: Renderer) -> None:
    found = diverging(renderer, "Pick {{ [1, 2, 3, 4, 5, 6] | random }}", turns=(1, 3))
    assert at(found) == ("K2", "system", "s.j2:1:6")
    assert found.explanation.startswith("the filter random in the system prompt gives another value on each render: ")
    assert found.remedy == "draw the value once per conversation and keep it, or move it into the last user message"


@pytest.mark.parametrize("turn", range(1, 9))
def test_ids_that_are_glued_together_are_ids_whatever_their_digits(renderer: Renderer, turn: int) -> None:
    glue = "{% set ns = namespace(v='') %}{% for i in range(3) %}{% set ns.v = ns.v ~ uuid4() ~ i %}{% endfor %}R: {{ ns.v }}"
    assert at(diverging(renderer, glue, turns=(turn, turn + 1))) == ("K2", "system", "s.j2:1:104")


def test_a_value_is_judged_as_a_whole(renderer: Renderer) -> None:
    first, second = "6ba7b810-9dad-11d1-80b4-00c04fd430c8" * 4, "6ba7b810-9dad-11d1-80b4-00c04fd430c8" * 3
    contexts = ({"x": first}, {"x": second + "7c9e6679-7425-40de-944b-e07fc1f90ae7"})
    assert at(diverging(renderer, "R: {{ x }}", *contexts)) == ("K2", "system", "s.j2:1:4")


def test_a_condition_is_to_blame_for_its_branches(renderer: Renderer) -> None:
    found = diverging(renderer, "Hi. {% if now.hour < 12 %}Good morning{% else %}Good day{% endif %}, all", turns=(0, 1))
    assert at(found) == ("K1", "system", "s.j2:1:5")
    assert found.explanation == (
        'the branch of {% if now.hour < 12 %} in the system prompt changed: "Good day" where "Good morning" stood'
    )
    assert [str(place) for place in found.related] == ["s.j2:1:54"]


@pytest.mark.parametrize(
    ("text", "code", "column", "shown"),
    [
        ("{% if turn_count > 3 %}late{% else %}early{% endif %}", "K7", 1, '"late" where "early" stood'),
        ("{% if turn_count > 3 %}later{% else %}late{% endif %} on", "K7", 1, '"later" where "late" stood'),
        ("{% if not turn_count > 3 %}soon{% endif %}", "K7", 1, '"" where "soon" stood'),
        ("{% if 0 %}{% elif turn_count > 3 %}{{ 'late' }}{% endif %}", "K7", 11, '"late" where "" stood'),
        ("{% set n = turn_count %}{% if n > 3 %}late{% endif %}", "K7", 25, '"late" where "" stood'),
        ("{% if [0, 1] | random %}a{% else %}b{% endif %}", "K2", 1, '"a" where "b" stood'),
    ],
)
def test_branches(renderer: Renderer, text: str, code: str, column: int, shown: str) -> None:
    found = diverging(renderer, text, turns=(3, 5))
    assert at(found) == (code, "system", f"s.j2:1:{column}")
    assert found.explanation.endswith(f"changed: {shown}")


def test_a_branch_of_white_space_is_white_space(renderer: Renderer) -> None:
    assert at(diverging(renderer, "Hi. {% if turn == 2 %} {% endif %}all")) == ("WS", "system", "s.j2:1:23")


def test_a_condition_whose_names_say_nothing(renderer: Renderer) -> None:
    found = diverging(renderer, "{% if x %}be kind{% else %}be brief{% endif %}", {"x": 0}, {"x": 1})
    assert at(found) == ("K0", "system", "s.j2:1:1")


def test_a_loop_that_goes_round_more_often(renderer: Renderer) -> None:
    text = "{% for m in memories %}* {{ m }}\n{% endfor %}"
    few, more = {"memories": ["cats"]}, {"memories": ["cats", "dogs"]}
    found = diverging(renderer, text, few, more)
    assert at(found) == ("K6", "system", "s.j2:1:1")
    assert found.explanation == '{% for m in memories %} in the system prompt prints more than before: "* dogs\\n"'
    found = diverging(renderer, text, more, few)
    assert found.explanation == '{% for m in memories %} in the system prompt prints less than before: "* dogs\\n"'


@pytest.mark.parametrize(
    "text",
    [
        "{% if 1 %}{{ x }}{% endif %}{% if 1 %} on{% endif %}",
        "{% for i in [1] %}{{ x }}{% endfor %}",
        "{% if 1 %}Hello {{ x }}{% endif %}",
    ],
)
def test_an_expression_inside_a_branch_is_to_blame_itself(renderer: Renderer, text: str) -> None:
    for values in (("Ann", "Annabel"), ("Annabel", "Ann"), ("Ann", "Bea")):
        found = diverging(renderer, text, *({"x": value} for value in values))
        assert found.expression == "x"
