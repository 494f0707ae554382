from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.checks.base import Document, Hit, Region, shown
from promptguard.checks.tools import check
from promptguard.core.source import Source
from promptguard.parse.strict import parse
from promptguard.toolschema.document import format_lines, format_text
from promptguard.toolschema.order import print_number, printed


def document(text: str, path: str = "tools.json") -> Document:
    kind = "yaml" if path.endswith(".yaml") else "json"
    return Document(Source(path, text, kind), "tools", regions=[Region(0, len(text), "tools")])


def hits(code: str, text: str, path: str = "tools.json") -> list[Hit]:
    return [hit for hit in check(document(text, path), {}) if hit.code == code]


def found(code: str, text: str, path: str = "tools.json") -> list[tuple[str, str]]:
    """The texts at the places, and the pointers."""
    return [(text[hit.start : hit.end], hit.pointer) for hit in hits(code, text, path)]


def apply(text: str, hit: Hit) -> str:
    assert hit.fix is not None
    for edit in reversed(hit.fix.edits):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def tool(name: str, schema: str = '{"type":"object"}', description: str = "") -> str:
    said = f'"description":{json.dumps(description)},' if description else ""
    return f'{{"name":"{name}",{said}"input_schema":{schema}}}'


def listed(*tools: str) -> str:
    return f"[{','.join(tools)}]\n"


NAMES = st.sampled_from(["a", "b", "B", "é", "read"])
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "required": st.lists(NAMES, max_size=3),
        "properties": st.dictionaries(
            NAMES, st.sampled_from([{"type": "string"}, {"description": "x", "type": "strin"}, {}]), max_size=3
        ),
        "title": NAMES,
    },
)
TOOLS = st.lists(
    st.fixed_dictionaries({"input_schema": SCHEMAS, "name": NAMES}, optional={"description": NAMES}), min_size=1, max_size=4
)


