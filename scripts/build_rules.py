"""Write promptguard/checks/catalog.py and docs/rules.md from the front matters of the rule files; ``--check`` only compares."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the checkout, not an installed package

from promptguard.checks.base import KINDS
from promptguard.checks.pages import SECTIONS, Page, split_page
from promptguard.checks.rule import FIX_KINDS, Rule, RuleOption
from promptguard.core.errors import InputError
from promptguard.core.finding import CONFIDENCES, SEVERITIES

CATALOG = ROOT / "promptguard" / "checks" / "catalog.py"
INDEX = ROOT / "docs" / "rules.md"
AREAS = {
    "dynamic-content": "Dynamic content in a prefix block",
    "order": "Unstable order",
    "whitespace": "White space and characters",
    "tool-schemas": "Tool schemas",
    "chat-templates": "Chat templates",
    "serving": "Serving configuration",
    "promptguard": "promptguard itself",
}
"""The folders of rule files, and the headings of the index."""
LONGEST = 105
"""Most code points of a summary and of the help of an option: one line of the catalog."""

_NAME = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
_HEAD = '''"""All rules; made by scripts/build_rules.py from rules/, not by hand."""

from __future__ import annotations

from promptguard.checks.rule import {names}

RULES: dict[str, Rule] = {{
'''


class _Loader(yaml.SafeLoader):
    """YAML that refuses two equal keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands there twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


