"""The worked example of docs/numbers.md, calculated."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from promptguard.core.numbers import percent as rate
from promptguard.replaying.gate import Gate, judge
from promptguard.replaying.result import Result, Turn

DOC = (Path(__file__).parents[2] / "docs" / "numbers.md").read_text(encoding="utf-8")


def rows(first_heading: str) -> list[list[str]]:
    table = re.search(rf"^\| {first_heading} \|.*\n\|[-:|]+\n((?:\|.*\n)+)", DOC, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


TURNS = rows("turn")


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


@pytest.fixture
def example(clean: Result) -> Result:
    turns = []
    for row in TURNS:
        count, prompt, _, ideal, reusable, cached, prefilled = map(number, row[:7])
        turns.append(Turn(count, f"turn {count}", prompt, cached, prefilled, ideal, reusable, 0.1))
    return replace(clean, turns=tuple(turns))


def test_prompts_are_cached_or_prefilled(example: Result) -> None:
    assert [turn.cached + turn.prefilled for turn in example.turns] == [turn.prompt for turn in example.turns]


def test_ideal_is_the_previous_prompt_and_its_reply() -> None:
    assert [number(row[3]) for row in TURNS[1:]] == [number(row[1]) + number(row[2]) for row in TURNS[:-1]]


@pytest.mark.parametrize("index", range(3))
def test_losses_and_hit_rate_of_a_turn(example: Result, index: int) -> None:
    turn = example.turns[index]
    assert [f"{turn.prompt_loss:,}", f"{turn.engine_loss:,}", rate(turn.hit_rate)] == TURNS[index][7:]


def test_numbers_of_the_run(example: Result) -> None:
    rates = [example.hit_rate, example.cold_hit_rate, example.ceiling, example.repetition_rate]
    fractions = [f"{value * example.prompt_tokens:,.0f} / {example.prompt_tokens:,}" for value in rates]
    assert [row[1:] for row in rows("of the run")] == [[text, rate(value)] for text, value in zip(fractions, rates, strict=True)]


def test_all_checks_fail(example: Result) -> None:
    assert [check.passed for check in judge(example, Gate())] == [False, False, False]


def test_the_ceiling_says_when_it_is_not_that_of_the_turns_shown() -> None:
    """As ``Result.append_only`` is there for both."""
    (ceiling,) = re.findall(r"^\| \*\*ceiling\*\* \|.*", DOC, re.MULTILINE)
    assert all(reason in ceiling for reason in ("`keep_last`", "`--inject drop-history`"))
