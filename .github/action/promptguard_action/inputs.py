"""The inputs of the action, which come in environment variables, and what they mean."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from promptguard_action.errors import ActionError

FAIL_ON = ("any", "warning", "error", "never")
_SWITCHES = {"true": True, "on": True, "false": False, "off": False}


@dataclass(frozen=True)
class Inputs:
    """What the user asks for.

    Attributes:
        folder: where promptguard runs.
        root: the repository that it lies in; the workspace where it lies in none.
        prefix: the path from ``root`` to ``folder``, with a slash at its end; empty where they are the same.
        paths: what to lint and format; nothing stands for the whole folder.
        args: further arguments of ``promptguard replay``.
    """

    folder: Path
    root: Path
    prefix: str
    paths: tuple[str, ...]
    config: str
    lint: bool
    format: bool
    replay: bool
    server: str
    model_from: str
    min_hit_rate: str
    baseline: str
    fail_on: str
    sarif: bool
    summary: bool
    annotations: bool
    comment: bool
    args: tuple[str, ...]


def read_inputs(environment: Mapping[str, str] = os.environ) -> Inputs:
    """The inputs.

    Raises:
        ActionError: one of them makes no sense.
    """
    folder, repository = read_folders(environment)
    root = repository or Path(environment["GITHUB_WORKSPACE"]).resolve()
    inside = folder.relative_to(root).as_posix()
    inputs = Inputs(
        folder=folder,
        root=root,
        prefix="" if inside == "." else f"{inside}/",
        paths=tuple(line.strip() for line in _text(environment, "paths").splitlines() if line.strip()),
        config=_text(environment, "config"),
        lint=switch(environment, "lint"),
        format=switch(environment, "format"),
        replay=switch(environment, "replay"),
        server=_text(environment, "server"),
        model_from=_text(environment, "model-from"),
        min_hit_rate=_text(environment, "min-hit-rate"),
        baseline=_text(environment, "baseline"),
        fail_on=_text(environment, "fail-on").lower(),
        sarif=switch(environment, "sarif"),
        summary=switch(environment, "summary"),
        annotations=switch(environment, "annotations"),
        comment=switch(environment, "comment"),
        args=_words(environment),
    )
    _check(inputs)
    return inputs


def switch(environment: Mapping[str, str], name: str) -> bool:
    """An input that is on or off.

    Raises:
        ActionError: it is neither.
    """
    value = _text(environment, name)
    if value.lower() not in _SWITCHES:
        raise ActionError(f"{name}: {value!r} is none of true, false, on and off")
    return _SWITCHES[value.lower()]


def _text(environment: Mapping[str, str], name: str) -> str:
    return environment.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip()


def read_folders(environment: Mapping[str, str] = os.environ) -> tuple[Path, Path | None]:
    """The working directory, and the repository in the workspace that it lies in, which need not be the workspace itself.

    Raises:
        ActionError: there is no such folder in the workspace.
    """
    workspace = Path(environment["GITHUB_WORKSPACE"]).resolve()
    given = _text(environment, "working-directory")
    folder = (workspace / given).resolve()
    if not folder.is_dir():
        raise ActionError(f"working-directory: there is no folder {given!r} in the workspace; check the repository out first")
    if folder != workspace and workspace not in folder.parents:
        raise ActionError(f"working-directory: {given!r} is not in the workspace")
    candidates = (path for path in (folder, *folder.parents) if path == workspace or workspace in path.parents)
    return folder, next((path for path in candidates if (path / ".git").exists()), None)


def _words(environment: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(_text(environment, "args")))
    except ValueError as error:
        raise ActionError(f"args: cannot be split into words ({str(error).lower()})") from None


def _check(inputs: Inputs) -> None:
    if inputs.fail_on not in FAIL_ON:
        raise ActionError(f"fail-on: {inputs.fail_on!r} is none of {', '.join(FAIL_ON)}")
    if not (inputs.lint or inputs.format or inputs.replay):
        raise ActionError("lint, format and replay are all off: turn one of them on")
    of_replay = {
        "server": inputs.server,
        "model-from": inputs.model_from,
        "min-hit-rate": inputs.min_hit_rate,
        "args": inputs.args,
    }
    for name, value in of_replay.items():
        if value and not inputs.replay:
            raise ActionError(f"{name}: is for the replay, which is off; add replay: true")
    if inputs.baseline and not inputs.lint:
        raise ActionError("baseline: is for lint, which is off")
