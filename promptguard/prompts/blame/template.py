"""Why a chat template prints the same conversation in two ways."""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptguard.prompts import causes
from promptguard.prompts.blame.base import Aspect, Blame, Origin, differing_origin, origin
from promptguard.prompts.blame.branch import changed_branch
from promptguard.prompts.blame.text import kind_of
from promptguard.prompts.request import Prompt
from promptguard.prompts.segments import Segment, calls_of, conversation, has_system, segment_at
from promptguard.prompts.shapes import match_shape, show

_NO_DATE = "use a chat template that prints no date or time of its own"
_NO_ID = "use a chat template that prints no id of its own"
_KEEP_REASONING = "use a chat template that keeps the reasoning of earlier turns"
_KEEP_TOOLS = "use a chat template that prints the tools once, in front of the conversation"
_KEEP_SYSTEM = "use a chat template that prints the system prompt once, in front of the conversation"
_KEEP_TEXT = "use a chat template that prints the text of a reply in front of its tool calls, and keeps it"
_SAME_ARGUMENTS = "give the chat template the same variables on every turn"
_THINK_MARK = re.compile(r"</?\|?(?:think|start_thinking|reasoning)[^<>\s]{0,20}>|\[/?think\]", re.IGNORECASE)
_LONGEST_MARK = 40
_LONGEST_INSERTION = 400
_FOLLOWS = 16  # code points that must follow an insertion as they stood there before
_LEAST_FOLLOWS = 4  # at the end of a text


def blame_template(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame:
    """Why the rendered texts differ although the requests up to there are the same."""
    return (
        _clock_or_id(before, after, char, old_cut, new_cut)
        or _variables(before, after, char)
        or _reasoning(before, after, char, old_cut, new_cut)
        or _tools_moved(before, after, char, old_cut, new_cut)
        or _system_moved(before, after, char, old_cut, new_cut)
        or _text_moved(before, after, char, old_cut, new_cut)
        or _seams(before, after, char, old_cut, new_cut)
        or _other(before, after, char, old_cut)
    )


def _clock_or_id(
    before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]
) -> Blame | None:
    """A date, time or id that the template itself prints."""
    old, new = segment_at(old_cut, char), segment_at(new_cut, char)
    if old is None or new is None or old.what != "template" or new.what != "template":
        return None
    start = max(old.start, new.start)
    first, second = before.text[start : old.end], after.text[start : new.end]
    match = match_shape(first, second, char - start)
    source, old_value, new_value = differing_origin(before.trace, after.trace, char, char)
    named = kind_of(source.behind()) if source is not None else "text"
    if match is not None and match.shape in ("clock", "id"):
        kind, old_value, new_value = match.shape, match.before, match.after
    elif named in ("clock", "id"):
        kind = named
    else:
        return None
    noun, cause, remedy = ("a date or time", causes.CLOCK, _NO_DATE) if kind == "clock" else ("an id", causes.RANDOM_ID, _NO_ID)
    explanation = f"{noun} that the chat template prints changed from {show(old_value)} to {show(new_value)}"
    return Blame(cause, explanation, source, own_remedy=remedy, aspect=kind)


def _variables(before: Prompt, after: Prompt, char: int) -> Blame | None:
    """Other variables for the template, such as a switch for reasoning."""
    old, new = before.request.template_kwargs, after.request.template_kwargs
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name) or (name in old) != (name in new))
    if not names:
        return None
    noun = "variable" if len(names) == 1 else "variables"
    explanation = f"the chat template got another value for the {noun} {', '.join(names[:5])}"
    return _blame(before, after, char, explanation, "variables", remedy=_SAME_ARGUMENTS)


