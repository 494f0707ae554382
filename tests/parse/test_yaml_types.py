"""Numbers and dates are those of PyYAML."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptguard.parse.yaml_events import resolve
from promptguard.parse.yaml_simple import type_of

_PARTS = [*"0123456789", "00", "_", ".", ":", "+", "-", "e", "E", "x", "b", "o", "e+", "E-", ".inf", ".nan", "inf", "NaN", ".INF"]
_PARTS += ["2024", "-01", "-1", "T", "t", " ", "\t", "10:00:00", ":59", ":60", "Z", "+01:00", "0x", "0b", "af", "~", "=", "<<"]


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=7).map("".join))
@example("0b")
@example("2024-01-01t1:00:00.25 +1")
@example("1:30.")
def test_a_text_is_of_the_type_that_it_is_to_the_library(text: str) -> None:
    assert type_of(text) == resolve(text)


@pytest.mark.parametrize("word", ["yes", "No", "TRUE", "oN", "off", "null", "Null", "NULL", "nULL", "~", "<<", "=", "y", "Y"])
def test_words(word: str) -> None:
    assert type_of(word) == resolve(word)
