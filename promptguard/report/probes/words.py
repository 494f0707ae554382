"""What the formats say in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from promptguard.probing.result import Difference, Probed, Verdict
from promptguard.report.findings.words import plural
from promptguard.report.plain import visible

VERDICTS: dict[Verdict, str] = {"stable": "stable", "unstable": "changes", "unjudged": "cannot be judged"}


def title(one: Probed) -> str:
    """A builder and where it is defined."""
    location = one.result.location if one.result is not None else None
    return visible(one.builder) + (f" ({visible(location.path)}:{location.line})" if location is not None else "")


def headline(difference: Difference) -> str:
    """Cause and explanation."""
    return f"{difference.cause.code} {difference.cause.name}: {visible(difference.explanation)}"


def place(difference: Difference) -> str:
    """Where it is in what the builder returned."""
    where = visible(difference.pointer) or "the text"
    return f"{where}, character {difference.character:,}, block {difference.block}"


def lost(difference: Difference) -> str:
    count = difference.tokens_lost
    return f"{plural(count, 'token')} from here on {'is' if count == 1 else 'are'} computed again"


def says_how(one: Probed) -> str:
    """How much was compared, and how."""
    assert one.result is not None
    result = one.result
    return f"{plural(result.tokens, 'token')} compared ({visible(result.tokenizer)}), built in {result.runs} processes"


def error(one: Probed) -> str:
    assert one.error is not None
    return visible(one.error.what) + (f"; {visible(one.error.hint)}" if one.error.hint else "")


def summary(probed: Sequence[Probed]) -> str:
    """All in one line: ``3 builders: 1 stable, 2 changing``."""
    words: dict[Verdict, str] = {"stable": "stable", "unstable": "changing", "unjudged": "not judged"}
    verdicts = [one.verdict for one in probed]
    counts = [f"{verdicts.count(verdict)} {word}" for verdict, word in words.items() if verdict in verdicts]
    return f"{plural(len(probed), 'builder')}: {', '.join(counts)}"
