import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.core.source import Source, Span
from promptguard.parse.strict import Number, parse

LEXEMES = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


def refused(text: str, *, exact_numbers: bool = True) -> str:
    with pytest.raises(InputError) as error:
        parse(Source("t", text, "json"), exact_numbers=exact_numbers)
    return str(error.value)


@pytest.mark.parametrize(
    ("lexeme", "canonical"),
    [
        ("1.0", "1.0"),
        ("1.50", "1.5"),
        ("-0.0", "-0.0"),
        ("0.10", "0.1"),
        ("1E16", "1e+16"),
        ("1e16", "1e+16"),
        ("1.5e-7", "1.5e-07"),
        ("1e3", "1000.0"),
        ("0.00001", "1e-05"),
        ("10000000000000000.0", "1e+16"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0", "-0"),
        ("1e-400", "1e-400"),
        ("0e99999999999999999999999", "0.0"),
    ],
)
def test_numbers_keep_their_value(lexeme: str, canonical: str) -> None:
    assert Number(lexeme).canonical == canonical
    assert Number(canonical).canonical == canonical


@settings(deadline=None)
@given(LEXEMES)
def test_the_canonical_number_is_exactly_the_same_number(lexeme: str) -> None:
    canonical = Number(lexeme).canonical
    assert Fraction(canonical) == Fraction(lexeme)
    assert Number(canonical).integer == Number(lexeme).integer
    assert Number(canonical).exact == Number(lexeme).exact


@settings(deadline=None)
@given(LEXEMES, LEXEMES)
def test_two_numbers_share_a_spelling_if_they_are_equal_and_of_one_kind(one: str, other: str) -> None:
    a, b = Number(one), Number(other)
    signs = math.copysign(1, float(one)) == math.copysign(1, float(other))
    equal = Fraction(one) == Fraction(other) and a.integer == b.integer and signs
    assert (a.exact == b.exact) == equal


def test_integers_of_up_to_18_digits_are_integers_and_all_else_is_kept_as_it_is_written() -> None:
    value = parse(Source("t", f"[1, -{'9' * 17}, -0, {'9' * 19}, 1.0, true]", "json"), exact_numbers=True)
    kinds = [item.lexeme if isinstance(item, Number) else item for item in value]
    assert kinds == [1, -(10**17 - 1), 0, "9" * 19, "1.0", True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "a": 2}', 't:2:2: the key "a" stands twice in one object'),
        ("[NaN]", "t:1:2: NaN is not JSON; write null or a number"),
        ('["NaN", -Infinity]', "t:1:9: -Infinity is not JSON; write null or a number"),
        ("[1e999]", "t:1:2: a number is out of range (1e999)"),
        (r'["\ud83d\ude00", "\ude00\ud83d"]', "t:1:18: a lone surrogate in a text; write the character out in UTF-8"),
        ('["\ud83d"]', "t:1:2: a lone surrogate in a text; write the character out in UTF-8"),
        (r'{"\uDC00": 1}', "t:1:2: a lone surrogate in a text; write the character out in UTF-8"),
        ("[1 2]", "t:1:4: not JSON: expecting ',' delimiter"),
        ('["\t"]', "t:1:3: not JSON: invalid control character"),
        ('["a', "t:1:2: not JSON: unterminated string"),
        ("", "t:1:1: not JSON: expecting value"),
        ("[" * 101 + "]" * 101, "t:1:101: nested deeper than 100 levels"),
        ('{"\\":' * 100_000, "t:1:8: not JSON: expecting ':' delimiter"),
        ("[" * 1_000_000, "t:1:101: nested deeper than 100 levels"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    assert refused(text) == message


def test_an_integer_that_python_does_not_take_is_refused_only_where_python_has_to() -> None:
    text = f'{{"x": {"9" * 5000}}}'
    assert parse(Source("t", text, "json"), exact_numbers=True)["x"].lexeme == "9" * 5000
    assert refused(text, exact_numbers=False) == "t:1:7: a number is out of range (99999999999999999999…)"


def test_a_part_of_a_text_is_placed_in_the_whole() -> None:
    source = Source("t", 'x\n[1, {"a": 1, "a": 2}]\ny', "json")
    with pytest.raises(InputError, match=r't:2:14: the key "a"'):
        parse(source, span=Span(2, 24))


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,\\u0ad8E+-.é\ud800 \nNaInfitytrue1', max_size=30))
def test_what_is_accepted_is_what_python_makes_of_it(text: str) -> None:
    try:
        value = parse(Source("t", text, "json"))
    except InputError:
        return
    assert json.dumps(value) == json.dumps(json.loads(text))
