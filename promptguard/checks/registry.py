"""Which detectors look at which kind of document; they are imported when the first such document comes."""

from __future__ import annotations

from functools import cache

from promptguard.checks.base import Detector, Kind
from promptguard.core.light import Any

_MODULES: dict[Kind, tuple[str, ...]] = {
    "prompt": ("dynamic", "order", "whitespace"),
    "tools": ("tools",),
    "chat-template": ("chat_template",),
    "serving": ("serving",),
}


@cache
def detectors(kind: Kind) -> tuple[tuple[str, Detector], ...]:
    """Name and detector of each module that looks at documents of a kind."""
    return tuple((name, _module(f"promptguard.checks.{name}").check) for name in _MODULES[kind])


def _module(name: str) -> Any:
    return __import__(name, fromlist=["check"])  # importlib itself takes longer to import than one of them
