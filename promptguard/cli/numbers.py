"""Numbers as flags."""

from __future__ import annotations

import math

import click


def refuse_nan(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """A callback for numbers with limits: click compares them, and nan is not below any."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number")
    return value
