from __future__ import annotations

import random
from typing import Any

import pytest
import yaml
from formatting.trees import CANONICAL_YAML, SHUFFLED_YAML
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.core.source import Source
from promptguard.formatting import yaml_document
from promptguard.formatting.result import Document, Options
from promptguard.formatting.yaml_document import format_yaml
from promptguard.toolschema.errors import BrokenPromiseError

TOOL = "name: a\nparameters:\n  type: object\n  properties:\n    p: {}\n"


def formatted(text: str, **options: Any) -> Document:
    document = format_yaml(Source("t.yaml", text, "yaml"), Options(**options))
    assert document is not None
    return document


def property_of(scalar: str) -> str:
    """What a default value becomes."""
    text = formatted(TOOL.replace("{}", f"{{default: {scalar}}}")).text
    return text.rpartition("default: ")[2].removesuffix("\n")


def test_a_list() -> None:
    assert formatted(SHUFFLED_YAML).text == CANONICAL_YAML
    assert formatted(CANONICAL_YAML).text == CANONICAL_YAML
    assert formatted("---\n" + CANONICAL_YAML + "...\n").text == CANONICAL_YAML


def test_required_follows_the_properties() -> None:
    text = "name: a\nparameters: {required: [x, q, p, 'no'], properties: {p: {}, 'no': {}, q: {}}, type: object}\n"
    assert formatted(text).text == (
        'name: a\nparameters:\n  type: object\n  properties:\n    p: {}\n    "no": {}\n    q: {}\n'
        '  required:\n    - p\n    - "no"\n    - q\n    - x\n'
    )


def test_tools_that_differ_only_in_their_spelling_stay_apart() -> None:
    text = "- {name: a, parameters: {type: object, properties: {p: {default: 1.0}}}}\n"
    text += "- {name: a, parameters: {properties: {p: {default: 1.00}}, type: object}}\n"
    assert [line.strip() for line in formatted(text).text.splitlines() if "default" in line] == ["default: 1.0", "default: 1.00"]


@pytest.mark.parametrize(
    "scalar",
    ["no", "yes", "017", "0o17", "0x1F", "1_000", "1:30", "1.0", "1.50", "1e3", "2024-01-01", "1.2.3", "12345678901234567890123"],
)
def test_what_readers_take_differently_keeps_its_spelling(scalar: str) -> None:
    assert property_of(scalar) == scalar
    assert property_of(f"'{scalar}'") == f'"{scalar}"'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TOOL.replace("{}", "{default: .inf}"), "t.yaml:5:18: .inf is not a number in JSON; write null or a number"),
        (TOOL + "    p: {}\n", 't.yaml:6:5: the key "p" stands twice in one mapping'),
        (TOOL.replace("p:", "on:"), "t.yaml:5:5: the key on is read as true or false; put it into quotes"),
        (TOOL.replace("{}", '"\\ud800"'), "t.yaml:5:11: not YAML: "),
    ],
)
def test_refused(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        formatted(text)
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    "text", ["", "a: 1", "on: push\nname: x\n", "- [1]", "openapi: 3.1.0\nparameters: {type: object}\n", "# nothing"]
)
def test_no_tools(text: str) -> None:
    assert format_yaml(Source("t.yaml", text, "yaml"), Options()) is None


BEFORE = '{}: not canonical, "name" belongs before "parameters"; not rewritten because it has '
DISORDER = "parameters: {type: object, properties: {}}\nname: a\n"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "# x\n" + DISORDER,
            't.yaml:2:1: not canonical, "name" belongs before "parameters"; not rewritten because it has comments (line 1)',
        ),
        (
            DISORDER + "# x",
            't.yaml:1:1: not canonical, "name" belongs before "parameters"; not rewritten because it has comments (line 3)',
        ),
        (
            DISORDER.replace("name: a", "name: &x a"),
            't.yaml:1:1: not canonical, "name" belongs before "parameters"; not rewritten because it has anchors (line 2)',
        ),
        (
            "x: 1\n---\n" + DISORDER,
            BEFORE.format("t.yaml:3:1") + "several documents (line 3)",
        ),
        (
            SHUFFLED_YAML + "# x",
            't.yaml:1:3: not canonical, "a" belongs before "b"; not rewritten because it has comments (line 7)',
        ),
        (
            "name: a\nparameters: # x\n  type: object\n  properties: {a: {}, b: {}}\n  required: [b, a]\n",
            't.yaml:5:14: not canonical, "a" belongs before "b"; not rewritten because it has comments (line 2)',
        ),
    ],
)
def test_kept(text: str, note: str) -> None:
    document = formatted(text)
    assert (document.text, document.kept, str(document.note)) == (text, True, note)


