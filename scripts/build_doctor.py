"""Write the checks into docs/doctor.md from promptguard/diagnosis/catalog.py; ``--check`` only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.diagnosis.catalog import AREAS, CATALOG

PAGE = ROOT / "docs" / "doctor.md"
BEGIN, END = "<!-- checks: python scripts/build_doctor.py -->\n", "<!-- end of the checks -->\n"


def checks() -> str:
    """The checks as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for area, title in AREAS.items():
        yield f"\n## {title}"
        for entry in CATALOG:
            if entry.area == area:
                yield f"\n### {entry.name}: {entry.title[0].lower()}{entry.title[1:]}\n"
                yield f"- **Reads** {entry.reads}"
                yield f"- **Means** {entry.means}"
                yield f"- **Set** {entry.remedy}"
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is stale")
    check = parser.parse_args().check
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    current = head + BEGIN + checks() + END + rest.split(END)[1]
    if check:
        print(f"{PAGE.name} is {'current' if current == text else 'stale: run python scripts/build_doctor.py'}")
        return 0 if current == text else 1
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
