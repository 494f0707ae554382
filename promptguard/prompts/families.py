"""What a llama-server does to messages for some families of chat templates, which it knows by texts in their source.

As read in its ``common/chat.cpp`` and ``common/parsers``; tests/prompts/test_apply_template.py compares with what it renders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_TRIMMING = "You have access to the following functions in JSONSchema format"  # StepFun
_MINISTRAL = ("[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[ARGS]")
_MISTRAL_SMALL = "[CALL_ID]"
_GPT_OSS = "<|channel|>"
_LFM = ("<|tool_list_start|>", "List of tools: [")


def adapt(template: str, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as the template gets them.

    Args:
        template: its source.
        messages: as ``chat.prepare`` gives them.
    """
    if _TRIMMING in template:
        messages = [_trimmed(message) for message in messages]
    if all(text in template for text in _MINISTRAL) and _MISTRAL_SMALL not in template:
        return [_in_parts(message) if message["role"] in ("system", "assistant") else message for message in messages]
    if _GPT_OSS in template:
        return [_thinking(message, instead=bool(message.get("tool_calls"))) for message in messages]
    if any(text in template for text in _LFM):
        return [_thinking(message) for message in messages]
    return list(messages)


def _trimmed(message: dict[str, Any]) -> dict[str, Any]:
    texts = {key: message[key].strip() for key in ("content", "reasoning_content") if isinstance(message.get(key), str)}
    return {**message, **texts}


def _in_parts(message: dict[str, Any]) -> dict[str, Any]:
    """Reasoning and content as a list of parts."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if message.get("reasoning_content"):
        parts.insert(0, {"type": "thinking", "thinking": message["reasoning_content"]})
    return {**{key: value for key, value in message.items() if key != "reasoning_content"}, "content": parts}


def _thinking(message: dict[str, Any], *, instead: bool = False) -> dict[str, Any]:
    """Reasoning under ``thinking`` too, ``instead`` of the content."""
    if not message.get("reasoning_content"):
        return message
    kept = {key: value for key, value in message.items() if key != "content" or not instead}
    return {**kept, "thinking": message["reasoning_content"]}