def _matches(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _one_of(*words: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and value in words


def _is_line(value: object) -> bool:
    return (
        isinstance(value, str)
        and value == value.strip() != ""
        and value.isprintable()
        and "|" not in value
        and len(value) <= LONGEST
    )


def _is_kinds(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(kind in KINDS for kind in value)


KEYS: dict[str, tuple[Callable[[object], bool], str]] = {
    "code": (_matches(r"PG\d{3}"), "PG and three digits"),
    "name": (_matches(_NAME), "small letters, digits and single hyphens"),
    "summary": (
        lambda value: _is_line(value) and not str(value).endswith("."),
        f"one line of at most {LONGEST} characters, without | and without a full stop",
    ),
    "severity": (_one_of(*SEVERITIES), " | ".join(SEVERITIES)),
    "confidence": (_one_of(*CONFIDENCES), " | ".join(CONFIDENCES)),
    "cause": (_matches(r"K\d+|-"), 'a cause such as K1, or "-" in quotes'),
    "kinds": (_is_kinds, f"a list of {' | '.join(KINDS)}"),
    "blocks": (_one_of("prefix", "any"), "prefix | any"),
    "since": (_matches(r"\d+\.\d+\.\d+"), "a version such as 0.1.0"),
    "fix": (_one_of(*FIX_KINDS), " | ".join(FIX_KINDS)),
}
"""What a front matter must hold: whether a value will do, and what will."""


def read_rules(root: Path) -> tuple[dict[str, Rule], list[str]]:
    """The rules of the files below ``root / "rules"``, by code and in that order, and what is wrong with the files."""
    rules: dict[str, Rule] = {}
    problems: list[str] = []
    for path in sorted((root / "rules").rglob("*.md"), key=lambda path: path.name):
        if path.name == "README.md":
            continue
        file = path.relative_to(root).as_posix()
        rule, wrong = read_rule(file, path.read_text(encoding="utf-8"))
        problems += [f"{file}: {problem}" for problem in wrong]
        if rule is None:
            continue
        for other in rules.values():
            if rule.code == other.code or rule.name == other.name:
                same = f"the code {rule.code}" if rule.code == other.code else f"the name {rule.name}"
                problems.append(f"{file}: has {same}, and so has {other.file}")
        rules.setdefault(rule.code, rule)
    return rules, problems


def read_rule(file: str, text: str) -> tuple[Rule | None, list[str]]:
    """The rule of one file, ``None`` where something is wrong with it, and what that is."""
    try:
        page = split_page(text, file)
        data = yaml.load(page.front, Loader=_Loader)  # noqa: S506 (a safe loader)
    except InputError as error:
        return None, [f"{error.what}; {error.hint}" if error.hint else error.what]
    except yaml.YAMLError as error:
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        return None, [f"the front matter is not YAML{f' (line {mark.line + 2})' if mark else ''}: {reason}"]
    if not isinstance(data, dict):
        return None, ["the front matter is no mapping"]
    problems = [*_front_problems(data), *_options_problems(data.get("options", {}))]
    if not problems:
        problems = [*_name_problems(file, data), *_page_problems(page, data)]
    return (None, problems) if problems else (_rule(file, data), [])


def _front_problems(data: dict[Any, Any]) -> Iterator[str]:
    for key in data:
        if key not in KEYS and key != "options":
            close = difflib.get_close_matches(str(key), [*KEYS, "options"], n=1)
            yield f"unknown key {key!r}" + (f"; did you mean {close[0]}?" if close else "")
    for key, (is_right, what) in KEYS.items():
        if key not in data:
            yield f"the key {key} is missing; it is {what}"
        elif not is_right(data[key]):
            yield f"{key} is {data[key]!r}; it must be {what}"


def _options_problems(options: object) -> Iterator[str]:
    if not isinstance(options, dict):
        yield "options must be a mapping of names"
        return
    for name, option in options.items():
        if not _matches(_NAME)(name):
            yield f"the option {name!r} must be named with small letters, digits and single hyphens"
        if not isinstance(option, dict) or set(option) != {"default", "help"}:
            yield f"the option {name!r} must have the keys default and help, and no others"
            continue
        default = option["default"]
        texts = default if isinstance(default, list) else [default]
        if not all(isinstance(item, str) for item in texts) and not isinstance(default, int):
            yield f"the default of the option {name!r} must be a whole number, true, false, a text or a list of texts"
        if not _is_line(option["help"]):
            yield f"the help of the option {name!r} must be one line of at most {LONGEST} characters"


def _name_problems(file: str, data: dict[str, Any]) -> Iterator[str]:
    *_, area, stem = file.removesuffix(".md").split("/")
    expected = f"{data['code']}-{data['name']}"
    if stem != expected:
        yield f"code and name make it {expected}.md"
    if area not in AREAS:
        yield f"its folder is none of the areas {', '.join(AREAS)}"


def _page_problems(page: Page, data: dict[str, Any]) -> Iterator[str]:
    title = f"{data['code']} {data['name']}"
    if page.title != title:
        yield f"its heading is {page.title!r}; it must be {title!r}"
    for name in SECTIONS:
        if name not in page.sections:
            yield f"the section {name!r} is missing"
    for name in page.sections:
        if name not in SECTIONS:
            yield f"the section {name!r} is none of {', '.join(SECTIONS)}"
    known = [name for name in page.sections if name in SECTIONS]
    if len(known) == len(SECTIONS) and tuple(known) != SECTIONS:
        yield f"its sections must come in this order: {', '.join(SECTIONS)}"


def _rule(file: str, data: dict[str, Any]) -> Rule:
    options = tuple(
        RuleOption(name, tuple(option["default"]) if isinstance(option["default"], list) else option["default"], option["help"])
        for name, option in data.get("options", {}).items()
    )
    fields = {key: data[key] for key in KEYS if key != "kinds"}
    return Rule(**fields, area=file.split("/")[-2], kinds=tuple(data["kinds"]), options=options, file=file)


def catalog_text(rules: Sequence[Rule]) -> str:
    """The module, as ``ruff format`` leaves it."""
    lines = [line for rule in rules for line in _value(rule, 1, f"{_text(rule.code)}: ")]
    names = "Rule, RuleOption" if any(rule.options for rule in rules) else "Rule"
    return _HEAD.format(names=names) + "".join(f"{line}\n" for line in lines) + "}\n"


def _value(value: object, depth: int, before: str) -> Iterator[str]:
    indent = "    " * depth
    if isinstance(value, (Rule, RuleOption)):
        yield f"{indent}{before}{type(value).__name__}("
        for name in value._fields:
            yield from _value(getattr(value, name), depth + 1, f"{name}=")
        yield f"{indent}),"
    elif isinstance(value, tuple) and value and (len(value) > 1 or not isinstance(value[0], str)):
        yield f"{indent}{before}("
        for item in value:
            yield from _value(item, depth + 1, "")
        yield f"{indent}),"
    elif isinstance(value, tuple):
        yield f"{indent}{before}({''.join(f'{_text(item)},' for item in value)}),"
    else:
        yield f"{indent}{before}{_text(value) if isinstance(value, str) else repr(value)},"


def _text(text: str) -> str:
    return repr(text) if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)


def index_text(rules: Sequence[Rule]) -> str:
    """The list of all rules, as Markdown."""
    text = (
        "# Rules\n\n<!-- made by scripts/build_rules.py -->\n\n`promptguard rule PG101` shows the page of a rule on a terminal.\n"
    )
    for area, title in AREAS.items():
        rows = [rule for rule in rules if rule.area == area]
        if not rows:
            continue
        text += f"\n## {title}\n\n| rule | finds | severity | cause | fix |\n|---|---|---|---|---|\n"
        for rule in rows:
            cause = rule.cause.removeprefix("-")
            fix = rule.fix.removeprefix("none")
            text += f"| [{rule.code} {rule.name}](../{rule.file}) | {rule.summary} | {rule.severity} | {cause} | {fix} |\n"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file is stale")
    check = parser.parse_args().check
    found, problems = read_rules(ROOT)
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    if problems:
        return 1
    rules = [found[code] for code in sorted(found)]
    stale = False
    for path, text in ((CATALOG, catalog_text(rules)), (INDEX, index_text(rules))):
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{path.name} is stale: run python scripts/build_rules.py\n")
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
