"""Whole reports of one result, under tests/report/findings; run this file to write them anew, and read the difference."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from lint_results import RESULT

from promptguard.checks.pages import Page, split_page
from promptguard.checks.rule import Rule, RuleOption
from promptguard.report import rule_pages
from promptguard.report.findings import json, sarif, write_findings

FOLDER = Path(__file__).with_name("findings")
FILES = {
    "full": "full.txt",
    "concise": "concise.txt",
    "json": "report.json",
    "sarif": "report.sarif",
    "github": "github.txt",
    "junit": "junit.xml",
    "markdown": "markdown.md",
}
CLOCK = Rule(
    code="PG101",
    name="clock",
    area="dynamic-content",
    summary="a clock in a prefix block",
    severity="error",
    confidence="high",
    cause="K1",
    kinds=("prompt",),
    blocks="prefix",
    since="0.2.0",
    fix="unsafe",
    options=(RuleOption("names", ("now", "today"), "Names of clocks."), RuleOption("deep", True, "Look into macros.")),
    file="rules/dynamic-content/PG101-clock.md",
)
RULES = {
    "PG101": CLOCK,
    "PG102": CLOCK._replace(code="PG102", name="random-id", summary="an id", cause="-", fix="none", options=(), file="PG102"),
}
PAGE = """---
code: PG101
---

# PG101 clock

## What it finds

A **clock**, see
[the causes](../docs/causes.md).

- one
- two

## Why it costs

| x | y |
|---|---|

## How to fix it

Move it.

## Examples

```toml config
[lint]
```

````jinja bad at=1:1-1:10
# no heading
```
````

```jinja good

  x
```
"""


def page(file: str) -> Page:
    return split_page(PAGE, file)


def written(form: str) -> str:
    """The report, with rules and a version that do not change."""
    pieces: list[str] = []
    with (
        mock.patch.object(sarif, "RULES", RULES),
        mock.patch.object(sarif, "read_page", page),
        mock.patch.object(rule_pages, "read_page", page),
        mock.patch.object(sarif, "__version__", "1.2.3"),
        mock.patch.object(json, "__version__", "1.2.3"),
    ):
        write_findings(RESULT, form, pieces.append, statistics=form == "full")
    return "".join(pieces)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for form, name in FILES.items():
        (FOLDER / name).write_text(written(form), encoding="utf-8", newline="")
