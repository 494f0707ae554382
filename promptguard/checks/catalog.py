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
    "PG900": Rule(
        code="PG900",
        name="unused-suppression",
        area="promptguard",
        summary="a suppression that suppresses nothing",
        severity="warning",
        confidence="high",
        cause="-",
        kinds=(
            "prompt",
            "tools",
            "chat-template",
            "serving",
        ),
        blocks="any",
        since="0.2.0",
        fix="safe or unsafe",
        options=(),
        file="rules/promptguard/PG900-unused-suppression.md",
    ),
    "PG999": Rule(
        code="PG999",
        name="internal-error",
        area="promptguard",
        summary="a rule that failed on a file",
        severity="error",
        confidence="high",
        cause="-",
        kinds=(
            "prompt",
            "tools",
            "chat-template",
            "serving",
        ),
        blocks="any",
        since="0.2.0",
        fix="none",
        options=(),
        file="rules/promptguard/PG999-internal-error.md",
    ),
}
