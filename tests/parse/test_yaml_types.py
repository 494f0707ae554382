"""Numbers and dates are those of PyYAML."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from promptguard.parse.yaml_events import resolve
from promptguard.parse.yaml_simple import type_of
from promptguard.parse.yaml_types import number

_PARTS = [*"0123456789", "00", "_", ".", ":", "+", "-", "e", "E", "x", "b", "o", "e+", "E-", ".inf", ".nan", "inf", "NaN", ".INF"]
_PARTS += ["2024", "-01", "-1", "T", "t", " ", "\t", "10:00:00", ":59", ":60", "Z", "+01:00", "0x", "0b", "af", "~", "=", "<<"]


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=7).map("".join))
@example("0b")
@example("2024-01-01t1:00:00.25 +1")
@example("1:30.")
def test_a_text_is_of_the_type_that_it_is_to_the_library(text: str) -> None:
    assert type_of(text) == resolve(text)


@pytest.mark.parametrize("word", ["yes", "No", "TRUE", "oN", "off", "null", "Null", "NULL", "nULL", "~", "<<", "=", "y", "n"])
def test_words(word: str) -> None:
    assert type_of(word) == resolve(word)


_CONSTRUCTOR = yaml.constructor.SafeConstructor()


def made(make: Callable[[], object]) -> str:
    try:
        return repr(make())
    except ValueError:
        return "refused"


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=7).map("".join))
@example("-0b1_01")
@example("0b_")
@example("+0x_Ff")
@example("-0_17")
@example("0_")
@example("-1:2:03")
@example("1:30.5")
@example("-1_0.5e+3")
@example(".5")
@example("-.INF")
@example(".NaN")
@example("+0")
def test_a_number_is_that_of_the_library(text: str) -> None:
    kind = resolve(text)
    assume(kind in ("int", "float"))
    node = yaml.ScalarNode(f"tag:yaml.org,2002:{kind}", text)
    assert made(lambda: number(kind, text)) == made(lambda: getattr(_CONSTRUCTOR, f"construct_yaml_{kind}")(node))
