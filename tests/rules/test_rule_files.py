"""The rule files, the catalog and the detectors say the same."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rule_cases import CASES, read_cases

from promptguard.checks.catalog import RULES
from promptguard.checks.pages import SECTIONS, read_page
from promptguard.checks.rule import Rule, RuleOption
from promptguard.checks.selectors import resolve
from promptguard.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_CASES = {"PG999": "promptguard itself is at fault, whatever the file"}
GOOD = """---
code: PG101
name: clock
summary: a clock
severity: error
confidence: high
cause: K1
kinds: [prompt]
blocks: prefix
since: 0.1.0
fix: none
---

# PG101 clock

## What it finds

## Why it costs

## How to fix it

## Examples
"""
FILE = "rules/order/PG101-clock.md"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    """scripts/build_rules.py."""
    spec = importlib.util.spec_from_file_location("build_rules", ROOT / "scripts" / "build_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_catalog_and_the_index_are_current() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "build_rules.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_a_page_is_whole(rule: Rule) -> None:
    page = read_page(rule.file)
    assert tuple(page.sections) == SECTIONS
    assert [name for name, text in page.sections.items() if not text] == []
    verdicts = {case.verdict for case in CASES if case.rule == rule}
    shown = set() if rule.code in WITHOUT_CASES else {"good", "bad"}
    assert verdicts == shown | (set() if rule.fix == "none" else {"fixed"})


def test_every_rule_has_a_detector_and_the_reverse() -> None:
    folders = [ROOT / "promptguard" / "checks", ROOT / "promptguard" / "linting"]
    files = [path for folder in folders for path in folder.rglob("*.py") if path.name != "catalog.py"]
    found = {code for path in files for code in re.findall(r'"(PG\d{3})"', path.read_text(encoding="utf-8"))}
    assert sorted(found) == sorted(RULES)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("summary:", "sumary:", "unknown key 'sumary'; did you mean summary?"),
        ("cause: K1\n", "", 'the key cause is missing; it is a cause such as K1, or "-" in quotes'),
        ("severity: error", "severity: fatal", "severity is 'fatal'; it must be error | warning | note"),
        ("kinds: [prompt]", "kinds: prompt", "kinds is 'prompt'; it must be a list of prompt | tools | chat-template | serving"),
        ("since: 0.1.0", "since: 0.1", "since is 0.1; it must be a version such as 0.1.0"),
        ("cause: K1", "cause: -", "the front matter is not YAML (line 7): sequence entries are not allowed here"),
        ("fix: none", "fix: none\nfix: safe", "the front matter is not YAML (line 2): the key 'fix' stands there twice"),
        ("name: clock", "name: clocks", "code and name make it PG101-clocks.md"),
        ("# PG101 clock", "# PG101 Clock", "its heading is 'PG101 Clock'; it must be 'PG101 clock'"),
        ("## Why it costs\n", "", "the section 'Why it costs' is missing"),
        ("## Why it costs", "## Options", "the section 'Options' is none of " + ", ".join(SECTIONS)),
        ("## Examples", "## Examples\n```jinja", "the fenced block '```jinja' does not end"),
        ("## Examples", "## Examples\n\n## Examples", "there are two sections 'Examples'"),
        ("---\ncode", "code", "the front matter is missing; put it between two lines of ---"),
        (
            "fix: none",
            "fix: none\noptions: {a: {default: 1.5, help: x}}",
            "the default of the option 'a' must be a whole number, ",
        ),
        (
            "fix: none",
            "fix: none\noptions: {a: {default: 1}}",
            "the option 'a' must have the keys default and help, and no others",
        ),
    ],
)
def test_a_wrong_file_is_refused(build: ModuleType, old: str, new: str, problem: str) -> None:
    rule, problems = build.read_rule(FILE, GOOD.replace(old, new, 1))
    assert rule is None
    assert any(found.startswith(problem) for found in problems), problems


def test_a_folder_that_is_no_area_is_refused(build: ModuleType) -> None:
    _, problems = build.read_rule("rules/other/PG101-clock.md", GOOD)
    assert problems == [
        "its folder is none of the areas dynamic-content, order, whitespace, tool-schemas, chat-templates, serving, promptguard",
    ]


def test_sections_out_of_order_are_refused(build: ModuleType) -> None:
    text = GOOD.replace("Why it costs", "x").replace("How to fix it", "Why it costs").replace("## x", "## How to fix it")
    _, problems = build.read_rule(FILE, text)
    assert problems == [f"its sections must come in this order: {', '.join(SECTIONS)}"]


def test_two_files_with_one_code_are_refused(build: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "rules" / "order"
    folder.mkdir(parents=True)
    (folder / "PG101-clock.md").write_text(GOOD, encoding="utf-8")
    (folder / "PG101-watch.md").write_text(GOOD.replace("clock\n", "watch\n"), encoding="utf-8")
    rules, problems = build.read_rules(tmp_path)
    assert list(rules) == ["PG101"]
    assert problems == ["rules/order/PG101-watch.md: has the code PG101, and so has rules/order/PG101-clock.md"]


def test_options_in_the_catalog(build: ModuleType) -> None:
    text = GOOD.replace("fix: none", 'fix: none\noptions: {b: {default: [x, "\'"], help: \'a "b"\'}, a: {default: 3, help: c}}')
    rule, problems = build.read_rule(FILE, text)
    assert problems == []
    assert rule.options == (RuleOption("b", ("x", "'"), 'a "b"'), RuleOption("a", 3, "c"))
    names: dict[str, object] = {}
    exec(build.catalog_text([rule]), names)
    assert names["RULES"] == {"PG101": rule}


@pytest.mark.parametrize(
    ("selector", "codes"),
    [("pg101", {"PG101"}), (" Clock ", {"PG101"}), ("PG9", {"PG900", "PG901", "PG999"}), ("PG", set(RULES))],
)
def test_selectors(selector: str, codes: set[str]) -> None:
    assert resolve(selector) == codes


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("clok", "there is no rule 'clok'; did you mean clock?"),
        ("PG99O", "there is no rule 'PG99O'; did you mean PG999?"),
        ("", "there is no rule ''; promptguard rule lists them"),
        ("P", "there is no rule 'P'; promptguard rule lists them"),
    ],
)
def test_unknown_selectors(selector: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(selector)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "info", ["jinja", "jinja god", "jinja bad", "jinja good at=1:1-1:2", "jinja fixed", "rust good", "jinja good x"]
)
def test_what_is_no_case_is_refused(info: str) -> None:
    with pytest.raises(ValueError, match="case 1"):
        list(read_cases(RULES["PG101"], f"```{info}\nx\n```"))


def test_a_case_with_all_that_it_can_have() -> None:
    text = (
        "```toml config\na = 1\n```\n```x bad at=1:1-1:2,2:1-2:2 path=a/b.j2 escapes no-final-newline\na\\x20\\u200b\\r\nb\n```\n"
    )
    case, fixed = read_cases(RULES["PG101"], text + "```x fixed\nc\n```\n")
    assert (case.path, case.text, case.config, case.places) == ("a/b.j2", "a \u200b\r\nb", "a = 1\n", ["1:1-1:2", "2:1-2:2"])
    assert (fixed.bad, fixed.path, fixed.text, fixed.config) == (case, "a/b.j2", "c\n", "a = 1\n")
