"""Tool-schema files for tests."""

from __future__ import annotations

import os
from pathlib import Path

SHUFFLED = (
    '[{"function": {"parameters": {"required": ["q"], "properties": {"q": {"type": "string"}}, "type": "object"}, "name": "b"},\n'
    '"type": "function"}, {"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": {}}}}]'
)
CANONICAL = """\
[
  {
    "type": "function",
    "function": {
      "name": "a",
      "parameters": {
        "type": "object",
        "properties": {}
      }
    }
  },
  {
    "type": "function",
    "function": {
      "name": "b",
      "parameters": {
        "type": "object",
        "properties": {
          "q": {
            "type": "string"
          }
        },
        "required": [
          "q"
        ]
      }
    }
  }
]
"""
WIRE = (
    '[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}},'
    '{"type":"function","function":{"name":"b","parameters":'
    '{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}]'
)
SHUFFLED_YAML = """\
- function:
    parameters: {type: object, properties: {}}
    name: b
  type: function
- type: function
  function: {name: 'a'}
"""
CANONICAL_YAML = """\
- type: function
  function:
    name: a
- type: function
  function:
    name: b
    parameters:
      type: object
      properties: {}
"""
BROKEN = SHUFFLED.replace('"name": "b"', '"name": "b", "name": "c"')


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Create files, and the folders that they stand in."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, links not followed."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            found[path.relative_to(folder).as_posix()] = (
                b"-> " + str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            )
    return found
