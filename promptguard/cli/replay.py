"""``promptguard replay``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from promptguard.cli.numbers import refuse_nan
from promptguard.core.option_tables import REPLAY_OPTIONS
from promptguard.core.options import Option

FILE = click.Path(path_type=Path, readable=False)  # our own reader says it in our own words
Command = TypeVar("Command", bound=Callable[..., Any])


def _flags(command: Command) -> Command:
    """Every option that the configuration file knows, as a flag."""
    for option in reversed(REPLAY_OPTIONS):
        command = _flag(option)(command)
    return command


def _flag(option: Option) -> Callable[[Command], Command]:
    name, text = f"--{option.name}", option.help + (f"  [default: {option.default}]" if option.default else "")
    if option.kind == "boolean":
        return click.option(f"{name}/--no-{option.name}", default=None, help=text)
    if option.kind == "list":
        return click.option(name, multiple=True, metavar="FORMAT=FILE", help=f"{text}  [repeatable]")
    if option.kind == "path":
        return click.option(name, type=FILE, metavar="FILE", help=text)
    if option.kind == "integer":
        return click.option(name, type=click.IntRange(_whole(option.minimum), _whole(option.maximum)), metavar="N", help=text)
    if option.kind == "number":
        return click.option(
            name, type=click.FloatRange(option.minimum, option.maximum), metavar="X", help=text, callback=refuse_nan
        )
    if option.choices:
        return click.option(name, type=click.Choice(option.choices), help=text)
    return click.option(name, metavar="TEXT" if option.name != "server" else "URL", help=text)


def _whole(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


@click.command(short_help="Replay a four-tool agent task on a real llama.cpp and check its prefix cache.")
@_flags
@click.option(
    "--inject",
    metavar="DEFECT[@TURN]",
    help="Plant a known defect, to see that the gate catches it: clock-head, clock-tail, uuid-in-tool, reorder-tools, "
    "reorder-keys, extra-space or drop-history.",
)
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when the gate fails.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--outline", is_flag=True, hidden=True, help="Print what would be replayed, as JSON, for the GitHub Action.")
def replay(config: Path | None, inject: str | None, exit_zero: bool, quiet: bool, outline: bool, **flags: Any) -> int:
    """Replay a fixed four-tool agent task on a real llama.cpp.

    Measures on every turn how many prompt tokens came from the prefix cache and how many were prefilled, and fails when the hit
    rate is below the minimum or any turn lost tokens that it could have kept. Without options it runs the built-in task on a tiny
    model with an embedded llama-server: no GPU, no download.

    An API key for --server is read from the environment variable PROMPTGUARD_API_KEY.
    """
    from promptguard.cli.complain import complain
    from promptguard.cli.progress import progress
    from promptguard.core.errors import InputError, PromptguardError
    from promptguard.replaying.command import execute
    from promptguard.replaying.result import Result
    from promptguard.replaying.settings import replay_settings
    from promptguard.report.files import check_target, parse_report_options, show, write_report
    from promptguard.report.files import render as render_report

    settings = replay_settings(flags, config)
    if outline:
        return _print_outline(settings, inject)
    reports = parse_report_options(settings.pop("report") or ())
    for _, path in reports:  # now, rather than after a long run
        check_target(path)
    output_format = settings.pop("output_format") or "text"
    accepted = None
    if settings.get("chat_template") is not None:
        from promptguard.linting.accepted import acceptance

        accepted = acceptance(config)
    lines = not quiet and output_format in ("text", "markdown")
    try:
        result = execute(settings, inject=inject, progress=partial(progress, lines=lines), accepted=accepted)
    except PromptguardError as error:
        # An earlier report left in its place would say that all is well.
        result = Result.without_run(str(error))
        quiet = True
    for name, path in reports:
        write_report(path, render_report(result, name))
    if not quiet:
        try:
            show(result, output_format, sys.stdout)
            sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains when it exits
            if not isinstance(error, BrokenPipeError):  # its reader has seen enough; the verdict stands
                raise InputError(f"cannot be written: {error.strerror or error}", where="standard output") from None
    if result.error:
        complain(result.error)
        return 2
    return 0 if result.passed or exit_zero else 1


def _print_outline(settings: dict[str, Any], inject: str | None) -> int:
    import json

    from promptguard.replaying.outline import outline

    for name in ("report", "output_format"):
        settings.pop(name)
    click.echo(json.dumps(outline(settings, inject)))
    return 0
