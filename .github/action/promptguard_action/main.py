"""Runs one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promptguard_action.base import base
from promptguard_action.check import check
from promptguard_action.comment import comment
from promptguard_action.errors import ActionError
from promptguard_action.gate import gate
from promptguard_action.install import install
from promptguard_action.runner import annotate

_STEPS: dict[str, Callable[[], int]] = {"install": install, "base": base, "check": check, "comment": comment, "gate": gate}


def main(arguments: Sequence[str]) -> int:
    """Run the step that is named; its exit code."""
    try:
        return _STEPS[arguments[0]]()
    except ActionError as error:
        annotate("error", f"promptguard: {error}")
    except OSError as error:
        annotate("error", f"promptguard: {error.filename or 'the runner'}: {error.strerror or error}")
    return 2
