"""Which texts are read at the speed of C; that they come out as on the exact way is what most of this tests."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tool_strategies import EXAMPLES, ODD_TOOLS, REGULAR_TOOLS, TOOLS, shuffled

from promptguard import canonical_json
from promptguard.core.errors import InputError
from promptguard.toolschema import document
from promptguard.toolschema.document import Formatted, format_text, holds_tools
from promptguard.toolschema.reading import read_usual

TOOL = '{"name":"f","parameters":{"type":"object","default":1}}'


@pytest.mark.parametrize(
    "text",
    [
        f"[{TOOL}]",
        f" [\r\n\t{TOOL} , {TOOL}]\n",
        TOOL,
        f'{{"nextCursor": null, "tools": [{TOOL}]}}',
        f'{{"functions" : [ {TOOL} ], "function_call": {{"b": 1, "a": [0.5]}}}}',
        TOOL.replace("1", '"\\u00e9 \\ud83d\\ude00 \\/ \\u003c\\u0020"'),
        TOOL.replace("1", '"\\\\u00e9 \\\\/ \\n \\"\\u00e9"'),
        TOOL.replace("1", '"é 😀 \x7f"'),
        TOOL.replace("1", "[0.1, -0.5, 1.0, -0.0, 18446744073709551615, -9223372036854775808]"),
        TOOL.replace("1", '{"$ref": 1, "x": [[{}]]}'),
    ],
)
def test_usual_texts(text: str) -> None:
    reading = read_usual(text)
    assert reading is not None
    assert reading.wire == canonical_json(json.loads(text))
    assert reading.holds_tools


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "[1]",
        f"[{TOOL}",
        f"[{TOOL}],",
        f"[{TOOL},]",
        f"\ufeff[{TOOL}]",
        f"[{TOOL}, {{}}, 1]",
        f'{{"tools": {TOOL}}}',
        f'{{"jsonrpc": "2.0", "result": {{"tools": [{TOOL}]}}}}',
        f'{{"tools": [{TOOL}], "tools": [{TOOL}]}}',
        f'{{"tools": [{TOOL}], "a": 1, "\\u0061": 1}}',
        f'{{"tools": [{TOOL}], "a": 1e-5}}',
        TOOL.replace("{", '{"name": "f", ', 1),
        TOOL.replace("{", '{"\\u006eame": "g", ', 1),
        TOOL.replace("1", '{"a": 1, "a": 1}'),
        TOOL.replace("1", '{"\\u00e9": 1, "é": 1}'),
        *[
            TOOL.replace("1", value)
            for value in (
                "1.50",
                "1e3",
                "1E3",
                "-0",
                "0.10000000000000001",
                "9007199254740993.0",
                "18446744073709551616",
                "1e999",
                "NaN",
                "Infinity",
                "01",
                "1.",
                "'a'",
                '"\\ud83d"',
                '"\\udead\\ud83d"',
                '"\ud83d"',
                '"\\u0022"',
                '"\\u000a"',
                '"\\x"',
                '"\\u00"',
                '"\t"',
                "[" * 97 + "]" * 97 + "x",
                "[" * 2000,
            )
        ],
    ],
)
def test_other_texts_are_left_to_the_exact_way(text: str) -> None:
    assert read_usual(text) is None


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("[]", False),
        ("[{}]", False),
        ('[{"name": "f"}]', False),
        (f"[{{}}, {TOOL}]", False),
        (f'[{{"type": "bash"}}, {TOOL}, {{"type": "object"}}]', True),
        (f'{{"tools": [{TOOL}], "messages": []}}', False),
        ('{"tools": []}', False),
        ('{"name": "f"}', False),
    ],
)
def test_it_knows_tools_as_on_the_exact_way(text: str, known: bool) -> None:
    assert holds_tools(text) is known
    reading = read_usual(text)
    assert reading is None or reading.holds_tools is known


def on_any_way(text: str, **options: Any) -> Formatted | str:
    try:
        return format_text(text, path="t", **options)
    except InputError as error:
        return str(error)


def on_the_exact_way(text: str, **options: Any) -> Formatted | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "read_usual", lambda text: None)
        return on_any_way(text, **options)


def same_on_both_ways(text: str) -> None:
    """The same text, the same warnings, the same errors."""
    for form in ("file", "wire"):
        assert on_any_way(text, form=form) == on_the_exact_way(text, form=form)
    reading = read_usual(text)
    assert reading is None or reading.holds_tools == holds_tools(text)


@settings(EXAMPLES, max_examples=150)
@given(
    st.builds(shuffled, TOOLS, st.randoms(use_true_random=False)) | ODD_TOOLS | st.lists(REGULAR_TOOLS, max_size=3),
    st.sampled_from([None, 1]),
    st.booleans(),
)
@example([{"type": None, "function": 0.0, "custom": None}], None, False)
def test_tools_come_out_the_same(tools: Any, indent: int | None, ascii_only: bool) -> None:
    same_on_both_ways(json.dumps(tools, indent=indent, ensure_ascii=ascii_only))


NUMBERS = ["0", "-0", "1.0", "1.50", "1e3", "1E3", "1e-5", "0.00001", "1e16", "1e+16", "-0.0", "9007199254740993.0", "1" * 25]
STRINGS = ['"a"', '"\\u0061"', '"é"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\/"', '"a b"', '"\\n"', '"\\u0022"']
KEYS = [*STRINGS[:4], '"$ref"', '"$defs"', '"required"', '"properties"', '"type"', '"items"', '"tools"', '"name"']
SPACE = st.sampled_from(["", " ", "\n", "\r\n\t"])
REFERENCES = ['"#/$defs/a"', '"#"', '"#/0"', '"#/items"', '"#x"', '"#/%24defs/a"']


def joined(parts: list[str], space: str, brackets: str) -> str:
    return brackets[0] + space + f"{space},{space}".join(parts) + space + brackets[1]


MEMBERS = st.recursive(
    st.sampled_from([*NUMBERS, *STRINGS, *REFERENCES, "true", "null"]),
    lambda inner: (
        st.builds(joined, st.lists(inner, max_size=3), SPACE, st.just("[]"))
        | st.builds(joined, st.lists(st.tuples(st.sampled_from(KEYS), inner).map(" : ".join), max_size=4), SPACE, st.just("{}"))
    ),
    max_leaves=8,
)
"""JSON as it may be written: with any spelling of numbers and characters, and with equal keys."""


@settings(EXAMPLES, max_examples=400)
@given(
    st.sampled_from(["%s", "[%s]", '{"tools":[%s]}', '{"tools": [%s], "_meta": [0.1]}']),
    st.lists(st.sampled_from(["parameters", "x-a", "description"]), max_size=3).map(
        lambda keys: "{" + ",".join(['"name":"f"', *[f'"{key}":%s' for key in keys]]) + "}"
    ),
    st.lists(MEMBERS, min_size=3, max_size=3),
)
@example("[%s]", '{"name":"f","parameters":{"$defs":{"a":{}},"items":{"$ref":%s}}}', ['"#/$defs/b"'])
@example("[%s]", '{"name":"f","parameters":[{"$ref":%s},{}]}', ['"#/1"'])
@example("[%s]", '{"name":"f","parameters":{"required":["b",%s],"properties":{"a":1,"b":1}}}', ['"a"'])
def test_texts_come_out_the_same(around: str, tool: str, members: list[str]) -> None:
    same_on_both_ways(around % (tool % tuple(members[: tool.count("%s")])))
