"""The files of a small agent: its system prompt, and a task of three requests to replay it with."""

from __future__ import annotations

from pathlib import Path

from tiny_task import SYSTEM, write_task

CLEAN = SYSTEM
CLOCK = "Now: {{ now() }}\n" + SYSTEM
SETTINGS = '[replay]\nsystem = "prompts/system.j2"\ntask = "task"\nmin-hit-rate = 0.5\n'


def agent(system: str, folder: Path) -> dict[str, str]:
    """The files by their names.

    Args:
        system: the text of the prompt.
        folder: for what the task is made of.
    """
    task = write_task(folder)
    files = {f"task/{path.name}": path.read_text(encoding="utf-8") for path in task.iterdir()}
    return {**files, "prompts/system.j2": system, "promptguard.toml": SETTINGS}
