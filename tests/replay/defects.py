"""Prompts with a known defect, written as a user would have written them."""

from __future__ import annotations

from pathlib import Path

from promptguard.core.resources import resource
from promptguard.replaying.result import Result

TASK = resource("fixtures/tasks/four_tool")
CHAT_TEMPLATES = resource("fixtures/chat_templates")


def system_text() -> str:
    path = next(path for path in (TASK / "system.md", TASK / "system.md.j2") if path.exists())
    return path.read_text(encoding="utf-8")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def clock_at_the_head(folder: Path) -> Path:
    return write(folder, "system.j2", "Now: {{ now }}\n" + system_text())


def clock_at_the_end(folder: Path) -> Path:
    return write(folder, "system.j2", system_text().rstrip("\n") + "\n\nThe time is {{ now.strftime('%H:%M:%S') }}.\n")


def one_extra_space(folder: Path) -> Path:
    head, _, tail = system_text().partition("\n\n")
    return write(folder, "system.j2", head + "\n\n{% if turn == 6 %} {% endif %}" + tail)


def uuid_in_a_tool(folder: Path) -> Path:
    text = (TASK / "tools.json").read_text(encoding="utf-8")
    marker = '"description": "'
    return write(folder, "tools.json.j2", text.replace(marker, marker + "[{{ request_id }}] ", 1))


def keep_last_messages(folder: Path, count: int) -> Path:
    import shutil

    copy = folder / "task"
    shutil.copytree(TASK, copy)
    path = copy / "task.yaml"
    path.write_text(path.read_text(encoding="utf-8") + f"\nhistory:\n  keep_last: {count}\n", encoding="utf-8")
    return path


def failed(result: Result) -> list[str]:
    """The names of the checks that failed."""
    return [check.name for check in result.checks if not check.passed]


def causes(result: Result) -> dict[int, str]:
    """For each turn with a divergence: the code of its cause."""
    return {turn.number: turn.divergence.cause.code for turn in result.turns if turn.divergence}
