"""What a builder returned as the parts of a prompt, in the order in which an engine sees them: tools, system, messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptguard.core.errors import InputError
from promptguard.core.json_text import escape
from promptguard.probing.parameters import is_parameter
from promptguard.prompts.request import Block
from promptguard.toolschema.dialects import detect, is_tool

_TOOLS = ("tools", "functions")
_SYSTEM = ("system", "instructions", "system_instruction", "systemInstruction", "system_prompt")
_MESSAGES = ("messages", "input", "contents", "prompt")
# What chat templates and services print into the prefix as well, behind the tools.
_FURTHER = ("chat_template_kwargs", "response_format", "text", "output_config")
_SETTINGS = ("config", "extra_body")  # what holds the rest of a request in some SDKs
_CACHE_KEY = "prompt_cache_key"
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
_ORDERED = frozenset({"input", "arguments", "args", "parameters", "tool_use"})
"""Members of messages whose keys are written as they are; those of others are read by name."""


@dataclass(frozen=True)
class Part:
    """A part of a prompt.

    Attributes:
        block: the block that it is in.
        pointer: JSON pointer to it in what the builder returned.
        what: it in words.
        value: the JSON value.
        whole: it is only compared where the whole prompt is.
    """

    block: Block
    pointer: str
    what: str
    value: Any
    whole: bool = False

    def leaves(self) -> Iterator[tuple[str, Any]]:
        """Its texts and other values, each with its pointer, in the order in which they are compared."""
        return _leaves(self.value, self.pointer, ordered=self.block == "tools")


def parts(value: Any, *, whole: bool = False) -> list[Part]:
    """The parts of a prompt.

    Args:
        value: a text; messages; tools; a request in the shape of OpenAI (chat and responses), Anthropic or Gemini; or what holds
            some of these.
        whole: with the last user message, which may otherwise change without harm.

    Raises:
        InputError: it is no prompt, or nothing of it has to stay the same.
    """
    found = list(_parts(value, ""))
    if not found:
        raise InputError(f"returned no prompt but {_described(value)}", hint="return a text, messages, tools or a request")
    last = found[-1]
    if not whole and last.what.startswith("message") and _role(last.value) == "user":
        del found[-1]
    if not any(text for part in found for _, text in part.leaves()):
        if not whole and last not in found:
            raise InputError("returned a user message alone, which may change", hint="compare it too with --whole")
        raise InputError("returned an empty prompt", hint="give it the arguments that it needs with --args")
    return found


def uncompared(value: Any) -> dict[str, Any]:
    """What a request holds under keys that name no part of a prompt and no known parameter, by these keys."""
    if not _is_request(value):
        return {}
    compared = [part.pointer for part in _request(value, "")]
    found = {}
    for holder, at in _holders(value, ""):
        for key, item in holder.items():
            pointer = f"{at}/{escape(key)}"
            held = not at and key in _SETTINGS and isinstance(item, Mapping)
            if held or is_parameter(key) or item in (None, "", [], {}):
                continue
            if not any(each == pointer or each.startswith(f"{pointer}/") for each in compared):
                found[f"{at}/{key}"[1:]] = item
    return found


def _parts(value: Any, pointer: str) -> Iterator[Part]:
    if isinstance(value, str):
        yield Part("system", pointer, "the prompt", value)
    elif isinstance(value, list):
        if value and all(_is_message(item) for item in value):
            yield from _messages(value, pointer)
        elif detect(value) is not None:
            yield Part("tools", pointer, "the tools", value)
        elif value and all(isinstance(item, str) for item in value):
            for at, text in enumerate(value):
                yield Part("system", f"{pointer}/{at}", f"text {at + 1}", text)
    elif isinstance(value, Mapping):
        yield from _request(value, pointer)


def _request(value: Mapping[str, Any], pointer: str) -> Iterator[Part]:
    if _is_message(value):
        yield from _messages([value], "")
        return
    if not _is_request(value):
        if detect(value) is not None:
            yield Part("tools", pointer, "the tool", [value])
        return
    held = _holders(value, pointer)
    for holder, at in held:
        for key in _TOOLS:
            if holder.get(key):
                yield Part("tools", f"{at}/{key}", "the tools", holder[key])
    for holder, at in held:
        for key in _FURTHER:
            if holder.get(key):
                yield Part("system", f"{at}/{key}", key, holder[key])
    for holder, at in held:
        for key in _SYSTEM:
            if holder.get(key):
                yield Part("system", f"{at}/{key}", "the system prompt", holder[key])
        if holder.get(_CACHE_KEY):
            yield Part("system", f"{at}/{_CACHE_KEY}", "the cache key", holder[_CACHE_KEY])
    for key in _MESSAGES:
        given = value.get(key)
        if isinstance(given, str) and given:
            # The input of a responses or Gemini request is a user message; the prompt of a completion is all there is.
            yield Part("user" if key != "prompt" else "system", f"{pointer}/{key}", _WHAT.get(key, "the prompt"), given)
        elif isinstance(given, list):
            yield from _messages(given, f"{pointer}/{key}")


def _is_request(value: Any) -> bool:
    known = (*_TOOLS, *_SYSTEM, *_MESSAGES, *_SETTINGS)
    return isinstance(value, Mapping) and not _is_message(value) and any(key in value for key in known)


def _holders(value: Mapping[str, Any], pointer: str) -> list[tuple[Mapping[str, Any], str]]:
    """A request and what holds the rest of it, each with its pointer."""
    inner = [(value[key], f"{pointer}/{key}") for key in _SETTINGS if isinstance(value.get(key), Mapping)]
    return [(value, pointer), *inner]


_WHAT = {"input": "message 1", "contents": "message 1"}


def _messages(messages: Sequence[Any], pointer: str) -> Iterator[Part]:
    for at, message in enumerate(messages):
        role = _role(message)
        system = at == 0 and role == "system"
        last = at == len(messages) - 1 and role == "user"
        block: Block = "system" if system else "user" if last else "history"
        what = "the system prompt" if system else f"message {at + 1} ({role})" if role else f"message {at + 1}"
        yield Part(block, f"{pointer}/{at}", what, message)


def _is_message(value: Any) -> bool:
    if isinstance(value, str):
        return False
    if not isinstance(value, Mapping) or is_tool(value):
        return isinstance(value, Mapping) and isinstance(value.get("role"), str)
    kind = value.get("type")
    return isinstance(value.get("role"), str) or (isinstance(kind, str) and ("content" in value or "call_id" in value))


def _role(message: Any) -> str:
    if isinstance(message, str):
        return "user"
    role = message.get("role") or message.get("type") if isinstance(message, Mapping) else None
    return _ROLES.get(role, role) if isinstance(role, str) else ""


def _leaves(value: Any, pointer: str, *, ordered: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        keys = list(value) if ordered else sorted(value, key=lambda key: (_FIRST.get(key, 1), key))
        for key in keys:
            yield from _leaves(value[key], f"{pointer}/{escape(key)}", ordered=ordered or key in _ORDERED)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _leaves(item, f"{pointer}/{at}", ordered=ordered)
    else:
        yield pointer, value


_FIRST = {"role": 0, "type": 0}


def written(part: Part) -> str:
    """A part as the text that its tokens are counted of."""
    if part.block == "tools":
        return json.dumps(part.value, ensure_ascii=False)
    return "\n".join(text if isinstance(text, str) else json.dumps(text) for _, text in part.leaves())


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"an object with the keys {', '.join(list(value)[:5])}" if value else "an empty object"
    if isinstance(value, list):
        return "a list of something else" if value else "an empty list"
    return json.dumps(value)[:40]
