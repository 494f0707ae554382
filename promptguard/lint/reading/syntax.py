"""How the placeholders of a text are written, where its name does not say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from promptguard.checks.base import Syntax
from promptguard.core.light import regex
from promptguard.parse.markdown import code_ranges

_ERB = regex(r"<%=")
_STATEMENT = regex(
    r"\{%[-+]?[ \t]*(?:if|for|set|block|include|macro|raw|extends|import|from|call|filter|with|endif|endfor)\b[^%]{0,500}%\}"
)
_DOUBLE = regex(r"(?<![$\\{])\{\{(?P<mark>[#^/>!&{]?)(?P<inside>[^{}]{1,300})\}\}")
_PRINTED = regex(r"[-+]?\s*[A-Za-z_][\w.]*\s*(?:[(|\[~+*]|(?:if|or|and|in|is|not)\b|-?\Z)")
_PAIRED = regex(r"\$\{([^{}\n]{0,100})\}")
_NAME = regex(r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,5}")
_FIELD = regex(r"\{\{|\}\}|\{(?P<name>[a-z_]\w{0,60}(?:\.\w{1,60}|\[\w{1,60}\]){0,5})(?:![rsa])?(?::[\w<>^+,.%=-]{1,20})?\}|[{}]")


def guess_syntax(text: str, *, markdown: bool = False) -> Syntax | None:
    """The notation of the placeholders; ``None`` where there are none, or where braces may as well be text.

    Code in Markdown has no say: what stands there is likely to show something.
    """
    if "{" not in text and "<%" not in text:
        return None
    code = code_ranges(text) if markdown else []
    if "<%=" in text and _outside(_ERB, text, code):
        return "erb"
    if _outside(_STATEMENT, text, code):
        return "jinja"
    return _double(text, code) or _single(text, code)


def _double(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    if "{{" not in text:
        return None
    found = _outside(_DOUBLE, text, code)
    if any(match.group("mark") for match in found):
        return "mustache"
    printed = [match for match in found if _PRINTED.match(match.group("inside").strip())]
    if not printed:
        return None
    # {{name}} is how a format string writes {name}: so it is where single names stand beside it.
    spaced = any(match.group("inside")[0].isspace() for match in printed)
    return "jinja" if spaced or _single(text, code) is None else "format"


def _single(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    dollars = _outside(_PAIRED, text, code) if "${" in text else []
    if dollars:
        return "dollar" if all(_NAME.fullmatch(match.group(1)) for match in dollars) else None
    fields = _outside(_FIELD, text, code)
    if any(match.group() in ("{", "}") for match in fields):
        return None  # braces that no format string would have
    names = {match.group("name") for match in fields if match.group("name")}
    return "format" if len(names) > 1 or any("_" in name for name in names) else None


def _outside(pattern: re.Pattern[str], text: str, ranges: Sequence[tuple[int, int]]) -> list[re.Match[str]]:
    """The matches that do not begin in one of some ranges, which are in order."""
    found: list[re.Match[str]] = []
    at = 0
    for match in pattern.finditer(text):
        while at < len(ranges) and ranges[at][1] <= match.start():
            at += 1
        if at == len(ranges) or match.start() < ranges[at][0]:
            found.append(match)
    return found
