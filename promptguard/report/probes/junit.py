"""For CI servers that read JUnit XML: a case for each builder."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from promptguard.probing.result import Probed, in_words
from promptguard.report.plain import visible
from promptguard.report.probes import text
from promptguard.report.probes.words import error, headline


def render(probed: Sequence[Probed]) -> str:
    """The report as XML 1.0."""
    return "".join(_lines(probed))


def _lines(probed: Sequence[Probed]) -> Iterator[str]:
    verdicts = [one.verdict for one in probed]
    counts = f'tests="{len(probed)}" failures="{verdicts.count("unstable")}" errors="{verdicts.count("unjudged")}"'
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f'<testsuites name="promptguard probe" {counts}>\n'
    yield f'  <testsuite name="promptguard probe" {counts} skipped="0">\n'
    for one in probed:
        yield from _case(one)
    yield "  </testsuite>\n</testsuites>\n"


def _case(one: Probed) -> Iterator[str]:
    start = f'    <testcase classname="promptguard.probe" name="{_escape(one.builder)}"'
    notes = in_words(one.result.uncompared) if one.result is not None else []
    if one.verdict == "stable" and not notes:
        yield f"{start}/>\n"
        return
    yield f"{start}>\n"
    if one.result is None:
        yield f'      <error type="unjudged" message="{_escape(error(one))}"/>\n'
    elif one.result.differences:
        first = one.result.differences[0]
        body = "\n".join(_escape(line) for line in text.render([one]).splitlines())
        yield f'      <failure type="{first.cause.name}" message="{_escape(headline(first))}">{body}</failure>\n'
    if notes:
        body = "\n".join(map(_escape, notes))
        yield f"      <system-out>{body}</system-out>\n"
    yield "    </testcase>\n"


def _escape(value: str) -> str:
    """Text without the characters that XML 1.0 does not allow, none of which is printable."""
    return html.escape(visible(value))
