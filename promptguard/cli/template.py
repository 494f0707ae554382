"""``promptguard template``: look into chat templates."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from promptguard.core.errors import ConfigError, InputError

FILE = click.Path(readable=False)  # our own reader says it in our own words


@click.group()
def template() -> None:
    """Look into chat templates."""


@template.command(short_help="Try whether chat templates keep the prefix of a conversation.")
@click.argument("places", nargs=-1, required=True, metavar="FILE_OR_URL...")
@click.option("--name", metavar="NAME", help="Only the template of this name; default is the one without.  [default: all]")
@click.option(
    "--kwargs",
    multiple=True,
    metavar="KEY=VALUE",
    help="A variable that requests hand to the template (chat_template_kwargs); VALUE is JSON, or else a text.  [repeatable]",
)
@click.option("--tokenizer", metavar="FILE", help="What counts tokens: a tokenizer.json, a GGUF file or tiktoken:ENCODING.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@click.option("--report", multiple=True, metavar="FORMAT=FILE", help="Also write a report to a file.  [repeatable]")
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when a template breaks the prefix or there is none.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def check(
    places: tuple[str, ...],
    name: str | None,
    kwargs: tuple[str, ...],
    tokenizer: str | None,
    output_format: str,
    report: tuple[str, ...],
    config: str | None,
    color: str,
    exit_zero: bool,
    quiet: bool,
) -> int:
    """Try whether chat templates keep the prefix of a conversation.

    They do where the prompt of each turn, with its reply, is the beginning of the next prompt. Each template is rendered with a
    fixed set of conversations (plain chat, tool calls, new user messages, with and without reasoning), turn by turn. What is lost
    is said in tokens, with its place in the template, its cause and what to do.

    FILE_OR_URL is a Jinja file, a tokenizer_config.json, a chat_template.json, a GGUF model (its header alone is read), or the
    address of a llama-server, whose API key is read from the environment variable PROMPTGUARD_API_KEY.

    Exit codes: 0 the prefix is kept, 1 a template breaks it or fails on a conversation, 2 a template could not be judged, 3 a
    place holds no chat template.
    """
    from promptguard.linting.load import make_plan
    from promptguard.linting.templates import exit_code, tell_stories
    from promptguard.prompts.counting import counter
    from promptguard.report.files import check_target, parse_report_options, write_report
    from promptguard.report.templates import FORMATS, render

    reports = parse_report_options(report, FORMATS)
    for _, path in reports:  # now, rather than after the run
        check_target(path)
    plan = make_plan({"tokenizer": tokenizer, "config": config})
    stories = tell_stories(places, counter(plan.settings.tokenizer), name=name, kwargs=_kwargs(kwargs))
    for form, path in reports:
        write_report(path, render(stories, form))
    if not quiet:
        _print(stories, output_format, color)
    else:
        _complain([story for story in stories if not (exit_zero and story.missing)])
    code = exit_code(stories)
    return 0 if exit_zero and code in (1, 3) else code


def _kwargs(given: tuple[str, ...]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key.isidentifier():
            raise ConfigError("a name or a value is missing", where=f"--kwargs {item}", hint="write it as KEY=VALUE")
        try:
            found[key] = json.loads(value)
        except (ValueError, RecursionError):
            found[key] = value
    return found


def _complain(stories: Any) -> None:
    """Say on standard error why there is no verdict."""
    from promptguard.cli.complain import complain
    from promptguard.report.templates.words import title

    for story in stories:
        error = story.error or (story.preservation.error if story.preservation is not None else None)
        if error is not None:
            complain(f"{title(story)}: {error.what}" + (f"; {error.hint}" if error.hint else ""))


def _print(stories: Any, output_format: str, color: str) -> None:
    from promptguard.cli.lint import colored
    from promptguard.report.templates import render

    stream = sys.stdout
    if stream is None:
        raise InputError("standard output cannot be written (it is closed)")
    encoding = (stream.encoding if output_format == "text" else None) or "utf-8"
    text = render(stories, output_format, color=output_format == "text" and colored(color, stream), encoding=encoding)
    try:
        stream.flush()
        stream.buffer.write(text.encode(encoding, "backslashreplace"))
        stream.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else the interpreter complains when it exits
        if not isinstance(error, BrokenPipeError):  # its reader has seen enough; the verdict stands
            raise InputError(f"standard output cannot be written ({error.strerror or error})") from None
