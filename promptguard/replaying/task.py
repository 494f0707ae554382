"""The fixed task: a scripted conversation between a user, an agent and its tools.

A task is a YAML file with the texts beside it. Nothing in it is trusted: size, nesting and number of values are bounded, aliases
and tags are refused, an unknown key is an error, and no file outside the task's folder is read.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Union

import yaml

from promptguard.core.errors import InputError
from promptguard.core.files import read_text
from promptguard.core.resources import resource

DEFAULT_TASK = "fixtures/tasks/four_tool/task.yaml"
VERSION = 1
MAX_BYTES = 4 * 1024 * 1024
MAX_VALUES = 100_000
MAX_NESTING = 60
MAX_REQUESTS = 1_000  # calls counted too: every request holds all messages before it

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Reply:
    """What the assistant says: visible text, which may be empty beside a call, and reasoning, empty where there is none."""

    content: str
    reasoning: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call and the result that the tool gives."""

    name: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True)
class Step:
    """A reply that calls one or more tools at once."""

    reply: Reply
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class UserTurn:
    """A user message, the steps that follow it, and the answer that ends them."""

    text: str
    steps: tuple[Step, ...]
    answer: Reply


@dataclass(frozen=True)
class History:
    """How the agent shortens its history: only the last ``keep_last`` messages are sent, ``None`` for all of them.

    The system message is always sent and does not count.
    """

    keep_last: int | None = None


@dataclass(frozen=True)
class Task:
    """A scripted conversation.

    Attributes:
        name: as reports show it.
        system: the file of the system prompt.
        tools: the file of the tool schemas.
        conversation: what is said and called.
        history: how much of it the agent sends again.
        path: the file that the task was read from.
    """

    name: str
    system: Path
    tools: Path
    conversation: tuple[UserTurn, ...]
    history: History = field(default_factory=History)
    path: Path | None = None

    @property
    def requests(self) -> int:
        """Number of requests to the engine: one for each step and one for each answer."""
        return sum(len(turn.steps) + 1 for turn in self.conversation)

    @property
    def user_messages(self) -> tuple[str, ...]:
        return tuple(turn.text for turn in self.conversation)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.conversation for step in turn.steps for call in step.calls)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools that are called, each once, in order of the first call."""
        return tuple(dict.fromkeys(call.name for call in self.calls))

    @property
    def results_by_name(self) -> dict[str, tuple[str, ...]]:
        """The scripted results of each tool, in order."""
        return {name: tuple(call.result for call in self.calls if call.name == name) for name in self.tool_names}


def load_task(path: Path | None = None) -> Task:
    """Read a task.

    Args:
        path: the YAML file, or a folder with a ``task.yaml``; ``None`` for the four-tool task that ships with promptguard.

    Raises:
        InputError: the file, or one beside it that it names, cannot be read or is not what it should be; with line and column.
    """
    path = resource(DEFAULT_TASK) if path is None else path
    if os.path.isdir(path):  # noqa: PTH112 - unlike that of pathlib it never fails
        path = path / "task.yaml"
    return _Reader(path).task(_parse(path, read_text(path, limit=MAX_BYTES, what="the task")))


# -- YAML with places

_Value = Union[None, bool, int, float, str, "list[_Node]", "dict[str, _Node]"]
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True)
class _Node:
    """A value, its place in the file (line and column from 1), and its key's place where it has one."""

    value: _Value
    place: tuple[int, int]
    key: tuple[int, int] | None = None


