"""The last step: it fails when ``fail-on`` says so, and where something could not be judged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from promptguard_action.runner import annotate, quoted_log, say


def gate() -> int:
    """Say the verdict; its exit code is the step's."""
    report = json.loads(Path(os.environ["PROMPTGUARD_JSON"]).read_text(encoding="utf-8"))
    with quoted_log("The verdict"):
        say("\n".join([report["verdict"], *report["reasons"]]))
    code: int = report["exit_code"]
    if report["verdict"] != "passed":
        level = "error" if code else "warning"  # what fail-on lets pass
        annotate(level, "\n".join(report["reasons"]), {"title": f"promptguard: {report['verdict']}"})
    return code
