"""All rules; made by scripts/build_rules.py from rules/, not by hand."""

from __future__ import annotations

from promptguard.checks.rule import Rule

RULES: dict[str, Rule] = {
    "PG101": Rule(
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
        fix="none",
        options=(),
        file="rules/dynamic-content/PG101-clock.md",
    ),
}
