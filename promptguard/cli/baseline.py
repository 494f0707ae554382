"""``promptguard baseline``."""

from __future__ import annotations

import os

import click

from promptguard.core.errors import InputError
from promptguard.linting.baseline import DEFAULT

FILE = click.Path(readable=False)  # our own reader says it in our own words


@click.command("baseline", short_help="Write down known findings, so that lint reports new ones alone.")
@click.argument("paths", nargs=-1, type=FILE)
@click.option("-o", "--output", type=FILE, metavar="FILE", help=f"The file to write.  [default: baseline of lint, or {DEFAULT}]")
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
def baseline(paths: tuple[str, ...], output: str | None, config: str | None) -> int:
    """Write down what lint finds now, so that it reports new findings alone.

    PATHS are files and folders (default: the current folder). Findings are known by their file, their rule and the text of their
    lines: they stay known when lines move. What is known of files elsewhere stays known. Set baseline in the configuration, or
    pass lint --baseline.

    Exit codes: 0 done, 2 a file could not be judged; the file is not written then.
    """
    from promptguard.core.files import replace_file
    from promptguard.linting.baseline import baseline_root, baseline_text, read_baseline
    from promptguard.linting.load import make_plan
    from promptguard.linting.run import collect, exit_code, find_targets, lint_files
    from promptguard.report.findings import write_findings

    plan = make_plan({"config": config})
    file = output or plan.baseline or DEFAULT
    known = read_baseline(file) if os.path.lexists(file) else None
    results = list(lint_files(find_targets(paths, plan), plan.settings, jobs=plan.jobs))
    result = collect(results)
    if exit_code(result, paths_given=bool(paths)) == 2:
        write_findings(result, "concise", lambda text: click.echo(text, nl=False, err=True))
        return 2
    text = baseline_text(results, baseline_root(file), known=known, looked_at=paths or (".",))
    try:
        replace_file(os.path.realpath(file), text.encode())
    except OSError as error:
        problem = f"the baseline cannot be written ({error.strerror or error})"
        raise InputError(problem, where=file, hint="name a file in a folder that can be written to") from None
    count = len(result.records) + result.more
    findings = f"{count} finding{'' if count == 1 else 's'}"
    click.echo(f"wrote {findings} to {file}")
    return 0
