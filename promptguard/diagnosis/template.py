"""What the server's chat template does to the prefix."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from promptguard.checks.chat_template import CODES
from promptguard.core.errors import EngineError, PromptguardError, TemplateError
from promptguard.diagnosis.facts import Facts
from promptguard.diagnosis.result import Check, Status
from promptguard.engines.http import JSONClient
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.counting import counter
from promptguard.prompts.preservation import check_template
from promptguard.prompts.preservation.result import Defect, Preservation
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Request, chat_template_source

SECONDS = 10.0
"""Processor time that the template may take."""

_FEW = 8  # tokens; to lose no more costs less than what a request costs anyway, as in the rules for chat templates
_SHOWN = 3
_FAR = timedelta(days=400)
_WHEN = {"request": "with every request", "minute": "every minute", "hour": "every hour", "day": "at midnight"}
_ASKED = Request(messages=({"role": "user", "content": "a-question"},))
_NOT_JUDGED = "cannot be judged"


def template_checks(client: JSONClient, facts: Facts, renderer: Renderer) -> list[Check]:
    """Whether the chat template prints a date, and whether it keeps the history as it was.

    Args:
        client: asked to render a message, to see whether a date is pinned.
        facts: with the chat template.
        renderer: renders the template, which is not trusted.
    """
    if not facts.chat_template.strip():
        why = "agents send messages, and a server without a chat template cannot print them"
        missing = Check("template", "unknown", "the server tells of no chat template", why, "--chat-template-file FILE")
        return [Check("template-date", "unknown", "the server tells of no chat template"), missing]
    source = chat_template_source(facts.chat_template, f"{client.base_url}/props")
    template = ChatTemplate(renderer, source, bos_token=facts.bos_token, eos_token=facts.eos_token)
    try:
        found = check_template(template, counter(None).encode, seconds=SECONDS)
    except PromptguardError as error:  # what cannot even be given to a template
        found = Preservation(error=TemplateError(error.what))
    if found.error is not None:
        what = f"{_NOT_JUDGED}: {found.error.what}"
        return [Check("template-date", "unknown", what), Check("template", "unknown", what)]
    clocks = [defect for defect in found.defects if defect.kind == "clock"]
    others = [defect for defect in found.defects if defect.kind != "clock" and not _of_raw_arguments(defect)]
    return [_date(client, template, clocks), _history(others)]


def _date(client: JSONClient, template: ChatTemplate, clocks: list[Defect]) -> Check:
    name = "template-date"
    if not clocks:
        return Check(name, "ok", "prints no date or time")
    worst = clocks[0]
    assert worst.changes is not None
    if worst.changes == "day" and _pinned(client, template):
        return Check(name, "ok", "prints a date, and the server gives it a fixed one")
    lost = worst.worst
    if worst.switches:
        kwargs = json.dumps({worst.switches[0].name: worst.switches[0].value})
        remedy = f"--chat-template-kwargs '{kwargs}' (LLAMA_ARG_CHAT_TEMPLATE_KWARGS), or the same in every request"
    else:
        remedy = "--chat-template-file FILE (LLAMA_ARG_CHAT_TEMPLATE_FILE) with a template that prints no date"
    return Check(
        name,
        "in-the-way",
        f"{CODES['clock']}: prints a date or time that changes {_WHEN[worst.changes]}",
        f"everything behind it is computed again then: {lost.tokens_lost:,} of {lost.tokens:,} tokens of a sample conversation",
        remedy,
    )


def _pinned(client: JSONClient, template: ChatTemplate) -> bool:
    """Whether what the server prints shows none of the days around today, by its own clock or ours."""
    try:
        answer = client.post("/apply-template", {"messages": list(_ASKED.messages)})
        now = datetime.now(timezone.utc)
        days = [template.render(_ASKED, clock=now + timedelta(days=day), trace=False).text for day in (-1, 0, 1)]
        far = template.render(_ASKED, clock=now + _FAR, trace=False).text
    except (EngineError, TemplateError):
        return False
    printed = answer.get("prompt") if isinstance(answer, dict) else None
    if not isinstance(printed, str):
        return False
    constant = set(far.splitlines())
    dated = [line for text in days for line in text.splitlines() if line not in constant]
    return bool(dated) and not any(line in printed for line in dated)


def _history(defects: list[Defect]) -> Check:
    name = "template"
    if not defects:
        return Check(name, "ok", "prints the history as it was")
    grave = [defect for defect in defects if _is_grave(defect)]
    shown = grave or defects
    parts = [f"{CODES[defect.kind]} {defect.explanation}" for defect in shown[:_SHOWN]]
    more = f"; and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    lost = shown[0].worst
    why = f"{lost.tokens_lost:,} of {lost.tokens:,} tokens of a sample conversation are computed again"
    switches = [switch for defect in shown for switch in defect.switches]
    remedy = f"--chat-template-kwargs '{switches[0]}'" if switches else f"{shown[0].remedy} (--chat-template-file FILE)"
    status: Status = "in-the-way" if grave else "ok"
    if not grave:
        why += " at new user messages, or where the model writes so; tool calls keep the prefix"
    return Check(name, status, "; ".join(parts) + more, why, f"{remedy}; promptguard template check URL tells all")


def _is_grave(defect: Defect) -> bool:
    """Whether it is lost at tool calls, which an agent makes many times in a conversation, or takes the tools with it. Whether
    blanks at the ends of replies are lost depends on the model.
    """
    if defect.kind in ("arguments", "content") or defect.worst.tokens_lost <= _FEW:
        return False
    return defect.at_tools != "none" or defect.kind == "tools"


def _of_raw_arguments(defect: Defect) -> bool:
    """Whether it shows only where arguments reach the template as a string; a llama-server takes them apart."""
    return all(seen.conversation.arguments == "raw" and seen.conversation.calls_tools for seen in defect.breaks)
