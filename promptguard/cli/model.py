"""``promptguard model``: make models to replay on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from promptguard.models.twin import TwinReport


@click.group()
def model() -> None:
    """Make models to replay on."""


@model.command()
@click.option(
    "--from",
    "source",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, readable=False),
    help="A GGUF file, a tokenizer.json, or a folder that holds a tokenizer.json.",
)
@click.option(
    "--tokenizer-config",
    metavar="FILE",
    type=click.Path(path_type=Path, readable=False),
    help="The tokenizer_config.json that belongs to a tokenizer.json.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, readable=False),
    help="The GGUF file to write.",
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def tiny(source: Path, tokenizer_config: Path | None, output: Path, force: bool) -> None:
    """Make the tiny-random twin of a model.

    It has the tokenizer, the chat template and the attention layout of the real one and a few megabytes of random weights, so it
    uses the prefix cache in the same way and answers nonsense.
    """
    from promptguard.core.errors import ConfigError
    from promptguard.models.make import make_tiny

    if os.path.exists(output) and not force:  # noqa: PTH110 - unlike that of pathlib it never fails
        raise ConfigError("exists already", where=str(output), hint="add --force to replace it")
    report = make_tiny(source, output, tokenizer_config=tokenizer_config)
    click.echo(describe(report))
    for note in report.notes:
        click.echo(f"note: {note}")


def describe(report: TwinReport) -> str:
    """One line about a model that was made."""
    window = "full attention" if report.window is None else f"sliding window of {report.window} tokens"
    return (
        f"{report.path}: {report.architecture}, {report.layers} layers, {window}, context of {report.context} tokens, "
        f"vocabulary of {report.vocabulary} tokens, {report.size / 1e6:.1f} MB"
    )
