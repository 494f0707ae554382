"""What holds for every set of tools."""

import json
import random
import sys
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_strategies import DIALECTS, EXAMPLES, LISTS, OBJECTS, ODD_TOOLS, REGULAR_TOOLS, TEXTS, TOOLS, shuffled

from promptguard import canonical_json, canonical_tools, tools_fingerprint
from promptguard.core.source import Source
from promptguard.parse.strict import parse
from promptguard.toolschema.dialects import tool_name
from promptguard.toolschema.document import format_lines, format_text
from promptguard.toolschema.equality import same_value
from promptguard.toolschema.errors import RefusedError
from promptguard.toolschema.order import Canonicalizer, printed
from promptguard.toolschema.regular import MAX_SCHEMAS, regular_json

ORDERS = st.randoms(use_true_random=False)


def wire(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@EXAMPLES
@given(TOOLS, st.booleans())
def test_a_second_pass_changes_nothing_and_the_input_is_not_touched(tools: Any, sort_properties: bool) -> None:
    before = deepcopy(tools)
    once = canonical_tools(tools, sort_properties=sort_properties)
    assert wire(tools) == wire(before)
    assert wire(canonical_tools(once, sort_properties=sort_properties)) == wire(once)


@EXAMPLES
@given(TOOLS, st.booleans())
def test_the_value_stays_the_same(tools: Any, sort_properties: bool) -> None:
    assert same_value(tools, canonical_tools(tools, sort_properties=sort_properties))
    assert same_value(tools, json.loads(canonical_json(tools, sort_properties=sort_properties)))


@EXAMPLES
@given(TOOLS, ORDERS)
def test_any_order_of_keys_and_tools_gives_the_same_bytes(tools: Any, order: random.Random) -> None:
    other = shuffled(tools, order)
    assert canonical_json(other) == canonical_json(tools)
    assert tools_fingerprint(other) == tools_fingerprint(tools)


@EXAMPLES
@given(TOOLS, ORDERS)
def test_any_order_of_properties_does_too_where_they_are_sorted(tools: Any, order: random.Random) -> None:
    other = shuffled(tools, order, properties=True)
    assert canonical_json(other, sort_properties=True) == canonical_json(tools, sort_properties=True)


@EXAMPLES
@given(TOOLS)
def test_the_bytes_are_those_of_json_dumps(tools: Any) -> None:
    assert canonical_json(tools) == wire(canonical_tools(tools))


@EXAMPLES
@given(TOOLS, st.booleans())
def test_the_bytes_are_the_same_without_a_library(tools: Any, exact_numbers: bool) -> None:
    canonicalizer = Canonicalizer()
    ordered = canonicalizer.tools(parse(Source("t", json.dumps(tools), "json"), exact_numbers=exact_numbers))
    assert printed(ordered).encode() == canonicalizer.wire(ordered)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}])
def test_what_cannot_be_written_is_refused_without_a_library_too(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "orjson")
    with pytest.raises(RefusedError):
        Canonicalizer().wire(value)
    assert "orjson" not in sys.modules


def same_bytes(tools: list[Any]) -> None:
    """The short cut, the whole way and json.dumps give the same."""
    expected = wire(canonical_tools(tools))
    assert canonical_json(tools) == expected
    assert canonical_json({"tools": tools}) == b'{"tools":%b}' % expected  # the whole way
    for tool in tools:
        short = regular_json(tool)
        assert short is None or short[2] == wire(canonical_tools([tool]))[1:-1]


@EXAMPLES
@given(st.sampled_from(sorted(DIALECTS)), TEXTS, OBJECTS)
def test_tools_of_every_dialect_have_the_same_bytes_on_both_ways(dialect: str, text: str, schema: Any) -> None:
    same_bytes([DIALECTS[dialect]("f", text, schema)])


@settings(EXAMPLES, max_examples=200)
@given(ODD_TOOLS, ORDERS)
def test_odd_tools_do_too_in_any_order(tools: list[Any], order: random.Random) -> None:
    same_bytes(tools)
    nameless = [tool for tool in tools if tool_name(tool) is None]
    other = [dict(order.sample(list(tool.items()), len(tool))) for tool in order.sample(nameless, len(nameless))]
    assert canonical_json(other) == canonical_json(nameless)


def is_small(tool: Any) -> bool:
    """Whether a tool has no more schemas than the short cut takes, by the number of its objects."""
    return json.dumps(tool).count("{") <= MAX_SCHEMAS


@settings(EXAMPLES, max_examples=200)
@given(st.lists(REGULAR_TOOLS.filter(is_small), max_size=3))
def test_regular_tools_take_the_short_cut(tools: list[Any]) -> None:
    assert None not in map(regular_json, tools)
    same_bytes(tools)


@EXAMPLES
@given(st.lists(REGULAR_TOOLS | ODD_TOOLS.filter(bool).map(lambda tools: tools[0]), max_size=4))
def test_regular_and_odd_tools_have_the_same_bytes_together(tools: list[Any]) -> None:
    same_bytes(tools)


@EXAMPLES
@given(TOOLS, ORDERS, st.sampled_from([None, 1, 4]), st.booleans())
def test_a_text_gives_what_the_objects_give(tools: Any, order: random.Random, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(shuffled(tools, order), indent=indent, ensure_ascii=ascii_only)
    assert format_text(text, path="t", form="wire").text.encode() == canonical_json(tools)
    formatted = format_text(text, path="t")
    assert formatted.text == json.dumps(canonical_tools(tools), indent=2, ensure_ascii=False) + "\n"
    assert format_text(formatted.text, path="t").changed is False


@EXAMPLES
@given(st.lists(LISTS, max_size=3))
def test_lines_are_formatted_one_by_one(lists: list[Any]) -> None:
    lines = [json.dumps(tools) for tools in lists]
    expected = [
        canonical_json(tools).decode() if format_lines(line, path="t").changed else line
        for tools, line in zip(lists, lines, strict=True)
    ]
    assert format_lines("\r\n".join(lines) + "\n", path="t").text == "\r\n".join(expected) + "\n"
