from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.parse.json_members import members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON) | st.lists(JSON), st.sampled_from([None, 2, "\t"]))
def test_members_are_those_of_json(value: object, indent: object) -> None:
    text = " " + json.dumps(value, indent=indent) + "\n"
    found = list(members(text))
    assert [(member.name, member.value) for member in found] == list(
        value.items() if isinstance(value, dict) else enumerate(value)
    )
    assert all(json.loads(text[member.start : member.end]) == member.value for member in found)


def test_members_of_an_inner_value() -> None:
    text = '{"a": [1, {"b": "c"}]}'
    (outer,) = members(text)
    assert [member.value for member in members(text, outer.start)] == [1, {"b": "c"}]


def test_other_values_have_none() -> None:
    assert list(members("3")) == list(members('"{}"')) == list(members("")) == list(members("{}")) == list(members("[ ]")) == []


@pytest.mark.parametrize(
    "text", ["{", "[", '{"a"}', '{"a" 1}', '{"a": 1', '{"a": 1 "b"}', "{1: 2}", '{"a": 1,}', "[1 2]", "[" * 100_000]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r" at \d+|Expecting"):
        list(members(text))


def test_members_ahead_of_a_fault_are_given() -> None:
    found = members('{"a": 1, "b": }')
    assert next(found).value == 1
    with pytest.raises(ValueError, match="Expecting value"):
        next(found)
