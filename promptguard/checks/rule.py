"""What the front matter of a rule file says, as Python; ``catalog.py`` holds the rules and is made by scripts/build_rules.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from promptguard.core.light import NamedTuple

if TYPE_CHECKING:
    from promptguard.checks.base import Kind
    from promptguard.core.finding import Confidence, Severity

FixKind = Literal["none", "safe", "unsafe", "safe or unsafe"]


class RuleOption(NamedTuple):
    """An option of a rule: ``default`` is an int, a bool, a str or a tuple of str, and a value must be of the same type."""

    name: str
    default: object
    help: str


class Rule(NamedTuple):
    """One rule.

    Attributes:
        code, name: ``PG101``, ``clock``; both select it.
        area: ``dynamic-content``, ``order``, ``whitespace``, ``tool-schemas``, ``chat-templates``,
            ``serving``, ``promptguard``.
        summary: what it finds, as half a sentence: "a clock in a prefix block".
        severity, confidence: where a hit does not say otherwise.
        cause: of causes.md, such as ``K1``; ``-`` where it is none of them.
        kinds: of documents that it looks at.
        blocks: ``prefix``: only hits in the blocks tools and system count; ``any``.
        since: the version that brought it.
        fix: what kind of fix it has.
        options: its options.
        file: its page, from the root of the project.
    """

    code: str
    name: str
    area: str
    summary: str
    severity: Severity
    confidence: Confidence
    cause: str
    kinds: tuple[Kind, ...]
    blocks: Literal["prefix", "any"]
    since: str
    fix: FixKind
    options: tuple[RuleOption, ...]
    file: str