def _reasoning(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame | None:
    """Reasoning, or the marks around it, that was printed as long as its turn was the latest one."""
    kept = {segment.message for segment in new_cut if segment.what == "reasoning"}
    end = 0
    for segment in old_cut:
        if segment.what == "reasoning" and segment.message not in kept and end <= char <= segment.end:
            text = before.text[segment.start : segment.end]
            explanation = f"the chat template drops the reasoning of an earlier turn ({show(text)}) once another message follows"
            return _blame(before, after, char, explanation, "reasoning", remedy=_KEEP_REASONING, lost=True)
        if segment.what != "template":
            end = segment.end
    in_old, in_new = _mark_at(before.text, char), _mark_at(after.text, char)
    if in_old is not None and in_new != in_old:
        explanation = f"the chat template prints {in_old} for the latest turn only, and leaves it out of the history"
        return _blame(before, after, char, explanation, "reasoning", remedy=_KEEP_REASONING, lost=True)
    if in_new is not None and in_new != in_old:
        explanation = f"the chat template prints {in_new} in the history, and not where it asked for the reply"
        return _blame(before, after, char, explanation, "reasoning", remedy=_KEEP_REASONING)
    return None


def _mark_at(text: str, char: int) -> str | None:
    """The reasoning mark that a difference lies in, or right in front of."""
    for match in _THINK_MARK.finditer(text, max(0, char - _LONGEST_MARK), char + _LONGEST_MARK):
        if match.start() <= char + 2 and match.end() > char:
            return match.group()
    return None


def _tools_moved(
    before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]
) -> Blame | None:
    """The same tools at another place of the prompt."""
    old, new = segment_at(old_cut, char), segment_at(new_cut, char)
    old_tools, new_tools = (found is not None and (found.tool is not None or found.what == "tool") for found in (old, new))
    if old_tools == new_tools:
        return None
    latest = max((at for at, message in enumerate(after.request.messages) if message.get("role") == "user"), default=None)
    last_tool = max((segment.end for segment in new_cut if segment.what == "tool"), default=0)
    following = next((segment.message for segment in new_cut if segment.start >= last_tool and segment.what == "content"), None)
    if not last_tool:
        explanation = "the chat template no longer prints the tools"
    elif following is not None and following == latest:
        explanation = "the chat template prints the tools only with the latest user message, so they move with every new one"
    else:
        explanation = "the chat template prints the tools at another place than before"
    return _blame(before, after, char, explanation, "tools", remedy=_KEEP_TOOLS, lost=old_tools)


def _system_moved(
    before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]
) -> Blame | None:
    """The same system prompt at another place, or no longer printed."""

    def is_system(prompt: Prompt, segment: Segment | None) -> bool:
        head = segment is not None and segment.what == "template" and segment.message == 0
        return (segment is not None and segment.what == "system") or (head and has_system(prompt.request.messages))

    was, is_now = is_system(before, segment_at(old_cut, char)), is_system(after, segment_at(new_cut, char))
    if was == is_now:
        return None
    if not any(segment.what == "system" for segment in new_cut):
        explanation = "the chat template no longer prints the system prompt"
    elif not any(segment.what == "system" for segment in old_cut):
        explanation = "the chat template prints the system prompt, which it left out before"
    else:
        explanation = "the chat template prints the system prompt at another place than before"
    return _blame(before, after, char, explanation, "system", remedy=_KEEP_SYSTEM, lost=was)


