"""PG301 to PG306: white space and characters that a reader does not see and a tokenizer does.

Only literal text counts: what stands in tags, placeholders and comments is no part of a prompt, and neither is white space that
Jinja removes by the ``-`` of a tag.
"""

from __future__ import annotations

from bisect import bisect_right

from promptguard.checks.base import Document, Hit, byte_order_mark, make_fix, shown
from promptguard.core import patterns as re
from promptguard.core.light import Any, Iterator, Mapping, regex
from promptguard.parse.template_nodes import Block, Comment, Name, Section, Text

_Range = tuple[int, int]


def check(document: Document, _options: Mapping[str, Any]) -> Iterator[Hit]:
    """What is wrong with the white space and the characters of a prompt."""
    literal = _Literal(document)
    yield from _trailing_whitespace(document, literal)
    yield from _line_ends(document)
    yield from byte_order_mark(document, "which some readers keep as text")
    yield from _invisible_characters(document, literal)
    yield from _branches(document)
    yield from _final_newline(document, literal)
    yield from _not_nfc(document, literal)


class _Literal:
    """The ranges of a document that are literal text; looked for when they are first asked for."""

    __slots__ = ("_document", "_ends", "_starts")

    def __init__(self, document: Document) -> None:
        self._document = document
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def range_at(self, offset: int) -> _Range | None:
        """The range that a code point lies in, ``None`` where it is no literal text."""
        if self._starts is None:
            ranges = list(_clipped(self._document, _literal_ranges(self._document)))
            self._starts = [start for start, _ in ranges]
            self._ends = [end for _, end in ranges]
        number = bisect_right(self._starts, offset) - 1
        return (self._starts[number], self._ends[number]) if number >= 0 and offset < self._ends[number] else None


def _literal_ranges(document: Document) -> Iterator[_Range]:
    if document.template is not None:
        for node in document.template.walk():
            if isinstance(node, Text):
                start, end = _kept(document.text, node)
                if start < end:
                    yield start, end
        return
    start = 0
    for placeholder in document.placeholders:
        if start < placeholder.start:
            yield start, placeholder.start
        start = placeholder.end
    if start < len(document.text):
        yield start, len(document.text)


def _clipped(document: Document, ranges: Iterator[_Range]) -> Iterator[_Range]:
    """The parts of sorted ranges that lie in the regions of a document."""
    regions = iter(document.regions)
    region = next(regions, None)
    for start, end in ranges:
        while region is not None and region.end <= start:
            region = next(regions, None)
        while region is not None and region.start < end:
            yield max(start, region.start), min(end, region.end)
            if region.end >= end:
                break
            region = next(regions, None)


def _kept(text: str, node: Text) -> _Range:
    """What the ``-`` of the tags around it leaves of a text."""
    start, end = node.start, node.end
    if text[max(0, start - 3) : start] in ("-%}", "-}}", "-#}"):
        start = end - len(text[start:end].lstrip())
    if text[end : end + 3] in ("{%-", "{{-", "{#-"):
        end = start + len(text[start:end].rstrip())
    return start, end


# PG301

_LINE_ENDS_IN_SPACE = regex(r"[ \t](?=[\r\n])|[ \t]\Z")
_MARKDOWN = regex(r"\.(?:md|markdown|mdx)(?:\.(?:j2|jinja2?))?\Z", re.IGNORECASE)


def _trailing_whitespace(document: Document, literal: _Literal) -> Iterator[Hit]:
    for start, end in _trailing(document, literal):
        message = f"{_spaces(document.text[start:end])} at the end of the line"
        yield Hit("PG301", start, end, message, fix=make_fix(document, "Remove it", [(start, end, "")], safe=True))


def _trailing(document: Document, literal: _Literal) -> Iterator[_Range]:
    text = document.text
    if not text.endswith((" ", "\t")) and not any(pair in text for pair in (" \n", "\t\n", " \r", "\t\r")):
        return
    is_markdown = document.embedding is None and _MARKDOWN.search(document.source.path) is not None
    for match in _LINE_ENDS_IN_SPACE.finditer(text):
        end = match.end()
        around = literal.range_at(end - 1)
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


# PG303

_INVISIBLE = regex(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u034f\u061c\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    r"\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_LAYOUT = dict.fromkeys(map(ord, "\t\n\r"))
_ODD_SPACE = regex(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LINE_SEPARATOR = regex(r"[\x85\u2028\u2029]")
# Where such a character is meant, by what stands around it. Each pattern is run on a few code points.
_INDIC = r"\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ua840-\ua87f"
_JOINED = rf"\u0600-\u08ff{_INDIC}\ufb50-\ufdff\ufe70-\ufefc"
_PICTURE = r"\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_EAST_ASIAN = r"\u2e80-\u2fff\u3001-\ud7ff\uf900-\ufaff\uff01-\uff9f\uffa1-\uffef\U00020000-\U0003ffff"
_MEANT = {
    "space": r"(?:«|\d)$|^[:;!?»\u2013\u2014%\u2030\u20ac]",
    "number": r"\d$",
    "wide": rf"[{_EAST_ASIAN}\r\n\u3000]$|^$",
    "joiner": rf"[{_JOINED}]$|[{_PICTURE}\ufe0f]$",
    "virama": r"[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]$",
    "break": r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]$",
    "selector": rf"[{_PICTURE}{_INDIC}\u2200-\u22ff{_EAST_ASIAN}]$",
    "ideograph": r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]$",
    "right-to-left": r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]",
}
_KEYCAP = regex(r"[0-9#*]\ufe0f?\u20e3?")
_FLAG = regex(r"\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f")
_AROUND = 40
_LONGEST_MEANT = 16  # more invisible characters in a row mean nothing


