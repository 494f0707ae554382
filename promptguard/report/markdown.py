"""The report for a pull-request comment or the summary of a CI step (GitHub-flavoured Markdown)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptguard.replaying.result import Result, TemplateFinding
from promptguard.report.common import (
    Repeated,
    cause,
    excerpt,
    lost_in_template,
    measured,
    quoted_pair,
    repeated,
    subject_rows,
    template_findings,
    tokens,
    total_rows,
    turn_ranges,
    turn_table,
    verdict,
    where,
)
from promptguard.report.plain import visible

_SPECIAL = re.compile(r"[&<>|`*_~\[\]\\@#:]")


def render(result: Result) -> str:
    """The whole report, a line feed at its end."""
    return "\n".join(_blocks(result)) + "\n"


def escape(text: str) -> str:
    """Untrusted text for a paragraph or a table cell: no markup, no HTML, no link, and nobody is mentioned."""
    return _SPECIAL.sub(_entity, visible(text))


def _entity(match: re.Match[str]) -> str:
    # Mentions and references to issues are looked for after entities are resolved; a zero-width space ends them.
    return f"&#{ord(match[0])};" + ("&#8203;" if match[0] in "@#" else "")


def code(text: str) -> str:
    """Untrusted text in a fixed-width font; neither mentions nor links are looked for in it."""
    return "<code>" + _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", visible(text)) + "</code>"


def _fenced(lines: list[str], language: str) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence + language, *lines, fence])


def _blocks(result: Result) -> Iterator[str]:
    yield f"### promptguard replay: {verdict(result)}\n"
    if result.error is not None:
        yield f"The run broke off after {measured(result)}:\n" if result.turns else "Nothing could be measured:\n"
        yield _fenced([visible(line) for line in result.error.splitlines()], "text") + "\n"
    if result.checks:
        yield "| check | verdict | |\n|---|---|---|"
        for check in result.checks:
            yield f"| {check.name} | {'passed' if check.passed else '**failed**'} | {escape(check.message)} |"
        yield ""
    for item in repeated(result.turns):
        yield from _divergence(item)
    for finding in template_findings(result):
        yield from _template_finding(finding)
    if result.turns:
        yield from _pairs(total_rows(result))
        yield "<details><summary>All turns</summary>\n"
        headings, rows = turn_table(result)
        yield f"| {' | '.join(escape(heading) for heading in headings)} |"
        yield f"|{'|'.join('---' if index == 1 else '---:' for index in range(len(headings)))}|"
        for row in rows:
            yield f"| {' | '.join(escape(value) for value in row)} |"
        yield "\n</details>\n"
    subject = subject_rows(result)
    if not subject:
        return
    yield "<details><summary>What was measured</summary>\n"
    yield from _pairs(subject)
    for note in result.notes:
        yield f"- {escape(note)}"
    yield "\n</details>"


def _pairs(rows: list[tuple[str, str]]) -> Iterator[str]:
    yield "| | |\n|---|---|"
    for name, value in rows:
        yield f"| {name} | {escape(value)} |"
    yield ""


def _divergence(item: Repeated) -> Iterator[str]:
    found = item.divergence
    place = f" at {code(where(found.place))}" if found.place is not None else ""
    yield f"**{escape(cause(found))}**{place}, {found.block} block, {turn_ranges(item.turns)}: {escape(found.explanation)}\n"
    if found.place is not None:
        source = excerpt(found.place)
        yield _fenced([source.text, source.marker], "text") + "\n"
    before, after = quoted_pair(found.before, found.after)
    yield _fenced([f"- {before}", f"+ {after}"], "diff") + "\n"
    see = f" See also {', '.join(code(where(related)) for related in found.related)}." if found.related else ""
    yield f"Lost: {tokens(found.tokens_lost)}, from token {found.token:,} (character {found.char:,}) on. "
    yield f"Fix: {escape(found.remedy)}{see}\n"


def _template_finding(found: TemplateFinding) -> Iterator[str]:
    place = f" at {code(where(found.place))}" if found.place is not None else ""
    yield f"**{found.code}**{place}, chat template: {escape(found.explanation)}\n"
    if found.place is not None:
        source = excerpt(found.place)
        yield _fenced([source.text, source.marker], "text") + "\n"
    if found.conversation is not None:
        before, after = quoted_pair(found.before, found.after)
        yield _fenced([f"- {before}", f"+ {after}"], "diff") + "\n"
        yield f"Lost: {escape(lost_in_template(found))}. "
    yield f"Fix: {escape(found.remedy)}\n"
