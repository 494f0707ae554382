"""The parts of a prompt, and their first difference."""

from __future__ import annotations

from typing import Any

import pytest

from promptguard.core.errors import InputError
from promptguard.probing.compare import compare, tokens_behind
from promptguard.probing.parts import parts, uncompared
from promptguard.probing.result import Uncompared, in_words
from promptguard.prompts.counting import counter

USER = {"role": "user", "content": "hi"}
REPLY = {"role": "assistant", "content": "ho"}
TOOL = {"name": "a", "description": "b", "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ("text", [("system", "")]),
        ([{"role": "system", "content": "s"}, USER], [("system", "/0")]),
        ([USER, REPLY], [("history", "/0"), ("history", "/1")]),
        ([USER, REPLY, USER], [("history", "/0"), ("history", "/1")]),
        ([TOOL], [("tools", "")]),
        (TOOL, [("tools", "")]),
        (
            {"system": [{"type": "text", "text": "s"}], "messages": [USER], "tools": [TOOL]},
            [("tools", "/tools"), ("system", "/system")],
        ),
        ({"instructions": "s", "input": "hi"}, [("system", "/instructions")]),
        (
            {"input": [USER, {"type": "function_call_output", "call_id": "c", "output": "x"}]},
            [("history", "/input/0"), ("history", "/input/1")],
        ),
        (
            {"contents": "hi", "config": {"system_instruction": "s", "tools": [{"function_declarations": [{"name": "f"}]}]}},
            [("tools", "/config/tools"), ("system", "/config/system_instruction")],
        ),
        ({"prompt": "all of it", "max_tokens": 3}, [("system", "/prompt")]),
        (["one", "two"], [("system", "/0"), ("system", "/1")]),
        ([{"type": "human", "content": "hi"}, {"type": "ai", "content": "ho"}], [("history", "/0"), ("history", "/1")]),
        ({"messages": [USER, REPLY], "model": "m"}, [("history", "/messages/0"), ("history", "/messages/1")]),
    ],
)  # fmt: skip
def test_the_parts_of_a_prompt(value: Any, pointers: list[tuple[str, str]]) -> None:
    assert [(part.block, part.pointer) for part in parts(value)] == pointers


@pytest.mark.parametrize("value", [{}, [], 3, {"model": "x"}, [[1]], [USER], {"messages": []}, ""])
def test_what_is_no_prompt(value: Any) -> None:
    with pytest.raises(InputError):
        parts(value)


def test_the_whole_prompt_has_the_last_user_message() -> None:
    assert [part.block for part in parts([USER], whole=True)] == ["user"]


@pytest.mark.parametrize(
    ("before", "after", "pointer", "character", "explanation"),
    [
        ("abc", "abd", "", 2, 'the prompt changed from "abc" to "abd"'),
        ([USER, REPLY], [REPLY, USER, REPLY], "/0", 0, "message 1 (assistant) is added"),
        ([USER, REPLY], [USER, REPLY, REPLY], "/2", 0, "message 3 (assistant) is added"),
        ([USER, REPLY, REPLY], [USER, REPLY], "/2", 0, "message 3 (assistant) is removed"),
        ([REPLY | {"n": 1}], [REPLY | {"n": True}], "/0/n", 0, "/0/n changed from 1 to true"),
        ([REPLY], [REPLY | {"name": "x"}], "/0/name", 0, "message 1 (assistant) has more in it: /0/name"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "input": {"a": 1, "b": 2}}]}],
         [{"role": "assistant", "content": [{"type": "tool_use", "input": {"b": 2, "a": 1}}]}],
         "/0/content/0/input/a", 0, "/0/content/0/input/b stands in message 1 (assistant) where /0/content/0/input/a stood"),
        ([TOOL], [dict(reversed(TOOL.items()))], "/0/name", 0, "keys of the tool"),
    ],
)  # fmt: skip
def test_the_first_difference(before: Any, after: Any, pointer: str, character: int, explanation: str) -> None:
    found = compare(parts(before), parts(after))
    assert found is not None
    assert (found.pointer, found.character) == (pointer, character)
    assert explanation in found.blame.explanation


def test_keys_of_messages_have_no_order_and_those_of_tools_have_one() -> None:
    assert compare(parts([REPLY]), parts([dict(reversed(REPLY.items()))])) is None


def test_tokens_from_the_difference_to_the_end() -> None:
    before = parts([{"role": "system", "content": "one two three"}, REPLY, USER])
    found = compare(before, parts([{"role": "system", "content": "one two four"}, REPLY, USER]))
    assert found is not None
    count = counter(None)
    assert tokens_behind(before, found, count) == count.count("hree\nassistant\nho")


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ({"system": "s", "persona": "p"}, ["persona"]),
        ({"system": "s", "persona": "", "rules": None, "facts": []}, []),
        ({"model": "m", "messages": [USER], "temperature": 0, "max_tokens": 9, "stream": True, "tool_choice": "auto"}, []),
        ({"instructions": "s", "input": "hi", "reasoning": {"effort": "low"}, "metadata": {"day": "1"}, "store": False}, []),
        ({"system": "s", "messages": [USER], "stop_sequences": ["x"], "thinking": {"type": "disabled"}, "topK": 3}, []),
        ({"contents": "hi", "generationConfig": {"topP": 1}, "safetySettings": [1], "cachedContent": "c"}, []),
        ({"contents": "hi", "config": {"system_instruction": "s", "topP": 1, "mood": "m"}}, ["config/mood"]),
        ({"messages": [USER], "extra_body": {"id_slot": 0, "cache_prompt": True, "rules/of": "r"}}, ["extra_body/rules/of"]),
        ({"system": "s", "messages": {"user": "hi"}, "config": "c"}, ["messages", "config"]),
        ({"messages": [USER], "text": {"format": 1}, "response_format": {"type": "json"}}, []),
        ({"role": "user", "content": "c", "persona": "p"}, []),
        (TOOL, []),
        ([USER], []),
        ("text", []),
    ],
)  # fmt: skip
def test_the_keys_that_are_not_compared(value: Any, keys: list[str]) -> None:
    assert list(uncompared(value)) == keys


def test_many_keys_that_are_not_compared() -> None:
    words = in_words([Uncompared(f"k{number}", changes=False) for number in range(12)])
    assert (len(words), words[0], words[-1]) == (11, "key 'k0' was not compared", "2 more keys were not compared")
    assert in_words([Uncompared("k" * 70, changes=False)]) == [f"key '{'k' * 60}…' was not compared"]