def _invisible_characters(document: Document, literal: _Literal) -> Iterator[Hit]:
    for start, end in _invisible(document.text, literal):
        run = document.text[start:end]
        fix = make_fix(document, "Remove what cannot be seen", [(start, end, _visible(run))], safe=True)
        yield Hit("PG303", start, end, _describe(run), fix=fix)


def _invisible(text: str, literal: _Literal) -> Iterator[_Range]:
    if text.isascii() and text.translate(_LAYOUT).isprintable():
        return
    for match in _INVISIBLE.finditer(text):
        around = literal.range_at(match.start())
        if around is None:
            continue
        start, end = match.start(), min(match.end(), around[1])
        if end - start > _LONGEST_MEANT:
            yield start, end
            continue
        for at in range(start, end + 1):
            if at == end or _is_meant(text, at):
                if start < at:
                    yield start, at
                start = at + 1


def _visible(run: str) -> str:
    """What a reader sees of odd characters."""
    spaces = _LINE_SEPARATOR.sub("\n", _ODD_SPACE.sub(" ", run))
    return "".join(character for character in spaces if character in " \n")


def _describe(run: str) -> str:
    from unicodedata import name

    first = f"U+{ord(run[0]):04X}"
    title = name(run[0], "").lower() or "a control character"
    if len(run) > 1:
        return f"{len(run):,} characters that cannot be seen, the first is {first} ({title})"
    if _ODD_SPACE.match(run):
        return f"{first} ({title}) looks like a space and is none"
    return f"{first} ({title}) cannot be seen"


def _is_meant(text: str, at: int) -> bool:
    """Whether a character belongs to how its script, an emoji or a number is written."""
    character = text[at]
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if character == "\u3000":
        return _fits("wide", before) or _fits("wide", after)
    if _ODD_SPACE.match(character):
        if character in "\xa0\u202f\u2009" and re.search(_MEANT["space"], after) is not None:
            return True
        return before == "«" or (before.isdecimal() and (after.isalnum() or after in tuple("%‰€$£°")))
    if character in "\u200c\u200d":
        # Behind a virama it says how the consonant is written, at the end of a word too.
        return _fits("virama", before) or (_fits("joiner", before) and bool(after) and not after.isspace())
    if character == "\u200b":
        return _fits("break", before) or _fits("break", after)
    if "\ufe00" <= character <= "\ufe0f":
        return _fits("selector", before) or (character == "\ufe0f" and _KEYCAP.fullmatch(text, at - 1, at + 2) is not None)
    if "\U000e0100" <= character <= "\U000e01ef":
        return _fits("ideograph", before)
    if "\u180b" <= character <= "\u180f":
        return "\u1800" <= before <= "\u18af"
    if character in "\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069":
        return _fits("right-to-left", text[max(0, at - _AROUND) : at + _AROUND])
    if "\U000e0030" <= character <= "\U000e007f":
        return any(flag.end() > at for flag in _FLAG.finditer(text, max(0, at - 9), at + 9) if flag.start() < at)
    return False


def _fits(what: str, around: str) -> bool:
    return re.search(_MEANT[what], around) is not None


# PG304

_DEEPEST = 50  # branches in branches that are compared: each is read once more for every one around it


def _branches(document: Document) -> Iterator[Hit]:
    if document.template is None or "{%" not in document.text:
        return
    bodies = [(document.template.body, 1)]
    while bodies:
        body, depth = bodies.pop()
        for node in body:
            if isinstance(node, Block):
                if depth < _DEEPEST:
                    bodies += [(section.body, depth + 1) for section in node.sections]
                if node.name == "if" and document.block_at(node.start) is not None and _varies(document, node):
                    hit = _compare(document.text, node.sections)
                    if hit is not None:
                        yield hit


def _varies(document: Document, block: Block) -> bool:
    """Whether its tests may come out in another way on another request; a place in a loop and declared values do not."""
    names = {node.name for section in block.sections for node in section.tag.walk() if isinstance(node, Name)}
    return "loop" not in names and any(name not in document.stable and name not in document.known for name in names)


