"""What a lint run has found, in each format: one module each, imported when it is asked for."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, Callable, Iterator, Sequence

if TYPE_CHECKING:
    from pathlib import Path

    from promptguard.linting.result import LintResult

FORMATS = ("full", "concise", "json", "sarif", "github", "junit", "markdown")
TEXT_FORMATS = frozenset({"full", "concise"})
"""Formats for a terminal: these alone have colours, statistics and an encoding. The others are UTF-8."""


def write_findings(
    result: LintResult,
    form: str,
    write: Callable[[str], object],
    *,
    color: bool = False,
    statistics: bool = False,
    encoding: str = "utf-8",
) -> None:
    """Write a report.

    Args:
        result: what to report.
        form: one of ``FORMATS``.
        write: takes the report piece by piece.
        color: whether a text format uses ANSI colours.
        statistics: whether a text format ends with a table of the rules.
        encoding: what the stream of a text format can show; other characters are escaped.

    Raises:
        ValueError: there is no such format.
    """
    for piece in _pieces(result, form, color=color, statistics=statistics, encoding=encoding):
        write(piece)


def write_report_files(result: LintResult, reports: Sequence[tuple[str, Path]]) -> None:
    """Write reports to files, each whole or not at all; none is written where one cannot be.

    Args:
        result: what to report.
        reports: format and file, as ``report.files.parse_report_options(options, FORMATS)`` gives them.

    Raises:
        InputError: a file cannot be written.
    """
    from promptguard.report.files import check_target, write_report

    for _, path in reports:
        check_target(path)
    texts = ["".join(_pieces(result, form)) for form, _ in reports]
    for (_, path), text in zip(reports, texts, strict=True):
        write_report(path, text)


def _pieces(
    result: LintResult, form: str, *, color: bool = False, statistics: bool = False, encoding: str = "utf-8"
) -> Iterator[str]:
    if form not in FORMATS:
        raise ValueError(f"no such format: {form!r}")
    if form in TEXT_FORMATS:
        return _text(result, form, color=color, statistics=statistics, encoding=encoding)
    import importlib

    module = importlib.import_module(f"promptguard.report.findings.{form}")
    # A path may hold a lone surrogate, which UTF-8 cannot.
    return (piece.encode("utf-8", "replace").decode("utf-8") for piece in module.render(result))


def _text(result: LintResult, form: str, *, color: bool, statistics: bool, encoding: str) -> Iterator[str]:
    """A report for a terminal, line by line: the findings, and an ending that is the same in each format."""
    from promptguard.report.findings.words import ending
    from promptguard.report.plain import encodable, painter

    paint = painter(color)
    if result.records:
        if form == "full":
            from promptguard.report.findings.full import render
        else:
            from promptguard.report.findings.concise import render
        yield from render(result.records, paint, encoding)
    for line in ending(result, paint, statistics=statistics):
        yield encodable(line, encoding)
