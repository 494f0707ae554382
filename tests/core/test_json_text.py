"""JSON without ``json`` says what ``json`` says."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptguard.core import json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
VALID = st.builds(json.dumps, VALUES, ensure_ascii=st.booleans(), indent=st.sampled_from([None, 0, 2]))
ALMOST = st.text(alphabet='{}[]:,"\\/bnu0d8-+.eE1tfalsrNI \t\r\n\v\xa0\ufeff\x00é', max_size=16)
SPACE = st.text(alphabet=" \t\r\n", max_size=2)
TEXTS = st.builds("".join, st.tuples(SPACE, VALID | ALMOST, SPACE | ALMOST))
HOOKS: list[dict[str, Any]] = [
    {},
    {"parse_int": float},
    {"object_pairs_hook": tuple, "parse_float": str, "parse_int": repr, "parse_constant": str.lower},
]


def outcome(decode: Any, text: str) -> Any:
    """The value with the types and signs in it, or the error with its message and place."""
    try:
        return repr(decode(text))
    except ValueError as error:
        return type(error), str(error)


@pytest.mark.parametrize("hooks", HOOKS)
@given(TEXTS)
@example("")
@example("[1] 2")
@example('{"a": 1, "a": NaN, "b": [-Infinity, Infinity, -0, -0.0, 1e999]}')
@example("\ufeff[]")
@example("9" * 5000)
def test_values_and_errors_are_those_of_json(hooks: dict[str, Any], text: str) -> None:
    assert outcome(json_text.Decoder(**hooks).decode, text) == outcome(json.JSONDecoder(**hooks).decode, text)


@given(TEXTS)
def test_loads_is_that_of_json(text: str) -> None:
    assert outcome(json_text.loads, text) == outcome(json.JSONDecoder().decode, text)


ODD = [{"a": object()}, [float("nan")], {1: None, False: 2.5}, {(1,): 2}, (1, "\ud800"), -0.0, 10**400]


@given(VALUES)
@example(ODD[2])
def test_values_are_written_as_json_does_it(value: Any) -> None:
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    assert outcome(json_text.dumps, value) == outcome(write, value)


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_errors_in_writing_are_those_of_json(value: Any) -> None:
    def said(write: Any) -> Any:
        try:
            return write(value)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    assert said(json_text.dumps) == said(partial(json.dumps, ensure_ascii=False, allow_nan=False))


def test_values_are_written_without_json() -> None:
    code = "import sys; from promptguard.core.json_text import dumps; print(dumps({'a': [1.5, None]}), 'json' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == '{"a": [1.5, null]} False\n'


@pytest.mark.parametrize("text", ["[1,", "[1 2]", '{"a" 1}', '"a', "[1,]", "", "9" * 5000])
def test_the_first_error_of_a_process_is_that_of_json(text: str) -> None:
    code = "import sys; from promptguard.core.json_text import loads\ntry: loads(sys.argv[1])\nexcept ValueError as e: print([e])"
    done = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True)
    with pytest.raises(ValueError) as expected:  # noqa: PT011 - whatever json says
        json.loads(text)
    assert (done.stdout, done.stderr) == (f"[{expected.value!r}]\n", "")


def test_a_value_that_a_hook_refuses_needs_no_json() -> None:
    code = """
import sys
from promptguard.core.errors import InputError
from promptguard.core.source import Source
from promptguard.parse.strict import parse
try:
    parse(Source("a", '{"b": 1, "b": 2}'))
except InputError as error:
    print(error.what, "json" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == 'the key "b" stands twice in one object False\n'


@given(st.text(st.characters(), max_size=12))
@example('\x00\x1f\x7f\u2028\ud800"\\/\b\f\n\r\t😀')
def test_a_text_is_quoted_as_json_does_it(text: str) -> None:
    assert json_text.quote(text) == json.dumps(text, ensure_ascii=False)
    assert json_text.quote_in_ascii(text) == json.dumps(text)


def test_what_a_hook_raises_comes_through() -> None:
    def refuse(_: object) -> None:
        raise KeyError("refused")

    with pytest.raises(KeyError, match="refused"):
        json_text.Decoder(object_pairs_hook=refuse).decode('{"a": 1}')


def test_nesting_beyond_the_stack() -> None:
    with pytest.raises(RecursionError):
        json_text.loads("[" * 200_000)


def test_json_does_it_where_there_is_no_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_json", None)
    json_text._writers.cache_clear()
    assert json_text.Decoder(parse_int=float).decode(' {"a": [1, "é"]} ') == {"a": [1.0, "é"]}
    assert json_text.quote('é"') == '"é\\""'
    assert json_text.quote_in_ascii('é"') == '"\\u00e9\\""'
    json_text._writers.cache_clear()
