"""What holds for every set of tools."""

import json
import random
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tool_strategies import DIALECTS, EXAMPLES, LISTS, OBJECTS, TEXTS, TOOLS, shuffled

from promptguard import canonical_json, canonical_tools, tools_fingerprint
from promptguard.toolschema.document import format_lines, format_text
from promptguard.toolschema.equality import same_value
from promptguard.toolschema.regular import regular_json

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
@given(st.sampled_from(sorted(DIALECTS)), TEXTS, OBJECTS)
def test_the_short_cut_gives_the_bytes_of_the_whole_way(dialect: str, text: str, schema: Any) -> None:
    tool = DIALECTS[dialect]("f", text, schema)
    short = regular_json(tool)
    assert short is None or short == wire(canonical_tools(tool))


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
