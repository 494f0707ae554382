"""What prompts change with, in each format: one module each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptguard.probing.result import Probed

FORMATS = ("text", "json", "github", "markdown", "junit")


def render(probed: Sequence[Probed], form: str, *, color: bool = False, encoding: str = "utf-8") -> str:
    """The report.

    Args:
        probed: what came of each builder, in the order in which it is reported.
        form: one of ``FORMATS``.
        color: whether text has ANSI colours.
        encoding: what the stream of a text can show; other characters are escaped.
    """
    if form == "text":
        from promptguard.report.probes import text

        return text.render(probed, color=color, encoding=encoding)
    import importlib

    rendered: str = importlib.import_module(f"promptguard.report.probes.{form}").render(probed)
    return rendered.encode("utf-8", "replace").decode()  # a path may hold a lone surrogate, which UTF-8 cannot
