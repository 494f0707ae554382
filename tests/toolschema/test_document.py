"""JSON text to canonical JSON text."""

import json
from typing import Any

import pytest

from promptguard import canonical_json
from promptguard.core.errors import InputError
from promptguard.toolschema import document, reading
from promptguard.toolschema.canonical import tool_texts
from promptguard.toolschema.document import Formatted, format_lines, format_text, holds_tools
from promptguard.toolschema.errors import BrokenPromiseError
from promptguard.toolschema.order import Canonicalizer

TOOLS = '[{"name":"b","parameters":{"type":"object"}},{"name":"a","parameters":{"type":"object"}}]'


def test_the_file_form() -> None:
    formatted = format_text('\ufeff[{"input_schema": {"enum": [], "properties": {}}, "name": "\\u00e9\\/"}]\r\n', path="t")
    assert formatted == Formatted(
        """\
[
  {
    "name": "é/",
    "input_schema": {
      "enum": [],
      "properties": {}
    }
  }
]
""",
        changed=True,
    )
    assert format_text(formatted.text, path="t") == Formatted(formatted.text, changed=False)


def test_the_wire_form_is_one_line_without_an_end() -> None:
    assert format_text(TOOLS, path="t", form="wire").text.startswith('[{"name":"a","parameters"')
    assert "\n" not in format_text(TOOLS, path="t", form="wire").text


def test_numbers_keep_their_value_and_ordinary_ones_get_one_spelling() -> None:
    numbers = "[1.0, 1.50, 1e3, 1E16, -0, -0.0, 25e-1, 0.1000000000000000055511151231257827, 123456789012345678901234567890]"
    text = f'{{"name": "f", "input_schema": {{"enum": {numbers}}}}}'
    expected = "[1.0,1.5,1000.0,1e+16,0,-0.0,2.5,0.1000000000000000055511151231257827,123456789012345678901234567890]"
    assert format_text(text, path="t", form="wire").text == f'{{"name":"f","input_schema":{{"enum":{expected}}}}}'


@pytest.mark.parametrize("number", ["1e5", "1E-3", "-0", "0e9", "-0.0e1", "1.10", "2.5E+20", "5e-324", "18446744073709551616"])
def test_a_number_that_a_float_holds_is_written_as_for_python_values(number: str) -> None:
    text = f'[{{"name": "f", "parameters": {{"default": {number}}}}}]'
    assert format_text(text, path="t", form="wire").text.encode() == canonical_json(json.loads(text))


def test_properties_are_sorted_on_request() -> None:
    text = '{"name": "f", "parameters": {"required": ["a", "b"], "properties": {"b": {}, "a": {}}}}'
    kept = '{"name":"f","parameters":{"properties":{"b":{},"a":{}},"required":["b","a"]}}'
    assert format_text(text, path="t", form="wire").text == kept
    by_name = '{"name":"f","parameters":{"properties":{"a":{},"b":{}},"required":["a","b"]}}'
    assert format_text(text, path="t", form="wire", sort_properties=True).text == by_name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"name": "a",\r\n  "x": {"k": 1, "\\u006b": 2}}]', 't.json:2:17: the key "k" stands twice in one object'),
        ('[{"name": "a", "x": NaN}]', "t.json:1:21: NaN is not JSON; write null or a number"),
        ('[{"name": "a", "x": 1e999}]', "t.json:1:21: a number is out of range (1e999)"),
        ('[{"name": "\\udead"}]', "t.json:1:11: a lone surrogate in a text; write the character out in UTF-8"),
        ('[{"name": }]', "t.json:1:11: not JSON: expecting value"),
        ('[{"name": "a"} {}]', "t.json:1:16: not JSON: expecting ',' delimiter"),
        ("[" * 101 + "]" * 101, "t.json:1:101: nested deeper than 100 levels"),
        ('\n{"a": 1}', "t.json:1:1: an object without tools was given; give a list of tools, one tool, or a JSON Schema"),
        ("[1]", "t.json:1:1: element 1 is not an object; give a list of tools"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        format_text(text, path="t.json")
    assert str(error.value) == message


def test_a_text_that_is_too_long_is_refused() -> None:
    assert format_text("[]".ljust(100), path="t", max_chars=100).text == "[]\n"
    with pytest.raises(InputError, match="t: longer than 100 characters"):
        format_text("[]".ljust(101), path="t", max_chars=100)


def parameters(**keywords: Any) -> str:
    return json.dumps([{"name": "f", "parameters": keywords}], indent=1)


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/B", "#/$defs/A/x", "#/anyOf/2", "#/anyOf/x", "#A", "#/$defs/A%20B/0", "#/properties/a~0b", "#/0/parameters"],
)
def test_a_reference_that_points_nowhere_is_a_warning(reference: str) -> None:
    text = parameters(**{"$defs": {"A": {"type": "string"}}, "anyOf": [{}, {"items": {"$ref": reference}}]})
    formatted = format_text(text, path="t.json")
    line = next(number for number, line in enumerate(text.split("\n"), 1) if '"$ref"' in line)
    column = text.split("\n")[line - 1].index('"#') + 1
    assert [str(note) for note in formatted.warnings] == [f't.json:{line}:{column}: the $ref "{reference}" points nowhere']


