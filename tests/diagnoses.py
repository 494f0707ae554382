"""Reading a diagnosis."""

from __future__ import annotations

from promptguard.diagnosis.result import Check, Diagnosis


def check(found: Diagnosis, name: str) -> Check:
    """The check of a name."""
    return next(check for check in found.checks if check.name == name)
