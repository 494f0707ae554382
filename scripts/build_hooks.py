"""Write .pre-commit-hooks.yaml; with --check only say whether it is current."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.formatting.documents import SUFFIXES as TOOL_SUFFIXES
from promptguard.linting.run import BEGINNINGS, SUFFIXES

TARGET = ROOT / ".pre-commit-hooks.yaml"
_HEAD = "# Made by scripts/build_hooks.py.\n"


class Hook(NamedTuple):
    """One hook: the command line that the names of the changed files are added to, and which files those are."""

    id: str
    description: str
    entry: str
    endings: tuple[str, ...]
    beginnings: tuple[str, ...] = ()


HOOKS = (
    Hook(
        "promptguard-lint",
        "Find what breaks the prefix cache in prompt templates, tool schemas and serving configurations",
        "promptguard lint --as-found",
        SUFFIXES,
        BEGINNINGS,
    ),
    Hook(
        "promptguard-format",
        "Rewrite tool schemas in canonical form",
        "promptguard format --as-found",
        TOOL_SUFFIXES,
    ),
    Hook(
        "promptguard-format-check",
        "Check that tool schemas are in canonical form, and change nothing",
        "promptguard format --as-found --check",
        TOOL_SUFFIXES,
    ),
)


def pattern(hook: Hook) -> str:
    """The regular expression for the paths of a hook's files, which pre-commit searches for."""
    found = f"(?:{'|'.join(map(re.escape, hook.endings))})$"
    return f"(?i){found}" + (f"|(?:^|/)(?:{'|'.join(map(re.escape, hook.beginnings))})" if hook.beginnings else "")


def manifest() -> str:
    """The text of the file. A hook runs once at a time: it uses several processes itself, and has one cache."""
    return _HEAD + "\n".join(
        f"- id: {hook.id}\n"
        f"  name: {hook.id.replace('-', ' ', 1)}\n"
        f"  description: {hook.description}\n"
        f"  entry: {hook.entry}\n"
        "  language: python\n"
        f"  files: '{pattern(hook)}'\n"
        "  require_serial: true\n"
        for hook in HOOKS
    )


def main() -> int:
    text = manifest()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{TARGET.name} is stale: run python scripts/build_hooks.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
