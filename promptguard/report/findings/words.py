"""What the formats say in the same words: where a finding is, what it costs, how it is mended, how many there are."""

from __future__ import annotations

from promptguard.checks.catalog import RULES
from promptguard.core.light import Iterator, NamedTuple
from promptguard.linting.result import LintResult, Record, RecordedFix
from promptguard.report.plain import BOLD, DIM, Paint, visible

_WHEN = {
    "request": "on every request",
    "minute": "every minute",
    "hour": "every hour",
    "day": "every day",
    "conversation": "in every conversation",
    "deployment": "after every deployment",
}
_APPLIED = {"safe": "safe: --fix", "unsafe": "unsafe: --fix --unsafe-fixes", "display": "by hand"}


class Counts(NamedTuple):
    """Numbers of findings, of files that have some, and of fixes that can be applied."""

    errors: int
    warnings: int
    notes: int
    files: int
    safe: int
    unsafe: int


def count(result: LintResult) -> Counts:
    severities = [record.severity for record in result.records]
    fixes = [record.fix.applicability for record in result.records if record.fix is not None]
    return Counts(
        severities.count("error"),
        severities.count("warning"),
        severities.count("note"),
        len({record.path for record in result.records}),
        fixes.count("safe"),
        fixes.count("unsafe"),
    )


def where(record: Record) -> str:
    """``path:line:column``."""
    return f"{visible(record.path)}:{record.line}:{record.column}"


def cost(record: Record) -> str:
    """What the finding costs, as a sentence without a full stop; empty where that is not known."""
    lost = record.tokens_lost
    if lost is None:
        return ""
    if lost == 0:
        return "no token of the prefix follows it"
    otherwise = "each time" if RULES[record.code].area == "chat-templates" else "whenever it changes"  # the message says when
    when = _WHEN.get(record.changes or "", otherwise)
    counted = f" (counted with {visible(record.tokenizer)})" if record.tokenizer else ""
    return f"{plural(lost, 'token')} {'is' if lost == 1 else 'are'} computed again {when}{counted}"


def mend(fix: RecordedFix) -> str:
    """What a fix does, and which flags apply it."""
    return f"{visible(fix.title)} ({_APPLIED[fix.applicability]})"


def plural(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def findings(counts: Counts) -> str:
    """How many findings there are: ``3 errors and 1 warning``; empty where there are none."""
    named = [(counts.errors, "error"), (counts.warnings, "warning"), (counts.notes, "note")]
    *most, last = [plural(number, word) for number, word in named if number] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def summary(result: LintResult) -> str:
    """All in one line, with a full stop."""
    counts = count(result)
    parts = [f"Fixed {plural(result.fixed, 'finding')}."] if result.fixed else []
    if result.records:
        more = f" and {result.more:,} more of the same rules" if result.more else ""
        parts.append(f"Found {findings(counts)}{more} in {plural(counts.files, 'file')} ({result.files:,} checked).")
    elif result.files:
        parts.append(f"All checks passed ({plural(result.files, 'file')}).")
    else:
        parts.append(f"Nothing to check in {plural(result.looked_at, 'file')}.")
    if result.suppressed:
        parts.append(f"Suppressed {plural(result.suppressed, 'finding')}.")
    if result.including:
        parts.append(f"The includes of {plural(result.including, 'file')} are not followed.")
    verb = "is" if (counts.safe or counts.unsafe) == 1 else "are"
    if counts.safe:
        more = f", {counts.unsafe:,} more with --unsafe-fixes" if counts.unsafe else ""
        parts.append(f"{counts.safe:,} {verb} fixable with --fix{more}.")
    elif counts.unsafe:
        parts.append(f"{counts.unsafe:,} {verb} fixable with --fix --unsafe-fixes.")
    return " ".join(parts)


class RuleCount(NamedTuple):
    """The findings of one rule; ``tokens_lost`` is the most that one of them loses, since losses overlap."""

    code: str
    name: str
    findings: int
    tokens_lost: int | None


def by_rule(result: LintResult) -> list[RuleCount]:
    """The rules that found something, those with most findings first."""
    found: dict[str, list[Record]] = {}
    for record in result.records:
        found.setdefault(record.code, []).append(record)
    counts = [
        RuleCount(
            code,
            records[0].name,
            len(records),
            max((record.tokens_lost for record in records if record.tokens_lost is not None), default=None),
        )
        for code, records in found.items()
    ]
    return sorted(counts, key=lambda item: (-item.findings, item.code))


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