def _compare(text: str, sections: list[Section]) -> Hit | None:
    plain = [_printed(text, section, trim_blocks=False) for section in sections]
    trimmed = [_printed(text, section, trim_blocks=True) for section in sections]
    seen: dict[str, int] = {}
    for number, section in enumerate(sections):
        words = _words(plain[number])
        other = seen.setdefault(words, number)
        if words and other != number and plain[other] != plain[number] and trimmed[other] != trimmed[number]:
            related = ((*_body(sections[other]), "the other branch"),)
            return Hit("PG304", *_body(section), "this branch differs from another one in white space alone", related=related)
    has_else = sections[-1].tag.name == "else"
    if any(seen) or not all(_varies_in(outcomes, has_else) for outcomes in (plain, trimmed)):
        return None
    blank = next(section for section, printed in zip(sections, plain, strict=True) if printed[0])
    return Hit("PG304", *_body(blank), "this branch prints nothing but white space")


def _body(section: Section) -> _Range:
    return section.tag.end, section.end


def _varies_in(outcomes: list[list[str]], has_else: bool) -> bool:
    printed = {parts[0] for parts in outcomes}
    return len(printed) > 1 or (not has_else and printed != {""})


def _printed(text: str, section: Section, *, trim_blocks: bool) -> list[str]:
    """What a branch prints: literal texts, and between them the source of everything else.

    Two ways to set up Jinja are known: as it comes, and with ``trim_blocks`` and ``lstrip_blocks``, as model servers have it.
    """
    parts = [""]
    for node in section.body:
        if isinstance(node, Text):
            start, end = _trimmed(text, node) if trim_blocks else _kept(text, node)
            parts[-1] += text[start:end]
        elif not isinstance(node, Comment):
            parts += [text[node.start : node.end], ""]
    return parts


_LINE_END_BEHIND_TAG = regex(r"(?<=[^+][%#]\})\r?\n")


def _trimmed(text: str, node: Text) -> _Range:
    """What ``-``, ``trim_blocks`` and ``lstrip_blocks`` leave of a text."""
    start, end = _kept(text, node)
    line_end = _LINE_END_BEHIND_TAG.match(text, start, end) if start == node.start else None
    if line_end is not None:
        start = line_end.end()
    if end == node.end and text[end : end + 2] in ("{%", "{#") and text[end + 2 : end + 3] != "+":
        line = end - len(text[start:end]) + len(text[start:end].rstrip(" \t"))
        if (line == start and (line_end is not None or start == 0)) or text[line - 1 : line] in ("\n", "\r"):
            end = line
    return start, end


def _words(parts: list[str]) -> str:
    """What is printed without its white space; what is no literal text stays as it is."""
    return "".join(part if number % 2 else "".join(part.split()) for number, part in enumerate(parts))


# PG305


def _final_newline(document: Document, literal: _Literal) -> Iterator[Hit]:
    text = document.text
    if document.embedding is not None or not document.regions or document.regions[-1].end < len(text):
        return
    last = len(text.rstrip("\r\n"))
    first = _LINE_END.match(text, last)
    if last == 0:
        return
    if first is None:
        newline = _LINE_END.search(text)
        fix = make_fix(document, "End the last line", [(len(text), len(text), newline.group() if newline else "\n")], safe=True)
        yield Hit("PG305", last - 1, last, "no line end at the end of the file", fix=fix)
    elif first.end() < len(text) and literal.range_at(len(text) - 1) is not None:
        fix = make_fix(document, "Remove the empty lines", [(first.end(), len(text), "")], safe=True)
        yield Hit("PG305", first.end(), len(text), "empty lines at the end of the file", fix=fix)


# PG306

_NOT_ASCII = regex(r"[\x00-\x7f]?[^\x00-\x7f]+")


def _not_nfc(document: Document, literal: _Literal) -> Iterator[Hit]:
    if document.text.isascii():
        return
    from unicodedata import is_normalized

    if is_normalized("NFC", document.text):
        return
    for start, end, composed in _decomposed(document.text, literal):
        message = f"`{shown(document.text[start:end])}` is not in the composed form (NFC) of its characters"
        yield Hit("PG306", start, end, message, fix=make_fix(document, "Compose it", [(start, end, composed)], safe=False))


def _decomposed(text: str, literal: _Literal) -> Iterator[tuple[int, int, str]]:
    """Runs of characters that NFC writes in another way, and how; ASCII, which never changes, parts them."""
    from unicodedata import normalize

    for match in _NOT_ASCII.finditer(text):
        around = literal.range_at(match.end() - 1)
        if around is None:
            continue
        start, end = max(match.start(), around[0]), match.end()
        run = text[start:end]
        composed = normalize("NFC", run)
        if len(composed) > len(run) or composed == run:
            continue  # NFC takes characters of some scripts apart, and there they are written as one
        same = _common(run, composed)
        tail = _common(run[same:][::-1], composed[same:][::-1])
        yield start + same, end - tail, composed[same : len(composed) - tail]


def _common(one: str, other: str) -> int:
    """The length of what two texts begin with alike."""
    return next((number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
