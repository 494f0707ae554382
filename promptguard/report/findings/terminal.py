"""What the text formats share: colours, and the lines at their end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from promptguard.linting.result import LintResult
from promptguard.report.findings.words import by_rule, summary
from promptguard.report.plain import visible

BOLD, DIM, CYAN = "1", "2", "36"
SEVERITY = {"error": "1;31", "warning": "1;33", "note": "1;36"}

Paint = Callable[[str, str], str]
"""Takes a text and the parameters of an ANSI colour."""


def painter(color: bool) -> Paint:
    return _painted if color else lambda text, _: text


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m"


def ending(result: LintResult, paint: Paint, *, statistics: bool) -> Iterator[str]:
    """The lines behind the findings: what was not checked, statistics where asked for, and the summary."""
    for path, reason in result.skipped:
        yield f"{paint(visible(path), BOLD)}: not checked: {visible(reason)}\n"
    if statistics and result.records:
        rules = by_rule(result)
        size = max(len(rule.name) for rule in rules)
        yield paint(f"findings  {'rule':<{size + 6}}  most tokens lost", DIM) + "\n"
        for rule in rules:
            tokens = "" if rule.tokens_lost is None else f"{rule.tokens_lost:,}"
            yield f"{rule.findings:>8,}  {rule.code} {rule.name:<{size}}  {tokens:>16}".rstrip() + "\n"
        yield "\n"
    yield paint(summary(result), BOLD) + "\n"
