from __future__ import annotations

import json

from promptguard.prompts.request import Message
from promptguard.prompts.tools import load_tools
from promptguard.replaying.live import LiveConversation
from promptguard.replaying.script import Script
from promptguard.replaying.task import load_task


def conversation() -> LiveConversation:
    task = load_task()
    return LiveConversation(Script(task, load_tools(task.tools)[0]))


def call(*names: str) -> Message:
    calls = [
        {"id": f"id{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for index, name in enumerate(names)
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


ANSWER: Message = {"role": "assistant", "content": "done"}


def test_an_answer_without_a_call_brings_the_next_user_message_and_the_last_one_ends_it() -> None:
    live = conversation()
    users = load_task().user_messages
    assert live.messages == ({"role": "user", "content": users[0]},)
    for number, text in enumerate(users[1:], 2):
        live.answered(ANSWER)
        assert live.label == f"user {number}"
        assert live.messages[-1]["content"] == text
        assert not live.done
    live.answered(ANSWER)
    assert live.done


def test_calls_get_the_scripted_results_in_order_and_then_from_the_first() -> None:
    live = conversation()
    name, results = next(iter(load_task().results_by_name.items()))
    for index in range(len(results) + 1):
        live.answered(call(name))
        assert live.messages[-1] == {
            "role": "tool",
            "tool_call_id": "id0",
            "name": name,
            "content": results[index % len(results)],
        }
        assert live.label == f"result of {name}"


def test_an_unknown_call_gets_an_error_result() -> None:
    live = conversation()
    live.answered(call("launch_missiles"))
    assert json.loads(live.messages[-1]["content"]) == {"error": "there is no tool named launch_missiles"}


def test_parallel_calls_each_get_a_result() -> None:
    live = conversation()
    names = load_task().tool_names[:2]
    live.answered(call(*names))
    assert [message.get("tool_call_id") for message in live.messages[-2:]] == ["id0", "id1"]


def test_a_malformed_call_does_not_break_the_run() -> None:
    live = conversation()
    live.answered({"role": "assistant", "content": "", "tool_calls": ["what?", {"function": None}]})
    assert [message["name"] for message in live.messages[-2:]] == ["unknown", "unknown"]