@given(TOOLS, st.sampled_from([None, 1, 2]), st.booleans())
def test_two_rules_share_what_the_canonical_form_changes(tools: list[Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(tools, indent=indent, ensure_ascii=ascii_only)
    order, layout = hits("PG404", text), hits("PG401", text)
    if layout:
        assert apply(text, layout[0]) == format_text(text, path="tools.json").text
    elif order:
        assert not hits("PG404", apply(text, order[0]))
        assert not hits("PG401", apply(text, order[0]))
    else:
        assert text.rstrip("\n") in (
            format_text(text, path="tools.json", form="wire").text,
            format_text(text, path="tools.json").text.rstrip("\n"),
        )


@given(TOOLS)
def test_sorting_leaves_every_tool_as_it_is(tools: list[Any]) -> None:
    text = json.dumps(tools, indent=3)
    for hit in hits("PG404", text):
        assert json.loads(apply(text, hit)) == sorted(tools, key=lambda tool: tool["name"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_a_value_is_laid_out_as_the_formatter_does_it(given: Any) -> None:
    value = parse(Source("t", json.dumps(given, ensure_ascii=False), "json"), exact_numbers=True)
    assert printed(value) == orjson.dumps(value, default=print_number).decode()
    assert printed(value, "\n") == orjson.dumps(value, default=print_number, option=orjson.OPT_INDENT_2).decode()


@given(TOOLS, st.sampled_from([None, 2]))
def test_what_a_message_quotes_first_is_what_stands_there(tools: list[Any], indent: int | None) -> None:
    text = json.dumps(tools, indent=indent)
    for hit in check(document(text), {}):
        if "`" in hit.message:
            assert hit.message.split("`")[1] == shown(text[hit.start : hit.end])


@given(st.text(alphabet='[]{}":, \\nabe1é\n', max_size=60), st.sampled_from(["tools.json", "tools.jsonl", "tools.yaml"]))
def test_no_text_breaks_it(text: str, path: str) -> None:
    for start in (text, "[" + tool("a") + text, "- name: a\n  input_schema: {type: object}\n" + text):
        assert all(0 <= hit.start <= hit.end <= len(start) for hit in check(document(start, path), {}))


def test_lines_are_brought_into_the_wire_form() -> None:
    text = '[{"input_schema": {"type": "object"}, "name": "a"}]\nnot JSON\n{"x": 1}\n' + listed(tool("b"))
    (hit,) = hits("PG401", text, "tools.jsonl")
    assert text[hit.start : hit.end] == '"input_schema"'
    assert apply(text, hit) == format_lines(text, path="tools.jsonl").text


def test_a_layout_is_a_note_and_an_order_is_a_warning() -> None:
    spread = json.dumps(json.loads(listed(tool("a"))), indent=4)
    assert [(hit.severity, spread[hit.start : hit.end]) for hit in hits("PG401", spread)] == [("note", "{")]
    text = '[{"name": "a", "input_schema": {"properties": {}, "type": "object"}}]'
    assert [hit.severity for hit in hits("PG401", text)] == [None]
    assert found("PG401", text) == [('"properties"', "/0/input_schema")]


def test_a_required_name_out_of_order() -> None:
    text = listed(tool("a", '{"type":"object","properties":{"x":{},"y":{}},"required":["y","x"]}'))
    assert found("PG401", text) == [('"y"', "/0/input_schema/required/0")]


def test_a_mark_of_the_cache_makes_sorting_unsafe() -> None:
    text = listed(tool("b")[:-1] + ',"cache_control":{"type":"ephemeral"}}', tool("a"))
    assert hits("PG404", text)[0].fix.applicability == "unsafe"
    spread = json.dumps(json.loads(text), indent=4)
    assert hits("PG401", spread)[0].fix.applicability == "unsafe"


def test_yaml_is_told_the_order_without_a_fix() -> None:
    text = "- input_schema:\n    type: object\n  name: b\n- name: a\n  input_schema: {type: object}\n"
    assert found("PG401", text, "tools.yaml") == [("input_schema", "/0")]
    assert found("PG404", text, "tools.yaml") == [("a", "/1")]
    assert {hit.fix for hit in check(document(text, "tools.yaml"), {})} == {None}


@pytest.mark.parametrize(
    ("comment", "remedy"),
    [("", "promptguard format mends it"), ("# mine\n", "put them into this order by hand, or remove the comments")],
)
def test_what_mends_the_order_of_yaml(comment: str, remedy: str) -> None:
    (hit,) = hits("PG401", comment + "- input_schema: {type: object}\n  name: b\n", "tools.yaml")
    assert hit.message == f'`input_schema` stands before `"name"`, not in canonical order; {remedy}'


@pytest.mark.parametrize(
    "text",
    [
        "- &x\n  name: a\n  input_schema: {type: object}\n  title: t\n- {<<: *x, name: b}\n",
        "- !tool\n  title: b\n  name: b\n  input_schema: {type: object}\n",
    ],
)
def test_yaml_whose_order_is_not_known_is_told_nothing(text: str) -> None:
    assert hits("PG401", text, "tools.yaml") == []


def test_function_declarations_are_sorted_as_well() -> None:
    text = '{"functionDeclarations":[{"name":"b","parameters":{}},{"name":"a","parameters":{}}]}'
    assert found("PG404", text) == [('"a"', "/functionDeclarations/1")]
    assert json.loads(apply(text, hits("PG404", text)[0]))["functionDeclarations"][0]["name"] == "a"


def test_every_second_key_with_the_first() -> None:
    text = '[{"name":"a","input_schema":{"type":"object","a":1,"a":2,"\\u0061":3}}]'
    assert found("PG402", text) == [('"a"', "/0/input_schema/a"), ('"\\u0061"', "/0/input_schema/a")]
    assert [text[start:end] for hit in hits("PG402", text) for start, end, _ in hit.related] == ['"a"', '"a"']
    assert hits("PG402", text)[0].related[0][0] == text.index('"a":1')
    assert {hit.code for hit in check(document(text), {})} == {"PG402"}


def test_equal_keys_in_yaml() -> None:
    text = "name: a\ninput_schema:\n  type: object\n  'type': object\n"
    assert found("PG402", text, "tool.yaml") == [("'type'", "/input_schema/type")]


def test_equal_names() -> None:
    text = (
        '{"tools":['
        + ",".join(f'{{"type":"function","function":{{"name":"{name}","parameters":{{}}}}}}' for name in "aba")
        + "]}"
    )
    assert found("PG403", text) == [('"a"', "/tools/2/function/name")]
    assert found("PG403", listed(tool("a")) + listed(tool("a")), "tools.jsonl") == []


def test_equal_names_of_tools_on_lines_of_their_own() -> None:
    text = "\n".join([tool("a"), tool("b"), tool("a"), '{"functionDeclarations":[{"name":"a","description":"x"}]}'])
    (hit,) = hits("PG403", text, "tools.jsonl")
    assert (text[hit.start : hit.end], text[: hit.start].count("\n"), hit.pointer) == ('"a"', 2, "/name")
    assert [text[start:end] for start, end, _ in hit.related] == ['"a"']
    assert found("PG403", f"---\n{tool('a')}\n---\n{tool('a')}\n", "tools.yaml") == [('"a"', "/name")]


def request(*tools: str, more: str = "") -> Document:
    """A request as it is sent, in which the canonical form and order are nobody's business."""
    before = '{"model":"m","model":"n","messages":[{"role":"user","content":"Hi"}],"tools":'
    text = before + listed(*tools).rstrip() + more + "}"
    region = Region(len(before), len(text) - len(more) - 1, "tools")
    return Document(Source("request.json", text, "json"), "tools", regions=[region], pointer="/tools")


def test_tools_in_a_request() -> None:
    twice = tool("a", '{"type":"object","type":"object"}')
    found = [(hit.code, hit.pointer) for hit in check(request(tool("b"), twice, tool("a", '{"type":"objec"}')), {})]
    assert found == [
        ("PG402", "/1/input_schema/type"),
        ("PG403", "/2/name"),
        ("PG406", "/2/input_schema/type"),
    ]
    assert list(check(request(tool("b"), tool("a"), more=',"temperature":NaN'), {})) == []


def test_tools_in_the_yaml_of_an_agent() -> None:
    tools = "tools:\n- name: b\n  input_schema: {type: object}\n- name: a\n  input_schema: {type: x}\n"
    text = f"model: m\nmodel: n\ninstructions: Hi\n{tools}"
    region = Region(text.index("- "), len(text), "tools")
    agent = Document(Source("agent.yaml", text, "yaml"), "tools", regions=[region], pointer="/tools")
    assert [(hit.code, hit.pointer) for hit in check(agent, {})] == [("PG406", "/1/input_schema/type")]


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("Rates as of 2026-11-29 10:11:12.", "2026-11-29 10:11:12"),
        ('It says "hi" in session 36ee5a \u00e9.', "36ee5a"),
        ("Runs in cwd: /home/ann/shop.", "/home/ann/shop"),
        ("Today is November 29, 2026.", "November 29, 2026"),
    ],
)
def test_values_that_change_in_a_description(description: str, kind: str) -> None:
    text = listed(tool("a", description=description))
    assert found("PG405", text) == [(kind, "/0/description")]
    escaped = text.replace("session", "\\u0073ession").replace("hi", "\\ud83d\\ude00")
    assert found("PG405", escaped) == [(kind, "/0/description")]


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"string","format":"uuid"}',
        '{"type":"string","examples":["2026-11-29T10:11:12Z"]}',
        '{"type":"string","const":"session 36ee5a"}',
        '{"type":"string","pattern":"^session 36ee5a$"}',
        '{"type":"string","default":"2026-11-01"}',
        '{"type":"string","default":"2026-11-01T00:00:00.000Z"}',
        '{"type":"string","default":"2026-12-31T23:59:59Z"}',
        '{"type":"string","enum":["v1","v2","gpt-4o"]}',
        '{"type":"string","description":"a date such as 2026-11-29T10:11:12Z"}',
    ],
)
def test_values_that_are_meant(schema: str) -> None:
    text = listed(tool("a", f'{{"type":"object","properties":{{"created_at":{schema}}}}}'))
    assert hits("PG405", text) == []


