"""The SARIF log as code scanning wants it: paths relative to the repository, wherever promptguard ran in it."""

from __future__ import annotations

import json
from pathlib import Path
from posixpath import normpath
from typing import Any
from urllib.parse import quote


def prefix_paths(path: Path, prefix: str) -> None:
    """Put ``prefix`` in front of the relative paths in a log. One above the folder stays right: ``../`` is resolved."""
    log = json.loads(path.read_text(encoding="utf-8"))
    _visit(log, quote(prefix))
    path.write_text(json.dumps(log, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _visit(value: Any, prefix: str) -> None:
    if isinstance(value, list):
        for item in value:
            _visit(item, prefix)
    elif isinstance(value, dict):
        if "uri" in value and "uriBaseId" in value:
            value["uri"] = normpath(prefix + value["uri"])  # a file outside the working directory is at "../"
        for item in value.values():
            _visit(item, prefix)
