"""Runs the steps of action.yml as a runner of GitHub does: expressions, environment, bash, outputs, log commands, conditions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from adoption.scratch import environment

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>[A-Za-z_][\w.-]*)|(?P<mark>&&|\|\||==|!=|[!()]))")
_COMMAND = re.compile(r"::([a-z-]+|[0-9a-f]{32})(?: ([^:]*))?::(.*)")


@dataclass
class Step:
    """What became of a step: ``success``, ``failure`` or ``skipped``, and what it gave."""

    outcome: str
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""


@dataclass
class Job:
    """What became of the whole action.

    Attributes:
        succeeded: whether the job goes on.
        steps: by their names, in their order.
        outputs: of the action.
        summary: what stands in the summaries of the steps.
        annotations: (level, properties, message) as the runner read them from the log.
        used: the actions that were used: (name without its version, inputs).
        log: everything that was printed.
    """

    succeeded: bool = True
    steps: dict[str, Step] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    annotations: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    log: str = ""

    @property
    def report(self) -> Any:
        return json.loads(Path(self.outputs["json"]).read_text(encoding="utf-8"))

    def messages(self, level: str = "error") -> list[str]:
        return [message for kind, _, message in self.annotations if kind == level]


class Runner:
    """A runner.

    Args:
        action: the folder of the action.
        workspace: the checkout.
        temp: a folder for what is made.
        done: outputs of steps that are taken as done, by their ids.
    """

    def __init__(self, action: Path, workspace: Path, temp: Path, *, done: Mapping[str, dict[str, str]] | None = None) -> None:
        self.definition = yaml.safe_load((action / "action.yml").read_text(encoding="utf-8"))
        self._action = action
        self.workspace = workspace
        self._temp = temp
        self.done = dict(done or {})
        self.event: dict[str, Any] = {}
        self.variables: dict[str, str] = {}
        self.failing: tuple[str, ...] = ()
        temp.mkdir(parents=True, exist_ok=True)

    def run(self, **given: str) -> Job:
        """Run the action with some inputs, their names with underscores."""
        inputs = {name: item.get("default", "") for name, item in self.definition["inputs"].items()}
        said = {name.replace("_", "-"): value for name, value in given.items()}
        assert said.keys() <= inputs.keys()
        context: dict[str, Any] = {"inputs": inputs | said, "github": {"token": "a-token"}, "steps": {}}
        job = Job()
        for step in self.definition["runs"]["steps"]:
            done = self._step(step, context, job)
            job.steps[step["name"]] = done
            job.log += done.log
            if "id" in step:
                context["steps"][step["id"]] = {"outputs": done.outputs, "outcome": done.outcome}
            if done.outcome == "failure" and not step.get("continue-on-error"):
                job.succeeded = False
        job.outputs = {name: fill(item["value"], context) for name, item in self.definition["outputs"].items()}
        return job

    def _step(self, step: dict[str, Any], context: dict[str, Any], job: Job) -> Step:
        if step.get("id") in self.done:
            return Step("success", self.done[step["id"]])
        if not condition(step.get("if", "success()"), context, succeeded=job.succeeded):
            return Step("skipped")
        if "uses" in step:
            job.used.append((step["uses"].partition("@")[0], {name: fill(str(v), context) for name, v in step["with"].items()}))
            return Step("failure" if step["uses"].startswith(self.failing or ("?",)) else "success")
        return self._bash(step, context, job)

    def _bash(self, step: dict[str, Any], context: dict[str, Any], job: Job) -> Step:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "expressions belong into env"
        files = {name: self._file(name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "script", "GITHUB_EVENT_PATH")}
        files["script"].write_text(step["run"], encoding="utf-8")
        files["GITHUB_EVENT_PATH"].write_text(json.dumps(self.event), encoding="utf-8")
        variables = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTION": "__owner_promptguard",
            "GITHUB_ACTION_PATH": str(self._action),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_REPOSITORY": "owner/shop",
            "GITHUB_SERVER_URL": "https://git.example.org",
            "GITHUB_WORKFLOW": "prompts",
            "GITHUB_JOB": "check",
            "GITHUB_SHA": "0" * 40,
            "RUNNER_TEMP": str(self._temp),
            **{name: str(path) for name, path in files.items() if name.startswith("GITHUB")},
            **self.variables,
            **{name: fill(str(value), context) for name, value in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", files["script"]],
            cwd=self.workspace,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        job.summary += files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
        job.annotations += annotations(done.stdout.splitlines())
        outputs = read_outputs(files["GITHUB_OUTPUT"].read_text(encoding="utf-8"))
        return Step("failure" if done.returncode else "success", outputs, done.stdout)

    def _file(self, name: str) -> Path:
        number = len(list(self._temp.glob(f"{name}-*")))
        path = self._temp / f"{name}-{number}"
        path.touch()
        return path


def read_outputs(text: str) -> dict[str, str]:
    """What a step wrote into the file for its outputs, read as strictly as the runner does."""
    outputs: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, mark, end = line.partition("<<")
        assert mark, f"no output: {line!r}"
        value: list[str] = []
        for following in lines:
            if following == end:
                break
            value.append(following)
        else:
            raise AssertionError(f"{name} does not end")
        outputs[name] = "\n".join(value)
    return outputs


def annotations(lines: Sequence[str]) -> list[tuple[str, dict[str, str], str]]:
    """The annotations in a log; between ``stop-commands`` and its token nothing is a command."""
    found: list[tuple[str, dict[str, str], str]] = []
    stopped = ""
    for line in lines:
        match = _COMMAND.fullmatch(line.lstrip())
        if match is None or (stopped and match[1] != stopped):
            continue
        name, properties, data = match[1], match[2] or "", match[3]
        if name == stopped:
            stopped = ""
        elif name == "stop-commands":
            stopped = data
        elif name in ("error", "warning", "notice"):
            pairs = (pair.partition("=") for pair in properties.split(",") if pair)
            found.append((name, {key: _unescape(value, ":,") for key, _, value in pairs}, _unescape(data)))
        else:
            assert name in ("group", "endgroup"), line
    assert not stopped, "commands are still stopped when the step ends"
    return found


def _unescape(text: str, more: str = "") -> str:
    for char in f"\r\n{more}%":  # the per cent sign last
        text = text.replace(f"%{ord(char):02X}", char)
    return text


def fill(text: str, context: Mapping[str, Any]) -> str:
    """A text with its expressions replaced by their values."""
    return _EXPRESSION.sub(lambda match: _string(evaluate(match[1], context)), text)


def condition(text: str, context: Mapping[str, Any], *, succeeded: bool) -> bool:
    """Whether a step runs: without a status function in its condition only while all has gone well."""
    match = _EXPRESSION.fullmatch(text.strip())
    expression = match[1] if match else text
    functions = {"success": succeeded, "failure": not succeeded, "always": True, "cancelled": False}
    said = bool(evaluate(expression, context, functions))
    return said if re.search(r"\b(success|failure|always|cancelled)\(\)", expression) else said and succeeded


def evaluate(expression: str, context: Mapping[str, Any], functions: Mapping[str, bool] | None = None) -> Any:
    """The value of an expression, of the few kinds that action.yml has."""
    tokens: list[str] = []
    end = 0
    while expression[end:].strip():
        match = _TOKEN.match(expression, end)
        assert match, f"cannot read {expression[end:]!r}"
        tokens.append(match[0].strip())
        end = match.end()
    value = _either(tokens, context, functions or {})
    assert not tokens, f"left over: {tokens}"
    return value


def _either(tokens: list[str], context: Mapping[str, Any], functions: Mapping[str, bool]) -> Any:
    return _chain(tokens, "||", lambda: _chain(tokens, "&&", lambda: _compared(tokens, context, functions)))


def _chain(tokens: list[str], mark: str, operand: Callable[[], Any]) -> Any:
    value = operand()
    while tokens and tokens[0] == mark:
        tokens.pop(0)
        following = operand()
        value = (value or following) if mark == "||" else (value and following)
    return value


def _compared(tokens: list[str], context: Mapping[str, Any], functions: Mapping[str, bool]) -> Any:
    left = _operand(tokens, context, functions)
    if not tokens or tokens[0] not in ("==", "!="):
        return left
    equal = tokens.pop(0) == "=="
    right = _operand(tokens, context, functions)
    return (_string(left).lower() == _string(right).lower()) == equal


def _operand(tokens: list[str], context: Mapping[str, Any], functions: Mapping[str, bool]) -> Any:
    token = tokens.pop(0)
    if token == "!":
        return not _operand(tokens, context, functions)
    if token == "(":
        value = _either(tokens, context, functions)
        assert tokens.pop(0) == ")"
        return value
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    if token in functions:
        assert [tokens.pop(0), tokens.pop(0)] == ["(", ")"]
        return functions[token]
    value: Any = context
    for name in token.split("."):
        value = value.get(name, "") if isinstance(value, Mapping) else ""
    return value


def _string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
