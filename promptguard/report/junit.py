"""The report for CI servers that read JUnit XML: a test case for each part of the gate and for each turn."""

from __future__ import annotations

import html

from promptguard.replaying.result import Check, Result, TemplateFinding, Turn
from promptguard.report.common import cause, lost_in_template, quoted_pair, template_findings, tokens, where
from promptguard.report.plain import visible


def render(result: Result) -> str:
    """The whole report as XML 1.0, a line feed at its end."""
    limits = {check.name: check.limit for check in result.checks}
    cases = [
        _case("gate", check.name, 0.0, "" if check.passed else _problem("failure", check.message, _details(check, result)))
        for check in result.checks
    ]
    cases += [_turn(turn, limits.get("prompt-loss", 0), limits.get("engine-loss", 0)) for turn in result.turns]
    if result.error is not None:
        cases.append(_case("run", "complete", 0.0, _problem("error", result.error.partition("\n")[0], result.error)))
    failures = sum("<failure " in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{int(result.error is not None)}" skipped="0"'
    head = f'<testsuite name="promptguard replay" {counts} time="{result.seconds_total:.3f}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *cases, "</testsuite>", ""])


def _details(check: Check, result: Result) -> str:
    """All findings in the chat template, a paragraph each; the other parts of the gate have the turns for it."""
    return "\n\n".join(map(_template_finding, template_findings(result))) if check.name == "chat-template" else ""


def _template_finding(found: TemplateFinding) -> str:
    place = f" at {where(found.place)}" if found.place is not None else ""
    lines = [f"{found.code}{place}: {found.explanation}"]
    if found.conversation is not None:
        before, after = quoted_pair(found.before, found.after)
        lines += [f"before: {before}", f"after: {after}", f"lost: {lost_in_template(found)}"]
    return "\n".join([*lines, f"fix: {found.remedy}"])


def _turn(turn: Turn, prompt_limit: float, engine_limit: float) -> str:
    problem = ""
    if turn.prompt_loss > prompt_limit:
        problem = _problem("failure", *_prompt_loss(turn))
    elif turn.engine_loss > engine_limit:
        problem = _problem("failure", f"engine loss: {tokens(turn.engine_loss)} that the prompt allowed were not in the cache")
    return _case("turn", f"{turn.number:02d} {turn.label}", turn.seconds, problem)


def _prompt_loss(turn: Turn) -> tuple[str, str]:
    message = f"prompt loss: {tokens(turn.prompt_loss)}"
    found = turn.divergence
    if found is None:
        return message, ""
    place = where(found.place) if found.place is not None else f"{found.block} block"
    before, after = quoted_pair(found.before, found.after)
    body = [found.explanation, f"before: {before}", f"after: {after}", f"fix: {found.remedy}"]
    return f"{message}; {cause(found)} at {place}", "\n".join(body)


def _case(group: str, name: str, seconds: float, problem: str) -> str:
    attributes = f'classname="promptguard.replay.{group}" name="{_escape(name)}" time="{seconds:.3f}"'
    return f"  <testcase {attributes}>{problem}</testcase>" if problem else f"  <testcase {attributes}/>"


def _problem(kind: str, message: str, body: str = "") -> str:
    lines = "\n".join(_escape(line) for line in body.splitlines())
    return f'<{kind} message="{_escape(message)}">{lines}</{kind}>'


def _escape(text: str) -> str:
    """Text without the characters that XML 1.0 does not allow, none of which is printable."""
    return html.escape(visible(text))
