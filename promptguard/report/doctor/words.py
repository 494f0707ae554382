"""What the formats say in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from promptguard.diagnosis.result import Check, Diagnosis, Status

STATUS: dict[Status, str] = {"ok": "ok", "at-risk": "at risk", "in-the-way": "in the way", "unknown": "cannot tell"}


def subject(found: Diagnosis) -> str:
    """Which server it is; its own words are untrusted."""
    server = found.server
    if server is None:
        return found.url
    parts = [f"{server.kind} {server.build}".strip()]
    if server.model:
        parts.append(server.model)
    if server.context:
        parts.append(f"{server.slots} slot{'' if server.slots == 1 else 's'} of {server.context:,} tokens")
    return f"{found.url}: {', '.join(parts)}"


def effort(found: Diagnosis) -> str:
    """What the probes took; empty where there were none."""
    if not found.requests:
        return ""
    rate = found.server.prefill_rate if found.server is not None else None
    speed = f", {rate:,.0f} tokens a second" if rate is not None else ""
    return f"{found.requests} prompts were sent, of which the server computed {found.prompt_tokens:,} tokens{speed}"


def summary(found: Diagnosis) -> str:
    """The verdict in one line."""
    if found.error is not None:
        return f"cannot be judged: {found.error}"
    parts = [_named(found.in_the_way, "in the way") or "nothing in the way", _named(found.at_risk, "at risk")]
    unknown = sum(check.status == "unknown" for check in found.checks)
    return "; ".join(filter(None, parts)) + (f" ({unknown} could not be told)" if unknown else "")


def _named(checks: Sequence[Check], words: str) -> str:
    return f"{len(checks)} {words}: {', '.join(check.name for check in checks)}" if checks else ""
