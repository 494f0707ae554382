"""How the placeholders of a text are written, where its name does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from promptguard.checks.base import Syntax
from promptguard.parse.markdown import code_ranges

_ERB = r"<%="
_STATEMENT = (
    r"\{%[-+]?[ \t]*(?:if|for|set|block|include|macro|raw|extends|import|from|call|filter|with|endif|endfor)\b[^%]{0,500}%\}"
)
_DOUBLE = r"(?<![$\\{])\{\{(?P<mark>[#^/>!&{]?)(?P<inside>[^{}]{1,300})\}\}"
_PRINTED = r"[-+]?\s*[A-Za-z_][\w.]*\s*(?:[(|\[~+*]|(?:if|or|and|in|is|not)\b|-?\Z)"
_PAIRED = r"\$\{([^{}\n]{0,100})\}"
_NAME = r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,5}"
_FIELD = (
    r"\{\{|\}\}|\{(?P<name>[a-z_]\w{0,60}(?:\.\w{1,60}|\[\w{1,60}\]){0,5})"
    r"(?:![rsa])?(?::(?:[\w<>^+,.%=-]{1,20}|%[\w:/., %-]{1,40}))?\}|[{}]"
)
_OBJECT = r"\{\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:"  # the begin of a JSON object


def guess_syntax(text: str, *, markdown: bool = False) -> Syntax | None:
    """The notation of the placeholders; ``None`` where there are none, or where braces may as well be text.

    Code in Markdown has no say: what stands there is likely to show something.
    """
    if "{" not in text and "<%" not in text:
        return None
    code = code_ranges(text) if markdown else []
    if "<%=" in text and any(_outside(_ERB, text, code)):
        return "erb"
    if "{%" in text and any(_outside(_STATEMENT, text, code)):
        return "jinja"
    return _double(text, code) or _single(text, code)


def _double(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    if "{{" not in text:
        return None
    printed = spaced = False
    for match in _outside(_DOUBLE, text, code):
        if match.group("mark"):
            return "mustache"
        inside = match.group("inside")
        if re.match(_PRINTED, inside.strip()):
            printed = True
            spaced = spaced or inside[0].isspace()
    if not printed:
        return None
    # {{name}} is how a format string writes {name}: so it is where single names stand beside it.
    return "jinja" if spaced or _single(text, code) is None else "format"


def _single(text: str, code: Sequence[tuple[int, int]]) -> Syntax | None:
    if "${" in text:
        dollars = [re.fullmatch(_NAME, match.group(1)) for match in _outside(_PAIRED, text, code)]
        if dollars:
            return "dollar" if all(dollars) else None
    names: set[str] = set()
    in_snake_case = objects = doubled = False
    for match in _outside(_FIELD, text, code):
        found, name = match.group(), match.group("name")
        if name:
            names.add(name)
            quoted = text[match.start() - 1 : match.start()] == '"' == text[match.end() : match.end() + 1]  # shown in an object
            in_snake_case = in_snake_case or ("_" in name and not quoted)
        elif found == "{{":
            doubled = doubled or re.compile(_OBJECT).match(text, match.start() + 1) is not None
        elif found == "{":
            if not re.compile(_OBJECT).match(text, match.start()):
                return None  # neither a format string nor an object would have it
            objects = True
        elif found == "}" and not objects:
            return None
    if objects:  # what fills it in replaces names one by one
        return "format" if in_snake_case and not doubled else None
    return "format" if len(names) > 1 or any("_" in name for name in names) else None


def _outside(pattern: str, text: str, ranges: Sequence[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """The matches that do not begin in one of some ranges, which are in order."""
    at = 0
    for match in re.finditer(pattern, text):
        while at < len(ranges) and ranges[at][1] <= match.start():
            at += 1
        if at == len(ranges) or match.start() < ranges[at][0]:
            yield match
