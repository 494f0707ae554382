"""The chat template of a replay: what ``promptguard template check`` finds in it, played on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from promptguard.checks.chat_template import CODES
from promptguard.core.errors import TemplateLimitError
from promptguard.core.source import Place, Source
from promptguard.engines.base import Engine
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.preservation import check_template
from promptguard.prompts.preservation.result import Break, Defect, Preservation
from promptguard.prompts.rendering import Renderer
from promptguard.replaying.result import TemplateFinding
from promptguard.replaying.template_file import in_file

Accepted = Callable[[Source, str, Place | None], bool]
"""Tells whether a user accepts what a rule finds at a place of a chat template."""

SECONDS = 10.0
"""Processor time in which a chat template must render its conversations; the usual one takes a hundredth of it."""

_MOST_SWITCHES = 3


def contain(renderer: Renderer, template: Source) -> None:
    """Render the conversations of ``promptguard template check`` within our limits, which an engine does not have.

    An engine renders conversations of its own when it is given a chat template, with several tool calls in a reply, for example.

    Raises:
        TemplateLimitError: the template exceeds a limit in one of them.
    """
    found = check_template(ChatTemplate(renderer, template), str.encode, seconds=SECONDS)
    error = found.error
    if isinstance(error, TemplateLimitError):
        raise _refusal(error, "no conversation")
    for shape in found.unrendered:
        if isinstance(shape.error, TemplateLimitError):
            raise _refusal(shape.error, shape.what)


def _refusal(error: TemplateLimitError, what: str) -> TemplateLimitError:
    can = "can" if what.startswith("no ") else "cannot"
    refusal = TemplateLimitError(
        f"{what} {can} be rendered (PG507): {error.what}", where=error.where, hint="no engine is given such a chat template"
    )
    refusal.place = error.place
    return refusal


def try_conversations(engine: Engine, renderer: Renderer, template: Source) -> Preservation:
    """Render the conversations of ``promptguard template check``, and count with the tokenizer of an engine."""
    info = engine.info
    chat = ChatTemplate(renderer, template, bos_token=info.bos_token, eos_token=info.eos_token)
    return check_template(chat, engine.tokenize)


def prefilled_again(engine: Engine, seen: Break) -> int:
    """Play a break on an engine: the tokens of what it holds that it computes again when the next prompt comes."""
    return computed_again(engine, seen.held, seen.prompt)


def computed_again(engine: Engine, held: str, prompt: str) -> int:
    """The tokens of ``held`` that an engine which has computed them computes again for ``prompt``."""
    tokens = engine.tokenize(held)
    engine.place(tokens)
    cached = engine.complete(engine.tokenize(prompt)).cached
    return max(0, len(tokens) - cached)  # a server may have more in its cache than this run put there


def template_findings(found: Preservation) -> Iterator[tuple[TemplateFinding, Break | None]]:
    """What breaks the prefix, the worst first, each with where it costs most; then what the template fails on."""
    for defect in found.defects:
        yield _finding(defect), defect.worst
    error = found.error
    if error is not None:
        what = f"no conversation can be rendered: {error.what}"
        yield TemplateFinding("PG507", what, error.hint or "mend the template", error.place), None
    for shape in found.unrendered:
        if shape.fails:
            what = f"{shape.what} cannot be rendered: {shape.error.what}"
            yield TemplateFinding("PG507", what, "mend the template", shape.error.place), None


def measured(engine: Engine, finding: TemplateFinding, seen: Break | None) -> TemplateFinding:
    """A finding with what the engine computes again; without it where the context of the engine is too small."""
    if seen is None or max(len(engine.tokenize(text)) for text in (seen.held, seen.prompt)) >= engine.info.context:
        return finding
    return replace(finding, prefilled=prefilled_again(engine, seen))


def located(finding: TemplateFinding) -> TemplateFinding:
    """A finding with its place in the file."""
    return replace(finding, place=in_file(finding.place)) if finding.place is not None else finding


def notes(findings: Sequence[TemplateFinding]) -> Iterator[str]:
    """What is said of the chat template of a model: no prompt can help it, so it fails no gate."""
    if findings:
        worst: dict[str, int] = {}
        for each in findings:
            worst[each.code] = max(worst.get(each.code, 0), each.tokens_lost)
        codes = ", ".join(f"{code} ({lost:,} tokens)" if lost else code for code, lost in worst.items())
        yield (
            f"the model's own chat template breaks the prefix of conversations that this task may not have: {codes}; the gate "
            "does not judge it, promptguard template check tells more"
        )


def _finding(defect: Defect) -> TemplateFinding:
    worst = defect.worst
    remedy = defect.remedy
    if defect.switches:
        remedy += f"; {' or '.join(map(str, defect.switches[:_MOST_SWITCHES]))} in chat_template_kwargs mends it"
    return TemplateFinding(
        CODES[defect.kind],
        defect.explanation,
        remedy,
        defect.place,
        conversation=worst.conversation.name,
        reply=worst.turn + 1,
        before=worst.before,
        after=worst.after,
        tokens=worst.tokens,
        tokens_lost=worst.tokens_lost,
    )
