"""A task of three requests, for tests that need no big one."""

from __future__ import annotations

import json
from pathlib import Path

SYSTEM = "You are a helpful agent.\n" + "Answer in one short sentence and never guess what a tool can tell. " * 20 + "\n"
TASK = """version: 1
name: tiny
system: system.md
tools: tools.json
conversation:
  - user: What is the weather in Bern?
    steps:
      - reasoning: I look it up.
        calls:
          - name: get_weather
            arguments: { city: Bern }
            result: "clear, 21 degrees"
    answer: { content: It is clear in Bern. }
  - user: And tomorrow?
    answer: { content: I do not know. }
"""


def tool(name: str) -> dict[str, object]:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": "Ask a service.", "parameters": parameters}}


def write_task(folder: Path) -> Path:
    """The folder of the task, made below ``folder``."""
    task = folder / "task"
    task.mkdir()
    (task / "system.md").write_text(SYSTEM, encoding="utf-8")
    (task / "tools.json").write_text(json.dumps([tool("get_weather"), tool("get_time")], indent=2), encoding="utf-8")
    (task / "task.yaml").write_text(TASK, encoding="utf-8")
    return task
