"""For the summary of a CI step (GitHub-flavoured Markdown)."""

from __future__ import annotations

from collections.abc import Iterator

from promptguard.diagnosis.result import Diagnosis
from promptguard.report.doctor.words import STATUS, effort, subject, summary
from promptguard.report.markdown import code, escape


def render(found: Diagnosis) -> str:
    """The whole report, a line feed at its end."""
    return "\n".join(_blocks(found)) + "\n"


def _blocks(found: Diagnosis) -> Iterator[str]:
    words = {"clear": "nothing in the way", "obstructed": "something is in the way", "unknown": "cannot be judged"}
    yield f"### promptguard doctor: {words[found.verdict]}\n"
    yield f"{escape(subject(found))}\n"
    yield f"{escape(summary(found))}\n"
    if found.checks:
        yield "| check | | seen | why | set |\n|---|---|---|---|---|"
        for check in found.checks:
            status = STATUS[check.status] if check.status == "ok" else f"**{STATUS[check.status]}**"
            remedy = code(check.remedy) if check.remedy else ""
            yield f"| {check.name} | {status} | {escape(check.found)} | {escape(check.why)} | {remedy} |"
        yield ""
    if said := effort(found):
        yield said