def test_the_name_of_a_property_is_the_label_of_its_values() -> None:
    schema = '{"type":"object","properties":{"o":{"default":{"nonce":["8f3a9c"]}},"trace_id":{"enum":["0af7651916cd43dd"]}}}'
    assert found("PG405", listed(tool("a", schema))) == [
        ("8f3a9c", "/0/input_schema/properties/o/default/nonce/0"),
        ("0af7651916cd43dd", "/0/input_schema/properties/trace_id/enum/0"),
    ]
    times = '{"type":"object","properties":{"until":{"default":"2026-11-29T10:11:12Z"}}}'
    assert [hit.severity for hit in hits("PG405", listed(tool("a", times)))] == ["error"]


@pytest.mark.parametrize(
    ("description", "places"),
    [
        ('"For example 36ee5a12 is a colour. Session 36ee5a12."', [("36ee5a12", 51)]),
        ("|  # as of 2026-11-29T10:11:12Z\n  Generated at 2026-11-29T10:11:12Z.\n", [("2026-11-29T10:11:12Z", 55)]),
        ('"in /tmp/t\\x6dpab12cd34/x, see"\nx: /tmp/tmpab12cd34/x', [("/tmp/t\\x6dpab12cd34/x", 12)]),
        ("&a !!str  # b\n  'Session 36ee5a12.'", [("36ee5a12", 33)]),
        ("Generated at 2026-11-29\n  10:11:12.", [("2026-11-29\n  10:11:12", 21)]),
    ],
)
def test_literals_in_yaml_are_found_where_they_are_written(description: str, places: list[tuple[str, int]]) -> None:
    text = f"name: a\ndescription: {description}\ninput_schema: {{type: object}}\n"
    assert [(text[hit.start : hit.end], hit.start - 13) for hit in hits("PG405", text, "tool.yaml")] == places


