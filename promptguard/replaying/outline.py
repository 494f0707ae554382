"""What a replay would measure, found out without an engine: two runs that differ in that have no numbers to compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptguard.models.default import default_model
from promptguard.replaying.command import as_told
from promptguard.replaying.script import Script
from promptguard.replaying.task import load_task


def outline(settings: Mapping[str, Any], inject: str | None = None) -> dict[str, Any]:
    """What the JSON report of a replay would say of its settings, task, model and turns.

    Args:
        settings: as of ``execute``.
        inject: likewise.

    Returns:
        Those parts of the report. The model is ``None`` where a server has it, the turns are where a model takes part in them.

    Raises:
        InputError: the task cannot be used.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    task = load_task(given.get("task"))
    live = bool(given.get("live"))
    turns = [{"number": turn.number, "label": turn.label} for turn in Script(task, ()).turns]
    return {
        "version": 1,
        "settings": as_told(given, inject),
        "subject": {"task": task.name, "model": _model(given), "live": live},
        "turns": None if live else turns,
    }


def _model(given: Mapping[str, Any]) -> str | None:
    if "server" in given:
        return None
    if "model" in given:
        return Path(given["model"]).name
    return f"tiny-{Path(given['model_from']).stem}.gguf" if "model_from" in given else default_model().name
