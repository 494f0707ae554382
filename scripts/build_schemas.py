"""Write the generated JSON Schemas under docs/schemas; with --check only say whether they are current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.core.config_schema import config_schema_text
from promptguard.linting.load import rule_options

CONFIG_SCHEMA = ROOT / "docs" / "schemas" / "config-1.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a schema is stale")
    check = parser.parse_args().check
    text = config_schema_text(rule_options())
    current = CONFIG_SCHEMA.is_file() and CONFIG_SCHEMA.read_text(encoding="utf-8") == text
    if check:
        print(f"{CONFIG_SCHEMA.name} is {'current' if current else 'stale: run python scripts/build_schemas.py'}")
        return 0 if current else 1
    CONFIG_SCHEMA.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