@pytest.mark.parametrize(
    ("required", "quote"),
    [
        ("[&r 'zz']", "'zz'"),
        ("[ !t &r zz ]  # c", "zz"),
        ("[&r\n   zz]", "zz"),
        ("\n  - |-  # c\n   zz", "zz"),
        ('\n  - &r >-\n\n   zz"', 'zz"'),
        ('["z\\x7a"]', '"z\\x7a"'),
        ("['']", "''"),
    ],
)
def test_messages_quote_what_yaml_says(required: str, quote: str) -> None:
    text = f"name: a\ninput_schema:\n  type: object\n  properties: {{}}\n  required: {required}\n"
    [hit] = hits("PG406", text, "tool.yaml")
    assert (text[hit.start : hit.end], hit.message.startswith(f"`{quote}` is required")) == (quote, True)


def test_the_order_of_several_documents_is_mended_by_hand() -> None:
    text = "name: a\ninput_schema: {type: object}\n---\n" + "input_schema: {type: object}\nname: b\n"
    [hit] = hits("PG401", text, "tool.yaml")
    assert hit.message.endswith("; put them into this order by hand, or remove the other documents")


def test_what_breaks_a_text_behind_equal_keys_is_found_too() -> None:
    text = '[{"name": "a", "name": "a", "input_schema": {}},]'
    assert [(hit.start, hit.message) for hit in hits("PG406", text)] == [(47, "not JSON: a comma ahead of the closing bracket")]
    assert len(list(hits("PG402", text))) == 1


