"""Command lines and compose files that start a model server."""

from __future__ import annotations

from promptguard.checks.base import Document


def may_serve(path: str, head: bytes) -> bool:
    """Whether a file may start a model server; quick."""
    return False


def serving_documents(path: str, text: str) -> list[Document]:
    """The command lines of model servers in a file."""
    return []
