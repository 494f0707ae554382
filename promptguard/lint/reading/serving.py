"""Command lines and compose files that start a model server."""

from __future__ import annotations

import re

from promptguard.checks.base import Document
from promptguard.checks.serving import SERVES, starts_server
from promptguard.core.source import Source

_SERVES_TEXT = re.compile(SERVES)
_SERVES_BYTES = re.compile(SERVES.encode())
_SHELL = re.compile(
    r"(?:.*\.(?:sh|bash|zsh|ksh|service|mk|env|just)|\.env(?:\..{1,40})?|procfile(?:\..{1,40})?|(?:gnu)?makefile|\.?justfile)\Z",
    re.IGNORECASE | re.DOTALL,
)
_DOCKERFILE = re.compile(r"(?:.*\.)?(?:dockerfile|containerfile)(?:\..{1,60})?\Z", re.IGNORECASE | re.DOTALL)
_SHEBANG = re.compile(r"#![^\n]{0,200}\b(?:ba|da|z|k)?sh\b")


def may_serve(path: str, head: bytes) -> bool:
    """Whether a file may start a model server, by its name and its first bytes; quick."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    if "." in name and not _kind(name, ""):
        return False
    return _SERVES_BYTES.search(head) is not None and bool(_kind(name, head[:256].decode("latin-1")))


def serving_documents(path: str, text: str) -> list[Document]:
    """One document, the whole file, where it starts a model server or sets variables of one; none otherwise."""
    kind = _kind(path.replace("\\", "/").rsplit("/", 1)[-1], text[:256])
    if not kind or not _SERVES_TEXT.search(text):
        return []
    document = Document(Source(path, text, kind), "serving")
    return [document] if starts_server(document) else []


def _kind(name: str, head: str) -> str:
    """How to read a file: ``shell``, ``dockerfile``, ``yaml``, empty where it is none of them."""
    if name.lower().endswith((".yaml", ".yml")):
        return "yaml"
    if _DOCKERFILE.match(name):
        return "dockerfile"
    if _SHELL.match(name) or ("." not in name and _SHEBANG.match(head)):
        return "shell"
    return ""
