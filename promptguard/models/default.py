"""The tiny model that comes with the package."""

from __future__ import annotations

from pathlib import Path

from promptguard.core.resources import resource


def default_model() -> Path:
    """The path of the default tiny-random model; ``fixtures/models/tiny/README.md`` says how it is made."""
    return resource("fixtures/models/tiny/promptguard-tiny.gguf")
