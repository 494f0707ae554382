"""The gate: checks on what was measured, each reported by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptguard.core.errors import EngineError
from promptguard.core.numbers import percent
from promptguard.replaying.result import Check, Result, TemplateCheck, TemplateFinding, Turn

# Agent loops whose cache works read a median of 84 % of their prompt tokens from it; below about 80 % something is breaking it
# (Anthropic, "Optimizing for cost and intelligence", section "What good looks like").
MIN_HIT_RATE = 0.80


@dataclass(frozen=True)
class Gate:
    """What a run must reach.

    Attributes:
        min_hit_rate: least hit rate, 0 to 1.
        prompt_loss: tokens of prompt loss that any one turn may have, and that any one finding in the chat template may cost.
        engine_loss: tokens of engine loss that any one turn may have.
    """

    min_hit_rate: float = MIN_HIT_RATE
    prompt_loss: int = 0
    engine_loss: int = 0


def judge(result: Result, gate: Gate) -> tuple[Check, ...]:
    """The checks of the gate: three, and a fourth where the user's own chat template was tried.

    Raises:
        EngineError: fewer than two turns were measured, which proves nothing.
    """
    if len(result.turns) < 2:
        raise EngineError(
            f"only {len(result.turns)} turn was measured, and a prefix shows its worth from the second on"
            if result.turns
            else "no turn was measured",
            hint="use a task with at least two requests",
        )
    checks = [
        _hit_rate(result, gate),
        _loss("prompt-loss", result.turns, [turn.prompt_loss for turn in result.turns], gate.prompt_loss),
        _loss("engine-loss", result.turns, [turn.engine_loss for turn in result.turns], gate.engine_loss),
    ]
    if result.template is not None:
        checks.append(_chat_template(result.template, gate.prompt_loss))
    return tuple(checks)


def _hit_rate(result: Result, gate: Gate) -> Check:
    rate, least = result.hit_rate, gate.min_hit_rate
    if rate >= least:
        message = f"{percent(rate)} of the prompt tokens came from the cache, at least {percent(least)} are asked for"
    elif result.ceiling < least:
        message = (
            f"no prompt could pass this task: even an append-only run reaches only {percent(result.ceiling)}, and "
            f"{percent(least)} are asked for; use a longer task or lower --min-hit-rate"
        )
    else:
        message = f"only {percent(rate)} of the prompt tokens came from the cache, {percent(least)} are asked for"
    return Check("hit-rate", rate >= least, rate, least, message)


def _count(count: int, noun: str = "token") -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _engine_cause(turns: Sequence[Turn]) -> str:
    """Why an engine loses, as far as the figures tell (docs/causes.md, K11 to K13)."""
    if not any(turn.cached for turn in turns):
        return "it reused nothing at all, so its prefix cache is off (llama-server: --cache-prompt)"
    if all(turn.prompt_loss for turn in turns if turn.engine_loss):
        return "it cannot go back, as models with a sliding window or a recurrent state cannot (llama-server: --swa-full)"
    return "another request took its slot, or its cache is too small"


def _loss(name: str, turns: Sequence[Turn], losses: Sequence[int], limit: int) -> Check:
    worst = max(losses)
    over = [turn.number for turn, loss in zip(turns, losses, strict=True) if loss > limit]
    tokens = _count(worst, "reusable token")
    culprit = "the prompt changed and threw away" if name == "prompt-loss" else "the engine did not reuse"
    if over:
        where = f"turn {over[0]}" if len(over) == 1 else f"{len(over)} turns"
        message = f"{culprit} {tokens} at worst, on {where}"
        if name == "engine-loss":
            message += f": {_engine_cause(turns)}"
    elif worst:
        message = f"{culprit} {tokens} at worst, within the tolerance of {limit:,}"
    else:
        message = "no reusable token was lost " + ("to the prompt" if name == "prompt-loss" else "to the engine")
    return Check("prompt-loss" if name == "prompt-loss" else "engine-loss", not over, worst, limit, message)


def _chat_template(found: TemplateCheck, limit: int) -> Check:
    worst = max((each.tokens_lost for each in found.findings), default=0)
    over = [each for each in found.findings if each.tokens_lost > limit or each.conversation is None]
    if over:
        message = _template_finding(over[0])
        if len(over) > 1:
            message += f"; and {len(over) - 1} more"
    elif worst:
        message = f"it loses {_count(worst)} at worst, within the tolerance of {limit:,}"
    elif found.accepted:
        message = f"nothing was found in the chat template but what is accepted: {', '.join(found.accepted)}"
    else:
        message = "the chat template keeps the prefix of every conversation that was tried"
    if found.accepted and (over or worst):
        message += f" (accepted: {', '.join(found.accepted)})"
    return Check("chat-template", not over, worst, limit, message)


def _template_finding(found: TemplateFinding) -> str:
    place = f" {found.place}" if found.place is not None else ""
    message = f"{found.code}{place}: {found.explanation}"
    if found.conversation is None:
        return message
    return f'{message}: {_count(found.tokens_lost)} lost behind reply {found.reply} of "{found.conversation}"{_confirmed(found)}'


def _confirmed(found: TemplateFinding) -> str:
    """What the engine says to it."""
    if found.prefilled is None:
        return ", not tried on the engine, whose context is too small"
    but = "" if found.prefilled == found.tokens_lost else "but "
    return f" ({but}the engine computed {found.prefilled:,} again)"
