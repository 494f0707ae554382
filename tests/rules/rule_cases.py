"""The cases of the rule files, as rules/README.md defines them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from promptguard.checks.catalog import RULES
from promptguard.checks.pages import parts, read_page
from promptguard.checks.rule import Rule

PATHS = {
    "jinja": "prompts/system.j2",
    "markdown": "prompts/system.md",
    "text": "prompts/system.txt",
    "json": "tools.json",
    "yaml": "prompts/agent.yaml",
    "sh": "serve.sh",
}
VALUES = {
    "at": r"\d+:\d+-\d+:\d+(,\d+:\d+-\d+:\d+)*",
    "severity": "error|warning|note",
    "fix": "safe|unsafe",
    "path": r"[\w./-]+",
}
FLAGS = {"escapes", "no-final-newline"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([tnr\\]))")
_SHORT = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


@dataclass(frozen=True)
class Case:
    """One fenced block.

    Attributes:
        rule: that it belongs to.
        number: of the case in its file, from 1.
        verdict: ``good``, ``bad`` or ``fixed``.
        path: of the file to write.
        text: its content, a line feed at its end where the file has one.
        values: what the info string says, by name.
        config: the ``promptguard.toml``, ``None`` where there is none.
        bad: the case that a ``fixed`` one mends.
    """

    rule: Rule
    number: int
    verdict: str
    path: str
    text: str
    values: dict[str, str] = field(default_factory=dict)
    config: str | None = None
    bad: Case | None = None

    @property
    def places(self) -> list[str]:
        return self.values["at"].split(",") if "at" in self.values else []

    def __str__(self) -> str:
        return f"{self.rule.code}-{self.rule.name}-{self.number}-{self.verdict}"


def read_cases(rule: Rule, markdown: str) -> Iterator[Case]:
    """The cases in the section "Examples" of a rule file.

    Raises:
        ValueError: a fenced block is no case, or its info string says what no case can.
    """
    config: str | None = None
    bad: Case | None = None
    number = 0
    for part in parts(markdown, rule.file):
        if part.info is None:
            continue
        language, verdict, *words = [*part.info.split(), "", ""]
        text = "\n".join([*part.lines[1:-1], ""])
        if (language, verdict) == ("toml", "config"):
            config = text
            continue
        number += 1
        values, flags = _words([word for word in words if word], f"{rule.file}, case {number}")
        if "escapes" in flags:
            text = _ESCAPE.sub(_unescaped, text)
        if "no-final-newline" in flags:
            text = text[:-1]
        if verdict == "fixed" and bad is not None:
            yield Case(rule, number, verdict, bad.path, text, values, bad.config, bad)
            bad = None
            continue
        if (
            verdict not in ("good", "bad")
            or (verdict == "bad") != ("at" in values)
            or not (language in PATHS or "path" in values)
        ):
            raise ValueError(f"{rule.file}, case {number}: {part.info!r} is no case")
        case = Case(rule, number, verdict, values.get("path") or PATHS[language], text, values, config)
        yield case
        config = None
        bad = case if verdict == "bad" else None


def _words(words: list[str], where: str) -> tuple[dict[str, str], set[str]]:
    values: dict[str, str] = {}
    flags: set[str] = set()
    for word in words:
        name, equals, value = word.partition("=")
        if word in FLAGS:
            flags.add(word)
        elif equals and name in VALUES and re.fullmatch(VALUES[name], value):
            values[name] = value
        else:
            raise ValueError(f"{where}: unknown word {word!r}")
    return values, flags


def _unescaped(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    return chr(int(number, 16)) if number else _SHORT[match[4]]


Lint = Callable[..., list[dict[str, Any]]]
"""Takes a case and further flags, gives the findings as the JSON report has them."""

CASES = [case for rule in RULES.values() for case in read_cases(rule, read_page(rule.file).sections["Examples"])]
