"""Why the messages of a conversation are not what they were, and why a reply is not replayed as it was generated."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame
from promptguard.prompts.request import Message, Prompt
from promptguard.prompts.segments import calls_of, conversation, has_system, reasoning_of, text_of
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import differs_in_whitespace, show, window

_MOST_MOVED = 1_000  # messages that are tried as dropped or inserted
_OVERLAP = 50  # messages that must agree behind a drop
_PLACEHOLDER = re.compile(
    r"\b(?:cleared|removed|omitted|truncated|elided|redacted|compacted|trimmed|pruned|snipped|hidden|expired)\b", re.IGNORECASE
)


def blame_history(before: Prompt, after: Prompt, message: int | None, char: int) -> Blame | None:
    """Why the conversation of ``before`` is not the head of that of ``after``.

    Args:
        before: the previous prompt, followed by its reply.
        after: the next prompt.
        message: index in the conversation of ``before`` of the message at the first difference, where it is known.
        char: the first difference.

    Returns:
        ``None`` where the conversation is only continued, or where the first change of a message lies behind the difference.
    """
    old, new = list(conversation(before)), list(after.request.messages)
    skipped_old, skipped_new = int(has_system(old)), int(has_system(new))
    old, new = old[skipped_old:], new[skipped_new:]
    reply = len(old) - 1 if before.reply is not None else None
    shared = min(len(old), len(new))
    changed = next((at for at in range(shared) if not _same(old[at], new[at])), None)
    if changed is None and len(new) < len(old):
        changed = len(new)
    for at in range(shared if changed is None else min(changed, shared)):
        if _ids(old[at]) != _ids(new[at]) and _id_stands_at(before.text, _ids(old[at]), _ids(new[at]), char):
            return _blame_ids(old[at], new[at], at + skipped_old, is_reply=at == reply)
    if changed is None or (message is not None and message - skipped_old < changed):
        return None
    if changed >= len(new):
        return _blame_shortened(len(old) - changed, replied=reply is not None)
    if changed == reply:
        if new[changed].get("role") == "assistant":
            return _blame_reply(old[changed], new[changed])
        return Blame(causes.HISTORY_REWRITTEN, f"the reply was left out: message {changed + skipped_new + 1} does not hold it")
    return _blame_moved(old, new, changed, skipped_new) or _blame_message(old[changed], new[changed], changed + skipped_new)


def _same(old: Message, new: Message) -> bool:
    """Whether two messages say the same; ids are compared apart, since many chat templates do not print them."""
    return (
        old.get("role") == new.get("role")
        and text_of(old) == text_of(new)
        and reasoning_of(old) == reasoning_of(new)
        and [call[1:] for call in calls_of(old)] == [call[1:] for call in calls_of(new)]
    )


def _ids(message: Message) -> list[str]:
    return [str(message.get("tool_call_id") or ""), *(call[0] for call in calls_of(message))]


def _id_stands_at(text: str, old: Sequence[str], new: Sequence[str], char: int) -> bool:
    """Whether an id that changed is what stands at the difference."""
    return any(
        first != second and first and first in text[max(0, char - len(first)) : char + len(first)]
        for first, second in zip(old, new, strict=False)
    )


def _blame_ids(old: Message, new: Message, position: int, *, is_reply: bool) -> Blame:
    first, second = next((a, b) for a, b in zip(_ids(old), _ids(new), strict=False) if a != b)
    whose = "the reply" if is_reply else _named(new, position)
    explanation = f"a tool-call id of {whose} changed from {show(first)} to {show(second)}"
    if is_reply:
        return Blame(causes.REPLY_ROUND_TRIP, explanation)
    return Blame(causes.RANDOM_ID, explanation, own_remedy="keep the id of each tool call, and replay it unchanged")


def _blame_shortened(count: int, *, replied: bool) -> Blame:
    if replied and count == 1:
        explanation = "the same conversation is sent again, without its last reply"
    else:
        explanation = f"the last {_messages(count)} of the conversation {'was' if count == 1 else 'were'} taken back"
    return Blame(causes.HISTORY_REWRITTEN, explanation)


def _blame_reply(old: Message, new: Message) -> Blame:
    return Blame(causes.REPLY_ROUND_TRIP, _reply_change(old, new))


def _reply_change(old: Message, new: Message) -> str:
    if reasoning_of(old) != reasoning_of(new):
        if not reasoning_of(new):
            return "the reasoning of the reply was not replayed"
        return f"the reasoning of the reply was replayed as {_changed(reasoning_of(old), reasoning_of(new))}"
    first, second = text_of(old), text_of(new)
    if first != second:
        if first.strip() == second.strip():
            how = "trimmed" if len(second) < len(first) else "padded"
            return f"the content of the reply was {how}: it ended or began with other white space"
        return f"the content of the reply was replayed as {_changed(first, second)}"
    return _call_change(old, new, "the reply")


def _call_change(old: Message, new: Message, whose: str) -> str:
    first, second = calls_of(old), calls_of(new)
    if len(first) != len(second):
        return f"{whose} had {len(first)} tool calls and has {len(second)} now"
    for (_, name, arguments), (_, new_name, new_arguments) in zip(first, second, strict=True):
        if name != new_name:
            return f"a tool call of {whose} changed its name from {show(name)} to {show(new_name)}"
        if arguments != new_arguments:
            how = "serialized again" if _equal_json(arguments, new_arguments) else "replayed"
            return f"the arguments of the call of {show(name)} in {whose} were {how} as {_changed(arguments, new_arguments)}"
    return f"{whose} changed from the role {show(str(old.get('role')))} to {show(str(new.get('role')))}"


def _blame_moved(old: Sequence[Message], new: Sequence[Message], at: int, skipped: int) -> Blame | None:
    """Messages dropped, replaced by one, or inserted."""
    for count in range(1, min(len(old) - at, _MOST_MOVED)):
        if _agree(old, at + count, new, at):
            return Blame(causes.HISTORY_REWRITTEN, f"{_oldest(count, at, skipped)} dropped")
        if count > 1 and _agree(old, at + count, new, at + 1):
            return Blame(causes.HISTORY_REWRITTEN, f"{_oldest(count, at, skipped)} replaced by one")
    for count in range(1, min(len(new) - at, _MOST_MOVED)):
        if _agree(old, at, new, at + count):
            verb = "was" if count == 1 else "were"
            explanation = f"{_messages(count)} {verb} inserted in front of what was message {at + skipped + 1}"
            return Blame(causes.HISTORY_REWRITTEN, explanation)
    return None


def _agree(old: Sequence[Message], old_at: int, new: Sequence[Message], new_at: int) -> bool:
    """Whether both conversations go on alike from two positions."""
    count = min(len(old) - old_at, len(new) - new_at, _OVERLAP)
    return count > 0 and all(_same(old[old_at + step], new[new_at + step]) for step in range(count))


def _oldest(count: int, at: int, skipped: int) -> str:
    verb = "was" if count == 1 else "were"
    if at == 0:
        return f"the oldest message {verb}" if count == 1 else f"the {count} oldest messages {verb}"
    return f"{_messages(count)} from message {at + skipped + 1} on {verb}"


def _blame_message(old: Message, new: Message, position: int) -> Blame:
    """One message that says something else."""
    whose = _named(new, position)
    first, second = text_of(old), text_of(new)
    if old.get("role") != new.get("role"):
        explanation = f"{whose} stands where a message of the role {show(str(old.get('role')))} stood"
        return Blame(causes.HISTORY_REWRITTEN, explanation)
    if reasoning_of(old) != reasoning_of(new):
        if not reasoning_of(new):
            return Blame(causes.HISTORY_REWRITTEN, f"the reasoning of {whose} is no longer replayed")
        return Blame(
            causes.HISTORY_REWRITTEN, f"the reasoning of {whose} is now {_changed(reasoning_of(old), reasoning_of(new))}"
        )
    if first != second:
        if differs_in_whitespace(first, second, first_difference(first, second)) and first.split() == second.split():
            return Blame(causes.WHITESPACE, f"white space in the content of {whose} is not what it was")
        if _PLACEHOLDER.search(second[:500]) and len(second) < len(first):
            explanation = f"the content of {whose} was replaced by {show(second)}"
        elif second and second in first:
            explanation = f"a part of the content of {whose} is not replayed: {show(first.replace(second, '', 1))}"
        else:
            explanation = f"the content of {whose} is now {_changed(first, second)}"
        return Blame(causes.HISTORY_REWRITTEN, explanation)
    explanation = _call_change(old, new, whose)
    again = [call[1] for call in calls_of(old)] == [call[1] for call in calls_of(new)] and all(
        _equal_json(one[2], other[2]) for one, other in zip(calls_of(old), calls_of(new), strict=True)
    )
    return Blame(causes.REPLY_ROUND_TRIP if again else causes.HISTORY_REWRITTEN, explanation)


def _changed(old: str, new: str) -> str:
    first, second = window(old, new, first_difference(old, new))
    return f"{show(second)} instead of {show(first)}" if max(len(old), len(new)) > 40 else f"{show(new)} instead of {show(old)}"


def _equal_json(first: str, second: str) -> bool:
    try:
        return bool(json.loads(first) == json.loads(second))
    except (ValueError, RecursionError):
        return False


def _named(message: Message, position: int) -> str:
    return f"message {position + 1} ({message.get('role')})"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
