"""Command lines and compose files that start a model server."""

from __future__ import annotations

from promptguard.checks.base import Document
from promptguard.core import patterns as re
from promptguard.core.light import regex
from promptguard.core.source import Source

_SHELL = regex(
    r"(?:.*\.(?:sh|bash|zsh|ksh|service|mk|env|just)|\.env(?:\..{1,40})?|procfile(?:\..{1,40})?|(?:gnu)?makefile|\.?justfile)\Z",
    re.IGNORECASE | re.DOTALL,
)
_DOCKERFILE = regex(r"(?:.*\.)?(?:dockerfile|containerfile)(?:\..{1,60})?\Z", re.IGNORECASE | re.DOTALL)
_OTHERS = (".md", ".markdown", ".txt", ".json", ".jsonl", ".j2", ".jinja", ".jinja2")
_SHEBANG = regex(r"#![^\n]{0,200}\b(?:ba|da|z|k)?sh\b")


def may_serve(path: str, head: bytes) -> bool:
    """Whether a file may start a model server, by its name and its first bytes; quick."""
    if not _kind(path, head[:256].decode("latin-1")):
        return False
    from promptguard.checks.serving import SERVER_WORDS

    return any(word.encode() in head for word in SERVER_WORDS)


def serving_documents(path: str, text: str) -> list[Document]:
    """One document, the whole file, where it starts a model server or sets variables of one; none otherwise."""
    kind = _kind(path, text[:256])
    if not kind:
        return []
    from promptguard.checks.serving import SERVER_WORDS, starts_server

    if not any(word in text for word in SERVER_WORDS):
        return []
    document = Document(Source(path, text, kind), "serving")
    return [document] if starts_server(document) else []


def _kind(path: str, head: str) -> str:
    """How to read a file: ``shell``, ``dockerfile``, ``yaml``, empty where it is none of them."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    lower = name.lower()
    if lower.endswith((".yaml", ".yml")):
        return "yaml"
    if lower.endswith(_OTHERS) and "file" not in lower and lower[:4] != ".env":
        return ""  # as most files, without a look at the patterns
    if _DOCKERFILE.match(name):
        return "dockerfile"
    if _SHELL.match(name) or ("." not in name and _SHEBANG.match(head)):
        return "shell"
    return ""
