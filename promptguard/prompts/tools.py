"""Tool schemas from a file, in any dialect, as the tools of an OpenAI chat request."""

from __future__ import annotations

from pathlib import Path

from promptguard.core.files import read_text
from promptguard.core.source import Source
from promptguard.parse.strict import parse
from promptguard.prompts.request import Tool
from promptguard.toolschema.openai import as_openai_tools

MAX_BYTES = 8 * 1024 * 1024


def load_tools(path: Path) -> tuple[tuple[Tool, ...], Source]:
    """Read a file of tool schemas.

    Returns:
        The tools in the order of the file, as ``as_openai_tools`` gives them, and the file as a source.

    Raises:
        InputError: the file cannot be read, is not strict JSON, or holds no tools.
    """
    source = Source(path=str(path), text=read_text(path, limit=MAX_BYTES, what="the tools file"), kind="json")
    return as_openai_tools(parse(source), source.path), source