def test_a_value_across_the_lines_of_yaml() -> None:
    said = "  Rates of session 36ee5a,\n  generated at 2026-11-29\n  10:11:12.\n"
    text = f"name: a\ndescription: >-\n{said}input_schema: {{type: object}}\n"
    assert found("PG405", text, "tool.yaml") == [
        ("36ee5a", "/description"),
        ("2026-11-29\n  10:11:12", "/description"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("[" + tool("a") + ",]", ",", "not JSON: a comma ahead of the closing bracket"),
        (listed(tool("a"))[:-2], "}", "not JSON: expecting ',' delimiter"),
        (listed(tool("a", '{"type":"object","maximum":NaN}')), "N", "NaN is not JSON"),
        (listed(tool("a").replace('"a"', '"\\ud800"')), '"', "a lone surrogate in a text"),
    ],
)
def test_what_is_not_json(text: str, place: str, message: str) -> None:
    (hit,) = hits("PG406", text)
    assert (text[hit.start : hit.end], hit.message) == (place, message)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ('{"type":"object","properties":["x"]}', '["x"]'),
        ('{"type":"object","properties":{"x":{"required":true}}}', "true"),
        ('{"type":"object","properties":{"x":{}},"required":["y"]}', '"y"'),
        ('{"type":"object","properties":{"x":{}},"required":["x","x"]}', '"x"'),
        ('{"type":"object","properties":{"x":{}},"required":[1]}', "1"),
        ('{"type":"object","properties":{"x":{"type":"int"}}}', '"int"'),
        ('{"type":"object","properties":{"x":{"type":["string","none"]}}}', '"none"'),
        ('{"type":"object","properties":{"x":{"type":{}}}}', "{}"),
        ('{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}}}', '"#/$defs/y"'),
    ],
)
def test_schemas_that_servers_read_in_different_ways(schema: str, place: str) -> None:
    assert [text for text, _ in found("PG406", listed(tool("a", schema)))] == [place]


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"object","properties":{"required":{"type":"boolean"},"type":{"type":"string"}},"required":["type"]}',
        '{"type":"object","properties":{"x":{}},"anyOf":[{"required":["x"]},{"required":["y"]}]}',
        '{"type":"object","properties":{"x":{}},"additionalProperties":{"type":"string"},"required":["y"]}',
        '{"type":"OBJECT","properties":{"x":{"type":"STRING"}}}',
        '{"type":"object","required":["x"]}',
        '{"type":"object","properties":{"x":{"$ref":"https://example.com/schema.json"}}}',
    ],
)
def test_schemas_that_are_fine(schema: str) -> None:
    assert hits("PG406", listed(tool("a", schema))) == []


def test_tools_without_a_name() -> None:
    text = (
        '[{"name":"a","input_schema":{"type":"object"}},{"type":"function","function":{"parameters":{}}},{"type":"web_search"}]'
    )
    assert found("PG406", text) == [('{"type":"function","function":{"parameters":{}}}', "/1")]
    assert found("PG406", listed(tool("a"), tool(""))) == [('""', "/1/name")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- name: a\n  input_schema: [\n", "not YAML: did not find expected node content"),
        ("name: a\ninput_schema: {type: object, yes: 1}\n", "the key yes is read as true or false"),
    ],
)
def test_what_yaml_cannot_say_in_json(text: str, message: str) -> None:
    assert [hit.message for hit in hits("PG406", text, "tools.yaml")] == [message]


def test_however_many_there_are_each_is_a_hit() -> None:
    schema = {"type": "object", "properties": {f"p{number}": {"type": "str"} for number in range(1005)}}
    messages = [hit.message for hit in hits("PG406", listed(tool("a", json.dumps(schema))))]
    assert messages == ['JSON Schema has no type `"str"`'] * 1005


@pytest.mark.parametrize(
    ("path", "text"), [("tools.json", listed(tool("a"))), ("tools.yaml", "- {name: a, input_schema: {type: object}}\n")]
)
def test_a_byte_order_mark_in_front_of_tools(path: str, text: str) -> None:
    marked = document(text, path)
    assert [hit.code for hit in check(marked, {}) if hit.code == "PG303"] == []
    marked.bom = True
    (hit,) = [hit for hit in check(marked, {}) if hit.code == "PG303"]
    assert (hit.start, hit.end, hit.fix is not None and hit.fix.applicability) == (0, 1, "safe")
    assert hit.message == "the file begins with a byte order mark, which many readers of JSON and YAML do not take"


def test_lines_in_a_file_that_is_called_json() -> None:
    lines = f"{tool('a')}\n{tool('b')}\n{tool('a')}\n"
    assert found("PG403", lines) == [('"a"', "/name")]
    assert [hit.code for hit in check(document(lines), {})] == ["PG403"]
    (hit,) = hits("PG406", lines[:-2])
    assert hit.message == "not JSON: extra data"


def test_tools_that_consist_through_merges() -> None:
    text = "- &t {name: zeta, input_schema: &s {type: object, properties: {}}}\n- <<: *t\n"
    assert found("PG403", text, "tools.yaml") == [("<<: *t", "/1/name")]
    text += "- {name: a, input_schema: {<<: *s, required: [zz]}}\n"
    assert found("PG406", text, "tools.yaml") == [("zz", "/2/input_schema/required/0")]
