import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest

from promptguard.prompts.request import Message
from promptguard.prompts.tools import load_tools
from promptguard.replaying.script import Script, apply_history
from promptguard.replaying.task import Call, History, Reply, Step, Task, UserTurn, load_task

TASK = load_task()
TOOLS = load_tools(TASK.tools)[0]
PATH = Path("unused")
TINY = Task(
    name="tiny",
    system=PATH,
    tools=PATH,
    conversation=(
        UserTurn(
            "Hi",
            (Step(Reply("Wait.", "Two at once."), (Call("find", {"q": "é", "n": 1}, "f1"), Call("tell", {}, "t1"))),),
            Reply("Done.", "Good."),
        ),
        UserTurn("And?", (Step(Reply(""), (Call("find", {"q": "b", "n": 2}, "f2"),)),), Reply("Bye.")),
    ),
)


def tool(name: str, **properties: object) -> dict:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


OWN = (tool("find", q={"type": "string"}, n={"type": "integer"}), tool("tell"))


def calls_of(script: Script) -> list[tuple[str, object]]:
    calls = [call["function"] for turn in script.turns for call in turn.reply.get("tool_calls", [])]
    return [(call["name"], json.loads(call["arguments"])) for call in calls]


def test_the_messages_of_every_turn() -> None:
    turns = Script(TINY, OWN).turns
    first = {
        "role": "assistant",
        "content": "Wait.",
        "reasoning_content": "Two at once.",
        "tool_calls": [
            {"id": "call00001", "type": "function", "function": {"name": "find", "arguments": '{"q": "é", "n": 1}'}},
            {"id": "call00002", "type": "function", "function": {"name": "tell", "arguments": "{}"}},
        ],
    }
    told: list[Message] = [{"role": "user", "content": "Hi"}]
    assert (turns[0].label, turns[0].messages, turns[0].reply) == ("user 1", tuple(told), first)
    told += [
        first,
        {"role": "tool", "tool_call_id": "call00001", "name": "find", "content": "f1"},
        {"role": "tool", "tool_call_id": "call00002", "name": "tell", "content": "t1"},
    ]
    answer = {"role": "assistant", "content": "Done.", "reasoning_content": "Good."}
    assert (turns[1].label, turns[1].messages, turns[1].reply) == ("result of find, tell", tuple(told), answer)
    told += [answer, {"role": "user", "content": "And?"}]
    assert (turns[2].label, turns[2].messages) == ("user 2", tuple(told))
    assert list(turns[2].reply) == ["role", "content", "tool_calls"]
    assert [turn.number for turn in turns] == [1, 2, 3, 4]


def test_every_turn_continues_the_one_before() -> None:
    turns = Script(TASK, TOOLS).turns
    for before, after in pairwise(turns):
        held = (*before.messages, before.reply)
        assert after.messages[: len(held)] == held


def test_without_tools_the_calls_are_told_in_words() -> None:
    turns = Script(TINY, ()).turns
    content = 'Wait.\nAction: find {"q": "é", "n": 1}\nAction: tell {}'
    assert turns[0].reply == {"role": "assistant", "content": content, "reasoning_content": "Two at once."}
    assert turns[1].messages[-1] == {"role": "user", "content": "Result of find:\nf1\n\nResult of tell:\nt1"}
    assert turns[2].reply == {"role": "assistant", "content": 'Action: find {"q": "b", "n": 2}'}
    assert [turn.label for turn in turns] == ["user 1", "result of find, tell", "user 2", "result of find"]
    assert [message["role"] for message in turns[-1].messages] == ["user", "assistant"] * 3 + ["user"]


def test_other_tools_take_the_places_in_order() -> None:
    script = Script(TINY, (tool("one", k={"enum": ["x", "y"]}), tool("two"), tool("three")))
    assert calls_of(script) == [("one", {"k": "x"}), ("two", {}), ("one", {"k": "x"})]
    assert script.results_by_name == {"one": ("f1", "f2"), "two": ("t1",)}
    assert script.turns[1].messages[-1]["name"] == "two"


def test_a_single_tool_takes_all_places() -> None:
    assert [name for name, _ in calls_of(Script(TINY, (tool("one"),)))] == ["one", "one", "one"]


