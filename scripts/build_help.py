"""Write promptguard/cli/help.txt, which ``promptguard --help`` prints without importing click; ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.cli.commands import promptguard

TARGET = ROOT / "promptguard" / "cli" / "help.txt"
COLUMNS = 100


def help_text() -> str:
    context = click.Context(promptguard, info_name="promptguard", terminal_width=COLUMNS, max_content_width=COLUMNS)
    return promptguard.get_help(context) + "\n"


def main() -> int:
    text = help_text()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") != text:
        sys.stderr.write(f"{TARGET.name} is stale: run python scripts/build_help.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
