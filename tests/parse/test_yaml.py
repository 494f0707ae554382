from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.core.source import Source
from promptguard.parse.yaml import Stream, check_json, merged, python_value, read_yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str) -> Stream:
    return read_yaml(Source("t.yaml", text, "yaml"))


def value(text: str) -> Any:
    return python_value(read(text).documents[0])


def error(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_checked(text)
    return str(caught.value)


def read_checked(text: str) -> None:
    stream = read(text)
    check_json(stream, stream.documents[0])


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 1.0, -2, 0x1F, 017, 0o17, 1_000, 1:30, 1e3, 1.5e+3, .5]",
        "[yes, no, on, off, y, n, True, FALSE, null, ~, Null, '', 'no', \"1\"]",
        "a: |\n  x\n\n  y\nb: >-\n  x\n  y\nc: 'it''s'\nd: \"\\u00e9\\n\"\n",
        "{a: {b: {}}, c: []}",
        "&a [1]",
        "a: &x {b: 1}\nc: *x",
        "é😀: 1",
        "plain",
        "--- a\n...\n",
    ],
)
def test_values_are_those_of_the_safe_loader(text: str) -> None:
    assert repr(value(text)) == repr(yaml.safe_load(text))


def test_dates_stay_texts() -> None:
    assert value("[2024-01-01]") == ["2024-01-01"]


@pytest.mark.parametrize(
    ("text", "comments", "anchor", "tag", "documents"),
    [
        ("a: 1", [], None, None, 1),
        ("", [], None, None, 0),
        ("# x\na: 1", [0], None, None, 1),
        ("a: 1 # x", [5], None, None, 1),
        ("a: 1\n#", [5], None, None, 1),
        ("a: [1, # x\n2]", [7], None, None, 1),
        ("é: | # x\n  y", [5], None, None, 1),
        ("a: |\n  # text\n# x", [14], None, None, 1),
        ("# a\n# b\r\nc: d  # e # f\ng: >- # h\n  # i\n\n# j", [0, 4, 15, 29, 40], None, None, 1),
        ("a: 'x # y'\nb: x#y\nc: \"# \"\nd: |\n  # z\ne: >\n  a # b\n", [], None, None, 1),
        ("a: &x 1\nb: *x", [], 3, None, 1),
        ("a: !x 1", [], None, 3, 1),
        ("- !!str 1", [], None, 2, 1),
        ("%YAML 1.1\n---\na: 1", [], None, 0, 1),
        ("a: 1\n---\nb: 1", [], None, None, 2),
    ],
)
def test_what_a_rewrite_would_lose(text: str, comments: list[int], anchor: int | None, tag: int | None, documents: int) -> None:
    stream = read(text)
    assert (list(stream.comments), stream.anchor, stream.tag, len(stream.documents)) == (comments, anchor, tag, documents)


def test_places() -> None:
    stream = read("é: 1\nb:\n  - 'x'\n")
    root = stream.documents[0]
    assert [str(stream.place(key.start)) for key in root.keys] == ["t.yaml:1:1", "t.yaml:2:1"]
    assert str(stream.place(root.children[1].children[0].start)) == "t.yaml:3:5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", 't.yaml:3:1: the key "a" stands twice in one mapping'),
        ("x: {a: 1, 'a': 2}", 't.yaml:1:11: the key "a" stands twice in one mapping'),
        ("x:\n  no: 1", "t.yaml:2:3: the key no is read as true or false; put it into quotes"),
        ("1: x", "t.yaml:1:1: the key 1 is read as a number; put it into quotes"),
        ("~: x", "t.yaml:1:1: the key ~ is read as null; put it into quotes"),
        ("2024-01-01: x", "t.yaml:1:1: the key 2024-01-01 is read as a date; put it into quotes"),
        ("[a]: x", "t.yaml:1:1: a key that is no text"),
        ("a: [1, .nan]", "t.yaml:1:8: .nan is not a number in JSON; write null or a number"),
        ("a: -.inf", "t.yaml:1:4: -.inf is not a number in JSON; write null or a number"),
        ("a: 1.0e+999", "t.yaml:1:4: 1.0e+999 is not a number in JSON; write null or a number"),
        ("a: " + "1" * 5000, f"t.yaml:1:4: {'1' * 40} is not a number in JSON; write null or a number"),
        ("a: b: c", "t.yaml:1:5: not YAML: mapping values are not allowed in this context"),
        ("a: 'x", "t.yaml:1:6: not YAML: found unexpected end of stream"),
        ("a:\n  b\x01", "t.yaml:2:4: not YAML: control characters are not allowed"),
        ("a: \ud800", "t.yaml:1:4: a lone surrogate in a text; write the character out in UTF-8"),
        ("a: *x", "t.yaml:1:4: the alias *x has no complete anchor before it"),
        ("&x [*x]", "t.yaml:1:5: the alias *x has no complete anchor before it"),
        ("[" * 101, "t.yaml:1:101: nested deeper than 100 levels"),
        ("- " * 101 + "a", "t.yaml:1:201: nested deeper than 100 levels"),
    ],
)
def test_refused(text: str, expected: str) -> None:
    assert error(text) == expected


def test_a_lone_surrogate_as_an_escape_is_refused() -> None:
    assert error('a: "\\ud800"').startswith("t.yaml:1:")


def test_nested_aliases_do_not_unfold() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert error("\n".join(lines)) == "t.yaml:6:25: unfolds into more than 500,000 values"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- &a {x: 1, y: [2]}\n- {<<: *a, x: 3}", [{"x": 1, "y": [2]}, {"x": 3, "y": [2]}]),
        (
            "- &a {x: 1, y: 2}\n- &b {y: 3, <<: *a}\n- {<<: [*b, *a, {z: 4}]}",
            [{"x": 1, "y": 2}, {"x": 1, "y": 3}, {"x": 1, "y": 3, "z": 4}],
        ),
        ("<<: {<<: {x: 1}, y: 2}\nz: 3", {"x": 1, "y": 2, "z": 3}),
        ("a: &a [{<<: {x: 1}}]\nb: *a", {"a": [{"x": 1}], "b": [{"x": 1}]}),
        ("'<<': {x: 1}", {"<<": {"x": 1}}),
    ],
)
def test_merge_keys(text: str, expected: Any) -> None:
    assert python_value(merged(read(text).documents[0])) == expected


def test_what_merges_nothing_stays() -> None:
    (root,) = read("a: {<<: x}\nb: {<<: [{y: 1}, 2]}\nc: [{d: e}]").documents
    assert merged(root) is root


def test_a_merged_value_is_where_it_is_written() -> None:
    whole = merged(read("a: &a {x: one}\nb: {<<: *a}").documents[0])
    assert whole.children[1].children[0] is whole.children[0].children[0]


def test_merges_do_not_unfold() -> None:
    lines = ["a0: &a0 {x: 1}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    assert error("\n".join(lines)) == "t.yaml:7:15: unfolds into more than 500,000 values"


def test_aliases_do_not_get_around_the_depth() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 120)]
    assert error("\n".join(lines)) == "t.yaml:100:12: nested deeper than 100 levels"


@given(st.text(alphabet="ab:-#[]{}&*!|>'\"%,?\n \té😀.0", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        documents = read(text).documents
    except InputError:
        return
    assert len(documents) == len(list(yaml.compose_all(text, Loader=LOADER)))
