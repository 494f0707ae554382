"""What tells two uses of the action apart, and is the same on every run: the inputs that say what is checked."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from promptguard_action.commands import moved
from promptguard_action.inputs import Inputs


def category(inputs: Inputs) -> str:
    """Of what lint uploads to code scanning. Only what it looks at counts, since alerts under another category stay open."""
    folder = f"promptguard/{inputs.prefix}".rstrip("/")
    of_lint = [*inputs.paths, f"--config={inputs.config}", f"--baseline={inputs.baseline}"]
    return f"{folder}:{_digest(inputs, of_lint)}" if inputs.paths or inputs.config or inputs.baseline else folder


def category_of_replay(inputs: Inputs) -> str:
    """Of what the replay uploads, likewise."""
    folder = f"promptguard-replay/{inputs.prefix}".rstrip("/")
    words = [f"--config={inputs.config}", *_of_replay(inputs)]
    return f"{folder}:{_digest(inputs, words)}" if any((inputs.config, inputs.server, inputs.model_from, inputs.args)) else folder


def identity(inputs: Inputs) -> str:
    """Of the comment: everything that is checked, and with what, but not what is asked for."""
    return _digest(inputs, [category(inputs), *map(str, (inputs.lint, inputs.format, inputs.replay)), *_of_replay(inputs)])


def _of_replay(inputs: Inputs) -> list[str]:
    return [f"--server={inputs.server}", f"--model-from={inputs.model_from}", *inputs.args]


def _digest(inputs: Inputs, words: list[str]) -> str:
    # The workspace has another path on another machine.
    names = [moved(word, inputs.root, Path()) for word in words]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:8]
