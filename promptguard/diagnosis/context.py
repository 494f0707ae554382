"""Whether a task fits into a slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from promptguard.core.errors import PromptguardError
from promptguard.diagnosis.facts import Facts, View
from promptguard.diagnosis.result import Check
from promptguard.engines.base import Engine, Need
from promptguard.engines.http import JSONClient
from promptguard.engines.llama_server import LlamaServer


@dataclass(frozen=True)
class Workload:
    """What the server is to hold.

    Attributes:
        name: of the task.
        need: what its longest turn takes, as a replay of it counts it on this engine.
    """

    name: str
    need: Callable[[Engine], Need]


@dataclass(frozen=True)
class Fit:
    """The check, and how many tokens the task needs (``None`` where that is not known)."""

    check: Check
    needed: int | None


def context_fit(client: JSONClient, facts: Facts, view: View, workload: Workload) -> Fit:
    """Compare what the longest turn of a task takes, as the server itself counts it, with the context of a slot.

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
        need = workload.need(LlamaServer(client, watched=False))
    except PromptguardError as error:
        why = f"the task {workload.name} could not be counted: {error.what}"
        return Fit(Check("context", "unknown", seen, why), None)
    needed = need.tokens
    figures = (
        f"{seen}; the task {workload.name} takes {needed:,} ({need.prompt:,} of prompt, {needed - need.prompt:,} for its reply)"
    )
    if needed <= context:
        return Fit(Check("context", "ok", figures), needed)
    size = -(-needed // 1024) * 1024
    shared = f": {slots} slots may share {slots * context:,}" if slots > 1 else ""
    why = f"a prompt that does not fit is refused, or its history is cut, which loses the cache{shared}"
    remedy = f"--ctx-size {size} (LLAMA_ARG_CTX_SIZE)"
    if slots > 1:
        remedy = f"--parallel 1 {remedy}, or --ctx-size {slots * size} for {slots} slots, or --kv-unified"
    return Fit(Check("context", "in-the-way", figures, why, remedy), needed)
