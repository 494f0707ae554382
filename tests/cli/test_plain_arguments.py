from __future__ import annotations

import random
from typing import Any

import click
import pytest

from promptguard.cli import lint
from promptguard.cli.arguments import Flag, click_command, read_plain

FLAGS = (
    Flag("pedantic", "pair", ""),
    Flag("fix", "switch", ""),
    Flag("quiet", "switch", "", short="q"),
    Flag("select", "repeated", "", "RULES"),
    Flag("output-format", "value", "", choices=("full", "json")),
    Flag("jobs", "value", "", "N", minimum=1, maximum=64),
    Flag("config", "value", "", "FILE"),
)
PIECES = [
    *(
        "--pedantic",
        "--no-pedantic",
        "--fix",
        "-q",
        "--select",
        "--select=PG1,PG2",
        "--select=",
        "--output-format",
        "json",
        "full",
    ),
    *(
        "--output-format=json",
        "--output-format=xml",
        "--jobs",
        "3",
        "--jobs=64",
        "--jobs=65",
        "--jobs=0",
        "--jobs=x",
        "--jobs= 3",
    ),
    *(
        "--config",
        "a=b",
        "--config=x=y",
        "a.j2",
        "-",
        "--",
        "",
        "-x",
        "--fix=1",
        "--no-fix",
        "--unknown",
        "--help",
        "-qq",
        "--pedan",
    ),
    *("--jobs=٣", "--jobs=1_0", "--config=--fix", "dir/é.j2", "--output-format=JSON", "-q=1", "--jobs=-1", "---"),
]


def by_click(arguments: list[str], flags: tuple[Flag, ...]) -> dict[str, Any] | None:
    command = click_command("lint", flags, lambda _: 0, short="", text="")
    try:
        return command.make_context("lint", list(arguments)).params
    except (click.ClickException, click.exceptions.Exit):
        return None


def test_plain_arguments_have_the_values_that_click_gives() -> None:
    draw = random.Random(0)
    read = 0
    for _ in range(4000):
        arguments = draw.choices(PIECES, k=draw.randint(0, 6))
        values = read_plain(arguments, FLAGS)
        if values is not None:
            read += 1
            assert values == by_click(arguments, FLAGS), arguments
    assert read > 500


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.j2", "b"],
        ["-q", "--fix", "a.j2", "--select", "PG1", "--select=PG2"],
        ["--no-pedantic", "--pedantic", "--jobs", "4", "--output-format", "json"],
        ["--stdin-filename", "a.j2", "-"],
        ["--report", "json=a.json", "--report", "sarif=b", "--color", "never", "--exclude", "x", "--per-file-ignores", "a:PG1"],
        ["--config", "--fix", "--", "--fix"],
        [f"--{flag.name}" for flag in lint.FLAGS if flag.shape in ("switch", "pair")],
    ],
)
def test_the_arguments_of_lint_are_plain(arguments: list[str]) -> None:
    values = lint.read_arguments(arguments)
    assert values is not None
    assert values == by_click(arguments, lint.FLAGS)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["--jobs"], ["--jobs", "x"], ["--nope"], ["--fix=1"], ["--output-format", "x"], ["-qv"]]
)
def test_help_and_errors_are_left_to_click(arguments: list[str]) -> None:
    assert lint.read_arguments(arguments) is None
    assert by_click(arguments, lint.FLAGS) is None
