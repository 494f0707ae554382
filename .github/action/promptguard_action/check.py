"""The step that runs promptguard, once, and writes down everything that the steps behind it and the user need."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptguard_action import commands
from promptguard_action.annotations import annotate_all
from promptguard_action.commands import LINT_SARIF, REPLAY_SARIF, Ran
from promptguard_action.comment import COMMENT_BYTES
from promptguard_action.compare import obstacle, rounded_down
from promptguard_action.identity import category, category_of_replay, identity
from promptguard_action.inputs import Inputs, read_inputs
from promptguard_action.runner import SUMMARY_BYTES, add_to_summary, quoted_log, say, set_outputs
from promptguard_action.sarif import prefix_paths
from promptguard_action.summary import Base, fitting, sections, short
from promptguard_action.verdict import Verdict, findings, judge

REPORT = "promptguard.json"
COMMENT = "comment.md"


def check() -> int:
    """Run what is asked for. What it finds decides nothing here: that is for the gate, behind the uploads.

    Raises:
        ActionError: an input makes no sense.
    """
    inputs = read_inputs()
    folder = Path(tempfile.mkdtemp(prefix="promptguard-", dir=os.environ["RUNNER_TEMP"]))
    runs = [_shown(run) for run in _runs(inputs, folder)]
    base = _base(inputs, folder, runs[-1])
    verdict = judge(runs, inputs.fail_on)
    parts = sections(verdict, runs, base, os.environ["PROMPTGUARD_BASE_NOTE"])
    report = folder / REPORT
    report.write_text(json.dumps(_report(verdict, runs, base), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    for log in (folder / LINT_SARIF, folder / REPLAY_SARIF):
        if inputs.prefix and log.is_file():
            prefix_paths(log, inputs.prefix)
    if inputs.comment:
        (folder / COMMENT).write_text(fitting(parts, COMMENT_BYTES), encoding="utf-8")
    if inputs.summary:
        add_to_summary(fitting(parts, SUMMARY_BYTES))
    if inputs.annotations:
        annotate_all(runs, inputs)
    set_outputs(_outputs(inputs, folder, runs, verdict))
    say(" ".join(part for part in ("promptguard:", verdict.word, short(runs)) if part))
    return 0


def _runs(inputs: Inputs, folder: Path) -> list[Ran]:
    runs = [commands.lint(inputs, folder)] if inputs.lint else []
    runs += [commands.format_check(inputs)] if inputs.format else []
    runs += [commands.replay(inputs, folder)] if inputs.replay else []
    return runs


def _base(inputs: Inputs, folder: Path, head: Ran) -> Base | None:
    files = os.environ["PROMPTGUARD_BASE"]
    if not files or head.name != "replay" or head.error is not None or head.report is None:
        return None
    commit = os.environ["PROMPTGUARD_BASE_COMMIT"]
    outline = commands.outline(inputs, Path(files))
    if outline is not None and (reason := obstacle(outline, head.report, inputs.root)):
        with quoted_log("promptguard replay, base"):
            say(f"Not replayed, since it cannot be compared: {reason}.")
        return Base(None, commit, reason)
    ran = _shown(commands.replay(inputs, folder, base=Path(files)), "promptguard replay, base")
    if ran.error is not None or ran.report is None:
        return Base(ran, commit, None)
    return Base(ran, commit, obstacle(ran.report, head.report, inputs.root))


def _shown(run: Ran, title: str | None = None) -> Ran:
    with quoted_log(title or f"promptguard {run.name}"):
        say((run.output + run.messages).rstrip())
    return run


def _report(verdict: Verdict, runs: Sequence[Ran], base: Base | None) -> dict[str, Any]:
    by_name = {run.name: run for run in runs}
    return {
        "version": 1,
        "verdict": verdict.word,
        "reasons": list(verdict.reasons),
        "exit_code": verdict.exit_code,
        "lint": _run(by_name.get("lint")),
        "format": _run(by_name.get("format")),
        "replay": _run(by_name.get("replay")),
        "base": None if base is None or base.ran is None else {"commit": base.commit, **(_run(base.ran) or {})},
    }


def _run(run: Ran | None) -> dict[str, Any] | None:
    if run is None:
        return None
    output = {"output": run.output} if run.name == "format" else {"report": run.report}
    return {"exit_code": run.code, "error": run.error, **output}


def _outputs(inputs: Inputs, folder: Path, runs: Sequence[Ran], verdict: Verdict) -> dict[str, str]:
    lint = next((run for run in runs if run.name == "lint"), None)
    replay = next((run for run in runs if run.name == "replay"), None)
    totals = replay.report["totals"] if replay is not None and replay.report is not None and replay.report["turns"] else None
    sarif, of_replay = folder / LINT_SARIF, folder / REPLAY_SARIF
    whole = replay is not None and replay.error is None  # a log of less would close the alerts that it does not come to
    return {
        "findings": str(len(findings(lint))) if lint is not None and lint.report is not None else "",
        "hit-rate": rounded_down(totals["hit_rate"], 4) if totals else "",
        "ceiling": rounded_down(totals["ceiling"], 4) if totals else "",
        "prompt-loss": str(totals["prompt_loss"]) if totals else "",
        "verdict": verdict.word,
        "json": str(folder / REPORT),
        "sarif": str(sarif) if sarif.is_file() else "",
        "sarif-replay": str(of_replay) if of_replay.is_file() else "",
        "upload": str(inputs.sarif and sarif.is_file()).lower(),
        "upload-replay": str(inputs.sarif and whole and of_replay.is_file()).lower(),
        "category": category(inputs),
        "category-replay": category_of_replay(inputs),
        "root": str(inputs.root),
        "identity": identity(inputs),
        "comment": str(folder / COMMENT) if inputs.comment else "",
    }
