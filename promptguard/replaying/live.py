"""A conversation in which the model itself answers, and only the tools are scripted."""

from __future__ import annotations

import json
from collections import Counter

from promptguard.prompts.request import Message
from promptguard.replaying.script import Script, apply_history


class LiveConversation:
    """What is said to a model that answers for itself.

    The user's messages follow one another, each once the model has answered without calling a tool. A call of a tool that is
    offered gets the scripted results of that tool in order, again from the first when they run out; any other call gets an error
    result.

    Attributes:
        label: what the next request answers, such as ``user 2`` or ``result of get_weather``.
        done: whether the model has answered the last user message.
    """

    def __init__(self, script: Script) -> None:
        self._history = script.task.history
        self._results = script.results_by_name
        self._users = list(script.task.user_messages)
        self._messages: list[Message] = [{"role": "user", "content": self._users.pop(0)}]
        self._served: Counter[str] = Counter()
        self._user = 1
        self.label = "user 1"
        self.done = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as the agent sends it."""
        return apply_history(self._history, self._messages)

    def answered(self, message: Message) -> None:
        """Take the model's answer and decide what comes next."""
        self._messages.append(message)
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            self._messages.extend(self._result(call) for call in calls)
            self.label = f"result of {_name(calls[-1])}"
        elif self._users:
            self._user += 1
            self.label = f"user {self._user}"
            self._messages.append({"role": "user", "content": self._users.pop(0)})
        else:
            self.done = True

    def _result(self, call: object) -> Message:
        name = _name(call)
        identifier = call.get("id") if isinstance(call, dict) else None
        return {"role": "tool", "tool_call_id": str(identifier or "call00000"), "name": name, "content": self._content(name)}

    def _content(self, name: str) -> str:
        scripted = self._results.get(name)
        if not scripted:
            return json.dumps({"error": f"there is no tool named {name[:80]}"}, ensure_ascii=False)
        self._served[name] += 1
        return scripted[(self._served[name] - 1) % len(scripted)]


def _name(call: object) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else "unknown"