def _parse(path: Path, text: str) -> _Node:
    try:
        events = yaml.parse(text, Loader=_Loader)
        nodes = _Builder(path, events)
        node = nodes.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise InputError(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise InputError(f"not YAML: {' '.join(str(error).split())[:200]}", where=str(path)) from None
    return node


class _Builder:
    """Build values from YAML events.

    Plain scalars are read as in JSON: only ``true``, ``false``, ``null`` and JSON numbers are not text. YAML 1.1, which the
    loaders of PyYAML follow, would make a number of 12:30 and a boolean of ``no``.
    """

    def __init__(self, path: Path, events: Iterator[yaml.Event]) -> None:
        self._path = path
        self._events = events
        self._values = 0

    def document(self) -> _Node:
        self._next(yaml.StreamStartEvent)
        if isinstance(event := next(self._events), yaml.StreamEndEvent):
            raise self._error(event, "is empty")
        node = self._node(next(self._events), 0)
        self._next(yaml.DocumentEndEvent)
        self._next(yaml.StreamEndEvent, "holds more than one document")
        return node

    def _next(self, kind: type[yaml.Event], problem: str = "not a YAML document") -> None:
        event = next(self._events)
        if not isinstance(event, kind):
            raise self._error(event, problem)

    def _node(self, event: yaml.Event, depth: int) -> _Node:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._error(event, f"holds more than {MAX_VALUES:,} values")
        if depth > MAX_NESTING:
            raise self._error(event, f"nested deeper than {MAX_NESTING} levels")
        if isinstance(event, yaml.AliasEvent):
            raise self._error(event, "aliases (*name) cannot be used in a task", "write the text out, or keep it in a file")
        if getattr(event, "tag", None) not in (None, "!"):
            raise self._error(event, "tags (!name) cannot be used in a task", "remove the tag")
        place = _place(event)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(event, depth + 1))
            return _Node(items, place)
        if isinstance(event, yaml.MappingStartEvent):
            return _Node(self._mapping(depth), place)
        if isinstance(event, yaml.ScalarEvent):
            return _Node(self._scalar(event), place)
        raise self._error(event, "not a YAML document")

    def _mapping(self, depth: int) -> dict[str, _Node]:
        members: dict[str, _Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "a key must be a text")
            if event.value in members:
                raise self._error(event, f"the key {event.value!r} stands twice in one mapping", "remove one of them")
            node = self._node(next(self._events), depth + 1)
            members[event.value] = _Node(node.value, node.place, _place(event))
        return members

    def _scalar(self, event: yaml.ScalarEvent) -> str | int | float | bool | None:
        text: str = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise self._error(event, "a lone surrogate in a text", "write the character out in UTF-8")
        if event.style:  # quoted, folded or literal
            return text
        if text in _PLAIN:
            return _PLAIN[text]
        number = _NUMBER.fullmatch(text)
        if number is None:
            return text
        try:
            value = float(text) if any(number.groups()) else int(text)
        except ValueError:  # thousands of digits
            value = math.inf
        if math.isinf(value):
            raise self._error(event, "a number is out of range", "put it in quotes if it is a text")
        return value

    def _error(self, event: yaml.Event, what: str, hint: str | None = None) -> InputError:
        line, column = _place(event)
        return InputError(what, where=f"{self._path}:{line}:{column}", hint=hint)


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


# -- from values to a task


