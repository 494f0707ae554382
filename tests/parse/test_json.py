import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.source import Span
from promptguard.parse.json import MAX_DEPTH, Node, index

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def at(text: str, pointer: str) -> str | None:
    span = index(text).value(pointer)
    return text[span.start : span.end] if span else None


def walk(value: Any, node: Node, text: str) -> None:
    assert json.dumps(json.loads(text[node.start : node.end])) == json.dumps(value)
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        child = node.child(name)
        assert child is not None
        if child.key:
            assert json.loads(text[child.key.start : child.key.end]) == name
        walk(member, child, text)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = index(text)
    assert found.error is None
    assert found.root is not None
    walk(value, found.root, text)


@given(st.text(alphabet='{}[]":,\\u0aé😀 \r\nntrue12-.e\ufeff', max_size=30))
def test_invalid_text_gives_the_place_of_the_error_and_never_fails(text: str) -> None:
    found = index(text)
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        assert found.error is not None
        assert 0 <= found.error <= len(text)
    else:
        assert found.error is None


@given(st.text(max_size=20), st.booleans())
def test_offsets_inside_a_string_lead_back_through_its_escapes(value: str, ascii_only: bool) -> None:
    text = f'["x", {json.dumps(value, ensure_ascii=ascii_only)}]'
    found = index(text)
    node = found.node("/1")
    assert node is not None
    assert found.string(node) == value
    for offset in range(len(value)):
        start = found.inside(node, offset)
        end = found.inside(node, offset + 1)
        assert json.loads(f'"{text[start:end]}"') == value[offset]
    assert found.inside(node, len(value) + 5) == node.end - 1


def test_a_surrogate_pair_is_one_code_point_and_a_lone_one_too() -> None:
    text = r'"\ud83d\ude00\ud83dx\/"'
    found = index(text)
    assert found.root is not None
    assert [found.inside(found.root, offset) for offset in range(5)] == [1, 13, 19, 20, 22]


def test_line_ends_and_a_byte_order_mark_count_as_code_points() -> None:
    text = '\ufeff{\r\n"a": 1,\r\n"é😀": [true]}'
    assert index(text).value("/é😀/0") == Span(20, 24)
    assert index(text).key("/é😀") == Span(13, 17)


def test_equal_keys_are_kept_and_the_last_one_counts() -> None:
    text = '{"a": 1, "b": {"a": 2, "a": 3}, "a": 4}'
    assert at(text, "/a") == "4"
    assert at(text, "/b/a") == "3"
    assert [text[node.start] for node in index(text).duplicates()] == ["4", "3"]


def test_pointers_are_unescaped_and_may_come_in_parts() -> None:
    text = '{"a/b": {"~": [10, 20]}, "1": 5, "": 6}'
    assert at(text, "/a~1b/~0/1") == "20"
    assert index(text).value(["a/b", "~", 0]) == Span(15, 17)
    assert at(text, "/1") == "5"
    assert at(text, "/") == "6"
    assert at(text, "") == text
    assert at(text, "/a~1b/~0/x") is None
    assert index(text).key("/a~1b/~0/1") is None


@pytest.mark.parametrize(
    ("text", "error", "pointer", "value"),
    [
        ('{"a": 1, "b": ', 14, "/a", "1"),
        ('{"a": [1, 2,]}', 12, "/a/1", "2"),
        ('{"a": "x', 6, "", '{"a": '),
        ("[1] x", 4, "/0", "1"),
        ("[1 2]", 3, "", "[1 "),
        ("", 0, "", None),
        ("[01]", 2, "/0", "0"),
    ],
)
def test_what_stands_before_an_error_is_found(text: str, error: int, pointer: str, value: str | None) -> None:
    assert index(text).error == error
    assert at(text, pointer) == value


def test_nesting_is_bounded_and_costs_no_recursion() -> None:
    assert index("[" * MAX_DEPTH + "]" * MAX_DEPTH).error is None
    assert index("[" * 200_000).error == MAX_DEPTH


def test_only_strings_have_an_inside() -> None:
    found = index("[1]")
    assert found.root is not None
    assert found.inside(found.root, 0) is None
    assert found.string(found.root) is None
