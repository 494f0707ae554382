"""PG301, PG302 and PG305: white space that a reader does not see and a tokenizer does.

Only literal text counts. The other characters (PG303, PG306) and branches (PG304) have modules of their own, which most prompts
do without.
"""

from __future__ import annotations

from promptguard.checks.base import Document, Hit, byte_order_mark, make_fix, mentions
from promptguard.core import patterns as re
from promptguard.core.light import TYPE_CHECKING, Any, Callable, Iterator, Mapping, regex

if TYPE_CHECKING:
    from promptguard.checks.literal_text import LiteralText, Range

    _Literal = Callable[[], LiteralText]

_LAYOUT = dict.fromkeys(map(ord, "\t\n\r"))


def check(document: Document, _options: Mapping[str, Any]) -> Iterator[Hit]:
    """What is wrong with the white space and the characters of a prompt."""
    text = document.text
    literal = _literal_text(document)
    yield from _trailing_whitespace(document, literal)
    yield from _line_ends(document)
    yield from byte_order_mark(document, "which some readers keep as text")
    if not (text.isascii() and text.translate(_LAYOUT).isprintable()):
        from promptguard.checks import characters

        yield from characters.check(document, literal)
    if document.template is not None and "{%" in text and "if" in text:
        from promptguard.checks import branches

        yield from branches.check(document)
    yield from _final_newline(document, literal)


def _literal_text(document: Document) -> _Literal:
    """The literal text of a document; it is looked for when it is first asked for."""
    made: LiteralText | None = None

    def literal() -> LiteralText:
        nonlocal made
        if made is None:
            from promptguard.checks.literal_text import LiteralText

            made = LiteralText(document)
        return made

    return literal


# PG301

_LINE_ENDS_IN_SPACE = regex(r"[ \t](?=[\r\n])|[ \t]\Z")
_MARKDOWN = regex(r"\.(?:md|markdown|mdx)(?:\.(?:j2|jinja2?))?\Z", re.IGNORECASE)


def _trailing_whitespace(document: Document, literal: _Literal) -> Iterator[Hit]:
    for start, end in _trailing(document, literal):
        message = f"{_spaces(document.text[start:end])} at the end of the line"
        fix = make_fix(document, "Remove it", [(start, end, "")], safe=not literal().holds(start, end))
        yield Hit("PG301", start, end, message, fix=fix)


def _trailing(document: Document, literal: _Literal) -> Iterator[Range]:
    text = document.text
    if not text.endswith((" ", "\t")) and not mentions(text, (" \n", "\t\n", " \r", "\t\r")):
        return
    is_markdown = document.embedding is None and _MARKDOWN.search(document.source.path) is not None
    for match in _LINE_ENDS_IN_SPACE.finditer(text):
        end = match.end()
        around = literal().range_at(end - 1)
        if around is None or (end == len(text) and document.embedding is not None):
            continue  # a value that ends in a space is put in front of another
        start = end - 1
        while start > around[0] and text[start - 1] in " \t":
            start -= 1
        is_break = is_markdown and text[start:end] == "  " and start > 0 and text[start - 1] not in "\r\n"
        if not is_break:
            yield start, end


def _spaces(run: str) -> str:
    kinds = {" ": "space", "\t": "tab"}
    if run in kinds:
        return f"a {kinds[run]}"
    return f"{len(run)} {kinds.get(run[0], '') if len(set(run)) == 1 else 'space and tab character'}s"


# PG302

_LINE_END = regex(r"\r\n?|\n")
_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
_MOST_EDITS = 1_000


def _line_ends(document: Document) -> Iterator[Hit]:
    text = document.text
    if "\r" not in text:
        return
    found = [match.span() for region in document.regions for match in _LINE_END.finditer(text, region.start, region.end)]
    counts = dict.fromkeys(_NAMES, 0)
    for start, end in found:
        counts[text[start:end]] += 1
    usual = max(_NAMES, key=lambda kind: counts[kind])  # the first of equals, which is LF
    others = [(start, end) for start, end in found if text[start:end] != usual]
    if not others:
        return
    start, end = others[0]
    edits = [(low, high, usual) for low, high in others]
    if len(edits) > _MOST_EDITS:
        edits = [(region.start, region.end, _LINE_END.sub(usual, text[region.start : region.end])) for region in document.regions]
    message = f"a line that ends in {_NAMES[text[start:end]]} among lines that end in {_NAMES[usual]}"
    yield Hit("PG302", start, end, message, fix=make_fix(document, f"End every line in {_NAMES[usual]}", edits, safe=True))


# PG305


def _final_newline(document: Document, literal: _Literal) -> Iterator[Hit]:
    text = document.text
    if document.embedding is not None or not document.regions or document.regions[-1].end < len(text):
        return
    last = len(text.rstrip("\r\n"))
    if last == 0:
        return
    if last == len(text):
        newline = _LINE_END.search(text)
        fix = make_fix(document, "End the last line", [(len(text), len(text), newline.group() if newline else "\n")], safe=True)
        yield Hit("PG305", last - 1, last, "no line end at the end of the file", fix=fix)
        return
    first = last + (2 if text.startswith("\r\n", last) else 1)  # behind the line end of the last line
    if first < len(text) and literal().range_at(len(text) - 1) is not None:
        fix = make_fix(document, "Remove the empty lines", [(first, len(text), "")], safe=True)
        yield Hit("PG305", first, len(text), "empty lines at the end of the file", fix=fix)
