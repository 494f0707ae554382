"""PG501 to PG507: chat templates that do not keep the prefix. Each is rendered, turn by turn, in the conversations of
``prompts.conversations``.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from functools import cache

from promptguard.checks.base import Document, Hit, make_fix, shown
from promptguard.checks.chat_corrections import Correction, corrections
from promptguard.core.errors import TemplateError, TemplateLimitError
from promptguard.core.finding import Fix, Severity
from promptguard.core.light import Any
from promptguard.core.source import Place, Source
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.counting import counter
from promptguard.prompts.preservation import check_template, measure_losses
from promptguard.prompts.preservation.boundary import Encode
from promptguard.prompts.preservation.result import Defect, Kind, Losses, Preservation
from promptguard.prompts.rendering import Budget, Limits, Renderer

CODES: dict[Kind, str] = {
    "clock": "PG501",
    "history": "PG502",
    "tools": "PG503",
    "generation-prompt": "PG504",
    "arguments": "PG505",
    "content": "PG506",
}
"""The rule for each kind of defect."""

SECONDS = 3.0
"""Processor time that one template may take: twenty times what a long one needs."""

_LIMITS = Limits(seconds=SECONDS, characters=16 << 20, template=256 << 10, memory=256 << 20)
_FEW = 8  # tokens; to lose no more costs less than what a request costs anyway
_MOST_CORRECTIONS = 4  # of one defect that are tried


def check(document: Document, options: Mapping[str, Mapping[str, Any]]) -> Iterator[Hit]:
    """What in a chat template breaks the prefix."""
    renderer = _renderer(os.getpid())
    given_up = renderer.given_up
    encode = counter(options["tokenizer"]["name"]).encode
    budget = Budget(renderer, SECONDS)
    found = check_template(_template(document, document.text), encode, seconds=SECONDS)
    hits = [*_not_rendered(found), *(_hit(document, each, correct(document, each, encode, budget)) for each in found.defects)]
    document.hurried = renderer.given_up > given_up
    yield from hits


def _template(document: Document, text: str) -> ChatTemplate:
    tokens = document.tokens
    return ChatTemplate(
        _renderer(os.getpid()),
        Source(document.source.path, text, "chat-template"),
        bos_token=tokens.get("bos_token", ""),
        eos_token=tokens.get("eos_token", ""),
    )


@cache
def _renderer(process: int) -> Renderer:  # noqa: ARG001 - a forked process needs its own
    renderer = Renderer(_LIMITS)
    atexit.register(renderer.close)
    return renderer


def _not_rendered(found: Preservation) -> Iterator[Hit]:
    if found.error is not None:
        start, end = _span(found.error.place)
        hint = f" ({found.error.hint})" if found.error.hint else ""
        yield Hit("PG507", start, end, f"no conversation can be rendered: {found.error.what}{hint}")
    for each in found.unrendered:
        if each.fails:
            start, end = _span(each.error.place)
            severity: Severity | None = None if isinstance(each.error, TemplateLimitError) else "warning"
            yield Hit("PG507", start, end, f"{each.what} cannot be rendered: {each.error.what}", severity=severity)


def _hit(document: Document, defect: Defect, corrected: tuple[Correction, Fix] | None) -> Hit:
    start, end = _span(defect.place)
    worst = defect.worst
    parts = [f"{defect.explanation}: `{shown(document.text[start:end])}`" if start < end else defect.explanation]
    of = f"{worst.tokens_lost:,} of {worst.tokens:,} tokens of the conversation `{worst.conversation.name}` are computed again"
    parts.append(f"{of.replace('`', chr(34))} {_when(defect)}")
    if defect.switches:
        parts.append(f"{' or '.join(map(str, defect.switches[:3]))} in chat_template_kwargs mends it")
    when = "at another time" if defect.changes is not None else f"behind reply {worst.turn + 1}"
    changed = f'"{worst.before}" is printed as "{worst.after}"'
    related = [(start, end, f"{when}, from character {worst.char:,} of the text on, {changed}")]
    if corrected is not None and corrected[0].decides is not None:
        related.append((*corrected[0].decides, "this decides"))
    return Hit(
        CODES[defect.kind],
        start,
        end,
        "; ".join(parts),
        changes=defect.changes,
        severity=_severity(defect),
        fix=corrected[1] if corrected is not None else None,
        related=tuple(related),
        tokens_lost=worst.tokens_lost,
    )


def _span(place: Place | None) -> tuple[int, int]:
    return (place.span.start, place.span.end) if place is not None else (0, 0)


def _when(defect: Defect) -> str:
    """When it is lost, in words."""
    if defect.changes is not None:
        return f"then{defect.only_where}"
    if defect.kind == "arguments":
        return "at every tool call where an engine hands over the string"
    if defect.kind == "content":
        return "behind a reply with such blanks"
    words = {"all": "every", "some": "some"}
    modes = {each.conversation.mode for each in defect.breaks}
    only = {"thinking off": ", with thinking switched off", "plain": ", in replies without reasoning"}
    where = only.get(modes.pop(), "") if len(modes) == 1 else ""
    if defect.at_tools == "none":
        users = f"at {words[defect.at_users]} new user message{'' if defect.at_users == 'all' else 's'}"
        return f"{users}, and none at tool calls{where}"
    tools = f"at {words[defect.at_tools]} tool call{'' if defect.at_tools == 'all' else 's'}"
    return f"{tools}{'' if defect.at_users == 'none' else ' and at new user messages'}{where}"


def _severity(defect: Defect) -> Severity:
    """What is lost at tool calls is lost many times in a conversation; what is lost at user messages, or at midnight, is not."""
    if defect.kind == "clock":
        return "warning" if defect.changes == "day" else "error"
    if defect.kind in ("arguments", "content") or defect.worst.tokens_lost <= _FEW:
        return "warning"  # it depends on the engine and on what the model writes
    modes = {each.conversation.mode for each in defect.breaks if each.following == "tool"}
    return "error" if modes & {"reasoning", "thinking off"} else "warning"


# -- corrections


def correct(document: Document, defect: Defect, encode: Encode, budget: Budget) -> tuple[Correction, Fix] | None:
    """The first correction that mends the defect and breaks nothing else: it is made, rendered and measured.

    Args:
        document: the chat template.
        defect: of it.
        encode: gives token ids.
        budget: processor time for the search.

    Returns:
        What it is, and the fix that makes it; ``None`` where there is none, or where the file cannot be changed.
    """
    candidates = corrections(document, defect)[:_MOST_CORRECTIONS]
    try:
        before = _losses(document, document.text, encode, budget) if candidates else None
        for candidate in candidates:
            after = _losses(document, candidate.apply(document.text), encode, budget)
            if before is not None and after is not None and _better(defect, before, after):
                fix = make_fix(document, candidate.title, candidate.edits, safe=False)
                return (candidate, fix) if fix is not None else None
    except TemplateLimitError:
        pass  # no time is left
    return None


def _losses(document: Document, text: str, encode: Encode, budget: Budget) -> Losses | None:
    """What a text loses, ``None`` where it is no template."""
    try:
        return measure_losses(_template(document, text), encode, seconds=budget.left)
    except TemplateLimitError:
        raise
    except TemplateError:
        return None


def _better(defect: Defect, before: Losses, after: Losses) -> bool:
    """Whether something of the defect is gone, and nothing is worse."""
    if after.errors > before.errors or (after.tells_time and not before.tells_time):
        return False
    if any(lost > before.tokens.get(key, 0) for key, lost in after.tokens.items()):
        return False
    if defect.kind == "clock":
        return before.tells_time and not after.tells_time
    return any((str(each.conversation), each.turn) not in after.tokens for each in defect.breaks)
