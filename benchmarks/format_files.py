"""How long ``promptguard format --check`` takes on a tree with few tools files, and on one file of many tools."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

FOLDERS, FILES_EACH, TOOLS_FILES, TOOLS_EACH, MANY = 100, 50, 50, 20, 2000


def tool(number: int) -> dict[str, Any]:
    properties = {
        f"argument_{n}": {"type": "string", "description": f"What argument {n} of tool {number} is for."} for n in range(8)
    }
    schema = {"required": list(properties), "properties": properties, "type": "object"}
    return {"type": "function", "function": {"parameters": schema, "description": f"Tool {number}.", "name": f"tool_{number:04}"}}


def shuffled_tools(count: int) -> list[dict[str, Any]]:
    tools = [tool(number) for number in range(count)]
    random.Random(0).shuffle(tools)
    return tools


def seconds(*arguments: str) -> float:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "promptguard", "format", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - begin


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(FOLDERS):
            part = root / "tree" / f"part_{number:03}"
            part.mkdir(parents=True)
            for file in range(FILES_EACH):
                (part / f"data_{file}.json").write_text(json.dumps({"name": f"item {file}", "values": list(range(50))}))
        for number in range(TOOLS_FILES):
            path = root / "tree" / f"part_{number:03}" / "tools.json"
            path.write_text(json.dumps(shuffled_tools(TOOLS_EACH)))
        (root / "many.json").write_text(json.dumps(shuffled_tools(MANY)))
        (root / "many.yaml").write_text(
            yaml.dump(shuffled_tools(MANY), sort_keys=False, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
        )
        (root / "none.json").write_text("{}")
        base = seconds("--check", str(root / "none.json"))
        rows = {
            "start": base,
            f"tree of {FOLDERS * FILES_EACH + TOOLS_FILES:,} files, {TOOLS_FILES} with tools": seconds(
                "--check", str(root / "tree")
            ),
            f"{MANY:,} tools in JSON": seconds("--check", str(root / "many.json")),
            f"{MANY:,} tools in JSON, --diff": seconds("--diff", str(root / "many.json")),
            f"{MANY:,} tools in YAML": seconds("--check", str(root / "many.yaml")),
        }
    for name, taken in rows.items():
        print(f"{name:44} {taken:7.2f} s")


if __name__ == "__main__":
    main()
