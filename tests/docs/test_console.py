"""The commands in the documents: the real command line takes every one, and those that can run do what is shown."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from markdown_pages import DOCUMENTS, ROOT, fences
from processes import without_progress

from promptguard.cli.commands import promptguard

SHELLS = {"console", "sh", "bash", "shell"}


class Example(NamedTuple):
    """A line that a reader types, and what is shown below it."""

    document: str
    line: str
    shown: str


def examples() -> Iterator[Example]:
    """The examples of all documents."""
    for document in DOCUMENTS:
        for language, block in fences(document):
            for line, shown in typed(language, block.replace("\\\n", " ")):
                yield Example(document, line, shown)


def typed(language: str, block: str) -> Iterator[tuple[str, str]]:
    """The lines of a fenced block that a reader types, each with what is shown below it.

    They are those behind ``$``; where there are none, every line of a block for a shell, and the steps of a workflow.
    """
    _, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    if not parts and language in SHELLS:
        parts = block.splitlines()
    elif not parts and language in ("yaml", "yml"):
        parts = re.findall(r"^ *(?:- )?(?:run: )?(promptguard .*)", block, re.MULTILINE)
    for part in parts:
        line, _, shown = part.partition("\n")
        yield line, shown


def commands(line: str) -> Iterator[list[str]]:
    """The arguments of each promptguard that a line starts; variables in front of it and redirections are left out."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command: list[str] = []
    for word in [*words, ";"]:
        if not re.fullmatch(r"[();<>|&]+", word):
            command.append(word)
            continue
        while command and re.match(r"[A-Za-z_]\w*=", command[0]):
            del command[0]
        if command[:1] == ["promptguard"]:
            yield command[1:]
        # What follows a redirection is a file.
        command = ["a file"] if set(word) & set("<>") else []


def accept(command: click.Command, arguments: list[str], parent: click.Context) -> None:
    """Parse arguments as the command line does, and run nothing."""
    if isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        inner = command.get_command(parent, arguments[0])
        if inner is None:
            raise click.UsageError(f"there is no command {arguments[0]}")
        accept(inner, arguments[1:], click.Context(inner, info_name=arguments[0], parent=parent))
        return
    with contextlib.suppress(click.exceptions.Exit):  # --help and --version
        command.make_context(parent.info_name, arguments, parent=parent.parent)


EXAMPLES = list(examples())
PARSED = [(example, arguments) for example in EXAMPLES for arguments in commands(example.line)]


@pytest.mark.parametrize(("example", "arguments"), PARSED, ids=[f"{example.document}: {example.line}" for example, _ in PARSED])
def test_the_command_line_takes_it(example: Example, arguments: list[str]) -> None:
    accept(promptguard, arguments, click.Context(promptguard, info_name="promptguard"))


@pytest.mark.parametrize("arguments", [["lint", "--no-such"], ["no-such"], ["template", "no-such"], ["replay", "--seed", "x"]])
def test_what_it_does_not_take_is_seen(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        accept(promptguard, arguments, click.Context(promptguard, info_name="promptguard"))


def test_the_lines_that_are_typed() -> None:
    assert list(typed("console", "$ a b\nout\nof\n$ c\n")) == [("a b", "out\nof\n"), ("c", "")]
    assert list(typed("sh", "a\nb\n")) == [("a", ""), ("b", "")]
    steps = "- run: promptguard lint\n- run: |\n    promptguard replay\n  name: promptguard\n"
    assert list(typed("yaml", steps)) == [("promptguard lint", ""), ("promptguard replay", "")]
    assert list(typed("text", "promptguard lint\n")) == []


def test_the_commands_of_a_line() -> None:
    line = "cd x && A=1 promptguard lint 'a b' > promptguard; promptguard replay | promptguard rule  # promptguard"
    assert list(commands(line)) == [["lint", "a b"], ["replay"], ["rule"]]


RUNS: dict[tuple[str, str], tuple[int, dict[str, str]]] = {
    ("README.md", "promptguard lint prompts/"): (1, {"prompts/system.j2": "jinja"}),
    ("README.md", "promptguard replay --system prompts/system.j2"): (1, {"prompts/system.j2": "jinja"}),
    ("README.md", "promptguard probe agent:build"): (1, {"prompts/system.j2": "jinja", "agent.py": "python"}),
    ("README.md", "promptguard format prompts/tools.json"): (0, {"prompts/tools.json": "json"}),
    ("docs/replay.md", "promptguard replay --inject reorder-tools@7"): (1, {}),
}
"""What can run, by document and line: its exit code, and the files that it finds: the document's first block of a language."""


@pytest.mark.parametrize(("document", "line"), RUNS)
def test_it_does_what_is_shown(document: str, line: str, tmp_path: Path) -> None:
    shown = next(example.shown for example in EXAMPLES if example[:2] == (document, line))
    code, files = RUNS[document, line]
    for path, language in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(next(text for name, text in fences(document) if name == language), encoding="utf-8")
    command = [sys.executable, "-m", *shlex.split(line)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=environment)
    assert done.returncode == code, done.stderr
    assert re.fullmatch(pattern(shown), " ".join((done.stdout + without_progress(done.stderr)).split())), done.stdout


def pattern(shown: str) -> str:
    """What an output has to match: a line of three dots stands for any lines, an ellipsis for any text; white space is alike, and
    so are the places of characters: where two ids differ first is not always the same.
    """
    pieces = (" ".join(piece.split()) for piece in re.split(r"^ *\.\.\.$", shown, flags=re.MULTILINE))
    escaped = ".*".join(re.escape(piece).replace("…", ".*?") for piece in pieces)
    return re.sub(r"character\\ \d+", r"character\\ \\d+", escaped)


def test_the_pattern_of_an_output() -> None:
    assert re.fullmatch(pattern(" ...\nb c…e\n ...\n"), "a b cde f")
    assert not re.fullmatch(pattern("b c…e\n ...\n"), "a b cde f")
    assert not re.fullmatch(pattern(" ...\nb c…e\n"), "a b cde f")
    assert re.fullmatch(pattern("a, character 51, b"), "a, character 7, b")
