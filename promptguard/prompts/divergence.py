"""Where two prompts first differ, in which block, why, and where in the user's files the text came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from promptguard.core.source import Place
from promptguard.prompts import causes
from promptguard.prompts.blame.base import Aspect, Blame
from promptguard.prompts.blame.history import blame_history
from promptguard.prompts.blame.template import blame_template
from promptguard.prompts.blame.text import blame_text
from promptguard.prompts.blame.tools import blame_tools
from promptguard.prompts.causes import Cause as Cause
from promptguard.prompts.request import Block, Prompt, Traced
from promptguard.prompts.segments import Segment, has_system, segment_at, segments, text_of
from promptguard.prompts.sequences import common_prefix as common_prefix
from promptguard.prompts.sequences import first_difference
from promptguard.prompts.shapes import show, visible

_LEAD = 12  # code points of an excerpt in front of the difference
_EXCERPT = 40
_FAR = 32  # a token that differs this far in front of the first differing character differs for another reason
_REPLAY_TOKENS = (
    "send the token ids of the reply back as the model generated them, or end the generation prompt with a special token;"
    " a loss of a token or two can be accepted with --prompt-loss-tolerance"
)


@dataclass(frozen=True)
class Divergence:
    """The first difference between what was in the cache and the next prompt.

    Attributes:
        token: index of the first token that differs.
        char: code point in both texts where they first differ.
        block: the block of the new prompt that it lies in.
        before, after: what stood there and what stands there now, a few words of each, from a little before the difference. They
            are one line each, with control characters and backslashes written as escapes.
        cause: the likely cause.
        explanation: one sentence in words, such as "the tools are listed in another order".
        remedy: one sentence that says what to do.
        tokens_lost: tokens behind the difference that were in the cache and cannot be used.
        place: where in the user's files the differing text came from, ``None`` where that is not known.
        related: further places, such as the place from which a tool was moved.
        expression: the template expression that printed the differing text.
        aspect: what the chat template prints in another way, ``None`` where it is not to blame.
    """

    token: int
    char: int
    block: Block
    before: str
    after: str
    cause: Cause
    explanation: str
    remedy: str
    tokens_lost: int
    place: Place | None = None
    related: Sequence[Place] = field(default_factory=tuple)
    expression: str | None = None
    aspect: Aspect | None = None


def first_divergence(before: Prompt, after: Prompt) -> Divergence | None:
    """Compare what is in the cache with the next prompt.

    Args:
        before: the previous prompt, followed by its reply.
        after: the next prompt.

    Returns:
        ``None`` where the tokens of ``before`` are a prefix of those of ``after``. A prompt that ends before the cached one does
        is a rewind, and diverges at its end.
    """
    token = common_prefix(before.tokens, after.tokens)
    if token == len(before.tokens):
        return None
    char = first_difference(before.text, after.text)
    new_cut = segments(after)
    if _splits_otherwise(before, after, token, char):
        char = _token_start(before, after, token, char)
        blame = _blame_split(before, after, token)
    else:
        blame = _blame(before, after, char, segments(before), new_cut)
    in_reply = before.reply is not None and token >= before.reply_start_token  # which is history by now
    return Divergence(
        token=token,
        char=char,
        block=blame.block or ("history" if in_reply else _block(new_cut, char)),
        before=excerpt(before.text, char),
        after=excerpt(after.text, char),
        cause=blame.cause,
        explanation=blame.explanation,
        remedy=blame.remedy,
        tokens_lost=len(before.tokens) - token,
        place=blame.place,
        related=blame.related,
        expression=blame.expression,
        aspect=blame.aspect,
    )


def excerpt(text: str, char: int) -> str:
    """About 40 code points of a text around a difference, in one line; ``…`` where the text goes on."""
    start = max(0, char - _LEAD)
    end = min(len(text), start + _EXCERPT)
    return ("…" if start else "") + visible(text[start:end]) + ("…" if end < len(text) else "")


def _block(cut: Sequence[Segment], char: int) -> Block:
    """The block of a difference; where a text ends too early, that is the block of this text and not of what follows."""
    segment = segment_at(cut, char)
    if segment is not None and segment.what == "template" and 0 < char == segment.start:
        segment = segment_at(cut, char - 1)
    return segment.block if segment is not None else "system"


def _blame(before: Prompt, after: Prompt, char: int, old_cut: Sequence[Segment], new_cut: Sequence[Segment]) -> Blame:
    """The requests first, then the chat template; each only where the first difference of the texts lies in its part."""
    old, new = segment_at(old_cut, char), segment_at(new_cut, char)
    here = [segment for segment in (old, new) if segment is not None]
    if any(segment.tool is not None or segment.what == "tool" for segment in here) or not _any(old_cut, new_cut, "tool"):
        blame = blame_tools(before.request, after.request)
        if blame is not None:
            return replace(blame, block="tools")
    old_system, new_system = _system(before), _system(after)
    if old_system.text != new_system.text and (
        any(segment.what == "system" for segment in here)
        or (any(segment.block == "system" for segment in here) and not (old_system.text and new_system.text))
        or not _any(old_cut, new_cut, "system")
    ):
        return replace(_blame_system(old_system, new_system), block="system")
    if not all(segment.what in ("system", "tool") for segment in here) or char == len(after.text):
        blame = blame_history(before, after, old.message if old is not None and old.what != "system" else None, char)
        if blame is not None:
            return blame
    if char == len(after.text):
        return Blame(causes.HISTORY_REWRITTEN, "the prompt ends where the previous one went on")
    return blame_template(before, after, char, old_cut, new_cut)


def _blame_system(before: Traced, after: Traced) -> Blame:
    if not before.text or not after.text:
        verb = "added" if after.text else "removed"
        return Blame(causes.UNKNOWN, f"the system prompt was {verb}: {show(after.text or before.text)}")
    return blame_text(before.text, after.text, where="the system prompt", before_trace=before, after_trace=after)


def _system(prompt: Prompt) -> Traced:
    """The system prompt as the messages have it, with its trace where that is about the same text."""
    request = prompt.request
    text = text_of(request.messages[0]) if has_system(request.messages) else ""
    return request.system if request.system is not None and request.system.text == text else Traced(text)


def _any(old_cut: Sequence[Segment], new_cut: Sequence[Segment], what: str) -> bool:
    return any(segment.what == what for cut in (old_cut, new_cut) for segment in cut)


def _splits_otherwise(before: Prompt, after: Prompt, token: int, char: int) -> bool:
    """Whether the texts are the same where the tokens differ."""
    if char == len(before.text):
        return True
    if before.starts is None or after.starts is None or token >= len(after.tokens):
        return False
    ends = [_start(prompt, token + 1) for prompt in (before, after)]
    return max(ends) <= char and char - min(_start(before, token), _start(after, token)) > _FAR


def _start(prompt: Prompt, token: int) -> int:
    return prompt.starts[token] if prompt.starts is not None and token < len(prompt.starts) else len(prompt.text)


def _token_start(before: Prompt, after: Prompt, token: int, char: int) -> int:
    """Where the token that differs starts; without offsets the best guess is the reply, whose tokens the model chose."""
    if before.starts is not None and after.starts is not None:
        return min(_start(before, token), _start(after, token), char)
    return min(before.reply_start, char) if token >= before.reply_start_token - 1 else char


def _blame_split(before: Prompt, after: Prompt, token: int) -> Blame:
    pieces = ""
    if before.starts is not None and after.starts is not None:
        pieces = f": {_pieces(before, token)} before, {_pieces(after, token)} now"
    where = " of the reply" if token >= before.reply_start_token else ""
    explanation = f"the text{where} is the same but splits into other tokens{pieces}"
    return Blame(causes.REPLY_ROUND_TRIP, explanation, own_remedy=_REPLAY_TOKENS)


def _pieces(prompt: Prompt, token: int) -> str:
    """The texts of the first two tokens at a difference."""
    last = min(token + 2, len(prompt.tokens))
    return " + ".join(show(prompt.text[_start(prompt, at) : _start(prompt, at + 1)], 20) for at in range(token, last))