@pytest.mark.parametrize(
    "reference", ["#", "#/$defs/A", "#/$defs/a~1b%20c", "#/anyOf/0", "#here", "other.json#/x", "https://x.y/z#q"]
)
def test_a_reference_that_points_somewhere_is_none(reference: str) -> None:
    text = parameters(**{"$defs": {"A": {"$anchor": "here"}, "a/b c": {}}, "anyOf": [{"$ref": reference}]})
    assert format_text(text, path="t").warnings == ()


def test_no_reference_is_looked_for_in_values_names_and_parts_with_an_address() -> None:
    values = parameters(default={"$ref": "#/x"}, properties={"$ref": {"type": "string"}}, **{"x-y": {"$ref": "#/x"}})
    assert format_text(values, path="t").warnings == ()
    embedded = parameters(**{"$defs": {"A": {"$id": "https://x.y/z", "$ref": "#/q"}}})
    assert format_text(embedded, path="t").warnings == ()


def test_references_are_looked_for_in_every_tool_on_its_own() -> None:
    first = {"name": "a", "input_schema": {"$defs": {"A": {}}}}
    second = {"name": "b", "input_schema": {"$ref": "#/$defs/A"}}
    assert len(format_text(json.dumps({"tools": [first, second]}), path="t").warnings) == 1


def test_unsafe_fixes_normalize_and_say_where() -> None:
    text = '[{"name": "f",\n  "description": "a \\r\\nb"}]'
    formatted = format_text(text, path="t", form="wire", unsafe_fixes=True)
    assert formatted.text == '[{"name":"f","description":"a\\nb"}]'
    assert [str(note) for note in formatted.normalized] == ["t:2:18: normalized line ends, trailing spaces"]
    assert format_text(text, path="t", form="wire").text == '[{"name":"f","description":"a \\r\\nb"}]'


def test_lines_that_hold_no_tools_stay() -> None:
    text = f'{{"a": 1 }}\n\n  {TOOLS}  \r\nnot JSON parameters\n{TOOLS}'
    wire = format_text(TOOLS, path="t", form="wire").text
    assert format_lines(text, path="t").text == f'{{"a": 1 }}\n\n{wire}\r\nnot JSON parameters\n{wire}'
    assert format_lines(wire + "\n", path="t") == Formatted(wire + "\n", changed=False)


def test_a_line_with_tools_is_refused_at_its_place() -> None:
    line = '[{"name": "a", "parameters": {"type": "object", "type": "object"}}]'
    with pytest.raises(InputError, match='t:3:49: the key "type" stands twice'):
        format_lines(f"{{}}\n{TOOLS}\n{line}\n", path="t")


@pytest.mark.parametrize("text", ["", "{", '{"a": "parameters"}', "[" * 100_000 + '"function"', '["\\ud83d", {"function": NaN}]'])
def test_what_holds_no_tools(text: str) -> None:
    assert not holds_tools(text)


@pytest.mark.parametrize(
    "text",
    [
        TOOLS,
        "\ufeff" + TOOLS,
        '{"name": "a", "name": "b", "input_schema": {"type": "object", "maximum": NaN}}',
        '{"name": "a", "\\u0070\\u0061\\u0072\\u0061\\u006d\\u0065\\u0074\\u0065\\u0072\\u0073": {"type": "object"}}',
        f'{{"name": "a", "parameters": {{"type": "object", "maximum": {"9" * 5000}}}}}',
    ],
)
def test_what_holds_tools_even_if_it_will_be_refused(text: str) -> None:
    assert holds_tools(text)


class Lossy(Canonicalizer):
    def tools(self, value: Any) -> Any:
        return super().tools(value)[:1]


class Restless(Canonicalizer):
    def tools(self, value: Any) -> Any:
        return value[::-1]


class Nonsense(Canonicalizer):
    def tools(self, value: Any) -> Any:
        return {"a": 1} if isinstance(value, list) else super().tools(value)


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (Lossy, "the canonical form would change a value"),
        (Restless, "formatting the canonical form again would change it"),
        (Nonsense, "the canonical form cannot be read"),
    ],
)
def test_a_broken_promise_is_an_error(monkeypatch: pytest.MonkeyPatch, broken: type[Canonicalizer], what: str) -> None:
    monkeypatch.setattr(document, "Canonicalizer", broken)
    with pytest.raises(BrokenPromiseError) as error:
        format_text(TOOLS.replace("{", '{"x": 1e3, ', 1), path="t")
    assert error.value.what.startswith(what)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (lambda texts: texts[:1], "the canonical form would change a value"),
        (lambda texts: [text.replace(b'"object"', b'"Object"') for text in texts], "the canonical form would change a value"),
        (lambda texts: [b'{"name":"c"}', *texts], "the canonical form would change a value"),
        (lambda texts: texts[::-1], "formatting the canonical form again would change it"),
    ],
)
def test_a_broken_promise_of_a_usual_text_is_one_too(monkeypatch: pytest.MonkeyPatch, broken: Any, what: str) -> None:
    found: list[list[bytes]] = []

    def texts(tools: Any, *, parsed: bool) -> list[bytes]:
        found.append(tool_texts(tools, parsed=parsed))
        return broken(found[-1]) if len(found) == 1 else found[-1]  # type: ignore[no-any-return]

    monkeypatch.setattr(reading, "tool_texts", texts)
    with pytest.raises(BrokenPromiseError) as error:
        format_text(TOOLS, path="t")
    assert error.value.what.startswith(what)
    assert len(found) == 2
