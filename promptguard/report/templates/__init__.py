"""What chat templates do to the prefix, in each format: one module each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptguard.linting.templates import Story

FORMATS = ("text", "json")


def render(stories: Sequence[Story], form: str, *, color: bool = False, encoding: str = "utf-8") -> str:
    """The report.

    Args:
        stories: of the templates, in the order in which they are reported.
        form: one of ``FORMATS``.
        color: whether text has ANSI colours.
        encoding: what the stream of a text can show; other characters are escaped.
    """
    if form == "json":
        from promptguard.report.templates import json

        return json.render(stories)
    from promptguard.report.templates import text

    return text.render(stories, color=color, encoding=encoding)
