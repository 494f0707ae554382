"""From the task and the tools that are offered to the messages and the reply of every turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from promptguard.prompts.request import Message, Tool
from promptguard.replaying.arguments import admits_type, example_arguments
from promptguard.replaying.task import Call, History, Reply, Step, Task


@dataclass(frozen=True)
class ScriptedTurn:
    """One request of a scripted conversation.

    Attributes:
        number: from 1.
        label: what the turn answers, such as ``user 2`` or ``result of get_weather``.
        messages: the history as it is sent, without the system message; the last one is the user's or a tool's.
        reply: the assistant message that follows.
    """

    number: int
    label: str
    messages: tuple[Message, ...]
    reply: Message


class Script:
    """The task, told with the tools that are offered.

    A tool of the task that is offered under the same name keeps its name. The others are replaced by the first offered tools that
    are still free, or by all in rotation where there are too few. Scripted arguments stay where they fit the schema that is
    offered; elsewhere they are made from it. Results always stay as scripted. Without tools, calls and their results become plain
    text, and the conversation keeps its shape.

    Args:
        task: the conversation.
        tools: what is offered, in the shape of the OpenAI chat API.
    """

    def __init__(self, task: Task, tools: Sequence[Tool]) -> None:
        self.task = task
        self.tools = tuple(tools)
        self._offered = {str(tool["function"]["name"]): tool["function"].get("parameters") for tool in reversed(self.tools)}
        self._names = _assign(task.tool_names, list(dict.fromkeys(str(tool["function"]["name"]) for tool in self.tools)))
        self._examples: dict[str, dict[str, Any]] = {}
        self._turns = tuple(self._tell())

    @property
    def turns(self) -> tuple[ScriptedTurn, ...]:
        return self._turns

    @property
    def results_by_name(self) -> dict[str, tuple[str, ...]]:
        """The scripted results of each tool that is called, under the name that is offered, in order."""
        results: dict[str, tuple[str, ...]] = {}
        for call in self.task.calls:
            name = self._names.get(call.name, call.name)
            results[name] = (*results.get(name, ()), call.result)
        return results

    def _tell(self) -> list[ScriptedTurn]:
        turns: list[ScriptedTurn] = []
        messages: list[Message] = []
        calls = count(1)

        def turn(label: str, reply: Message) -> None:
            sent = apply_history(self.task.history, messages)
            turns.append(ScriptedTurn(len(turns) + 1, label, sent, reply))
            messages.append(reply)

        for number, user in enumerate(self.task.conversation, 1):
            messages.append({"role": "user", "content": user.text})
            label = f"user {number}"
            for step in user.steps:
                identifiers = [f"call{next(calls):05d}" for _ in step.calls]
                reply, results = self._step(step, identifiers) if self.tools else _told_in_words(step)
                turn(label, reply)
                messages.extend(results)
                label = f"result of {', '.join(self._names.get(call.name, call.name) for call in step.calls)}"
            turn(label, _assistant(user.answer))
        return turns

    def _step(self, step: Step, identifiers: Sequence[str]) -> tuple[Message, list[Message]]:
        """The assistant message with its calls, and the tool messages that follow it.

        Mistral's chat templates demand ids of exactly nine letters and digits.
        """
        calls: list[Message] = []
        results: list[Message] = []
        for call, identifier in zip(step.calls, identifiers, strict=True):
            name = self._names[call.name]
            arguments = json.dumps(self._arguments(call, name), ensure_ascii=False)
            calls.append({"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}})
            results.append({"role": "tool", "tool_call_id": identifier, "name": name, "content": call.result})
        return {**_assistant(step.reply), "tool_calls": calls}, results

    def _arguments(self, call: Call, name: str) -> Mapping[str, Any]:
        schema = self._offered[name]
        if name == call.name and _fits(call.arguments, schema):
            return call.arguments
        if name not in self._examples:
            self._examples[name] = example_arguments(schema)
        return self._examples[name]


def apply_history(history: History, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that the agent sends of a conversation.

    With ``keep_last`` the oldest are dropped, and with them tool messages whose call is dropped. If nothing else is left, the
    calls and results at the end are kept together, however many they are.
    """
    if history.keep_last is None:
        return tuple(messages)
    start = max(0, len(messages) - history.keep_last)
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    if start == len(messages):
        start = max(0, start - 1)
        while start > 0 and messages[start]["role"] == "tool":
            start -= 1
    return tuple(messages[start:])


def _assign(names: Sequence[str], offered: Sequence[str]) -> dict[str, str]:
    """Which offered tool stands for which tool of the task."""
    if not offered:
        return {}
    free = [name for name in offered if name not in names] or list(offered)
    others = [name for name in names if name not in offered]
    return {**{name: name for name in names}, **{name: free[index % len(free)] for index, name in enumerate(others)}}


def _fits(arguments: Mapping[str, Any], schema: object) -> bool:
    """Whether scripted arguments can be sent to a tool: it knows their names and types, and demands no other."""
    if not isinstance(schema, Mapping):
        return False
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return False
    return all(isinstance(name, str) and name in arguments for name in required) and all(
        name in properties and admits_type(properties[name], value) for name, value in arguments.items()
    )


def _assistant(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    return message


def _told_in_words(step: Step) -> tuple[Message, list[Message]]:
    """A step of an agent that knows no tools: it writes down what it wants done, and the user gives the results."""
    wanted = [f"Action: {call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in step.calls]
    content = "\n".join([step.reply.content, *wanted] if step.reply.content else wanted)
    results = "\n\n".join(f"Result of {call.name}:\n{call.result}" for call in step.calls)
    return {**_assistant(step.reply), "content": content}, [{"role": "user", "content": results}]
