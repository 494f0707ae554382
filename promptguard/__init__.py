"""promptguard keeps the prefix of an LLM prompt byte-stable, and proves it on a real engine."""

from __future__ import annotations

__version__ = "0.1.0"
