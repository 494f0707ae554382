"""YAML as most prompt files have it: mappings and lists of texts, in lines or in brackets.

What the few lines of this grammar do not say for sure is not decided here: anchors, tags, quotes and brackets over several lines,
escapes but for the usual ones, tabs, odd characters, several documents, whatever may be an error. The library reads those. What
is read here comes out as from the library: values, types and places alike.
"""

from __future__ import annotations

from promptguard.core.light import NamedTuple
from promptguard.core.source import Source
from promptguard.parse.yaml import MAX_DEPTH, Node, Stream

MAX_TEXT = 1 << 19
"""Longer texts are not read here, in code points: the library is written in C, and bounds the number of values."""

MAX_OPEN = MAX_DEPTH // 2
"""Deeper collections are not read here."""
_LONGEST_KEY = 128  # code points; YAML itself has a limit of 1,024
_NOT_FIRST = "?:,[]{}#&*!|>'\"%@`"  # what no text without quotes begins with here, nor with a dash and a blank
_INVISIBLE = "\xa0\xad\u200b\u200c\u200d\u2060"  # not printable to Python, and characters like others to YAML
_IN_KEYS = str.maketrans("_-./$ ", "aaaaaa")
_WORDS = {
    **dict.fromkeys(("yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE"), "bool"),
    **dict.fromkeys(("on", "On", "ON", "off", "Off", "OFF"), "bool"),
    **dict.fromkeys(("~", "null", "Null", "NULL"), "null"),
    "<<": "merge",
    "=": "value",
}
# A text with a character beside these is no number and no date, in any of their spellings.
_OF_NUMBERS = "0123456789abcdefABCDEFxIiNnTtZz_.:+- "
_HEADERS = ("|", "|-", "|+", ">", ">-", ">+")


def read_simple(source: Source) -> Stream | None:
    """Read a YAML text; ``None`` where it is not as simple as that."""
    text = source.text
    newline = "\r\n" if "\r" in text else "\n"
    if len(text) > MAX_TEXT or text.count(newline) != text.count("\n") or not _is_printable(text.replace(newline, "")):
        return None
    reader = _Reader(text, newline)
    try:
        root = reader.read()
    except _NotSimpleError:
        return None
    return Stream(source, [root], reader.comments)


def _is_printable(text: str) -> bool:
    """Whether a text has no characters but those that are plain ones in YAML; what is printable to Python is one."""
    if not text.isascii():
        for character in _INVISIBLE:
            text = text.replace(character, "")
    return text.isprintable()


class _NotSimpleError(Exception):
    """The library has to read it."""


class _Open(NamedTuple):
    """A collection to which the next line may belong, and how deep its lines are indented."""

    node: Node
    indent: int


