"""Which part of a rendered prompt is which: tools, system prompt, history, latest user message, and the chat template's own text.

A chat template is a program, so where it printed what cannot be derived: it is found by looking for the request's own texts in
the rendered text, in their order.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptguard.prompts.request import Block, Message, Prompt, Tool

What = Literal["template", "system", "tool", "content", "reasoning", "call-name", "call-arguments"]

_ANCHOR = 24  # texts of at least this many code points are looked for first: they are hardly found in a wrong place
_SHORT = 16  # shorter texts must stand alone, not inside a word
_MAX_TRIES = 1000
_MAX_MISSES = 200  # times the length of the prompt that is searched in vain, so that the work stays linear
_NEAR = 400  # a tool's name stands at most this far in front of its description


@dataclass(frozen=True)
class Segment:
    """A stretch of a rendered prompt.

    Attributes:
        start, end: half-open range of code points in ``Prompt.text``.
        block: the block it belongs to; text of the chat template belongs to the block of what follows it.
        what: what it is; ``template`` is the chat template's own text.
        message: index in ``conversation(prompt)``, for a template's text that of the message that follows.
        tool: index of the tool.
        text_start: code point of the request's text that stands at ``start``, ``None`` where it is spelled in another way.
    """

    start: int
    end: int
    block: Block
    what: What
    message: int | None = None
    tool: int | None = None
    text_start: int | None = None


@dataclass(frozen=True)
class _Found:
    start: int
    end: int
    what: What
    message: int | None = None
    tool: int | None = None
    text_start: int | None = None


@dataclass(frozen=True)
class _Item:
    """A text of a message and the spellings in which it may stand in the prompt."""

    message: int
    what: What
    text: str

    def spellings(self) -> Iterator[tuple[str, int | None]]:
        """Each spelling with the code point of ``text`` that it starts with."""
        yield self.text, 0
        stripped = self.text.strip()
        if stripped != self.text:
            yield stripped, self.text.find(stripped) if stripped else None
        if self.what == "call-arguments":
            yield from ((spelling, None) for spelling in _respelled(self.text))
        else:
            escaped = json.dumps(self.text, ensure_ascii=False)[1:-1]
            if escaped != self.text:
                yield escaped, None


def conversation(prompt: Prompt) -> tuple[Message, ...]:
    """The messages of a prompt, its reply last."""
    return (*prompt.request.messages, prompt.reply) if prompt.reply is not None else prompt.request.messages


def has_system(messages: Sequence[Message]) -> bool:
    """Whether a conversation starts with a system message (``developer`` is another name for it)."""
    return bool(messages) and messages[0].get("role") in ("system", "developer")


def text_of(message: Message, name: str = "content") -> str:
    """A text field of a message: ``""`` where it has none, the text parts joined where the content comes in parts."""
    value = message.get(name)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "".join(part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str))
    return ""


def reasoning_of(message: Message) -> str:
    """The reasoning of an assistant message, under either of its usual names."""
    return text_of(message, "reasoning_content") or text_of(message, "reasoning")


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    """Id, name and arguments (as JSON text) of each tool call of a message."""
    calls = message.get("tool_calls")
    found = []
    for call in calls if isinstance(calls, Sequence) and not isinstance(calls, str) else ():
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments", "")
            spelled = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            found.append((str(call.get("id") or ""), str(function.get("name") or ""), spelled))
    return found


def segments(prompt: Prompt) -> list[Segment]:
    """Cut a rendered prompt into segments: in order, without gaps, from the first code point to the last."""
    text = prompt.text
    head_end = min(prompt.reply_start, len(text))
    messages = conversation(prompt)
    system = has_system(prompt.request.messages)
    finder = _Finder(text)
    found: list[_Found] = []
    if system:
        item = _Item(0, "system", text_of(messages[0]))
        match = finder.item(item, 0, head_end)
        if match is not None:
            found.append(match)
            finder.occupy(match)
    for match in _find_tools(finder, prompt.request.tools, head_end):
        found.append(match)
        finder.occupy(match)
    items = [item for index, message in enumerate(messages) if not (system and index == 0) for item in _items(index, message)]
    low = found[0].end if system and found and found[0].what == "system" else 0
    if prompt.reply is not None:
        found += _find_items(finder, [item for item in items if item.message == len(messages) - 1], head_end, len(text))
        items = [item for item in items if item.message < len(messages) - 1]
    behind = _find_items(finder, items, low, head_end)
    if low and len(behind) < len(items):
        # A template may print the system prompt with the latest user message, behind all others.
        behind = max(behind, _find_items(finder, items, 0, head_end), key=len)
    found += behind
    found.sort(key=lambda match: (match.start, match.end))
    return list(_cover(prompt, found))


def segment_at(cut: Sequence[Segment], char: int) -> Segment | None:
    """The segment that holds a code point; the last one for the end of the text, ``None`` only for an empty text."""
    if not cut:
        return None
    position = bisect_right([segment.start for segment in cut], char) - 1
    return cut[max(0, position)]


def _cover(prompt: Prompt, found: Sequence[_Found]) -> Iterator[Segment]:
    """Turn what was found into segments, and fill the gaps with the template's own text."""
    at = 0
    last = len(prompt.request.messages) - 1
    user_last = last >= 0 and prompt.request.messages[last].get("role") == "user"

    def block_of(match: _Found) -> Block:
        if match.what == "tool":
            return "tools"
        if match.what == "system":
            return "system"
        return "user" if match.message == last and user_last else "history"

    for match in found:
        if match.start < at:
            continue
        block = block_of(match)
        if match.start > at:
            yield Segment(at, match.start, "system" if at == 0 else block, "template", match.message, match.tool)
        yield Segment(match.start, match.end, block, match.what, match.message, match.tool, match.text_start)
        at = match.end
    if at < len(prompt.text):
        behind: Block = "user" if user_last and prompt.reply is None else "history"
        yield Segment(at, len(prompt.text), behind if at else "system", "template")


