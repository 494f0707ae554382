"""For a pull-request comment or the summary of a CI step (GitHub-flavoured Markdown)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptguard.probing.result import Difference, Probed, in_words
from promptguard.report.markdown import code, escape
from promptguard.report.probes.words import VERDICTS, error, lost, place, summary, title


def render(probed: Sequence[Probed]) -> str:
    """The report, with a line feed at its end."""
    return "\n".join(_blocks(probed)) + "\n"


def _blocks(probed: Sequence[Probed]) -> Iterator[str]:
    yield f"### promptguard probe: {summary(probed)}\n"
    yield "| builder | verdict | changes |\n|---|---|---|"
    for one in probed:
        verdict = VERDICTS[one.verdict] if one.verdict == "stable" else f"**{VERDICTS[one.verdict]}**"
        differences = one.result.differences if one.result is not None else ()
        why = "; ".join(difference.depends for difference in differences) if one.result is not None else error(one)
        yield f"| {code(title(one))} | {verdict} | {escape(why)} |"
    for one in probed:
        for difference in one.result.differences if one.result is not None else ():
            yield from _difference(one, difference)
    for one in probed:
        for note in in_words(one.result.uncompared) if one.result is not None else ():
            yield f"\nNote on {code(title(one))}: {escape(note)}"


def _difference(one: Probed, difference: Difference) -> Iterator[str]:
    source = f" from {code(str(difference.location))}" if difference.location is not None else ""
    cause = f"{difference.cause.code} {difference.cause.name}"
    yield f"\n**{cause}** in {code(title(one))}{source}: {escape(difference.explanation)}\n"
    yield f"- changes {escape(difference.depends)}"
    yield f"- at {code(place(difference))}"
    yield f"- {code(difference.before)} became {code(difference.after)}"
    yield f"- {lost(difference)}"
    yield f"- to do: {escape(difference.remedy)}"
