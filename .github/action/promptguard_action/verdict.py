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
    """``error`` says that something could not be judged; the reasons say in a sentence each why it is not ``passed``."""

    word: Word
    reasons: tuple[str, ...]


def judge(runs: Sequence[Ran], fail_on: str) -> Verdict:
    """The verdict.

    Args:
        runs: the commands that have run, the base left out.
        fail_on: the least severity that fails: ``any``, ``warning``, ``error``, or ``never``. A file that is not in canonical
            form counts as a warning, a failed replay as an error. That something could not be judged is never passed over.
    """
    errors = [f"{run.name}: {run.error}" for run in runs if run.error is not None]
    if errors:
        return Verdict("error", tuple(errors))
    failures = tuple(reason for run in runs if run.code == 1 for reason in _failures(run, fail_on))
    return Verdict("failed", failures) if failures else Verdict("passed", ())


def findings(run: Ran | None) -> list[dict[str, Any]]:
    """What lint found."""
    return run.report["findings"] if run is not None and run.report is not None else []


def _failures(run: Ran, fail_on: str) -> list[str]:
    least = {"any": 0, "warning": 1, "error": 2, "never": 3}[fail_on]
    if run.name == "lint":
        counts = {name: sum(item["severity"] == name for item in findings(run)) for name in _SEVERITIES[least:]}
        words = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in reversed(counts.items()) if count]
        return [f"lint: {' and '.join(words)}"] if words else []
    if run.name == "format":
        return ["format: tool schemas are not in canonical form"] if least <= 1 else []
    checks = run.report["checks"] if run.report is not None else []
    return [f"replay: {check['name']}: {check['message']}" for check in checks if not check["passed"]] if least <= 2 else []
