"""Why a chat template prints the same conversation in two ways."""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptguard.prompts import causes
from promptguard.prompts.blame.base import Blame, differing_origin, origin
from promptguard.prompts.blame.text import kind_of
from promptguard.prompts.request import Prompt
from promptguard.prompts.segments import Segment, segment_at
from promptguard.prompts.shapes import match_shape, show

_PIN_DATE = "use a chat template that prints no date, or pin the date with the template's own variable"
_NO_ID = "use a chat template that prints no id of its own"
_KEEP_REASONING = "use a chat template that keeps the reasoning of earlier turns, or switch reasoning off"
_KEEP_TOOLS = "use a chat template that prints the tools once, in front of the conversation"
_SAME_ARGUMENTS = "give the chat template the same variables on every turn"
_THINK_MARK = re.compile(r"</?\|?(?:think|start_thinking|reasoning)[^<>\s]{0,20}>|\[/?think\]", re.IGNORECASE)
_LONGEST_MARK = 40


def blame_template(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame:
    """Why the rendered texts differ although the requests up to there are the same."""
    return (
        _clock_or_id(before, after, char, old_cut, new_cut)
        or _variables(before, after, char)
        or _reasoning(before, after, char, old_cut, new_cut)
        or _tools_moved(before, after, char, old_cut, new_cut)
        or _seams(before, after, char, old_cut)
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
    noun, cause, remedy = ("a date or time", causes.CLOCK, _PIN_DATE) if kind == "clock" else ("an id", causes.RANDOM_ID, _NO_ID)
    explanation = f"{noun} that the chat template prints changed from {show(old_value)} to {show(new_value)}"
    return Blame(cause, explanation, source, own_remedy=remedy)


def _variables(before: Prompt, after: Prompt, char: int) -> Blame | None:
    """Other variables for the template, such as a switch for reasoning."""
    old, new = before.request.template_kwargs, after.request.template_kwargs
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name) or (name in old) != (name in new))
    if not names:
        return None
    noun = "variable" if len(names) == 1 else "variables"
    explanation = f"the chat template got another value for the {noun} {', '.join(names[:5])}"
    return _blame(before, after, char, explanation, remedy=_SAME_ARGUMENTS)


def _reasoning(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame | None:
    """Reasoning, or the marks around it, that was printed as long as its turn was the latest one."""
    kept = {segment.message for segment in new_cut if segment.what == "reasoning"}
    end = 0
    for segment in old_cut:
        if segment.what == "reasoning" and segment.message not in kept and end <= char <= segment.end:
            text = before.text[segment.start : segment.end]
            explanation = f"the chat template drops the reasoning of an earlier turn ({show(text)}) once another message follows"
            return _blame(before, after, char, explanation, remedy=_KEEP_REASONING, lost=True)
        if segment.what != "template":
            end = segment.end
    in_old, in_new = _mark_at(before.text, char), _mark_at(after.text, char)
    if in_old is not None and in_new != in_old:
        explanation = f"the chat template prints {in_old} for the latest turn only, and leaves it out of the history"
        return _blame(before, after, char, explanation, remedy=_KEEP_REASONING, lost=True)
    if in_new is not None and in_new != in_old:
        explanation = f"the chat template prints {in_new} in the history, and not where it asked for the reply"
        return _blame(before, after, char, explanation, remedy=_KEEP_REASONING)
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
    return _blame(before, after, char, explanation, remedy=_KEEP_TOOLS, lost=old_tools)


def _seams(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment]) -> Blame | None:
    """The generation prompt in front of the reply, and what ends the reply."""
    own = [segment for segment in old_cut if segment.what != "template"]
    asked = max((segment.end for segment in own if segment.end <= before.reply_start), default=0)
    if asked <= char <= before.reply_start and len(after.request.messages) > len(before.request.messages):
        explanation = (
            "the chat template asks for a reply with other text than it prints in front of the same reply in the history"
        )
        return _blame(before, after, char, explanation)
    if own and char >= own[-1].end > before.reply_start:
        rest = before.text[own[-1].end :]
        if rest.isspace():  # no chat template could print what the message does not hold
            return Blame(causes.REPLY_ROUND_TRIP, f"the white space at the end of the reply ({show(rest)}) was not replayed")
        explanation = "the chat template ends the reply in the history with other text than the model ended it with"
        return _blame(before, after, char, explanation)
    return None


def _other(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment]) -> Blame:
    segment = segment_at(old_cut, char)
    if segment is None or segment.message is None:
        return _blame(before, after, char, "the chat template prints the same conversation in another way than before")
    which = f"message {segment.message + 1}" if segment.message < len(before.request.messages) else "the reply"
    return _blame(before, after, char, f"the chat template prints {which} in another way than before, although it did not change")


def _blame(before: Prompt, after: Prompt, char: int, explanation: str, *, remedy: str | None = None, lost: bool = False) -> Blame:
    """``lost``: the differing text stands in the old prompt only, so its place is where it was printed then."""
    old, new = origin(before.trace, char), origin(after.trace, char)
    return Blame(causes.CHAT_TEMPLATE, explanation, (old or new) if lost else (new or old), own_remedy=remedy)