def _items(index: int, message: Message) -> Iterator[_Item]:
    if reasoning := reasoning_of(message):
        yield _Item(index, "reasoning", reasoning)
    if content := text_of(message):
        yield _Item(index, "content", content)
    for _, name, arguments in calls_of(message):
        yield _Item(index, "call-name", name)
        yield _Item(index, "call-arguments", arguments)


def _find_items(finder: _Finder, items: Sequence[_Item], low: int, high: int) -> list[_Found]:
    """Find the texts of messages in order: the long contents first, then the rest between them."""
    anchors: dict[int, _Found] = {}
    long = [position for position, item in enumerate(items) if item.what == "content" and len(item.text.strip()) >= _ANCHOR]
    at = low
    for order, position in enumerate(long):
        match = finder.item(items[position], at, high)
        if match is None:
            continue
        if match.start - at > 50 * _ANCHOR and order + 1 < len(long):
            # A text that the template left out may come again later: then the next one is found before it only.
            following = items[long[order + 1]]
            if finder.item(following, match.end, high) is None and finder.item(following, at, match.start) is not None:
                continue
        anchors[position] = match
        at = match.end
    found: list[_Found] = []
    at = low
    waiting: list[_Item] = []
    for position, item in enumerate(items):
        anchor = anchors.get(position)
        if anchor is None:
            if position not in long:
                waiting.append(item)
            continue
        found += _fill(finder, waiting, at, anchor.start)
        found.append(anchor)
        at, waiting = anchor.end, []
    return found + _fill(finder, waiting, at, high)


def _fill(finder: _Finder, items: Sequence[_Item], low: int, high: int) -> list[_Found]:
    found = []
    for item in items:
        match = finder.item(item, low, high)
        if match is not None:
            found.append(match)
            low = match.end
    return found


