"""promptguard keeps the prefix of an LLM prompt byte-stable, and proves it on a real engine."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # what type checkers take for true; importing typing would cost more than this whole module
if TYPE_CHECKING:
    from promptguard.core.errors import PromptguardError
    from promptguard.interface import lint, probe, replay
    from promptguard.linting.result import LintResult, Record
    from promptguard.probing.result import Difference, ProbeResult
    from promptguard.replaying.result import Result, Turn
    from promptguard.toolschema.canonical import canonical_json, canonical_tools, tools_fingerprint
    from promptguard.toolschema.errors import ToolSchemaError

__all__ = [
    "Difference",
    "LintResult",
    "ProbeResult",
    "PromptguardError",
    "Record",
    "Result",
    "ToolSchemaError",
    "Turn",
    "__version__",
    "canonical_json",
    "canonical_tools",
    "lint",
    "probe",
    "replay",
    "tools_fingerprint",
]

_HOME = {
    "Difference": "promptguard.probing.result",
    "LintResult": "promptguard.linting.result",
    "ProbeResult": "promptguard.probing.result",
    "PromptguardError": "promptguard.core.errors",
    "Record": "promptguard.linting.result",
    "Result": "promptguard.replaying.result",
    "ToolSchemaError": "promptguard.toolschema.errors",
    "Turn": "promptguard.replaying.result",
    "canonical_json": "promptguard.toolschema.canonical",
    "canonical_tools": "promptguard.toolschema.canonical",
    "lint": "promptguard.interface",
    "probe": "promptguard.interface",
    "replay": "promptguard.interface",
    "tools_fingerprint": "promptguard.toolschema.canonical",
}


if not TYPE_CHECKING:  # a type checker that saw it would take every name for a public one

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for, so that ``import promptguard`` costs nothing."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