@pytest.mark.parametrize(
    "text",
    [
        "# x\n" + TOOL,
        "x: 1\n---\n" + TOOL,
        "- name: a\n  parameters: &x\n    type: object\n    properties: {}\n- name: b\n  parameters: *x\n",
        "# x\n'name': \"a\"\nparameters: {type: object, 'properties': {}}\n",
    ],
)
def test_in_order_and_kept_without_a_word(text: str) -> None:
    document = formatted(text)
    assert (document.text, document.kept, document.note) == (text, False, None)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (DISORDER.replace("a\n", "!x a\n"), "t.yaml:2:7: left as it is because it has tags"),
        (DISORDER + "<<: {strict: true}\n", "t.yaml:3:1: left as it is because it has merge keys"),
    ],
)
def test_what_cannot_be_judged(text: str, note: str) -> None:
    document = formatted(text)
    assert (document.text, document.kept, str(document.note)) == (text, False, note)


def test_warnings_have_the_place_in_the_yaml() -> None:
    document = formatted(TOOL.replace("{}", "\n      $ref: '#/$defs/gone'"))
    assert [str(warning.place) for warning in document.warnings] == ["t.yaml:6:13"]


def test_wire() -> None:
    assert formatted(TOOL, wire=True).text == '{"name":"a","parameters":{"type":"object","properties":{"p":{}}}}'
    assert formatted("# x\n" + TOOL.replace("{}", "{default: [1.50, 017, no]}"), wire=True).text.endswith(
        '"default":[1.5,15,false]}}}}'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TOOL.replace("{}", "{default: 2024-01-01}"),
            "t.yaml:5:18: 2024-01-01 is a date; the wire form is JSON, which has none; put it into quotes",
        ),
        (TOOL + "---\n" + TOOL, "t.yaml:7:1: there are several documents, and the wire form is one; split the file"),
        (TOOL.replace("{}", "!x {}"), "t.yaml:5:8: there is no wire form because it has tags"),
    ],
)
def test_no_wire_form(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        formatted(text, wire=True)
    assert str(caught.value) == message


def test_a_result_that_says_something_else_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "write_yaml", lambda _root: TOOL)
    with pytest.raises(BrokenPromiseError, match=r"^t\.yaml: the canonical text would not say the same; "):
        formatted(SHUFFLED_YAML)


def test_a_result_that_is_not_stable_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter([TOOL, TOOL + "\n"])
    monkeypatch.setattr(yaml_document, "write_yaml", lambda _root: next(texts))
    with pytest.raises(BrokenPromiseError, match=r"^t\.yaml: the canonical text is not stable; "):
        formatted(TOOL)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
defaults = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=6
)
properties = st.dictionaries(
    st.text(max_size=6), st.fixed_dictionaries({"default": defaults, "description": st.text(max_size=20)}), max_size=3
)
schemas = properties.map(lambda found: {"type": "object", "properties": found, "required": sorted(found)})
tools = st.lists(
    st.fixed_dictionaries({"name": st.text(min_size=1, max_size=6), "description": st.text(max_size=20), "parameters": schemas}),
    min_size=1,
    max_size=4,
    unique_by=lambda tool: tool["name"],
)


def shuffled(value: Any, random_: random.Random, *, order: bool = False) -> Any:
    """The keys of all objects in another order, but for ``properties`` and what defaults hold."""
    if not isinstance(value, dict):
        return value
    names = list(value)
    if not order:
        random_.shuffle(names)
    return {
        name: value[name] if name == "default" else shuffled(value[name], random_, order=name == "properties") for name in names
    }


@given(tools, st.randoms(use_true_random=False), st.sampled_from([False, True, None]))
def test_the_same_tools_are_the_same_bytes(found: list[Any], random_: random.Random, flow: bool | None) -> None:
    written = yaml.safe_dump(found, sort_keys=False)
    others = [shuffled(tool, random_) for tool in found]
    random_.shuffle(others)
    expected = formatted(written).text
    assert formatted(yaml.safe_dump(others, sort_keys=False, default_flow_style=flow, width=30)).text == expected
    assert formatted(expected).text == expected
    again = {tool["name"]: tool for tool in yaml.safe_load(expected)}
    assert repr(sorted_keys(again)) == repr(sorted_keys({tool["name"]: tool for tool in found}))


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: sorted(item) if key == "required" and isinstance(item, list) else sorted_keys(item)
            for key, item in sorted(value.items())
        }
    return value


def test_json_is_yaml() -> None:
    assert formatted('[{"parameters": {"type": "object", "properties": {}}, "name": "a"}]').text == (
        "- name: a\n  parameters:\n    type: object\n    properties: {}\n"
    )
