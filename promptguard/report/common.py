"""What the formats share: numbers as words, source excerpts, and the order of things."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from promptguard.core.numbers import percent
from promptguard.core.source import Place
from promptguard.replaying.result import Result, TemplateFinding, Turn
from promptguard.report.plain import escaped, fit, marked, visible

if TYPE_CHECKING:  # only a run that lost something needs it at run time
    from promptguard.prompts.divergence import Divergence


def verdict(result: Result) -> Literal["passed", "failed", "error"]:
    """The word for the whole run; an ``error`` run broke off and its gate says nothing."""
    if result.error is not None:
        return "error"
    return "passed" if result.passed else "failed"


def quoted(text: str, cells: int = 160) -> str:
    """``visible`` in double quotes, cut to a width. Excerpts of a divergence come with their escapes written out."""
    return f'"{fit(visible(text), cells)}"'


def quoted_pair(before: str, after: str) -> tuple[str, str]:
    """Two texts that differ, quoted so that the difference can be seen even where both look the same when printed."""
    if unicodedata.normalize("NFKC", before) == unicodedata.normalize("NFKC", after):
        return f'"{fit(_escape_inside(before), 160)}"', f'"{fit(_escape_inside(after), 160)}"'
    return quoted(before), quoted(after)


def _escape_inside(text: str) -> str:
    """Everything but the marks at the ends of an excerpt that say that the text goes on."""
    text, head = (text[1:], text[0]) if text[:1] == "…" else (text, "")
    text, tail = (text[:-1], text[-1]) if text[-1:] == "…" else (text, "")
    return head + escaped(text) + tail


def seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 0.9995 else f"{value:.2f} s"


def tokens(count: int) -> str:
    return f"{count:,} token" if count == 1 else f"{count:,} tokens"


def measured(result: Result) -> str:
    return f"{len(result.turns)} measured turn{'' if len(result.turns) == 1 else 's'}"


def turn_ranges(numbers: Iterable[int]) -> str:
    """Ascending turn numbers as ``turn 3`` or ``turns 3-5, 7``."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    return f"turns {text}" if len(ranges) > 1 or ranges[0][0] != ranges[0][1] else f"turn {text}"


@dataclass(frozen=True)
class Repeated:
    """A divergence and the numbers of all turns that have the same cause at the same place."""

    divergence: Divergence
    turns: tuple[int, ...]


def repeated(turns: Sequence[Turn]) -> list[Repeated]:
    """The divergences in the order of the turns, those with equal cause and place as one."""
    found: dict[tuple[str, ...], tuple[Divergence, list[int]]] = {}
    for turn in turns:
        if (divergence := turn.divergence) is not None:
            where = str(divergence.place) if divergence.place else ""
            key = (divergence.cause.code, divergence.cause.name, divergence.block, where)
            found.setdefault(key, (divergence, []))[1].append(turn.number)
    return [Repeated(divergence, tuple(numbers)) for divergence, numbers in found.values()]


def cause(divergence: Divergence) -> str:
    return f"{divergence.cause.code} {divergence.cause.name}"


def template_findings(result: Result) -> tuple[TemplateFinding, ...]:
    """What was found in the user's own chat template."""
    return result.template.findings if result.template is not None else ()


def lost_in_template(found: TemplateFinding) -> str:
    """What a finding in a chat template costs, where, and what the engine says to it."""
    told = f'{found.tokens_lost:,} of {tokens(found.tokens)}, behind reply {found.reply} of "{found.conversation}"'
    if found.prefilled is None:
        return told
    but = "" if found.prefilled == found.tokens_lost else "but "
    return f"{told}; {but}the engine computed {found.prefilled:,} again"


def where(place: Place) -> str:
    """``path:line:column``, and the file that holds an embedded text."""
    text = visible(str(place))
    return f"{text} (in {where(place.source.parent)})" if place.source.parent else text


