"""The dialects that tool schemas are written in: the only place that knows their keys."""

from __future__ import annotations

from typing import Literal

Dialect = Literal["openai-chat", "openai-responses", "anthropic", "mcp", "gemini", "function"]


def detect(value: object) -> Dialect | None:
    """The dialect of a JSON value that holds tool schemas beyond doubt, ``None`` for any other.

    It is a list of tools, one tool, or an object that has a list of them under ``tools`` or ``functions`` (the result or answer
    of MCP ``tools/list`` among them). At least one tool has a name and a schema of its arguments; the others may be tools of the
    provider or bare JSON Schemas. A request with messages holds tools and is none of these: it is a record, not a tools file.
    ``function`` is a function without a wrapper (``name``, ``parameters``), which Gemini and older OpenAI requests share. Of a
    mixed list it is the dialect of the first tool.
    """
    raise NotImplementedError


def looks_like_tools(value: object) -> bool:
    """Whether ``detect`` knows a dialect."""
    return detect(value) is not None