class _Reader:
    """Turn the values of a task file into a task, and say what is wrong with them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def task(self, node: _Node) -> Task:
        members = self._mapping(
            node, "a task", ("version", "name", "system", "tools", "history", "conversation"), optional=("history",)
        )
        version = members["version"]
        if version.value != VERSION or isinstance(version.value, bool):
            raise self._error(version, f"version {version.value!r} is not known", f"this promptguard reads version {VERSION}")
        turns = tuple(self._user_turn(each) for each in self._list(members["conversation"], "conversation"))
        task = Task(
            name=self._text(members["name"], "name"),
            system=self._beside(members["system"], "system"),
            tools=self._beside(members["tools"], "tools"),
            conversation=turns,
            history=self._history(members["history"]) if "history" in members else History(),
            path=self._path,
        )
        if task.requests < 2:
            what = "a task needs at least two requests, because a run with one measured turn proves nothing"
            raise self._error(members["conversation"], what, "add a step with a call, or another user message")
        if task.requests + len(task.calls) > MAX_REQUESTS:
            what = f"holds more than {MAX_REQUESTS:,} requests and calls"
            raise self._error(members["conversation"], what, "shorten the conversation")
        return task

    def _history(self, node: _Node) -> History:
        keep = self._mapping(node, "history", ("keep_last",))["keep_last"]
        if not isinstance(keep.value, int) or isinstance(keep.value, bool) or keep.value < 1:
            raise self._error(keep, "keep_last must be a whole number from 1")
        return History(keep.value)

    def _user_turn(self, node: _Node) -> UserTurn:
        keys = ("user", "user_file", "steps", "answer")
        members = self._mapping(node, "a user turn", keys, optional=("user", "user_file", "steps"))
        steps = self._list(members["steps"], "steps", empty=True) if "steps" in members else []
        answer = self._mapping(members["answer"], "answer", ("reasoning", "content"), optional=("reasoning",))
        return UserTurn(
            text=self._text_or_file(node, members, "user"),
            steps=tuple(self._step(step) for step in steps),
            answer=self._reply(answer),
        )

    def _step(self, node: _Node) -> Step:
        members = self._mapping(node, "a step", ("reasoning", "content", "calls"), optional=("reasoning", "content"))
        return Step(self._reply(members), tuple(self._call(call) for call in self._list(members["calls"], "calls")))

    def _call(self, node: _Node) -> Call:
        keys = ("name", "arguments", "result", "result_file")
        members = self._mapping(node, "a call", keys, optional=("arguments", "result", "result_file"))
        arguments: Any = {}
        if "arguments" in members:
            arguments = _plain(members["arguments"])
            if not isinstance(arguments, dict):
                raise self._error(members["arguments"], "arguments must be a mapping")
        return Call(self._text(members["name"], "name"), arguments, self._text_or_file(node, members, "result"))

    def _reply(self, members: Mapping[str, _Node]) -> Reply:
        texts = {}
        for key in ("content", "reasoning"):
            if key in members:
                texts[key] = text = self._text(members[key], key)
                if text != text.strip():
                    what = f"{key} begins or ends with whitespace, which chat templates take away"
                    raise self._error(members[key], what, "remove it (a block scalar with `-`, such as |-, has none at its end)")
        return Reply(texts.get("content", ""), texts.get("reasoning", ""))

    def _text_or_file(self, node: _Node, members: Mapping[str, _Node], key: str) -> str:
        """The text under ``key``, or that of the file under ``key_file`` without its last line end."""
        other = f"{key}_file"
        if (key in members) == (other in members):
            raise self._error(node, f"give either {key} or {other}")
        if key in members:
            return self._text(members[key], key)
        text = read_text(self._beside(members[other], other), limit=MAX_BYTES)
        text = text[:-1].removesuffix("\r") if text.endswith("\n") else text
        if not text:
            raise self._error(members[other], f"{members[other].value} is empty")
        return text

    def _beside(self, node: _Node, key: str) -> Path:
        """A file in the task's folder or below, symbolic links followed."""
        name = self._text(node, key)
        windows = PureWindowsPath(name)  # also splits at a backslash and knows drives
        folder = self._path.parent
        inside = not (PurePosixPath(name).is_absolute() or windows.anchor or ".." in windows.parts or "\0" in name)
        if inside:
            try:
                inside = (folder / name).resolve().is_relative_to(folder.resolve())
            except (OSError, RuntimeError):  # a loop of links
                inside = False
        if not inside:
            raise self._error(node, f"{key} leads out of the task's folder", "keep the files of a task beside it")
        if not os.path.isfile(folder / name):  # noqa: PTH113
            raise self._error(node, f"{key} names a file that does not exist: {name}", "paths start at the task's folder")
        return folder / name

    def _mapping(self, node: _Node, what: str, keys: Collection[str], *, optional: Collection[str] = ()) -> dict[str, _Node]:
        if not isinstance(node.value, dict):
            raise self._error(node, f"{what} must be a mapping", f"its keys are {', '.join(keys)}")
        for key, member in node.value.items():
            if key not in keys:
                close = difflib.get_close_matches(key, keys, n=1)
                hint = f"did you mean {close[0]}?" if close else f"its keys are {', '.join(keys)}"
                raise self._error(_Node(None, member.key or member.place), f"{what} has no key {key!r}", hint)
        for key in keys:
            if key not in node.value and key not in optional:
                raise self._error(node, f"{what} needs the key {key}")
        return node.value

    def _list(self, node: _Node, key: str, *, empty: bool = False) -> list[_Node]:
        if not isinstance(node.value, list):
            raise self._error(node, f"{key} must be a list")
        if not node.value and not empty:
            raise self._error(node, f"{key} is empty")
        return node.value

    def _text(self, node: _Node, key: str) -> str:
        if not isinstance(node.value, str):
            raise self._error(node, f"{key} must be a text", "put it in quotes")
        if not node.value:
            raise self._error(node, f"{key} is empty")
        return node.value

    def _error(self, node: _Node, what: str, hint: str | None = None) -> InputError:
        line, column = node.place
        return InputError(what, where=f"{self._path}:{line}:{column}", hint=hint)


def _plain(node: _Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(member) for key, member in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value
