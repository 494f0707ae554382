"""``promptguard replay``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from promptguard.core.config import load_config
from promptguard.core.errors import ConfigError

FILE = click.Path(path_type=Path)


@click.command(short_help="Replay a four-tool agent task on a real llama.cpp and check its prefix cache.")
@click.option("--system", type=FILE, metavar="FILE", help="System prompt: plain text, or a Jinja template rendered anew each turn.")
@click.option("--context", type=FILE, metavar="FILE", help="JSON or YAML with values for the templates' variables.")
@click.option("--tools", type=FILE, metavar="FILE", help="Tool schemas: JSON, or a Jinja template (.j2) that gives JSON.")
@click.option("--chat-template", type=FILE, metavar="FILE", help="Chat template to use instead of the model's own.")
@click.option("--task", type=FILE, metavar="FILE", help="Task to replay instead of the built-in four-tool task.")
@click.option("--server", metavar="URL", help="Measure on this llama-server, such as http://127.0.0.1:8080.")
@click.option(
    "--engine",
    type=click.Choice(["llama-server", "llama-cpp-python"]),
    help="Engine to start where no --server is given.  [default: llama-server]",
)
@click.option("--model", type=FILE, metavar="GGUF", help="Run the engine on this model instead of the built-in tiny one.")
@click.option("--model-from", type=FILE, metavar="FILE", help="Run it on a tiny-random twin of this GGUF (or tokenizer.json).")
@click.option("--slot", type=click.IntRange(min=0), help="Slot of the server to pin the run to.  [default: an idle one]")
@click.option("--ctx-size", type=click.IntRange(min=256), metavar="TOKENS", help="Context of the started engine.  [default: fits the task]")
@click.option("--swa-full/--no-swa-full", default=None, help="Keep the whole cache of sliding-window layers.  [default: no]")
@click.option("--timeout", type=click.FloatRange(min=1, max=86400), metavar="SECONDS", help="Limit for the engine's start and for each answer.")
@click.option("--min-hit-rate", type=click.FloatRange(0, 1), metavar="RATE", help="Least hit rate that passes.  [default: 0.8]")
@click.option("--prompt-loss-tolerance", type=click.IntRange(min=0), metavar="TOKENS", help="Prompt loss a turn may have.  [default: 0]")
@click.option("--engine-loss-tolerance", type=click.IntRange(min=0), metavar="TOKENS", help="Engine loss a turn may have.  [default: 0]")
@click.option("--live/--no-live", default=None, help="Let the model answer (temperature 0); only the tools are scripted.")
@click.option("--max-turns", type=click.IntRange(2, 1000), metavar="N", help="Most requests of a --live run.  [default: 32]")
@click.option("--max-tokens", type=click.IntRange(1, 32768), metavar="N", help="Most tokens of one --live reply.  [default: 256]")
@click.option("--compare-uncached/--no-compare-uncached", default=None, help="Run again with the cache off and give both times.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of the values that differ between turns.  [default: 0]")
@click.option("--inject", metavar="DEFECT[@TURN]", help="Plant a known defect, to see that the gate catches it: clock-head, clock-tail, "
              "uuid-in-tool, reorder-tools, reorder-keys, extra-space, drop-history.")  # fmt: skip
@click.option(
    "--output-format", type=click.Choice(["text", "json", "markdown", "junit"]), help="What to print.  [default: text]"
)
@click.option("--report", multiple=True, metavar="FORMAT=FILE", help="Also write a report: json, markdown, junit or text. Repeatable.")
@click.option("--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even when the gate fails.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def replay(config: Path | None, report: Sequence[str], inject: str | None, exit_zero: bool, quiet: bool, **flags: Any) -> int:
    """Replay a fixed four-tool agent task on a real llama.cpp.

    Measures on every turn how many prompt tokens came from the prefix cache and how many were prefilled, and fails when the hit rate
    is below the minimum or any turn lost tokens that it could have kept. Without options it runs the built-in task on a tiny model
    with an embedded llama-server: no GPU, no download.

    An API key for --server is read from the environment variable PROMPTGUARD_API_KEY.
    """
    settings = _settings(config, flags, report)
    from promptguard.replay.command import execute
    from promptguard.report.files import parse_report_option, render, write_report

    targets = [parse_report_option(text) for text in settings.pop("report")]
    _check_targets([path for _, path in targets])
    output_format = settings.pop("output_format") or "text"
    from promptguard.cli.progress import progress

    result = execute(settings, inject=inject, progress=progress)
    for name, path in targets:
        write_report(path, render(result, name))
    if not quiet:
        _print(result, output_format)
    if result.error:
        raise click.exceptions.Exit(_say(f"promptguard: error: {result.error}"))
    return 0 if result.passed or exit_zero else 1


def _settings(config: Path | None, flags: dict[str, Any], report: Sequence[str]) -> dict[str, Any]:
    """The flags, and for those not given the configuration file. Names have underscores."""
    loaded = load_config(Path.cwd(), config).replay
    settings = {name.replace("-", "_"): value for name, value in loaded.items()}
    # One choice of engine on the command line replaces the other one of the file.
    if any(flags[name] is not None for name in ("server", "model", "model_from", "engine")):
        for name in ("server", "model", "model_from", "engine"):
            settings.pop(name, None)
    for name, value in flags.items():
        if value is not None or name not in settings:
            settings[name] = value
    settings["report"] = list(report) or settings.get("report") or []
    return settings


def _check_targets(paths: Sequence[Path]) -> None:
    """Refuse before a long run what would fail after it."""
    for path in paths:
        folder = path.parent
        if not folder.is_dir():
            raise ConfigError("the folder of the report does not exist", where=str(path), hint=f"make {folder} first")
        if path.is_dir():
            raise ConfigError("is a folder", where=str(path), hint="name a file for the report")
        if not os.access(folder, os.W_OK):
            raise ConfigError("the folder of the report cannot be written to", where=str(path))


def _print(result: Any, output_format: str) -> None:
    from promptguard.report.files import render

    if output_format == "text":
        from promptguard.report.text import print_result

        print_result(result)
    else:
        click.echo(render(result, output_format))


def _say(message: str) -> int:
    click.echo(message, err=True)
    return 2