def _text_moved(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame | None:
    """The text of a reply that is left out, or printed behind what follows it, once something follows."""
    segment = _text_at(old_cut, char)
    message = conversation(before)[segment.message] if segment is not None and segment.message is not None else {}
    if segment is None or segment.message is None or message.get("role") != "assistant":
        return None
    text = before.text[segment.start : segment.end]
    kept = [other for other in new_cut if other.message == segment.message and other.what == segment.what]
    at = after.text.find(text, char)
    if at < 0 and not kept:
        which = "a reply that calls tools" if calls_of(message) else "a reply"
        explanation = f"the chat template leaves out the text of {which} ({show(text)}) once another message follows"
        return _blame(before, after, char, explanation, "text", remedy=_KEEP_TEXT, lost=True)
    later = (
        other.message for other in new_cut if other.message is not None and other.what == "content" and char <= other.start < at
    )
    if not kept and any(other > segment.message for other in later):
        explanation = f"the chat template prints the text of a reply ({show(text)}) behind the message that follows it"
        return _blame(before, after, char, explanation, "text", remedy=_KEEP_TEXT)
    return None


def _text_at(cut: Sequence[Segment], char: int) -> Segment | None:
    """The text of a message that a difference lies in, or in front of."""
    end = 0
    for segment in cut:
        if segment.what == "content" and end <= char < segment.end:
            return segment
        if segment.what != "template":
            end = segment.end
    return None


def _seams(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame | None:
    """The generation prompt in front of the reply, and what ends the reply."""
    own = [segment for segment in old_cut if segment.what != "template"]
    asked = max((segment for segment in own if segment.end <= before.reply_start), key=lambda segment: segment.end, default=None)
    start = asked.end if asked is not None else 0
    more, less = (
        _inserted(before.text, after.text, char, start, new_cut),
        _inserted(after.text, before.text, char, start, old_cut),
    )
    if start <= char <= before.reply_start and len(after.request.messages) > len(before.request.messages):
        where = ""
        if asked is not None and asked.message is not None:
            where = f" behind a message of the role {before.request.messages[asked.message].get('role')}"
        if more:
            explanation = f"the chat template prints {show(more)}{where} in the history only, and not where it asks for the reply"
        elif less:
            explanation = f"the chat template prints {show(less)}{where} only where it asks for the reply, and not in the history"
        else:
            explanation = (
                "the chat template asks for a reply with other text than it prints in front of the same reply in the history"
            )
        return _blame(before, after, char, explanation, "header", lost=bool(less and not more))
    if own and char >= own[-1].end > before.reply_start:
        rest = before.text[own[-1].end :]
        if rest.isspace():  # no chat template could print what the message does not hold
            return Blame(causes.REPLY_ROUND_TRIP, f"the white space at the end of the reply ({show(rest)}) was not replayed")
        if more:
            explanation = f"the chat template prints {show(more)} in the reply only once another message follows"
        elif less:
            explanation = f"the chat template leaves {show(less)} out of the end of the reply once another message follows"
        else:
            explanation = "the chat template ends the reply in the history with other text than the model ended it with"
        return _blame(before, after, char, explanation, "ending", lost=bool(less and not more))
    return None


def _inserted(before: str, after: str, char: int, low: int, cut: Sequence[Segment]) -> str:
    """What the chat template prints more in ``after``, ``""`` where the texts do not go on alike behind it.

    ``cut`` are the segments of ``after``: what a message says is no insertion. Where the same insertion can be seen further to
    the left, as far as ``low``, it is shown from the start of a mark on.
    """
    end = next((segment.start for segment in cut if segment.what != "template" and segment.start >= char), len(after))
    for at in range(char + 1, min(end, char + _LONGEST_INSERTION) + 1):
        length = min(_FOLLOWS, len(before) - char, len(after) - at)
        if length >= _LEAST_FOLLOWS and before[char : char + length] == after[at : at + length]:
            break
    else:
        return ""
    for shift in range(min(char - low, _LONGEST_MARK) + 1):
        if after[char - shift : char] != after[at - shift : at]:
            break
        if after[char - shift] in "<[":
            return after[char - shift : at - shift]
    return after[char:at]


def _other(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment]) -> Blame:
    segment = segment_at(old_cut, char)
    if segment is None or segment.message is None:
        return _blame(before, after, char, "the chat template prints the same conversation in another way than before", "other")
    which = f"message {segment.message + 1}" if segment.message < len(before.request.messages) else "the reply"
    explanation = f"the chat template prints {which} in another way than before, although it did not change"
    return _blame(before, after, char, explanation, "other")


def _blame(
    before: Prompt, after: Prompt, char: int, explanation: str, aspect: Aspect, *, remedy: str | None = None, lost: bool = False
) -> Blame:
    """``lost``: the differing text stands in the old prompt only, so its place is where it was printed then."""
    old, new = origin(before.trace, char), origin(after.trace, char)
    branch = changed_branch(before.trace, after.trace, char)
    if branch is not None and not branch.loop and not lost:
        found = Origin(branch.place, None, "")
        return Blame(causes.CHAT_TEMPLATE, explanation, found, (branch.printed.place,), own_remedy=remedy, aspect=aspect)
    return Blame(causes.CHAT_TEMPLATE, explanation, (old or new) if lost else (new or old), own_remedy=remedy, aspect=aspect)
