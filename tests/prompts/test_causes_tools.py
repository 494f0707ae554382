"""Causes in the tools."""

import json
from typing import Any

import pytest
from chatml import Style, ask, at, diverge, message, prompt, template, tool, tools_file

from promptguard.prompts.divergence import Divergence
from promptguard.prompts.request import Traced

USER = message("user", "What is the weather like in Ulm today, please?")
REPLY = message("assistant", "It is sunny and about twenty degrees.")
NEXT = message("user", "And what about tomorrow morning, same place?")
A, B, C, D = (tool(name) for name in "abcd")


def tools(
    before: Any, after: Any, *, file: Traced | None = None, old_file: Traced | None = None, style: Style | None = None
) -> Divergence:
    first = ask(USER, system="Be kind.", tools=before, file=old_file or tools_file(*before))
    second = ask(USER, REPLY, NEXT, system="Be kind.", tools=after, file=file or tools_file(*after))
    return diverge(prompt(first, REPLY, style), prompt(second, style=style))


def test_another_order() -> None:
    found = tools([A, B, C, D], [A, D, B, C])
    assert at(found) == ("K3", "tools", "tools.json:12:3")
    assert [str(place) for place in found.related] == ["tools.json:22:3"]
    assert found.explanation == (
        'the tools are listed in another order: "d" stands 2nd, where "b" stood before, which is 3rd now'
    )
    assert found.remedy == "send the tools in one fixed order: sort them by name once, at session start"
    assert (found.before[:14], found.after[:14]) == ('…: {"name": "b', '…: {"name": "d')


@pytest.mark.parametrize("style", [Style(tools="last"), Style(indent=4), Style(indent=3)])
def test_another_order_is_seen_wherever_and_however_the_tools_are_printed(style: Style) -> None:
    assert tools([A, B], [B, A], style=style).cause.code == "K3"


def test_keys_in_another_order() -> None:
    old = tool("b", type="object", properties={"q": {"type": "string", "title": "Q"}})
    new = tool("b", type="object", properties={"q": {"title": "Q", "type": "string"}})
    found = tools([A, old], [A, new])
    assert at(found) == ("K4", "tools", "tools.json:21:13")
    assert found.place is not None
    assert found.place.text == '"'
    assert found.explanation == (
        'the keys of the tool "b" stand in another order, from /function/parameters/properties/q/title on;'
        " the values are the same"
    )
    assert (found.before[:15], found.after[:15]) == ('…": {"q": {"typ', '…": {"q": {"tit')


@pytest.mark.parametrize("key", ["required", "enum"])
def test_a_list_in_another_order(key: str) -> None:
    found = tools([A, tool("b", type="object", **{key: ["x", "y"]})], [A, tool("b", type="object", **{key: ["y", "x"]})])
    assert at(found) == ("K4", "tools", "tools.json:20:11")
    assert found.explanation == f'the list at /function/parameters/{key} of the tool "b" has the same items in another order'


@pytest.mark.parametrize(
    ("before", "after", "place", "explanation"),
    [
        ([A, B, C], [A, C], "tools.json:12:3", 'the tool "b" was removed'),
        ([A, C], [A, B, C], "tools.json:12:3", 'the tool "b" was added at position 2 of 3'),
        ([A, B], [A, B, C], "tools.json:22:3", 'the tool "c" was added at the end'),
        ([A, B, C, D], [A], "tools.json:12:3", 'the tools "b", "c" and "d" were removed'),
        ([A, B], [A, C], "tools.json:12:3", 'the tool "b" was removed and the tool "c" was added at the end'),
        ([B, A], [A, B, C], "tools.json:22:3", 'the tool "c" was added at the end and the others stand in another order'),
    ],
)
def test_another_set(before: Any, after: Any, place: str, explanation: str) -> None:
    found = tools(before, after)
    assert at(found) == ("K5", "tools", place)
    assert found.explanation == explanation


def test_tools_that_come_or_go_altogether() -> None:
    assert tools([], [A]).cause.code == "K5"
    assert tools([A], []).explanation == 'the tool "a" was removed'


@pytest.mark.parametrize(
    ("before", "after", "code", "column"),
    [
        ("As of 2026-11-03 it", "As of 2026-11-04 it", "K1", 38),
        ("Run 6ba7b810-9dad-11d1-80b4-00c04fd430c8", "Run 7c9e6679-7425-40de-944b-e07fc1f90ae7", "K2", 27),
        ("Writes to /tmp/run-6ba7b810/out", "Writes to /tmp/run-7c9e6679/out", "K2", 42),
        ("Writes to /home/ada/out", "Writes to /home/bob/out", "K7", 39),
        ("Finds it.", "Finds  it.", "WS", 29),
        ("Finds it.", "Looks for it.", "K0", 23),
        ('Say "yes"\nat 10:00', 'Say "yes"\nat 10:01', "K1", 43),
        ("Skills: read, write", "Skills: write, read", "K3", 31),
    ],
)
def test_another_description(before: str, after: str, code: str, column: int) -> None:
    found = tools([A, tool("b", before)], [A, tool("b", after)])
    assert at(found) == (code, "tools", f"tools.json:16:{column}")
    assert 'the text at /function/description of the tool "b"' in found.explanation


