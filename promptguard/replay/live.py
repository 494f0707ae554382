"""A conversation in which the model itself answers, and only the tools are scripted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from promptguard.prompts.request import Message, Tool
from promptguard.replay.task import Task


class LiveScript:
    """What is said to a model that answers for itself.

    The user's messages follow one another, each once the model has answered without calling a tool. A call of a tool that the
    task knows gets that tool's scripted results in order, again from the first when they run out; any other call gets an error
    result.

    Args:
        task: user messages and tool results.
        tools: the tools that are offered; the task's results go to those of the same name, and to the others by position.
    """

    def __init__(self, task: Task, tools: Sequence[Tool]) -> None:
        self._users = list(task.user_messages)
        self._messages: list[Message] = [{"role": "user", "content": self._users.pop(0)}]
        self._results = task.results_by_name
        self._names = {str(tool["function"]["name"]) for tool in tools}
        scripted = list(self._results)
        others = [str(tool["function"]["name"]) for tool in tools if tool["function"]["name"] not in self._results]
        self._aliases = {name: scripted[index % len(scripted)] for index, name in enumerate(others)} if scripted else {}
        self._served: Counter[str] = Counter()
        self._user = 1
        self.label = "user 1"
        self.done = False

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def answered(self, message: Message) -> None:
        """Take the model's answer and say what comes next."""
        self._messages.append(message)
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            for call in calls:
                self._messages.append(self._result(call))
            self.label = f"result of {self._name(calls[-1])}"
        elif self._users:
            self._user += 1
            self.label = f"user {self._user}"
            self._messages.append({"role": "user", "content": self._users.pop(0)})
        else:
            self.done = True

    def _result(self, call: object) -> Message:
        name = self._name(call)
        identifier = call.get("id") if isinstance(call, dict) else None
        return {"role": "tool", "tool_call_id": str(identifier or "call00000"), "name": name, "content": self._content(name)}

    def _content(self, name: str) -> str:
        scripted = self._results.get(name if name in self._results else self._aliases.get(name, ""))
        if not scripted or name not in self._names:
            return json.dumps({"error": f"there is no tool named {name[:80]}"}, ensure_ascii=False)
        self._served[name] += 1
        return scripted[(self._served[name] - 1) % len(scripted)]

    @staticmethod
    def _name(call: object) -> str:
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        return name if isinstance(name, str) else "unknown"