def test_an_own_name_is_kept_and_the_others_are_replaced_by_free_ones() -> None:
    assert [name for name, _ in calls_of(Script(TINY, (tool("one"), tool("tell"), tool("two"))))] == ["one", "tell", "one"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"q": {"type": ["string", "null"]}, "n": {}}}, {"q": "b", "n": 2}),
        ({"properties": {"q": {"type": "string"}, "n": {"type": "number"}}, "required": ["q"]}, {"q": "b", "n": 2}),
        ({"properties": {"q": {"type": "boolean"}, "n": {}}}, {"q": True, "n": "n"}),
        ({"properties": {"q": {"type": "string"}}}, {"q": "q"}),
        ({"properties": {"q": {}, "n": {}, "z": {"const": 1}}, "required": ["z"]}, {"q": "q", "n": "n", "z": 1}),
        ({"properties": {"q": {}, "n": {}}, "required": [["q"]]}, {"q": "q", "n": "n"}),
        (None, {}),
    ],
)
def test_scripted_arguments_stay_where_they_fit(schema: object, expected: dict) -> None:
    tools = ({"type": "function", "function": {"name": "find", "parameters": schema}}, tool("tell"))
    assert calls_of(Script(TINY, tools))[-1] == ("find", expected)


def test_a_changed_description_changes_no_call() -> None:
    changed = [{**each, "function": {**each["function"], "description": "x"}} for each in TOOLS]
    assert Script(TASK, changed).turns == Script(TASK, TOOLS).turns


U, T = {"role": "user"}, {"role": "tool"}
A = {"role": "assistant"}


@pytest.mark.parametrize(
    ("keep", "messages", "kept"),
    [
        (None, [U, A, T], [U, A, T]),
        (3, [U, A, T], [U, A, T]),
        (2, [U, A, T], [A, T]),
        (3, [U, A, T, A, U], [A, U]),
        (2, [U, A, T, A, U], [A, U]),
        (1, [U, A, T], [A, T]),
        (2, [U, A, T, T, T], [A, T, T, T]),
        (9, [U], [U]),
    ],
)
def test_history_never_starts_with_an_orphan(keep: int | None, messages: list, kept: list) -> None:
    assert apply_history(History(keep), messages) == tuple(kept)


def test_a_sliding_window_limits_what_is_sent() -> None:
    turns = Script(replace(TASK, history=History(5)), TOOLS).turns
    assert [len(turn.messages) for turn in turns[:5]] == [1, 3, 5, 4, 4]
    assert turns[-1].messages == Script(TASK, TOOLS).turns[-1].messages[-4:]


# -- the four-tool task


def test_the_default_task_has_thirteen_turns() -> None:
    labels = [turn.label.removeprefix("result of ") for turn in Script(TASK, TOOLS).turns]
    four = ["search_knowledge_base", "get_weather", "create_summary", "send_reminder_email"]
    assert labels == ["user 1", *four, "user 2", four[0], four[3], "user 3", *four]
    assert len(Script(TASK, ()).turns) == 13


def test_the_default_calls_fit_the_default_schemas() -> None:
    schemas = {each["function"]["name"]: each["function"]["parameters"] for each in TOOLS}
    calls = calls_of(Script(TASK, TOOLS))
    assert [arguments for _, arguments in calls] == [call.arguments for call in TASK.calls]
    for name, arguments in calls:
        jsonschema.validate(arguments, schemas[name], jsonschema.Draft202012Validator)


def test_the_default_identifiers_differ_and_suit_mistral() -> None:
    identifiers = [call["id"] for turn in Script(TASK, TOOLS).turns for call in turn.reply.get("tool_calls", [])]
    assert len(set(identifiers)) == 10
    assert all(len(each) == 9 and each.isalnum() for each in identifiers)


def test_every_default_reply_reasons() -> None:
    assert all(turn.reply["reasoning_content"] for turn in Script(TASK, TOOLS).turns)


def test_the_default_system_prompt_has_nothing_to_render() -> None:
    text = TASK.system.read_text(encoding="utf-8")
    assert not any(mark in text for mark in ("{{", "{%", "{#", "<|"))


def test_the_default_json_results_are_json() -> None:
    results = [json.loads(call.result) for call in TASK.calls if call.result.startswith("{")]
    assert [next(iter(each)) for each in results] == ["place", "status", "status", "place", "status"]