class _Reader:
    def __init__(self, text: str, newline: str) -> None:
        self.comments: list[int] = []  # where they begin
        self._lines = text.split(newline)
        self._newline = len(newline)
        self._next = 0  # line
        self._start = 0  # of that line
        self._open: list[_Open] = []
        self._value: int | None = None  # where the value of the last key would stand on its line, while it has none

    def read(self) -> Node:
        root: Node | None = None
        is_marked = False  # has a ``---``
        while self._next < len(self._lines):
            start = self._start
            line = self._take()
            body = line.lstrip(" ")
            indent = len(line) - len(body)
            start += indent
            if not body:
                continue
            if body[0] == "#":
                self.comments.append(start)
            elif root is not None:
                self._see(body, indent, start)
            elif line == "---" and not is_marked:
                is_marked = True
            else:
                root = self._begin(body, indent, start)
                self._see(body, indent, start)
        if root is None:
            raise _NotSimpleError
        self._leave_empty()
        return root

    def _take(self) -> str:
        line = self._lines[self._next]
        self._next += 1
        self._start += len(line) + self._newline
        return line

    def _begin(self, body: str, indent: int, start: int) -> Node:
        """Open the collection that a line begins."""
        if len(self._open) >= MAX_OPEN:
            raise _NotSimpleError
        node = Node("sequence" if body.startswith("- ") else "mapping", start)
        self._open.append(_Open(node, indent))
        return node

    def _leave_empty(self) -> None:
        """The last key has no value after all."""
        if self._value is not None:
            self._open[-1].node.children.append(Node("scalar", self._value, "", True, "null"))
            self._value = None

    def _see(self, body: str, indent: int, start: int) -> None:
        """Take a line with something on it."""
        is_item = body.startswith("- ")
        if self._value is not None and (indent, is_item) > (self._open[-1].indent, False):
            self._value = None
            parent = self._open[-1].node
            parent.children.append(self._begin(body, indent, start))
        self._leave_empty()
        # A list may be indented as deep as the key that it belongs to.
        while self._open and (indent, is_item) < (self._open[-1].indent, self._open[-1].node.kind == "sequence"):
            self._open.pop()
        if not self._open or (indent, is_item) != (self._open[-1].indent, self._open[-1].node.kind == "sequence"):
            raise _NotSimpleError
        if not is_item:
            self._see_member(body, start)
            return
        item = body[2:].lstrip(" ")
        before = len(body) - len(item)
        children = self._open[-1].node.children
        if _begins_member(item):
            children.append(self._begin(item, indent + before, start + before))
            self._see_member(item, start + before)
        else:
            children.append(self._scalar(item, start + before))

    def _see_member(self, body: str, start: int) -> None:
        """Take a key, and its value if that is on its line."""
        quote = body[0] if body[0] in ("'", '"') else ""
        end = body.find(quote, 1) + 1 if quote else _key_end(body)
        key = body[1 : end - 1] if quote else body[: max(end, 0)]
        if quote:
            is_simple = end > 1 and quote not in key and "\\" not in key and body[end : end + 2] in (":", ": ")
        else:
            is_simple = key[:1].isalpha() and key[-1] != " " and key.translate(_IN_KEYS).isalnum()
        if not is_simple or len(key) > _LONGEST_KEY:
            raise _NotSimpleError
        mapping = self._open[-1].node
        mapping.keys.append(Node("scalar", start, key, not quote, "str" if quote else _type(key)))
        value = body[end + 1 :].lstrip(" ")
        at = start + len(body) - len(value)
        if value and value[0] != "#":
            mapping.children.append(self._scalar(value, at))
            return
        self._value = start + end + 1
        if value:
            self.comments.append(at)

    def _scalar(self, body: str, start: int) -> Node:
        first = body[:1]
        if first in ("|", ">"):
            return self._block(body, start)
        if first in ("'", '"'):
            return self._quoted(body, start)
        if first in ("[", "{"):
            node, end = self._flow(body, 0, start, 0)
            self._see_end(body, end - 1, start)
            return node
        end = body.find(" #")
        if end >= 0:
            self.comments.append(start + end + 1)
        text = (body[:end] if end >= 0 else body).rstrip(" ")
        if not text or first in _NOT_FIRST or text == "-" or text.startswith("- ") or _key_end(text) >= 0:
            raise _NotSimpleError
        if end < 0:
            text += self._continued()
        return Node("scalar", start, text, True, _type(text))

    def _continued(self) -> str:
        """What stands on the following lines of a text without quotes; they are indented deeper than its collection."""
        parts = [""]
        while self._next < len(self._lines):
            line = self._lines[self._next]
            body = line.strip(" ")
            if not body or len(line) - len(line.lstrip(" ")) <= self._open[-1].indent or body[0] == "#":
                break
            if body[0] in _NOT_FIRST or body[0] == "-" or " #" in body or _key_end(body) >= 0:
                raise _NotSimpleError
            parts.append(body)
            self._take()
        return " ".join(parts)

    def _quoted(self, body: str, start: int) -> Node:
        quote = body[0]
        # What is escaped is masked, from the left; the mask is no printable character.
        masked = body[1:].replace("''", "\0\0") if quote == "'" else body[1:].replace("\\\\", "\0\0").replace('\\"', "\0\0")
        end = masked.find(quote) + 1
        self._see_end(body, end, start)
        inner = body[1:end]
        return Node("scalar", start, inner.replace("''", "'") if quote == "'" else _unescaped(inner))

    def _flow(self, body: str, at: int, start: int, depth: int) -> tuple[Node, int]:
        """Take a collection in brackets, or a text in one, that stands on one line.

        Args:
            body: what is on the line.
            at: where it begins there.
            start: where ``body`` begins.
            depth: in how many brackets it stands.

        Returns:
            It, and where the text behind it begins.
        """
        first = body[at : at + 1]
        if first not in ("[", "{"):
            return _flow_text(body, at, start)
        if len(self._open) + depth >= MAX_OPEN:
            raise _NotSimpleError
        node = Node("sequence" if first == "[" else "mapping", start + at)
        closing = "]" if first == "[" else "}"
        at = _behind_blanks(body, at + 1)
        while body[at : at + 1] != closing:
            if first == "{":
                key, at = _flow_text(body, at, start)
                if len(key.text) > _LONGEST_KEY or body[at : at + 2] != ": ":
                    raise _NotSimpleError
                node.keys.append(key)
                at = _behind_blanks(body, at + 1)
            child, at = self._flow(body, at, start, depth + 1)
            node.children.append(child)
            at = _behind_blanks(body, at)
            if body[at : at + 1] == ",":
                at = _behind_blanks(body, at + 1)
                if body[at : at + 1] == closing:
                    raise _NotSimpleError
            elif body[at : at + 1] != closing:
                raise _NotSimpleError
        return node, at + 1

    def _see_end(self, body: str, end: int, start: int) -> None:
        """See that what ends with a character has only a comment behind it."""
        behind = body[end + 1 :].lstrip(" ")
        if end <= 0 or (behind and (behind[0] != "#" or body[end + 1] == "#")):
            raise _NotSimpleError
        if behind:
            self.comments.append(start + len(body) - len(behind))

    def _block(self, body: str, start: int) -> Node:
        header, comment, _ = body.partition(" #")
        if comment:
            self.comments.append(start + len(header) + 1)
        header = header.rstrip(" ")
        if header not in _HEADERS:
            raise _NotSimpleError
        lines = self._block_lines()
        end = max((number for number, line in enumerate(lines, 1) if line), default=0)
        if not end:
            raise _NotSimpleError
        breaks = len(lines) - end + (self._next < len(self._lines))  # there may be none behind the last line
        kept = {"+": breaks, "-": 0}.get(header[1:], min(breaks, 1))
        text = "\n".join(lines[:end]) if header[0] == "|" else _folded(lines[:end])
        return Node("scalar", start, text + "\n" * kept)

    def _block_lines(self) -> list[str]:
        """The lines that follow and are indented deeper, without the indentation of the first one that has a text."""
        lines: list[str] = []
        depth = blanks = 0
        while self._next < len(self._lines):
            line = self._lines[self._next]
            indent = len(line) - len(line.lstrip(" "))
            is_last = self._next == len(self._lines) - 1
            if indent == len(line):
                blanks = blanks if depth else max(blanks, indent)
                if is_last and line:
                    raise _NotSimpleError
            elif not depth:
                depth = indent
                if depth < blanks or depth <= self._open[-1].indent:
                    raise _NotSimpleError
            elif indent < depth:
                break
            if is_last and not line:
                break
            lines.append(line[depth:] if depth else "")
            self._take()
        return lines


