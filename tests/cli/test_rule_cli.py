from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from promptguard.checks.catalog import RULES
from promptguard.checks.pages import read_page, split_page
from promptguard.checks.rule import Rule, RuleOption
from promptguard.cli.main import _run
from promptguard.report import rule_pages

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "rule-1.json").read_text(encoding="utf-8"))
RULE = Rule(
    code="PG101",
    name="clock",
    area="dynamic-content",
    summary="a clock in a prefix block",
    severity="error",
    confidence="high",
    cause="K1",
    kinds=("prompt", "tools"),
    blocks="prefix",
    since="0.2.0",
    fix="unsafe",
    options=(RuleOption("names", ("now",), "Names of clocks."),),
    file="rules/dynamic-content/PG101-clock.md",
)
PAGE = """---
code: PG101
---

# PG101 clock

## What it finds

A **clock** that says
`now`, see [the causes](../causes.md), and so on until the line is long enough to be wrapped at its end.

- one item
- another one
  on two lines

| a | b |
|---|---|

## Why it costs

It does.

## How to fix it

Move it.

## Examples

Some words.

```toml config
[lint]
```

````jinja bad at=1:1-1:10
## no heading
```
````

```jinja good

  {{ x }}
```
"""
TEXT = """PG101 clock: a clock in a prefix block

  severity    error
  confidence  high
  cause       K1 of docs/causes.md
  looks at    prompt, tools; the blocks tools and system
  fix         unsafe
  since       0.2.0

What it finds

  A clock that says `now`, see the causes, and so on until the line is long enough to be
  wrapped at its end.
  - one item
  - another one on two lines
  | a | b |
  |---|---|

Why it costs

  It does.

How to fix it

  Move it.

Options

  names (default: ["now"]): Names of clocks.

Examples

  Some words.

  config:

    [lint]

  bad:

    ## no heading
    ```

  good:


      {{ x }}
"""
MARKDOWN_END = """
## How to fix it

Move it.

## Options

- `names` (default: ["now"]): Names of clocks.

## Examples

Some words.

Config:

```toml
[lint]
```

Bad:

````jinja
## no heading
```
````

Good:

```jinja

  {{ x }}
```
"""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_pages, "read_page", lambda file: split_page(PAGE, file))


@pytest.mark.usefixtures("page")
def test_a_page_as_text() -> None:
    assert rule_pages.as_text([RULE]) == TEXT


@pytest.mark.usefixtures("page")
def test_a_page_as_markdown() -> None:
    text = rule_pages.as_markdown([RULE])
    assert text.startswith("# PG101 clock\n\nA clock in a prefix block.\n\n| | |\n|---|---|\n| severity | error |\n")
    assert text.endswith(MARKDOWN_END)


@pytest.mark.parametrize("name", ["PG900", "pg900", "unused-suppression"])
def test_a_rule_by_code_or_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["rule", name]) == 0
    assert capsys.readouterr().out == rule_pages.as_text([RULES["PG900"]])


def test_rules_by_prefix_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["rule", "PG9", "--output-format", "markdown"]) == 0
    titles = [line for line in capsys.readouterr().out.splitlines() if line.startswith("# ")]
    assert titles == ["# PG900 unused-suppression", "# PG901 unreadable-file", "# PG999 internal-error"]


def test_the_list_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["rule"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == sorted(RULES)


@pytest.mark.parametrize("arguments", [["--all"], [], ["PG9"]])
def test_json_holds_to_its_schema(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert _run(["rule", *arguments, "--output-format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(value)
    assert list(value["rules"][0]) == list(SCHEMA["properties"]["rules"]["items"]["properties"])
    assert value["rules"][-1]["sections"][0]["markdown"] == read_page(RULES["PG999"].file).sections["What it finds"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["PG99O"], "promptguard: error: there is no rule 'PG99O'; did you mean PG999?\n"),
        (["\x1b"], "promptguard: error: there is no rule '\\x1b'; promptguard rule lists them\n"),
        (["PG900", "--all"], "promptguard: error: --all: explains every rule, and one is named; leave one of them out\n"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["rule", *arguments]) == 2
    assert capsys.readouterr().err == message


def test_a_rule_is_explained_without_what_linting_needs() -> None:
    heavy = "print({'yaml', 'rich', 'jinja2', 'promptguard.linting'} & set(sys.modules))"
    code = f"import sys; from promptguard.cli.main import _run; _run(['rule', 'PG900']); {heavy}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
