"""Every link between files of the repository leads somewhere, as GitHub shows them."""

from __future__ import annotations

import posixpath
import re

import pytest
from markdown_pages import DOCUMENTS, ROOT, anchors, links


def broken(document: str) -> list[str]:
    """The links of a document that lead nowhere."""
    wrong: list[str] = []
    for link in links(document):
        if re.match(r"[a-z][a-z+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(document), path)) if path else document
        exists = not path.startswith("/") and not target.startswith("..") and (ROOT / target).exists()
        if not exists or (anchor and target.endswith(".md") and anchor not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    assert broken(document) == []


def test_anchors_are_those_of_github() -> None:
    assert {"k1-clock", "ws-whitespace", "causes-of-prefix-cache-misses"} <= anchors("docs/causes.md")
    assert {"prompts", "lint", "replay"} <= anchors("docs/reference/configuration.md")  # of [[prompts]], [lint], [replay]
    assert "exit-codes-of-template-check" in anchors("docs/chat-templates.md")  # of `template check`


def test_a_link_to_nowhere_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "test_links.links", lambda _: ["rules.md", "rules.md#order", "causes.md#k1-clock", "no.md", "../../x", "/docs", "#no"]
    )
    assert broken("docs/index.md") == ["rules.md#order", "no.md", "../../x", "/docs", "#no"]
