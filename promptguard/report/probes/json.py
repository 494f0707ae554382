"""For programs; docs/schemas/probe-1.json is its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

from promptguard import __version__
from promptguard.probing.result import Difference, Location, Probed, Verdict

VERSION = 1
"""Rises when a key is removed or changes its meaning. A new key only has to stand in the schema."""


def render(probed: Sequence[Probed]) -> str:
    """One JSON object, keys always in the same order, a line feed at its end."""
    verdicts = [one.verdict for one in probed]
    report = {
        "version": VERSION,
        "tool": {"name": "promptguard", "version": __version__},
        "builders": [_builder(one) for one in probed],
        "summary": {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)},
    }
    return json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _builder(one: Probed) -> dict[str, Any]:
    result = one.result
    return {
        "builder": one.builder,
        "verdict": one.verdict,
        "error": str(one.error) if one.error is not None else None,
        "location": _location(result.location) if result is not None else None,
        "differences": [_difference(difference) for difference in result.differences] if result is not None else [],
        "varied": list(result.varied) if result is not None else [],
        "notes": list(result.notes) if result is not None else [],
        "runs": result.runs if result is not None else 0,
        "tokens": result.tokens if result is not None else None,
        "tokenizer": result.tokenizer if result is not None else None,
        "seconds": round(result.seconds, 3) if result is not None else None,
    }


def _difference(difference: Difference) -> dict[str, Any]:
    return {
        "factors": list(difference.factors),
        "changes": difference.changes,
        "block": difference.block,
        "part": difference.what,
        "pointer": difference.pointer,
        "character": difference.character,
        "before": difference.before,
        "after": difference.after,
        "cause": {"code": difference.cause.code, "name": difference.cause.name},
        "explanation": difference.explanation,
        "remedy": difference.remedy,
        "tokens_lost": difference.tokens_lost,
        "location": _location(difference.location),
    }


def _location(location: Location | None) -> dict[str, Any] | None:
    return {"path": location.path, "line": location.line, "column": location.column} if location is not None else None
