"""The documents of the repository, their links, and the anchors that GitHub gives their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FOUND = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("rules/**/*.md"),
    *ROOT.glob(".github/**/*.md"),
]
DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in _FOUND)

_LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)"  # [text](target "title")
    r"|^\[[^\]]+\]:\s+(\S+)"  # [text]: target
    r"|<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"",
    re.MULTILINE,
)
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})([^\n]*)\n(.*?)^ *\2[`~]*$", re.MULTILINE | re.DOTALL)


def links(document: str) -> Iterator[str]:
    """The targets of a document's links and images, those in code left out."""
    text = re.sub(r"(`+)[^`].*?\1", "", _FENCE.sub("", _text(document)))
    for link in _LINK.finditer(text):
        yield next(filter(None, link.groups()))


@cache
def anchors(document: str) -> frozenset[str]:
    """What may stand behind # in a link to a document."""
    text = _FENCE.sub("", _text(document))
    found = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^ {0,3}#{1,6} +(.*?)(?: +#+)?$", text, re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        again = 0
        while (anchor := f"{plain}-{again}" if again else plain) in found:
            again += 1
        found.add(anchor)
    return frozenset(found)


def fences(document: str) -> Iterator[tuple[str, str]]:
    """The language and the text of each fenced block, what it is indented by taken away."""
    for indent, _, info, text in _FENCE.findall(_text(document)):
        yield info.split(" ")[0], re.sub(f"^{indent}", "", text, flags=re.MULTILINE)


def _text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")
