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
_PARTS += [
    "2024",
    "-01",
    "-1",
    "T",
    "t",
    " ",
    "\t",
    "10:00:00",
    ":59",
    ":60",
    "Z",
    "+01:00",
    "0x",
    "0b",
    "af",
    "c",
    "d",
    "~",
    "=",
    "<<",
]


@given(st.lists(st.sampled_from(_PARTS), min_size=1, max_size=7).map("".join))
@example("0b")
@example("2024-01-01t1:00:00.25 +1")
@example("1:30.")
def test_a_text_is_of_the_type_that_it_is_to_the_library(text: str) -> None:
    assert type_of(text) == resolve(text)


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


@pytest.mark.parametrize(
    "text",
    [
        *(
            "0",
            "-0",
            "+1",
            "1_0",
            "1_",
            "-190:20:30",
            "1:5",
            "1:59",
            "1:60",
            "0b",
            "0b1_0",
            "0b2",
            "+0b1",
            "0_7",
            "017",
            "08",
            "0x_1",
        ),
        *("0xaAbBcCdDeEfF", "0x09", "0xg", "-0xf", "0o7", "1a", "01:30", "1:", "--1", "1-1", "+", "-", "_1", "1+", "0:1"),
        *(
            "1.",
            "-1.5",
            "+1_0.0_1",
            "01.5",
            "1.2.3",
            ".5",
            "._5",
            ".5_",
            "-.5",
            "+.5",
            "1.e+5",
            "1.5e3",
            "1.5E-03",
            "1.5e+",
            ".5e+1",
        ),
        *("1e+3", "1:30.5", "1:59.", "1:5:9.0_", "1:60.5", "-1:30.5", "1_0:30.5", ".", "..", "1..", "-", "1.5.", ".1.", "1 .5"),
        *(".inf", ".Inf", "-.INF", "+.inf", ".iNF", ".nan", ".NaN", ".NAN", ".nAN", "-.nan", "inf", "NaN", "1e5", "Ab", "z"),
        *(
            "2024-01-01",
            "2024-1-01",
            "2024-01-1",
            "24-01-01",
            "2024-001-01",
            "2024-01-001",
            "2024-01-01 ",
            "2024-01-01T",
            "2024-1-1",
        ),
        *("2024-1-1T1:00:00", "2024-01-01t10:00:00", "2024-01-01 \t 10:00:00", "2024-01-01 100:00:00", "2024-01-01 10:0:00"),
        *(
            "2024-01-01 10:00:0",
            "2024-01-01 10:00:00.",
            "2024-01-01 10:00:00.25Z",
            "2024-01-01 10:00:00 \tZ",
            "2024-01-01 10:00:00z",
        ),
        *(
            "2024-01-01 10:00:00+1",
            "2024-01-01 10:00:00 -01:30",
            "2024-01-01 10:00:00+001",
            "2024-01-01 10:00:00+1:5",
            "2024-01-01Z",
        ),
        *(
            "2024-100-1 1:00:00",
            "2024-1-100 1:00:00",
            "2024-1-1 1:00:00+1:000",
            "12024-01-01",
            "2024-01-01 10:00:00.5.5",
            "2024-1-1 1:00:000",
        ),
        *("+33", ".53", ".56E-038", ".5E6", "5.B", ".5F", "6inf", "2NaN", "0xN", "0E:1.", "1:9.I", "+:0.", "+01:00."),
        *(
            "2024-01-01 10:80:80",
            "2024-1-T1:06:00",
            "2024--1T1:00:00",
            "2024-1-1T:00:00",
            "2024-1-1\tT1:00:00",
            "2024-1-1T1:00:00+",
        ),
    ],
)
def test_numbers_and_dates(text: str) -> None:
    assert type_of(text) == resolve(text)


@pytest.mark.parametrize("word", ["yes", "no", "true", "false", "on", "off", "null", "~", "<<", "=", "y", "n"])
def test_words(word: str) -> None:
    for spelled in (word, word.title(), word.upper(), word.title().swapcase(), word + "s"):
        assert type_of(spelled) == resolve(spelled)
