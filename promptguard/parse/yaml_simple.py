"""YAML as most prompt files have it: mappings and lists of texts, each on one line or behind a ``|`` or ``>``.

What the few lines of this grammar do not say for sure is not decided here: anchors, tags, nested flow collections, texts over
several lines without a ``|``, other escapes, odd characters, several documents, whatever may be an error. The library reads
those. What is read here comes out as from the library: values, types and places alike.
"""

from __future__ import annotations

from promptguard.core.light import NamedTuple
from promptguard.core.source import Source
from promptguard.parse.yaml import MAX_DEPTH, Node, Stream

MAX_TEXT = 1 << 19
"""Longer texts are not read here, in code points: the library is written in C, and bounds the number of values."""

MAX_OPEN = MAX_DEPTH // 2
_LONGEST_KEY = 128
_NOT_FIRST = "-?:,[]{}#&*!|>'\"%@`"  # what no text without quotes begins with here
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
    # What is printable to Python is to YAML too, and none of it ends a line.
    if len(text) > MAX_TEXT or not text.replace("\n", "").isprintable():
        return None
    reader = _Reader(text)
    try:
        root = reader.read()
    except _NotSimpleError:
        return None
    return Stream(source, [root], reader.comments)


class _NotSimpleError(Exception):
    """The library has to read it."""


class _Open(NamedTuple):
    """A collection to which the next line may belong, and how deep its lines are indented."""

    node: Node
    indent: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.comments: list[int] = []  # where they begin
        self._lines = text.split("\n")
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
        self._start += len(line) + 1
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
        if item and item[0] not in _NOT_FIRST and _key_end(item) >= 0:
            children.append(self._begin(item, indent + before, start + before))
            self._see_member(item, start + before)
        else:
            children.append(self._scalar(item, start + before))

    def _see_member(self, body: str, start: int) -> None:
        """Take a key, and its value if that is on its line."""
        end = _key_end(body)
        key = body[: max(end, 0)]
        is_simple = key[:1].isalpha() and key[-1] != " " and len(key) <= _LONGEST_KEY and key.translate(_IN_KEYS).isalnum()
        if not is_simple:
            raise _NotSimpleError
        mapping = self._open[-1].node
        mapping.keys.append(Node("scalar", start, key, True, _type(key)))
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
            return self._flow(body, start)
        end = body.find(" #")
        if end >= 0:
            self.comments.append(start + end + 1)
        text = (body[:end] if end >= 0 else body).rstrip(" ")
        if not text or first in _NOT_FIRST or _key_end(text) >= 0:
            raise _NotSimpleError
        return Node("scalar", start, text, True, _type(text))

    def _quoted(self, body: str, start: int) -> Node:
        quote = body[0]
        # What is escaped is masked, from the left; the mask is no printable character.
        masked = body[1:].replace("''", "\0\0") if quote == "'" else body[1:].replace("\\\\", "\0\0").replace('\\"', "\0\0")
        end = masked.find(quote) + 1
        self._see_end(body, end, start)
        inner = body[1:end]
        return Node("scalar", start, inner.replace("''", "'") if quote == "'" else _unescaped(inner))

    def _flow(self, body: str, start: int) -> Node:
        """Take a list or mapping of texts in brackets on one line."""
        is_list = body[0] == "["
        end = body.find("]" if is_list else "}")
        self._see_end(body, end, start)
        node = Node("sequence" if is_list else "mapping", start)
        at = start + 1
        for part in body[1:end].split(",") if body[1:end].strip(" ") else ():
            item = part.strip(" ")
            place = at + len(part) - len(part.lstrip(" "))
            if not is_list:
                key, _, value = item.partition(": ")
                node.keys.append(_flow_item(key, place))
                place += len(item) - len(value.lstrip(" "))
                item = value.lstrip(" ")
            node.children.append(_flow_item(item, place))
            at += len(part) + 1
        return node

    def _see_end(self, body: str, end: int, start: int) -> None:
        """See that what ends with a character has only a comment behind it."""
        behind = body[end + 1 :].lstrip(" ")
        if end <= 0 or (behind and (behind[0] != "#" or body[end + 1] == "#")):
            raise _NotSimpleError
        if behind:
            self.comments.append(start + len(body) - len(behind))

    def _block(self, body: str, start: int) -> Node:
        header = body.rstrip(" ")
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


def _flow_item(item: str, start: int) -> Node:
    quote = item[:1]
    if quote in ("'", '"') and len(item) > 1:
        inner = item[1:-1]
        if item[-1] != quote or quote in inner or "\\" in inner:
            raise _NotSimpleError
        return Node("scalar", start, inner)
    if item[:1].isalnum() and item[-1] != " " and item.translate(_IN_KEYS).isalnum():
        return Node("scalar", start, item, True, _type(item))
    raise _NotSimpleError


def _type(text: str) -> str:
    """As in ``Node.type``."""
    found = _WORDS.get(text)
    if found is not None or text.strip(_OF_NUMBERS):
        return found or "str"
    if text[0].isalpha():
        return "str"
    if text.isdecimal() and (text == "0" or text[0] != "0"):
        return "int"
    parts = text.split(".")
    if len(parts) > 1 and all(part.isdecimal() for part in parts):
        return "float" if len(parts) == 2 else "str"
    if [len(part) for part in text.split("-") if part.isdecimal()] == [4, 2, 2] and len(text) == 10:
        return "timestamp"
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
