"""The last step: it fails when the verdict is not ``passed``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from promptguard_action.runner import annotate, quoted_log, say

_CODES = {"passed": 0, "failed": 1, "error": 2}


def gate() -> int:
    """Say the verdict; 0 for passed, 1 for failed, 2 where something could not be judged."""
    report = json.loads(Path(os.environ["PROMPTGUARD_JSON"]).read_text(encoding="utf-8"))
    with quoted_log("The verdict"):
        say("\n".join([report["verdict"], *report["reasons"]]))
    code = _CODES[report["verdict"]]
    if code:
        annotate("error", "\n".join(report["reasons"]), {"title": f"promptguard: {report['verdict']}"})
    return code
