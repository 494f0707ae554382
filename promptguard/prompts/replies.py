"""A reply as the model emits it: found in the render of the conversation that ends with it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from promptguard.prompts.request import Message
from promptguard.prompts.segments import text_of
from promptguard.prompts.sequences import common_suffix, first_difference

Own = Literal["arguments", "content"]
"""A part of a reply that is as the model wrote it, and not as the template renders it."""

_ANCHORS = (64, 16)  # so many code points ahead of a reply tell its place
_HEADER = 100  # code points at the end of a prompt that hold the header of the reply
_OPEN_MARKER = re.compile(r"[<\[][^<>\[\]\s]*\Z")
_SPELLINGS = ((", ", ": "), (",", ":"))  # of JSON, as chat templates print it


def reply_start(prompt: str, bare: str, whole: str) -> int:
    """Where the reply starts in a conversation that need not start with the prompt.

    The conversation may lack the end of the header, such as an empty think block, or print what comes ahead in another way.

    Args:
        prompt: the request with the header of the reply.
        bare: the request without it.
        whole: the request and the reply.
    """
    if whole.startswith(prompt):
        return len(prompt)
    end = first_difference(prompt, bare)
    before, header = prompt[:end], prompt[end:]
    start = first_difference(before, whole)
    for size in _ANCHORS:
        found = whole.rfind(before[-size:])
        if found >= 0:
            start = found + len(before[-size:])
            break
    common = first_difference(header, whole[start:])
    # "<think>" in the header and "<tool_call>" in the conversation have "<" in common, which belongs to the reply
    marker = _OPEN_MARKER.search(header, 0, common) if common < len(header) else None
    return start + (marker.start() if marker else common)


def without_end(text: str, prompt: str, eog_tokens: Sequence[str]) -> str:
    """A reply without the tokens that end it, and without the header of another reply, which some templates always add."""
    while True:
        start, end = max(((text.rfind(token), text.rfind(token) + len(token)) for token in eog_tokens if token), default=(-1, 0))
        if start < 0 or text[end:].strip() not in prompt[-_HEADER:]:
            return text
        text = text[:start]


def with_objects(reply: Message, whole: str) -> Message | None:
    """The reply with its arguments as objects, ``None`` where ``whole``, its render, has them as the strings that they are."""
    written = _arguments(reply)
    if all(text in whole for text in written):
        return None
    try:
        calls = [
            {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
            if isinstance(call["function"]["arguments"], str)
            else call
            for call in reply["tool_calls"]
        ]
    except (ValueError, RecursionError):
        return None
    return {**reply, "tool_calls": calls}


def as_written(reply: Message, rendered: str, parsed: str | None = None) -> tuple[str, Own | None]:
    """The text of a reply as the model wrote it, and what in it is not as the template renders it.

    Args:
        reply: the assistant message.
        rendered: its text as the template renders it.
        parsed: the same, rendered with arguments as objects, where the template changes arguments that are strings.
    """
    if parsed is not None and (text := _spelled(reply, parsed)) is not None:
        return text, "arguments"
    text = _blank(reply, rendered)
    return text, "content" if text != rendered else None


def _arguments(reply: Message) -> list[str]:
    """The arguments that are strings."""
    found = (call["function"]["arguments"] for call in reply.get("tool_calls") or ())
    return [arguments for arguments in found if isinstance(arguments, str)]


def _spelled(reply: Message, text: str) -> str | None:
    """The text with arguments as the model spelled them, ``None`` where they do not stand in it as JSON."""
    for written in _arguments(reply):
        value = json.loads(written)
        spellings = (json.dumps(value, ensure_ascii=False, separators=separators) for separators in _SPELLINGS)
        found = next((spelled for spelled in spellings if spelled in text), None)
        if found is None:
            return None
        text = text.replace(found, written, 1)
    return text


def _blank(reply: Message, text: str) -> str:
    """The text with the blanks at the ends of the content as the model wrote them.

    Those in front count only where nothing else stands ahead of the content: behind a think block the format itself has some.
    """
    content = text_of(reply)
    bare = content.strip()
    at = text.find(bare) if bare != content else -1
    if at < 0 or content in text:
        return text
    head, tail = text[:at], text[at + len(bare) :]
    lead, _, trail = content.partition(bare)
    if not head.strip():
        head = head[: len(head) - common_suffix(head, lead, len(lead))] + lead
    if not tail.strip():
        tail = trail + tail[first_difference(tail, trail) :]
    return head + bare + tail
