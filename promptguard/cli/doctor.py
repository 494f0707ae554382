"""``promptguard doctor``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptguard.cli.numbers import refuse_nan
from promptguard.core.config import load_config
from promptguard.core.errors import ConfigError

if TYPE_CHECKING:
    from promptguard.diagnosis.context import Workload
    from promptguard.diagnosis.result import Diagnosis
    from promptguard.prompts.rendering import Renderer

FILE = click.Path(path_type=Path, readable=False)  # our own reader says it in our own words
TIMEOUT = 120.0
_FILES = ("task", "system", "context", "tools")


@click.command(short_help="Say what stands in the way of reuse on a llama-server.")
@click.option("--server", metavar="URL", help="Address of the llama-server.  [default: from the configuration file]")
@click.option(
    "--task", type=FILE, metavar="FILE", help="Task that its context has to hold.  [default: the built-in four-tool task]"
)
@click.option("--no-requests", is_flag=True, help="Send no prompt to the model: only look, and say what cannot be told then.")
@click.option(
    "--timeout",
    type=click.FloatRange(1, 3600),
    default=TIMEOUT,
    callback=refuse_nan,
    metavar="SECONDS",
    help="For one answer.  [default: 120]",
)
@click.option(
    "--jetson/--no-jetson", default=None, help="Look at the board as well.  [default: where it is one and runs the server]"
)
@click.option(
    "--output-format", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True, help="Format."
)
@click.option("--report", multiple=True, metavar="FORMAT=FILE", help="Also write a report to a file.  [repeatable]")
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when something is in the way.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def doctor(
    server: str | None,
    task: Path | None,
    no_requests: bool,
    timeout: float,
    jetson: bool | None,
    output_format: str,
    report: tuple[str, ...],
    config: Path | None,
    color: str,
    exit_zero: bool,
    quiet: bool,
) -> int:
    """Say what stands in the way of reuse on a llama-server, each with the flag to set.

    Reads /props, /slots and /metrics, tries the chat template, and sends a few short prompts that show what the server really
    reuses: about 2,000 tokens, and the same again in variants. They take the place of what a slot holds, so none is sent while
    other requests run. On a Jetson that runs the server the board is looked at as well: power mode, clocks, memory.

    An API key is read from the environment variable PROMPTGUARD_API_KEY.

    In the way is what costs one agent alone tokens; at risk is what does so when other conversations come.

    Exit codes: 0 nothing is in the way, 1 something is, 2 there is no llama-server that can be judged.
    """
    from promptguard.cli.complain import complain
    from promptguard.report.doctor import FORMATS, render
    from promptguard.report.files import check_target, parse_report_options, write_report

    reports = parse_report_options(report, FORMATS)
    for _, path in reports:  # now, rather than after the run
        check_target(path)
    said = load_config(explicit=config).replay
    found = _diagnose(server or said.get("server"), task, said, requests=not no_requests, timeout=timeout, jetson=jetson)
    for form, path in reports:
        write_report(path, render(found, form))
    if not quiet:
        _print(found, output_format, color)
    if found.error is not None:
        complain(found.error)
        return 2
    return 1 if found.verdict == "obstructed" and not exit_zero else 0


def _diagnose(server: Any, task: Path | None, said: Any, *, requests: bool, timeout: float, jetson: bool | None) -> Diagnosis:
    if not server:
        raise ConfigError(
            "is missing", where="--server", hint="give the address of a llama-server, such as http://127.0.0.1:8080"
        )
    try:
        from promptguard.engines.http import api_key_from_environment, check_url
    except ModuleNotFoundError as error:
        raise ConfigError(f"doctor needs the package {error.name}", hint="pip install 'promptguard-ci[replay]'") from None
    from promptguard.diagnosis.board import Board
    from promptguard.diagnosis.run import diagnose, wants_board
    from promptguard.prompts.rendering import Renderer

    url = check_url(str(server))
    board = Board()
    with Renderer() as renderer:
        renderer.start()
        files = {name: Path(str(said[name])) for name in _FILES if said.get(name) is not None}
        if task is not None:
            files = {"task": task}
        return diagnose(
            url,
            _workload(files, renderer),
            renderer,
            api_key=api_key_from_environment(),
            timeout=timeout,
            requests=requests,
            board=board if (wants_board(url, board) if jetson is None else jetson) else None,
        )


def _workload(files: dict[str, Path], renderer: Renderer) -> Workload:
    from promptguard.diagnosis.context import Workload
    from promptguard.replaying.inputs import load_inputs
    from promptguard.replaying.run import Replay

    inputs = load_inputs(**files)
    return Workload(inputs.task.name, Replay(inputs, renderer).need)


def _print(found: Diagnosis, output_format: str, color: str) -> None:
    from promptguard.cli.lint import colored
    from promptguard.cli.output import write_output
    from promptguard.report.doctor import render

    encoding = (sys.stdout.encoding if sys.stdout is not None and output_format == "text" else None) or "utf-8"
    paint = output_format == "text" and colored(color, sys.stdout)
    write_output(lambda write: write(render(found, output_format, color=paint, encoding=encoding)), encoding)
