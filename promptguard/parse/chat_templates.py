"""The chat templates that lie in a JSON file, such as ``tokenizer_config.json`` and ``chat_template.json``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from promptguard.parse.json_members import Member, members

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


def written_templates(text: str, top: Member) -> Iterator[WrittenTemplate]:
    """The templates in a member at the top.

    Its value is a string, a list of objects with ``name`` and ``template``, or an object of strings by name.

    Args:
        text: the JSON text.
        top: the member, whose name is one of ``KEYS``.
    """
    pointer = f"/{top.name}"
    value = top.value
    if isinstance(value, str):
        if value:
            yield WrittenTemplate(
                pointer, KEYS[1].removeprefix("chat_template_") if top.name == KEYS[1] else None, top.start, top.end
            )
    elif isinstance(value, dict):
        for member in members(text, top.start):
            if isinstance(member.value, str) and member.value:
                yield WrittenTemplate(f"{pointer}/{escaped(str(member.name))}", str(member.name), member.start, member.end)
    elif isinstance(value, list):
        for item in members(text, top.start):
            if not isinstance(item.value, dict):
                continue
            given = item.value.get("name")
            for member in members(text, item.start):
                if member.name == "template" and isinstance(member.value, str) and member.value:
                    named = given if isinstance(given, str) else str(item.name)
                    yield WrittenTemplate(f"{pointer}/{item.name}/template", named, member.start, member.end)


def escaped(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
