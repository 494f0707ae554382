"""The report for programs; docs/schemas/replay-1.json is its JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from promptguard import __version__
from promptguard.core.source import Place
from promptguard.replaying.result import Result, TemplateCheck, TemplateFinding, Turn
from promptguard.report.common import uncached_ratio, verdict

if TYPE_CHECKING:  # only a run that lost something needs it at run time
    from promptguard.prompts.divergence import Divergence

VERSION = 1
"""Rises when a key is removed or changes its meaning. A new key only has to stand in the schema."""


def render(result: Result) -> str:
    """The result as one JSON object, keys always in the same order, a line feed at its end."""
    text = json.dumps(as_object(result), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate, which no JSON reader has to accept, becomes "?"


def as_object(result: Result) -> dict[str, Any]:
    """The result as the JSON value that ``render`` writes. Counts are tokens, times seconds, rates between 0 and 1."""
    subject = result.subject
    return {
        "version": VERSION,
        "tool": {"name": "promptguard", "version": __version__},
        "verdict": verdict(result),
        "error": result.error,
        "subject": {
            "engine": subject.engine,
            "build": subject.build,
            "url": subject.url,
            "model": subject.model,
            "context": subject.context,
            "slots": subject.slots,
            "slot": subject.slot,
            "chat_template": subject.chat_template,
            "chat_template_sha256": subject.chat_template_sha256,
            "rendered_by": subject.rendered_by,
            "task": subject.task,
            "system": subject.system,
            "tools": subject.tools,
            "live": subject.live,
        },
        "settings": _plain(result.settings),
        "checks": [
            {
                "name": check.name,
                "passed": check.passed,
                "value": check.value,
                "limit": check.limit,
                "message": check.message,
            }
            for check in result.checks
        ],
        "totals": {
            "prompt_tokens": result.prompt_tokens,
            "hit_tokens": result.hit_tokens,
            "cached_tokens": result.cached_tokens,
            "prefill_tokens": result.prefill_tokens,
            "warm_up_tokens": result.warm_up_tokens,
            "hit_rate": result.hit_rate,
            "ceiling": result.ceiling,
            "cold_hit_rate": result.cold_hit_rate,
            "repetition_rate": result.repetition_rate,
            "prompt_loss": result.prompt_loss,
            "engine_loss": result.engine_loss,
            "seconds": result.seconds,
            "seconds_uncached": result.seconds_uncached,
            "uncached_ratio": uncached_ratio(result),
            "seconds_total": result.seconds_total,
            "seconds_engine": result.seconds_engine,
        },
        "turns": [_turn(turn) for turn in result.turns],
        "chat_template": _template(result.template) if result.template is not None else None,
        "stand_ins": [{"name": item.name, "kind": item.kind, "varies": item.varies} for item in result.stand_ins],
        "notes": list(result.notes),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "label": turn.label,
        "prompt": turn.prompt,
        "cached": turn.cached,
        "prefilled": turn.prefilled,
        "ideal": turn.ideal,
        "attainable": turn.attainable,
        "reusable": turn.reusable,
        "hit": turn.hit,
        "foreign": turn.foreign,
        "hit_rate": turn.hit_rate,
        "prompt_loss": turn.prompt_loss,
        "engine_loss": turn.engine_loss,
        "granularity": turn.granularity,
        "seconds": turn.seconds,
        "seconds_uncached": turn.seconds_uncached,
        "divergence": _divergence(turn.divergence) if turn.divergence is not None else None,
    }


def _divergence(found: Divergence) -> dict[str, Any]:
    return {
        "cause": {"code": found.cause.code, "name": found.cause.name},
        "block": found.block,
        "token": found.token,
        "char": found.char,
        "tokens_lost": found.tokens_lost,
        "before": found.before,
        "after": found.after,
        "explanation": found.explanation,
        "remedy": found.remedy,
        "expression": found.expression,
        "place": _place(found.place),
        "related": [_place(place) for place in found.related],
    }


def _template(found: TemplateCheck) -> dict[str, Any]:
    return {"findings": [_template_finding(each) for each in found.findings], "accepted": list(found.accepted)}


def _template_finding(found: TemplateFinding) -> dict[str, Any]:
    return {
        "code": found.code,
        "explanation": found.explanation,
        "remedy": found.remedy,
        "place": _place(found.place),
        "conversation": found.conversation,
        "reply": found.reply,
        "before": found.before,
        "after": found.after,
        "tokens": found.tokens,
        "tokens_lost": found.tokens_lost,
        "prefilled": found.prefilled,
    }


def _place(place: Place | None) -> dict[str, Any] | None:
    """Line and column count from 1, ``start`` and ``end`` are code points from 0; ``parent`` is where an embedded text sits."""
    if place is None:
        return None
    return {
        "path": place.source.path,
        "line": place.line,
        "column": place.column,
        "start": place.span.start,
        "end": place.span.end,
        "parent": _place(place.source.parent),
    }


def _plain(value: object) -> Any:
    """A setting as a JSON value; what JSON does not know, such as a path, as its text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
