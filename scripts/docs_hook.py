"""What MkDocs needs to make a site of docs/: a page for each rule, and links that leave docs/.

In the repository a page links to files beside docs/, such as rules/order/PG201-unordered-tools.md, so that the links work where
the repository is shown. On the site a rule has a page of the same path, and what the site does not hold is no link.
"""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]  # the checkout, not an installed package

from build_rules import AREAS

from promptguard.checks.catalog import RULES
from promptguard.checks.pages import parts
from promptguard.checks.rule import Rule
from promptguard.report.rule_pages import markdown_page

log = logging.getLogger("mkdocs.hooks.docs_hook")  # a warning fails a strict build
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")
_TEXT_LINK = re.compile(r"\[([^\]]*)\]\(\)")
_VERBATIM = re.compile(r"<(pre|code|script|style)\b.*?</\1>", re.DOTALL)
_UNREAD = re.compile(r"^(?:```|~~~|[-*+] |1\. |\|).*", re.MULTILINE)
_FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//|<link\b[^>]*\bhref=\"?(?:https?:)?//[^>]*>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the rules behind their index."""
    nav: list[Any] = config.nav or []
    for entry in nav:
        if "Rules" in entry:
            entry["Rules"] += [
                {title: [{f"{rule.code} {rule.name}": rule.file} for rule in RULES.values() if rule.area == area]}
                for area, title in AREAS.items()
            ]
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages of the rules."""
    for rule in RULES.values():
        files.append(File.generated(config, rule.file, content=rule_page(rule)))
    return files


def rule_page(rule: Rule) -> str:
    """The page of a rule, as ``promptguard rule --output-format markdown`` prints it, with a link to its cause."""
    causes = (ROOT / "docs" / "causes.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## ({rule.cause} \S+)$", causes, re.MULTILINE)
    text = markdown_page(rule)
    if heading is not None:
        anchor = heading[1].lower().replace(" ", "-")
        text = text.replace(f"| {rule.cause} of docs/causes.md |", f"| [{heading[1]}](../../docs/causes.md#{anchor}) |")
    return text


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Turn the links of the repository into those of the site, outside of fenced blocks."""
    return "\n".join(
        "\n".join(part.lines) if part.info is not None else _relinked("\n".join(part.lines), page.file.src_uri, files)
        for part in parts(markdown, page.file.src_uri)
    )


def _relinked(text: str, page: str, files: Files) -> str:
    here = posixpath.dirname(page if page.startswith("rules/") else f"docs/{page}")

    def relink(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, link[1])).removeprefix("docs/")
        if files.get_file_from_path(target) is None and not target.startswith(".") and (ROOT / target).exists():
            return "]()"
        return f"]({posixpath.relpath(target, posixpath.dirname(page) or '.')}{link[2] or ''})"

    return _TEXT_LINK.sub(r"\1", _LINK.sub(relink, text))


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Warn of Markdown that only GitHub reads as it is meant, and of what a reader's browser would fetch from elsewhere."""
    shown = _VERBATIM.sub("", output)
    if found := _UNREAD.search(shown):
        log.warning(
            "%s: Markdown is shown as text; a list or a table needs a blank line in front of it, and what belongs to an item of "
            "a list is indented by four: %s",
            page.file.src_uri,
            found[0],
        )
    if found := _FETCHED.search(output):
        log.warning("%s: the page fetches something from another host: %s", page.file.src_uri, found[0])
    return output
