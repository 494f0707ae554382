"""The chat templates that lie in a JSON file, such as ``tokenizer_config.json`` and ``chat_template.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from promptguard.parse.json_members import members

KEYS = ("chat_template", "chat_template_tool_use")
"""Members of a JSON object that hold chat templates; the second one is known from what a llama-server says of itself."""


class WrittenTemplate(NamedTuple):
    """A chat template in a JSON text.

    Attributes:
        pointer: its JSON pointer.
        name: ``None`` for the one that has none.
        start, end: range of the string in the text, with its quotes.
    """

    pointer: str
    name: str | None
    start: int
    end: int


def written_templates(text: str, key: str, value: Any, start: int, end: int) -> Iterator[WrittenTemplate]:
    """The templates in the value of a member at the top: a string, a list of objects with ``name`` and ``template``, or an object
    of strings by name.

    Args:
        text: the JSON text.
        key: one of ``KEYS``.
        value: of the member.
        start, end: range of the value in the text.
    """
    pointer = f"/{key}"
    if isinstance(value, str):
        if value:
            yield WrittenTemplate(pointer, KEYS[1].removeprefix("chat_template_") if key == KEYS[1] else None, start, end)
    elif isinstance(value, dict):
        for member in members(text, start):
            if isinstance(member.value, str) and member.value:
                yield WrittenTemplate(f"{pointer}/{escaped(str(member.name))}", str(member.name), member.start, member.end)
    elif isinstance(value, list):
        for item in members(text, start):
            if not isinstance(item.value, dict):
                continue
            name = item.value.get("name")
            for member in members(text, item.start):
                if member.name == "template" and isinstance(member.value, str) and member.value:
                    shown = name if isinstance(name, str) else str(item.name)
                    yield WrittenTemplate(f"{pointer}/{item.name}/template", shown, member.start, member.end)


def escaped(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
