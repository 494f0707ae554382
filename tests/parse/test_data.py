from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.parse.data import _simple_yaml, load_mapping

WORDS = st.text("yes 01._-", max_size=8)
TEXTS = WORDS | st.text("yes: 0x1._-~<=&*#'\"[]{}|>\n", max_size=8) | st.text(max_size=8)
SCALARS = WORDS | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.none() | st.datetimes() | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.integers(), inner, max_size=3), max_leaves=4
)
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(20))


def read(folder: Path, name: str, text: str) -> dict[str, object]:
    (folder / name).write_text(text, encoding="utf-8")
    return load_mapping(folder / name)


def test_values_of_both_kinds(tmp_path: Path) -> None:
    assert read(tmp_path, "c.json", '{"a": [1, 2.0, null], "b": {"c": true}}') == {"a": [1, 2.0, None], "b": {"c": True}}
    assert read(tmp_path, "c.yaml", "a: [1, 2.0, null]\nb: {c: true}\n") == {"a": [1, 2.0, None], "b": {"c": True}}
    assert read(tmp_path, "empty.yaml", "") == {}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", '{"a": 1,}', "c.json:1:"),
        ("c.json", '{"a": 1, "a": 2}', "is not JSON \\(a key stands twice\\)"),
        ("c.json", '{"a": NaN}', "is not JSON \\(NaN is not JSON\\)"),
        ("c.json", "[" * 100_000, "is not JSON"),
        ("c.json", "[1]", "must hold a mapping from names to values"),
        ("c.yaml", "- a", "must hold a mapping from names to values"),
        ("c.yaml", "1: a", "the key 1 is not the name of a variable; put it in quotes"),
        ("c.yaml", "a: [", "c.yaml:2:1: is neither JSON nor YAML"),
        ("c.yaml", "a: !!python/object/apply:os.system [ls]", "is neither JSON nor YAML"),
        ("c.yaml", LAUGHS, "unfolds into more than 200,000 values"),
        ("c.yaml", "[" * 200 + "]" * 200, "nested more than 100 deep"),
    ],
)
def test_what_is_no_context(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, name, text)


def same_as_pyyaml(text: str) -> bool:
    """Whether a text is read without PyYAML; then it gives the same value, and types."""
    value = _simple_yaml(text, "c.yaml")
    if value is None:
        return False
    assert repr(value) == repr(yaml.safe_load(text))
    return True


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=3), st.sampled_from([None, False, True]), st.sampled_from([80, 9]))
def test_a_text_has_the_value_that_pyyaml_gives(values: dict[str, Any], flow: bool | None, width: int) -> None:
    same_as_pyyaml(yaml.dump(values, default_flow_style=flow, width=width, allow_unicode=True))


@pytest.mark.parametrize(
    "text",
    [
        "a: Acme\n",
        "a: 1\nb: [1.5, 0x1F, 010, 1_000, -.inf]\nc: {d: yes, e: null}\nf:\n- 1:30\n- 1e3\n-\n",
        "a: 'it''s'\nb: \"x\\n\"\nc: |\n  d\n  e\nf: >-\n  g\n  h\n",
        "a: 1\na: 2\n",
        "# values\na: # none\n- x\n- {b: c}\n",
    ],
)
def test_what_is_simple_is_read_without_pyyaml(text: str) -> None:
    assert same_as_pyyaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "~",
        "a: 2026-01-02\n",
        "a: 2026-01-02 03:04:05\n",
        "a: [{1: b}]\n",
        "a: {yes: b}\n",
        "a: {<<: {b: c}}\n",
        "a: =\n",
        "a: &b c\nd: *b\n",
        "a: !!str 1\n",
        "%YAML 1.1\n---\na: 1\n",
        "a: 1\n---\nb: 2\n",
        "a: [\n",
        f"a: {'1' * 5000}\n",
        f"a: {'b' * 100_000}\n",
    ],
)
def test_what_is_not_is_left_to_pyyaml(text: str) -> None:
    assert not same_as_pyyaml(text)
