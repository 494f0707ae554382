"""The commands of promptguard that the action runs, and what they leave behind."""

from __future__ import annotations

import json
import os
import os.path
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptguard_action.errors import ActionError
from promptguard_action.inputs import Inputs

VERSION = 1
"""Of the JSON reports that are read."""
LINT_SARIF = "promptguard.sarif"
REPLAY_SARIF = "replay.sarif"


@dataclass(frozen=True)
class Ran:
    """A command that has run.

    Attributes:
        name: of the command.
        code: its exit code.
        output: what it printed on standard output.
        messages: what it printed on standard error.
        report: its JSON report, ``None`` where it wrote none.
        markdown: its Markdown report, empty where it wrote none.
    """

    name: str
    code: int
    output: str
    messages: str
    report: dict[str, Any] | None = None
    markdown: str = ""

    @property
    def error(self) -> str | None:
        """Why it could not judge, ``None`` where it could."""
        if self.code in (0, 1):
            return "it wrote no report" if self.name in ("lint", "replay") and self.report is None else None
        if self.name == "lint" and self.code == 3:
            return "none of the paths holds anything to check"
        said = [line for line in self.messages.splitlines() if line.startswith("promptguard: error: ")]
        if said:
            return said[0].removeprefix("promptguard: error: ")
        for finding in self.report["findings"] if self.name == "lint" and self.report is not None else []:
            if finding["code"].startswith("PG9"):
                return f"{finding['path']} could not be judged: {finding['message']}"
        return self.messages.strip() or f"it ended with exit code {self.code}"

    @property
    def idle(self) -> bool:
        """Whether there was nothing for it to check."""
        if self.name == "lint":
            return self.code == 0 and self.report is not None and self.report["summary"]["files_checked"] == 0
        return self.name == "format" and self.output.endswith("no tool schemas found\n")


def lint(inputs: Inputs, folder: Path) -> Ran:
    """Lint once, with every report in ``folder``."""
    arguments = [f"--report={name}={folder / file}" for name, file in _LINT_FILES.items()]
    arguments += ["--no-cache", *_option("config", inputs.config), *_option("baseline", inputs.baseline), "--", *inputs.paths]
    return _run("lint", arguments, inputs.folder, folder / _LINT_FILES["json"], folder / _LINT_FILES["markdown"])


def format_check(inputs: Inputs) -> Ran:
    """Say which tool schemas are not in canonical form. The same paths are linted, and most of them are no tool schemas."""
    return _run("format", ["--check", "--as-found", *_option("config", inputs.config), "--", *inputs.paths], inputs.folder)


def replay(inputs: Inputs, folder: Path, *, base: Path | None = None) -> Ran:
    """Replay the task.

    Args:
        inputs: how.
        folder: for the reports.
        base: the files of the base, to replay those. The model is that of the head, where it need not be committed.

    Raises:
        ActionError: the installed promptguard writes other reports.
    """
    name = "replay" if base is None else "base"
    files = folder / f"{name}.json", folder / f"{name}.md"
    where = inputs.folder if base is None else base / inputs.prefix
    arguments = [f"--report=json={files[0]}", f"--report=markdown={files[1]}", *_of_replay(inputs, base)]
    if base is None:
        arguments.append(f"--report=sarif={folder / REPLAY_SARIF}")
    return _run("replay", arguments, where, *files)


def outline(inputs: Inputs, base: Path) -> dict[str, Any] | None:
    """What the report of a replay of the base will say of its settings, task, model and turns; ``None`` where that is not known,
    and the replay says why.
    """
    ran = _run("replay", ["--outline", *_of_replay(inputs, base)], base / inputs.prefix)
    found: dict[str, Any] | None = json.loads(ran.output) if ran.code == 0 else None
    return found


def _of_replay(inputs: Inputs, base: Path | None) -> list[str]:
    """The arguments that say what is replayed, and on what."""
    config = inputs.config if base is None else moved(inputs.config, inputs.root, base)
    model = str(inputs.folder / inputs.model_from) if inputs.model_from else ""
    arguments = [*_option("config", config), *_option("server", inputs.server), *_option("model-from", model)]
    more = inputs.args if base is None else _of_base(inputs, base)
    return [*arguments, *_option("min-hit-rate", inputs.min_hit_rate), *more]


def moved(word: str, root: Path, to: Path) -> str:
    """A path, or an option with one, that is absolute and lies in ``root``: the same below ``to``. Another word as it is."""
    name, joined, path = word.partition("=") if word.startswith("-") else ("", "", word)
    if Path(path).is_absolute():
        for form in map(Path, (os.path.normpath(path), os.path.realpath(path))):  # the workspace may be named through a link
            if form == root or root in form.parents:
                return f"{name}{joined}{to / form.relative_to(root)}"
    return word


def _of_base(inputs: Inputs, base: Path) -> Iterator[str]:
    """The further arguments: with the base's files, the head's model, and without reports, which would replace the head's."""
    words = iter(inputs.args)
    for word in words:
        name, joined, value = word.partition("=")
        if name not in ("--model", "--model-from", "--report"):
            yield moved(word, inputs.root, base)
            continue
        value = value if joined else next(words, "")
        if name != "--report":
            yield f"{name}={inputs.folder / value}"


_LINT_FILES = {"json": "lint.json", "sarif": LINT_SARIF, "markdown": "lint.md"}


def _option(name: str, value: str) -> list[str]:
    return [f"--{name}={value}"] if value else []


def _run(name: str, arguments: list[str], where: Path, report: Path | None = None, markdown: Path | None = None) -> Ran:
    if not where.is_dir():
        return Ran(name, 2, "", "promptguard: error: the folder does not exist there\n")
    # -I: no module is taken from the checkout that is judged, which promptguard reads and never runs.
    command = [sys.executable, "-I", "-X", "utf8", "-m", "promptguard", name, *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"} | {"NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    return Ran(name, done.returncode, done.stdout, done.stderr, _json(report), _text(markdown))


def _json(path: Path | None) -> dict[str, Any] | None:
    if path is None or not path.is_file():
        return None
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict) or value.get("version") != VERSION:
        raise ActionError(f"{path.name}: this release of the action reads version {VERSION} of the reports; leave version out")
    return value


def _text(path: Path | None) -> str:
    return path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
