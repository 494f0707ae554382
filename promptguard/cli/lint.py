"""``promptguard lint``: first thin path."""

from __future__ import annotations

import sys

import click


@click.command("lint")
@click.argument("paths", nargs=-1)
@click.option("--select", default="PG")
@click.option("--pedantic", is_flag=True)
@click.option("--output-format", default="concise")
def lint(paths: tuple[str, ...], select: str, pedantic: bool, output_format: str) -> int:
    """Find what breaks the prefix cache."""
    import os

    from promptguard.core.discover import find_files
    from promptguard.core.files import read_text
    from promptguard.lint.check import Checker
    from promptguard.lint.result import LintResult
    from promptguard.lint.settings import Settings
    from promptguard.report.findings import write_findings

    checker = Checker(Settings(os.getcwd(), select=tuple(select.split(",")), pedantic=pedantic))
    results = []
    for target in find_files(list(paths) or ["."], (".j2", ".jinja", ".jinja2", ".md", ".txt", ".json", ".yaml", ".yml", ".sh")):
        results.append(checker.check(target.path, read_text(target.path, limit=8 << 20), named=target.named))
    records = tuple(record for result in results for record in result.records)
    checked = sum(result.checked for result in results)
    write_findings(LintResult(records, checked, len(results)), output_format, sys.stdout.write)
    return 1 if records else 0