class _Finder:
    """Finds texts in a prompt outside what is taken already."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._budget = _MAX_MISSES * len(text)
        self._starts: list[int] = []
        self._ends: list[int] = []

    def occupy(self, match: _Found) -> None:
        position = bisect_right(self._starts, match.start)
        self._starts.insert(position, match.start)
        self._ends.insert(position, match.end)

    def item(self, item: _Item, low: int, high: int) -> _Found | None:
        for spelling, text_start in item.spellings():
            at = self.find(spelling, low, high)
            if at is not None:
                return _Found(at, at + len(spelling), item.what, item.message, None, text_start)
        return None

    def find(self, needle: str, low: int, high: int) -> int | None:
        """Where ``needle`` first stands in ``[low, high)``; a short one must not be a part of a word."""
        if not needle.strip() or self._budget <= 0:
            return None
        for _ in range(_MAX_TRIES):
            at = self.text.find(needle, low, high)
            if at < 0:
                self._budget -= high - low
                return None
            taken = self._taken(at, at + len(needle))
            if taken is not None:
                low = taken
            elif len(needle) < _SHORT and self._inside_word(at, at + len(needle)):
                low = at + 1
            else:
                return at
        return None

    def _taken(self, start: int, end: int) -> int | None:
        position = bisect_right(self._starts, start)
        if position and self._ends[position - 1] > start:
            return self._ends[position - 1]
        if position < len(self._starts) and self._starts[position] < end:
            return self._ends[position]
        return None

    def _inside_word(self, start: int, end: int) -> bool:
        text = self.text
        left = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
        return left or (end < len(text) and text[end].isalnum() and text[end - 1].isalnum())


def _find_tools(finder: _Finder, tools: Sequence[Tool], high: int) -> list[_Found]:
    """Find each tool as JSON in one of the usual spellings, else by its name and description."""
    found: list[_Found] = []
    habit: tuple[int, int] | None = None
    misses = at = 0
    for index, tool in enumerate(tools):
        match = None
        if habit is not None or misses < 2:
            match, habit = _find_json(finder, tool, index, at, high, habit)
        if match is None:
            misses += 1
            match = _find_described(finder, tool, index, at, high)
        if match is not None:
            found.append(match)
            at = match.end
    if not found and tools:
        for indent in (4, 2):
            spelled = json.dumps(list(tools), indent=indent, ensure_ascii=False, default=str)
            start = finder.find(spelled, 0, high)
            if start is not None:
                return [_Found(start, start + len(spelled), "tool")]
    return found


def _find_json(
    finder: _Finder, tool: Tool, index: int, at: int, high: int, habit: tuple[int, int] | None
) -> tuple[_Found | None, tuple[int, int] | None]:
    values = _tool_values(tool)
    ways = [(value, mode) for mode in range(len(_MODES)) for value in range(len(values))]
    if habit is not None and habit in ways:
        ways = [habit] if index > 1 else [habit, *ways]
    for way in ways:
        spelled = _MODES[way[1]](values[way[0]])
        for low in (at, 0) if at else (0,):
            start = finder.find(spelled, low, high)
            if start is not None:
                return _Found(start, start + len(spelled), "tool", None, index), way
    return None, habit


def _find_described(finder: _Finder, tool: Tool, index: int, at: int, high: int) -> _Found | None:
    function = tool.get("function", tool)
    if not isinstance(function, Mapping):
        return None
    name, description = function.get("name"), function.get("description")
    if not isinstance(name, str) or not isinstance(description, str):
        return None
    first_line = description.strip().split("\n", 1)[0]
    for spelling in (description, description.strip(), json.dumps(description, ensure_ascii=False)[1:-1], first_line):
        start = finder.find(spelling, at, high) if len(spelling) >= _SHORT else None
        if start is not None:
            named = finder.text.rfind(name, max(at, start - _NEAR), start)
            return _Found(named if named >= 0 else start, start + len(spelling), "tool", None, index)
    return None


def _tool_values(tool: Tool) -> list[Any]:
    """A tool as it was sent, only its function, and both as servers rebuild them (name, description, parameters, no more)."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return [tool]
    plain = {
        "name": function.get("name"),
        "description": function.get("description", ""),
        "parameters": function.get("parameters", {}),
    }
    return [tool, function, {"type": "function", "function": plain}, plain]


def _dump(**options: Any) -> Callable[[Any], str]:
    return lambda value: json.dumps(value, default=str, **options)


def _jinja_tojson(value: Any) -> str:
    """The spelling of Jinja's own filter: sorted keys, and what could be HTML escaped."""
    spelled = json.dumps(value, sort_keys=True, default=str)
    for character in "<>&'":
        spelled = spelled.replace(character, f"\\u{ord(character):04x}")
    return spelled


_MODES: tuple[Callable[[Any], str], ...] = (
    _dump(ensure_ascii=False),
    _dump(ensure_ascii=False, separators=(",", ":")),
    _dump(ensure_ascii=False, indent=4),
    _dump(ensure_ascii=False, indent=2),
    _dump(),
    _jinja_tojson,
)


def _respelled(arguments: str) -> Iterator[str]:
    """The usual spellings of tool-call arguments that were parsed and printed again."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    for mode in _MODES[:5]:
        yield mode(value)
