"""What the runs of the commands come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from promptguard_action.commands import Ran

Word = Literal["passed", "failed", "error"]
_SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True)
class Verdict:
    """What was found, and what the gate makes of it.

    Attributes:
        word: ``failed`` where anything was found, ``error`` where something could not be judged.
        reasons: why it is not ``passed``, a sentence each.
        exit_code: of the gate: 0 or 1 as ``fail-on`` says, 2 for ``error``.
    """

    word: Word
    reasons: tuple[str, ...]
    exit_code: int


def judge(runs: Sequence[Ran], fail_on: str) -> Verdict:
    """The verdict.

    Args:
        runs: the commands that have run, the base left out.
        fail_on: the least severity with which the gate fails: ``any``, ``warning``, ``error``, or ``never``. A file that is not
            in canonical form counts as a warning, a failed replay as an error. The word is the same whatever it says, and
            something that could not be judged fails in any case.
    """
    errors = [f"{run.name}: {run.error}" for run in runs if run.error is not None]
    if not errors and all(run.idle for run in runs):
        errors = ["there is nothing to check: name files or folders in paths, or replay a task with replay: true"]
    if errors:
        return Verdict("error", tuple(errors), 2)
    found = [run for run in runs if run.code == 1]
    least = {"any": 0, "warning": 1, "error": 2, "never": 3}[fail_on]
    reasons = tuple(reason for run in found for reason in _reasons(run))
    return Verdict("failed" if found else "passed", reasons, int(any(_severity(run) >= least for run in found)))


def findings(run: Ran | None) -> list[dict[str, Any]]:
    """What lint found."""
    return run.report["findings"] if run is not None and run.report is not None else []


def _reasons(run: Ran) -> list[str]:
    if run.name == "lint":
        counts = {name: sum(item["severity"] == name for item in findings(run)) for name in _SEVERITIES}
        words = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in reversed(counts.items()) if count]
        return [f"lint: {' and '.join(words)}"]
    if run.name == "format":
        return ["format: tool schemas are not in canonical form"]
    checks = run.report["checks"] if run.report is not None else []
    return [f"replay: {check['name']}: {check['message']}" for check in checks if not check["passed"]]


def _severity(run: Ran) -> int:
    """Of the worst that a command found, as an index of ``_SEVERITIES``."""
    if run.name == "lint":
        return max((_SEVERITIES.index(item["severity"]) for item in findings(run)), default=0)
    return _SEVERITIES.index("warning" if run.name == "format" else "error")
