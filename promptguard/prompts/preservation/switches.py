"""Variables of a chat template that mend a defect: each is tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from promptguard.core.errors import TemplateError
from promptguard.prompts.conversations import BLANKS, SWITCHES_OF_THINKING
from promptguard.prompts.preservation.boundary import Bench, Boundary, Outcome
from promptguard.prompts.preservation.result import Defect, Switch
from promptguard.prompts.segments import text_of

GIVEN = frozenset(
    {
        *("messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "raise_exception"),
        *("strftime_now", "date_string", "datetime"),
        *SWITCHES_OF_THINKING,
    }
)
"""The variables that an engine gives, or that every conversation sets."""

_MOST_SWITCHES = 12  # variables of one template that are tried
_MOST_TRIED = 4  # places of a defect at which a switch must help


def with_switches(bench: Bench, defect: Defect, names: Iterable[str]) -> Defect:
    """The variables of the template that mend a defect, found by trying each of them.

    Raises:
        TemplateLimitError: the time is over.
    """
    candidates = [Switch(name, value) for name in sorted(set(names) - GIVEN)[:_MOST_SWITCHES] for value in (True, False)]
    if not candidates:
        return defect
    # one of each mode first; blanks at the ends of replies are a defect of their own
    seen = [each for each in defect.breaks if each.conversation.name != BLANKS] or list(defect.breaks)
    tried = list({each.conversation.mode: each for each in seen}.values())
    tried += [each for each in seen if each not in tried]
    places = [Boundary(each.conversation, each.turn) for each in tried[:_MOST_TRIED]]
    plain = bench.measure(places)
    outcomes = bench.measure([replace(place, kwargs={each.name: each.value}) for each in candidates for place in places])
    helpful = []
    for number, switch in enumerate(candidates):
        made = outcomes[number * len(places) : (number + 1) * len(places)]
        if all(_mended(bench, old, new) for old, new in zip(plain, made, strict=True)):
            helpful.append(switch)
    return replace(defect, switches=tuple(helpful))


def _mended(bench: Bench, old: Outcome | TemplateError, new: Outcome | TemplateError) -> bool:
    """Whether the prefix is preserved now, and the prompt and the reply still say all that they said."""
    if isinstance(old, TemplateError) or isinstance(new, TemplateError):
        return False
    answered = old.boundary.answered
    said = [text_of(message, name).strip() for message in answered.messages for name in ("content", "reasoning_content")]
    said += [str(tool["function"]["name"]) for tool in answered.tools]
    keeps = all(text not in old.held or text in new.held for text in said)
    return keeps and bench.lost(new) is None
