"""``promptguard probe``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptguard.cli.numbers import refuse_nan
from promptguard.core.errors import ConfigError, InputError, PromptguardError
from promptguard.core.option_tables import PROBE_OPTIONS
from promptguard.probing.run import RUNS, TIMEOUT
from promptguard.report.probes import FORMATS

if TYPE_CHECKING:
    from promptguard.probing.result import Probed


_RUNS, _TIMEOUT = (option for option in PROBE_OPTIONS if option.kind in ("integer", "number"))


@click.command(short_help="Build prompts in other surroundings and say what they change with.")
@click.argument("builders", nargs=-1, required=True, metavar="BUILDER...")
@click.option("--args", "arguments", metavar="JSON", help="Keyword arguments for the builders, as a JSON object.")
@click.option("--whole", is_flag=True, help="Compare the last user message too, which may otherwise change.")
@click.option(
    "--runs",
    type=click.IntRange(int(_RUNS.minimum or 0), int(_RUNS.maximum or 0)),
    default=RUNS,
    show_default=True,
    metavar="N",
    help=_RUNS.help,
)
@click.option(
    "--timeout",
    type=click.FloatRange(_TIMEOUT.minimum, _TIMEOUT.maximum),
    default=TIMEOUT,
    callback=refuse_nan,
    show_default=True,
    metavar="X",
    help=_TIMEOUT.help,
)
@click.option("--python", metavar="FILE", help="Interpreter of the project.  [default: the one that promptguard runs in]")
@click.option("--tokenizer", metavar="FILE", help="What counts tokens: a tokenizer.json, a GGUF file or tiktoken:ENCODING.")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="Format.")
@click.option("--report", multiple=True, metavar="FORMAT=FILE", help="Also write a report to a file.  [repeatable]")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when a prompt changes.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def probe(
    builders: tuple[str, ...],
    arguments: str | None,
    whole: bool,
    runs: int,
    timeout: float,
    python: str | None,
    tokenizer: str | None,
    output_format: str,
    report: tuple[str, ...],
    color: str,
    exit_zero: bool,
    quiet: bool,
) -> int:
    """Build prompts in other surroundings and say what they change with.

    BUILDER is a function that returns a prompt (a text, messages, tools or a request): package.module:function, imported as
    python -m would from here, or path/to/file.py:function. Its code is run, in processes of its own: twice as things are, and
    several times with another clock, hash seed, random seed, order of folders and environment variables, time zone, locale,
    working directory, folders for the home and for temporary files, user and host. The prompt must stay the same, but for its
    last user message.

    Exit codes: 0 stable, 1 a prompt changes, 2 a prompt could not be judged, or usage is wrong.
    """
    from promptguard.cli.complain import complain
    from promptguard.report.files import check_target, parse_report_options, write_report
    from promptguard.report.probes import render
    from promptguard.report.probes.words import error

    reports = parse_report_options(report, FORMATS)
    for _, path in reports:  # now, rather than after the run
        check_target(path)
    given = _arguments(arguments)
    settings = {"args": given, "whole": whole, "runs": runs, "timeout": timeout, "python": python, "tokenizer": tokenizer}
    probed = [_probe(builder, settings) for builder in builders]
    for form, path in reports:
        write_report(path, render(probed, form))
    if not quiet:
        _print(probed, output_format, color)
    verdicts = [one.verdict for one in probed]
    if quiet or output_format != "text":
        for one in probed:
            if one.error is not None:
                complain(f"{one.builder}: {error(one)}")
    if "unjudged" in verdicts:
        return 2
    return 1 if "unstable" in verdicts and not exit_zero else 0


def _probe(builder: str, settings: dict[str, Any]) -> Probed:
    from promptguard.probing.result import Probed
    from promptguard.probing.run import probe as run

    try:
        return Probed(builder, result=run(builder, **settings))
    except PromptguardError as error:
        return Probed(builder, error=error)


def _arguments(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    try:
        value = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is no JSON ({error})", where="--args") from None
    if not isinstance(value, dict):
        raise ConfigError("is no JSON object", where="--args", hint='write it as {"name": value}')
    return value


def _print(probed: Sequence[Probed], output_format: str, color: str) -> None:
    from promptguard.cli.lint import colored
    from promptguard.cli.output import write_output
    from promptguard.report.probes import render

    if sys.stdout is None:
        raise InputError("standard output cannot be written (it is closed)")
    encoding = (sys.stdout.encoding if output_format == "text" else None) or "utf-8"
    text = render(probed, output_format, color=output_format == "text" and colored(color, sys.stdout), encoding=encoding)
    write_output(lambda write: write(text), encoding)
