"""For programs; docs/schemas/doctor-1.json is its JSON Schema."""

from __future__ import annotations

import json
from typing import Any

from promptguard import __version__
from promptguard.diagnosis.catalog import AREA
from promptguard.diagnosis.result import Diagnosis

VERSION = 1
"""Rises when a key is removed or changes its meaning. A new key only has to stand in the schema."""


def render(found: Diagnosis) -> str:
    """One JSON object, keys always in the same order, a line feed at its end."""
    text = json.dumps(as_object(found), ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate, which no JSON reader has to accept, becomes "?"


def as_object(found: Diagnosis) -> dict[str, Any]:
    """The value that ``render`` writes. Counts are tokens, the rate is tokens per second."""
    server = found.server
    return {
        "version": VERSION,
        "tool": {"name": "promptguard", "version": __version__},
        "verdict": found.verdict,
        "error": found.error,
        "url": found.url,
        "server": None
        if server is None
        else {
            "kind": server.kind,
            "build": server.build,
            "model": server.model,
            "slots": server.slots,
            "context": server.context,
            "prefill_rate": server.prefill_rate,
        },
        "task": found.task,
        "needed_tokens": found.needed,
        "requests": found.requests,
        "prompt_tokens": found.prompt_tokens,
        "checks": [
            {
                "name": check.name,
                "area": AREA[check.name],
                "status": check.status,
                "found": check.found,
                "why": check.why,
                "remedy": check.remedy,
            }
            for check in found.checks
        ],
    }
