"""``promptguard rule``."""

from __future__ import annotations

import sys

import click

from promptguard.cli.output import write_output


@click.command("rule", short_help="Explain a rule.")
@click.argument("rule", required=False)
@click.option("--all", "everything", is_flag=True, help="Explain every rule.")
@click.option(
    "--output-format", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True, help="Format."
)
def rule_command(rule: str | None, everything: bool, output_format: str) -> None:
    """Explain a rule: what it finds, why it costs, how to fix it, with examples.

    RULE is a code (PG101), a name (clock) or the beginning of codes (PG1). Without it the rules are listed.
    """
    from promptguard.checks.catalog import RULES
    from promptguard.checks.selectors import resolve
    from promptguard.core.errors import ConfigError
    from promptguard.report import rule_pages
    from promptguard.report.plain import encodable

    if everything and rule is not None:
        raise ConfigError("explains every rule, and one is named", where="--all", hint="leave one of them out")
    codes = resolve(rule) if rule is not None else RULES
    rules = [RULES[code] for code in sorted(codes)]
    encoding = "utf-8"
    if output_format == "json":
        text = rule_pages.as_json(rules)
    elif output_format == "markdown":
        text = rule_pages.as_markdown(rules)
    else:
        text = rule_pages.as_text(rules) if rule is not None or everything else rule_pages.as_list(rules)
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        text = encodable(text, encoding)
    write_output(lambda write: write(text), encoding)