def _key_end(body: str) -> int:
    """Where the first colon stands that ends a key, or -1."""
    end = body.find(": ")
    return len(body) - 1 if end < 0 and body.endswith(":") else end


def _begins_member(body: str) -> bool:
    """Whether an element of a list is a mapping that begins on its line."""
    if body[:1] in ("'", '"'):
        end = body.find(body[0], 1) + 1
        return body[end : end + 1] == ":"
    return body[:1].isalpha() and _key_end(body) >= 0


def _behind_blanks(body: str, at: int) -> int:
    while body[at : at + 1] == " ":
        at += 1
    return at


def _flow_text(body: str, at: int, start: int) -> tuple[Node, int]:
    """A text in brackets, and where what is behind it begins."""
    quote = body[at : at + 1]
    if quote in ("'", '"'):
        end = body.find(quote, at + 1)
        text = body[at + 1 : end]
        if end < 0 or "\\" in text or body[end + 1 : end + 2] == quote:
            raise _NotSimpleError
        return Node("scalar", start + at, text), end + 1
    end = at
    while end < len(body) and body[end] not in ",:[]{}":
        end += 1
    text = body[at:end].rstrip(" ")
    if not text[:1].isalnum() or not text.translate(_IN_KEYS).isalnum():
        raise _NotSimpleError
    return Node("scalar", start + at, text, True, _type(text)), at + len(text)


def _type(text: str) -> str:
    """As in ``Node.type``."""
    found = _WORDS.get(text)
    if found is not None or text.strip(_OF_NUMBERS):
        return found or "str"
    if text[0].isalpha():
        return "str"
    bare = text.removeprefix("-")
    if bare.isdecimal() and (bare == "0" or bare[0] != "0"):
        return "int"
    parts = bare.split(".")
    if len(parts) > 1 and all(part.isdecimal() for part in parts):
        return "float" if len(parts) == 2 else "str"
    if [len(part) for part in text.split("-") if part.isdecimal()] == [4, 2, 2] and len(text) == 10:
        return "timestamp"
    ports = text.split(":")
    if len(ports) > 1 and all(part.isdecimal() for part in ports) and any(len(part) > 2 for part in ports[1:]):
        return "str"  # no number to the base of 60
    raise _NotSimpleError


def _unescaped(text: str) -> str:
    """What a text in double quotes on one line says."""
    if "\\" not in text:
        return text
    parts = [part.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t") for part in text.split("\\\\")]
    if any("\\" in part for part in parts):
        raise _NotSimpleError
    return "\\".join(parts)


def _folded(lines: list[str]) -> str:
    """What the lines of a ``>`` say: a line end is a blank or the empty lines behind it, unless a line is indented more."""
    parts: list[str] = []
    above = ""
    empty = 0
    for line in lines:
        if not line:
            empty += 1
            continue
        if not above:
            parts.append("\n" * empty)
        elif above[0] == " " or line[0] == " ":
            parts.append("\n" * (empty + 1))
        else:
            parts.append("\n" * empty or " ")
        parts.append(line)
        above, empty = line, 0
    return "".join(parts)
