from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.source import Source
from promptguard.formatting.yaml_text import MAX_KEY, long_key, write_yaml
from promptguard.parse.yaml import Node, read_yaml


def root(text: str) -> Node:
    return read_yaml(Source("t.yaml", text, "yaml")).documents[0]


def rewritten(text: str) -> str:
    return write_yaml(root(text))


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        ("'plain text, with [brackets] & \"quotes\"'", 'plain text, with [brackets] & "quotes"'),
        ('"$ref"', "$ref"),
        ("'#/$defs/a'", '"#/$defs/a"'),
        ("'a: b'", '"a: b"'),
        ("'a #b'", '"a #b"'),
        ("'a:'", '"a:"'),
        ("'- a'", '"- a"'),
        ("' a'", '" a"'),
        ("'a '", '"a "'),
        ("''", '""'),
        ("'no'", '"no"'),
        ("'Y'", '"Y"'),
        ("'null'", '"null"'),
        ("'1.0'", '"1.0"'),
        ("'1.2.3'", '"1.2.3"'),
        ("'12:30'", '"12:30"'),
        ("'1e3'", '"1e3"'),
        ("'0o17'", '"0o17"'),
        ("'2024-01-01'", '"2024-01-01"'),
        ("'.inf'", '".inf"'),
        ("'<<'", '"<<"'),
        ("'='", '"="'),
        ("'3 to 12 words'", "3 to 12 words"),
        ("no", "no"),
        ("017", "017"),
        ("1:30", "1:30"),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        ("1.2.3", "1.2.3"),
        ("2024-01-01", "2024-01-01"),
        ("18446744073709551616", "18446744073709551616"),
        ("~", "null"),
        ("NULL", "null"),
        ("True", "true"),
        ("FALSE", "false"),
        ("{}", "{}"),
        ("[]", "[]"),
        ("é😀", "é😀"),
        ('"\\x85\\u2028\\ufeff\\t"', '"\\u0085\\u2028\\ufeff\\t"'),
        ("folded\n  text", "folded text"),
    ],
)
def test_scalars(scalar: str, expected: str) -> None:
    assert rewritten(f"a: {scalar}") == f"a: {expected}\n"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x\ny", "|-\n  x\n  y"),
        ("x\n\n  y #\n", "|\n  x\n\n    y #"),
        ("x \ny", "|-\n  x \n  y"),
        (" x\ny", '" x\\ny"'),
        ("\nx", '"\\nx"'),
        ("x\n\n", '"x\\n\\n"'),
        ("x\n  \ny", '"x\\n  \\ny"'),
        ("x\r\ny", '"x\\r\\ny"'),
        ("x\n\ty", '"x\\n\\ty"'),
    ],
)
def test_texts_of_several_lines(value: str, expected: str) -> None:
    node = Node("mapping", 0, keys=[Node("scalar", 0, "a")], children=[Node("scalar", 0, value)])
    assert write_yaml(node) == f"a: {expected}\n"
    assert yaml.safe_load(write_yaml(node)) == {"a": value}


def test_collections() -> None:
    text = "- a:\n    - b: 1\n      c: 2\n    - - d\n      - []\n  e: {}\n- |\n  f\n  g\n"
    assert rewritten('[{a: [{b: 1, c: 2}, [d, []]], e: {}}, "f\\ng\\n"]') == text
    assert rewritten(text) == text


def test_a_long_text_stays_on_its_line() -> None:
    text = "word " * 500 + "end"
    assert rewritten(f"a: '{text}'") == f"a: {text}\n"


def test_a_long_key_is_found() -> None:
    key = "k" * (MAX_KEY + 1)
    assert long_key(root(f"- a: 1\n- b: 2\n  ? {key}\n  : 1")).text == key  # type: ignore[union-attr]
    assert long_key(root(f"{'k' * MAX_KEY}: 1")) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def node(value: object) -> Node:
    if isinstance(value, dict):
        return Node(
            "mapping", 0, keys=[Node("scalar", 0, key) for key in value], children=[node(item) for item in value.values()]
        )
    if isinstance(value, list):
        return Node("sequence", 0, children=[node(item) for item in value])
    if isinstance(value, str):
        return Node("scalar", 0, value)
    return root(yaml.safe_dump(value))


@given(values)
def test_every_value_comes_back(value: object) -> None:
    text = write_yaml(node(value))
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        assert repr(yaml.load(text, Loader=loader)) == repr(value)
    assert rewritten(text) == text
