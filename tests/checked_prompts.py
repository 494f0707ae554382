"""Prompts as detectors see them, for tests: one block, the system prompt, unless said otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptguard.checks import dynamic, order
from promptguard.checks.base import Document, Hit, Placeholder, Region, Syntax
from promptguard.core.source import Source
from promptguard.parse.template import parse_expression, parse_template
from promptguard.parse.template_nodes import outputs


def jinja(
    text: str, *, regions: Sequence[Region] | None = None, stable: Iterable[str] = (), dynamic: Iterable[str] = ()
) -> Document:
    template = parse_template(text)
    return Document(
        Source("prompt.j2", text, "jinja"),
        "prompt",
        syntax="jinja",
        regions=regions if regions is not None else [Region(0, len(text), "system")],
        placeholders=[Placeholder(node.start, node.end, node.expression) for node in outputs(template)],
        stable=frozenset(stable),
        dynamic=frozenset(dynamic),
        template=template,
    )


def plain(text: str, placeholders: Iterable[tuple[str, str]] = (), syntax: Syntax | None = None) -> Document:
    """A prompt of another syntax; each placeholder is given as it is written and as the expression in it."""
    found = []
    for written, expression in placeholders:
        start = text.index(written)
        inside = start + written.index(expression)
        node = parse_expression(text, inside, inside + len(expression))
        found.append(Placeholder(start, start + len(written), node))
    return Document(
        Source("prompt.txt", text), "prompt", syntax=syntax, regions=[Region(0, len(text), "system")], placeholders=found
    )


def hits(document: Document) -> list[Hit]:
    return [*dynamic.check(document, {}), *order.check(document, {})]


def reported(document: Document | str) -> list[str]:
    """Code and text of each hit that is no note, in order of the detectors."""
    document = jinja(document) if isinstance(document, str) else document
    return [f"{hit.code} {document.text[hit.start : hit.end]}" for hit in hits(document) if hit.severity != "note"]


def fixed(text: str) -> str:
    """A Jinja prompt after all its fixes."""
    for _ in range(20):
        fixes = [hit.fix for hit in hits(jinja(text)) if hit.fix is not None]
        if not fixes:
            return text
        for edit in reversed(fixes[0].edits):
            text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    raise AssertionError("the fixes do not come to an end")
