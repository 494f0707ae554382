"""Whether a task fits into a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptguard.core.errors import EngineError
from promptguard.diagnosis.facts import Facts, View
from promptguard.diagnosis.result import Check
from promptguard.engines.http import JSONClient
from promptguard.prompts.request import Request

REPLY_TOKENS = 256
"""Tokens left for a reply: what ``promptguard replay --live`` lets a model generate (``--max-tokens``)."""


@dataclass(frozen=True)
class Workload:
    """What the server is to hold.

    Attributes:
        name: of the task.
        requests: of all its turns.
    """

    name: str
    requests: Sequence[Request]


@dataclass(frozen=True)
class Fit:
    """The check, and how many tokens the task needs (``None`` where that is not known)."""

    check: Check
    needed: int | None


def context_fit(client: JSONClient, facts: Facts, view: View, workload: Workload) -> Fit:
    """Compare the longest prompt of a task, as the server itself renders and counts it, with the context of a slot.

    Args:
        client: asked to render and to tokenize.
        facts: with the context that ``/props`` names.
        view: with those of the slots, of which the smallest counts.
        workload: the task.
    """
    context = min((each for each in view.contexts if each > 0), default=facts.server.context)
    slots = facts.server.slots
    seen = f"{context:,} tokens a slot"
    if context <= 0:
        return Fit(Check("context", "unknown", "the server does not say how large its context is"), None)
    try:
        prompt = max(_count(client, request) for request in workload.requests)
    except EngineError as error:
        why = f"the task {workload.name} could not be rendered and counted ({error.what})"
        return Fit(Check("context", "unknown", seen, why), None)
    needed = prompt + REPLY_TOKENS
    figures = f"{seen}; the task {workload.name} takes {needed:,} ({prompt:,} of prompt, {REPLY_TOKENS} for a reply)"
    if needed <= context:
        return Fit(Check("context", "ok", figures), needed)
    size = -(-needed // 1024) * 1024
    shared = f": {slots} slots may share {slots * context:,}" if slots > 1 else ""
    why = f"a prompt that does not fit is refused, or its history is cut, which loses the cache{shared}"
    remedy = f"--ctx-size {size} (LLAMA_ARG_CTX_SIZE)"
    if slots > 1:
        remedy = f"--parallel 1 {remedy}, or --ctx-size {slots * size} for {slots} slots, or --kv-unified"
    return Fit(Check("context", "in-the-way", figures, why, remedy), needed)


def _count(client: JSONClient, request: Request) -> int:
    body: dict[str, object] = {"messages": list(request.messages)}
    if request.tools:
        body["tools"] = list(request.tools)
    answer = client.post("/apply-template", body)
    prompt = answer.get("prompt") if isinstance(answer, dict) else None
    if not isinstance(prompt, str):
        raise EngineError("an unexpected answer to /apply-template")
    counted = client.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
    tokens = counted.get("tokens") if isinstance(counted, dict) else None
    if not isinstance(tokens, list):
        raise EngineError("an unexpected answer to /tokenize")
    return len(tokens)
