"""The text of a rule file: its front matter and its sections."""

from __future__ import annotations

from collections.abc import Iterator

from promptguard.core.errors import InputError
from promptguard.core.light import NamedTuple, regex

SECTIONS = ("What it finds", "Why it costs", "How to fix it", "Examples")
"""The sections of a rule file, in their order."""

_FENCE = regex(r"(`{3,}|~{3,})(.*)")


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
        InputError: it has no front matter, no first-level heading, a section twice, or a fenced block that does not end.
    """
    if not text.startswith("---\n") or "\n---\n" not in text:
        raise InputError("the front matter is missing", where=where, hint="put it between two lines of ---")
    front, _, body = text[4:].partition("\n---\n")
    title = ""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for part in parts(body, where):
        if part.info is not None:
            lines.extend(part.lines)
            continue
        for line in part.lines:
            if line.startswith("# ") and not title:
                title = line[2:].strip()
            elif line.startswith("## "):
                name = line[3:].strip()
                if name in sections:
                    raise InputError(f"there are two sections {name!r}", where=where)
                lines = sections[name] = []
            else:
                lines.append(line)
    if not title:
        raise InputError("the first-level heading is missing", where=where, hint="write # with code and name")
    return Page(front, body.strip("\n") + "\n", title, {name: "\n".join(part).strip("\n") for name, part in sections.items()})


class Part(NamedTuple):
    """A stretch of Markdown: a fenced block, its fences included, or what stands between two of them.

    Attributes:
        info: the info string of a fenced block, ``None`` for the rest.
        lines: its lines, without line ends.
    """

    info: str | None
    lines: list[str]


def parts(markdown: str, where: str) -> Iterator[Part]:
    """The parts of a text in their order.

    Raises:
        InputError: a fenced block does not end.
    """
    plain: list[str] = []
    block: Part | None = None
    fence = ""
    for line in markdown.split("\n"):
        found = _FENCE.match(line)
        if block is not None:
            block.lines.append(line)
            if found and found[1].startswith(fence) and not found[2].strip():
                yield block
                block = None
        elif found:
            yield Part(None, plain)
            plain = []
            fence = found[1]
            block = Part(found[2].strip(), [line])
        else:
            plain.append(line)
    if block is not None:
        raise InputError(f"the fenced block {block.lines[0]!r} does not end", where=where)
    yield Part(None, plain)
