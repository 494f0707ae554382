"""A diagnosis in each format: one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptguard.diagnosis.result import Diagnosis

FORMATS = ("text", "json", "markdown")


def render(found: Diagnosis, form: str, *, color: bool = False, encoding: str = "utf-8") -> str:
    """The report.

    Args:
        found: what there is to report.
        form: one of ``FORMATS``.
        color: whether text has ANSI colours.
        encoding: what the stream of a text can show; other characters are escaped.
    """
    if form == "json":
        from promptguard.report.doctor import json

        return json.render(found)
    if form == "markdown":
        from promptguard.report.doctor import markdown

        return markdown.render(found)
    from promptguard.report.doctor import text

    return text.render(found, color=color, encoding=encoding)