def test_a_tool_that_changed_in_another_way_is_not_explained_away() -> None:
    found = tools([A, tool("b", type="object", maximum=4)], [A, tool("b", type="object", maximum=5)])
    assert at(found) == ("K0", "tools", "tools.json:19:20")
    assert found.explanation == '/function/parameters/maximum of the tool "b" changed from "4" to "5"'
    found = tools([A, tool("b", type="object")], [A, tool("b", type="object", strict=True)])
    assert at(found) == ("K0", "tools", "tools.json:19:9")
    assert found.explanation == '/function/parameters/strict of the tool "b" was added'
    found = tools([A, tool("b", type="object", enum=[1, 2])], [A, tool("b", type="object", enum=[1])])
    assert found.explanation == '/function/parameters/enum/1 of the tool "b" was removed'


def test_tools_from_a_template_lead_to_the_expression() -> None:
    source = json.dumps([tool("a", "Run {{ uuid4() }}")])
    old, new = (template(source, "tools.j2", uuid4=value) for value in ("9f86d081884c7d65", "2c26b46b68ffc68f"))
    found = tools(json.loads(old.text), json.loads(new.text), old_file=old, file=new)
    assert at(found) == ("K2", "tools", f"tools.j2:1:{source.index('{{ u') + 1}")
    assert found.expression == "uuid4()"


@pytest.mark.parametrize(
    "file",
    [
        {"tools": [{"name": "b", "description": "at 10:01", "inputSchema": {"type": "object"}}]},
        [{"functionDeclarations": [{"name": "b", "description": "at 10:01"}]}],
        {"result": {"tools": [{"name": "a"}, {"name": "b", "description": "at 10:01"}]}},
    ],
)
def test_other_dialects_of_the_tools_file(file: Any) -> None:
    found = tools([tool("b", "at 10:00")], [tool("b", "at 10:01")], file=template(json.dumps(file), "t.json"))
    assert at(found) == ("K1", "tools", f"t.json:1:{json.dumps(file).index('at 10:01') + 8}")


def test_a_schema_is_found_under_the_name_that_its_dialect_gives_it() -> None:
    file = json.dumps([{"name": "b", "input_schema": {"title": "at 10:01"}}])
    found = tools([tool("b", title="at 10:00")], [tool("b", title="at 10:01")], file=template(file, "t.json"))
    assert at(found) == ("K1", "tools", f"t.json:1:{file.index('at 10:01') + 8}")


@pytest.mark.parametrize("text", ["", "[", "{}", '{"tools": 3}', "not json", '[{"name": 1}]'])
def test_a_file_that_does_not_hold_the_tools_gives_no_place(text: str) -> None:
    assert at(tools([A, B], [B, A], file=Traced(text))) == ("K3", "tools", None)


def test_tools_with_the_same_name_are_told_apart_by_rank() -> None:
    twins = [tool("a", "First one."), tool("a", "Then at 10:00.")], [tool("a", "First one."), tool("a", "Then at 10:01.")]
    assert at(tools(*twins)) == ("K1", "tools", "tools.json:16:35")


def test_a_deeply_nested_schema_does_not_end_it() -> None:
    deep: dict[str, Any] = {"title": "10:00"}
    other: dict[str, Any] = {"title": "10:01"}
    for _ in range(250):
        deep, other = {"items": deep}, {"items": other}
    assert tools([tool("a", **deep)], [tool("a", **other)]).cause.code == "K0"


@pytest.mark.parametrize(
    ("before", "after", "explanation"),
    [
        ({"type": "object", "minimum": 1, "title": "T"}, {"type": "object", "title": "T"}, 'minimum of the tool "a" was removed'),
        ({"type": "object", "title": "T"}, {"type": "object", "minimum": 1, "title": "T"}, 'minimum of the tool "a" was added'),
        ({"enum": [1, 2]}, {"enum": [1, 3]}, 'enum/1 of the tool "a" changed from "2" to "3"'),
        ({"type": "object"}, {"type": ["object"]}, 'type of the tool "a" changed from "\\"object\\"" to "[\\"object\\"]"'),
    ],
)
def test_any_other_change_of_a_schema_is_shown_with_its_path(before: Any, after: Any, explanation: str) -> None:
    found = tools([tool("a", **before)], [tool("a", **after)])
    assert (found.cause.code, found.explanation) == ("K0", "/function/parameters/" + explanation.replace('\\"', '"'))


def test_many_tools_are_not_all_named() -> None:
    assert tools([A], [A, *(tool(f"t{number}") for number in range(9))]).explanation == (
        'the tools "t0", "t1", "t2" and 6 more were added at the end'
    )
