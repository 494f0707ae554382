"""What a check finds: where, what, and how to mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from promptguard.core.light import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptguard.core.source import Place, Span

Severity = Literal["error", "warning", "note"]
"""``error``: it breaks the prefix cache on most requests. ``warning``: it does now and then, or will. ``note``: pedantic, not
shown by default."""

Confidence = Literal["high", "medium", "low"]
Applicability = Literal["safe", "unsafe", "display"]
"""``safe``: the model reads the same. ``unsafe``: it may not. ``display``: shown, never applied."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Edit(NamedTuple):
    """Put ``text`` in the place of ``span`` of the source of the finding that it belongs to."""

    span: Span
    text: str


class Fix(NamedTuple):
    """A change that mends a finding.

    Attributes:
        title: what it does, as an order: "Sort the list".
        edits: in the order of their spans, which do not overlap; all or none are applied.
        applicability: who may apply it.
    """

    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability


class Related(NamedTuple):
    """Another place that belongs to a finding, and what is there."""

    place: Place
    message: str


class Finding(NamedTuple):
    """One finding of a rule.

    Attributes:
        code: of the rule, such as ``PG101``.
        message: one sentence without a full stop; texts from the file stand in backticks.
        place: in the file that the user has; its text is what the message quotes.
        severity, confidence: how much it matters, and how sure it is.
        related: other places.
        fix: how to mend it, ``None`` where nobody can say.
        data: ``tokens_lost`` and ``tokenizer`` where the place is in a prefix block, ``block``, ``changes`` (how often the value
            changes: ``request``, ``minute``, ``day``, ``conversation``, ``deployment``), ``pointer`` (into JSON or YAML).
    """

    code: str
    message: str
    place: Place
    severity: Severity
    confidence: Confidence
    related: tuple[Related, ...]
    fix: Fix | None
    data: Mapping[str, object]
