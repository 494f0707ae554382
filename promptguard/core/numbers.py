"""Numbers as people read them."""

from __future__ import annotations

import math


def percent(value: float) -> str:
    """A share in per cent with one decimal, rounded down: what is below a limit never reads as the limit."""
    return f"{math.floor(value * 1000 + 1e-9) / 10:.1f}%"
