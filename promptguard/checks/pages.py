"""The text of a rule file: its front matter and its sections."""

from __future__ import annotations

import re
from typing import NamedTuple

from promptguard.core.errors import InputError

SECTIONS = ("What it finds", "Why it costs", "How to fix it", "Examples")
"""The sections of a rule file, in their order."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class Page(NamedTuple):
    """A rule file.

    Attributes:
        front: its front matter, as YAML.
        body: all behind it: heading and sections.
        title: the first-level heading.
        sections: Markdown by second-level heading, in the order of the file, without blank lines around it.
    """

    front: str
    body: str
    title: str
    sections: dict[str, str]


def read_page(file: str) -> Page:
    """The page of a rule.

    Args:
        file: ``Rule.file``.

    Raises:
        InputError: the installation does not hold it, or it is no rule file.
    """
    from promptguard.core.resources import resource

    return split_page(resource(file).read_text(encoding="utf-8"), file)


def split_page(text: str, where: str) -> Page:
    """Take a rule file apart. Headings inside of fenced blocks are none.

    Raises:
        InputError: it has no front matter, no first-level heading, or a section twice.
    """
    if not text.startswith("---\n") or "\n---\n" not in text:
        raise InputError("the front matter is missing", where=where, hint="put it between two lines of ---")
    front, _, body = text[4:].partition("\n---\n")
    title = ""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    fence = ""
    for line in body.splitlines():
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found:
            fence = found[1]
        elif line.startswith("# ") and not title:
            title = line[2:].strip()
            continue
        elif line.startswith("## "):
            name = line[3:].strip()
            if name in sections:
                raise InputError(f"there are two sections {name!r}", where=where)
            lines = sections[name] = []
            continue
        lines.append(line)
    if not title:
        raise InputError("the first-level heading is missing", where=where, hint="write # with code and name")
    return Page(front, body.strip("\n") + "\n", title, {name: "\n".join(part).strip("\n") for name, part in sections.items()})