@dataclass(frozen=True)
class Excerpt:
    """The source line of a place, made printable, and as many ``^`` under it as the span takes on that line."""

    line: int
    text: str
    marker: str


def excerpt(place: Place, cells: int = 100) -> Excerpt:
    """The first line of a place, cut to ``cells`` around the marked text."""
    line, column = place.source.line_column(place.span.start)
    raw = place.source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[line - 1]
    # A minified file is one long line: only what can be shown is looked at.
    low, high = max(0, column - 1 - cells), column - 1 + cells
    start = column - 1 - low
    end = start + place.span.end - place.span.start
    return Excerpt(line, *marked(raw[low:high], start, end, cells, before=low > 0, behind=high < len(raw)))


def subject_rows(result: Result) -> list[tuple[str, str]]:
    """What was measured, as names and values; the values are untrusted text."""
    subject = result.subject
    if not subject.engine:  # nothing was run
        return []
    slot = f"slot {subject.slot} of {subject.slots}" if subject.slot is not None else f"{subject.slots} slots, none pinned"
    rows = [
        ("engine", f"{subject.engine}, build {subject.build}" + (f", {subject.url}" if subject.url else "")),
        ("model", f"{subject.model}, {subject.context:,} tokens of context per slot, {slot}"),
        (
            "chat template",
            f"{subject.chat_template}, sha256 {subject.chat_template_sha256[:12]}, rendered by {subject.rendered_by}",
        ),
        ("task", f"{subject.task}, replies by the model" if subject.live else subject.task),
        ("system", subject.system),
        ("tools", subject.tools),
    ]
    varying = ", ".join(f"{item.name} ({item.kind})" for item in result.stand_ins if item.varies)
    fixed = ", ".join(f"{item.name} ({item.kind})" for item in result.stand_ins if not item.varies)
    if varying:
        rows.append(("stand-ins that vary", varying))
    if fixed:
        rows.append(("fixed stand-ins", fixed))
    return rows


def turn_table(result: Result) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of turns; the second column is untrusted text."""
    headings = ["#", "turn", "prompt", "cached", "prefill", "ideal", "reusable", "prompt loss", "engine loss", "hit rate", "TTFT"]
    uncached = any(turn.seconds_uncached is not None for turn in result.turns)
    if uncached:
        headings.append("TTFT uncached")
    rows = []
    for turn in result.turns:
        counts = (turn.prompt, turn.cached, turn.prefilled, turn.ideal, turn.reusable, turn.prompt_loss, turn.engine_loss)
        row = [str(turn.number), turn.label, *map(str, counts), percent(turn.hit_rate), seconds(turn.seconds)]
        if uncached:
            row.append("" if turn.seconds_uncached is None else seconds(turn.seconds_uncached))
        rows.append(row)
    return headings, rows


def uncached_ratio(result: Result) -> float | None:
    """How many times as long the first tokens took with the cache off; ``None`` where that was not measured."""
    if result.seconds_uncached is None or result.seconds <= 0:
        return None
    return result.seconds_uncached / result.seconds


def total_rows(result: Result) -> list[tuple[str, str]]:
    """The numbers of the whole run, as names and values."""
    ttft = seconds(result.seconds)
    if (ratio := uncached_ratio(result)) is not None and result.seconds_uncached is not None:
        ttft += f"; {seconds(result.seconds_uncached)} with the cache off, {ratio:.1f} times as long"
    return [
        (
            "hit rate",
            f"{percent(result.hit_rate)}; ceiling {percent(result.ceiling)}; without a warm-up {percent(result.cold_hit_rate)}",
        ),
        ("prompt loss", tokens(result.prompt_loss)),
        ("engine loss", tokens(result.engine_loss)),
        ("repetition rate", percent(result.repetition_rate)),
        ("tokens saved", f"{result.hit_tokens:,} of {result.prompt_tokens:,} prompt tokens"),
        ("TTFT, all turns", ttft),
    ]
