"""YAML as prompt files have it: mappings and lists of texts, in lines or in brackets, with anchors, tags, several documents.

It reads what YAML 1.1 says for sure. Directives, keys that are collections or have an anchor or a tag, values behind ``---``,
odd characters, whatever may be an error: that is not decided here, and read by the library. What is read
here comes out as from the library (libyaml): values, types and places alike.
"""

from __future__ import annotations

from promptguard.core.light import NamedTuple
from promptguard.core.source import Source
from promptguard.parse.yaml import MAX_DEPTH, MAX_NODES, Node, Stream

MAX_TEXT = MAX_NODES - 1
"""Longer texts are not read here, in code points: the library bounds the number of values, of which no text has more than one
beyond its code points.
"""

MAX_OPEN = MAX_DEPTH // 2
"""Deeper collections are not read here, nor aliases of deeper ones: the library reads both together."""
LONGEST_KEY = 1000  # code points; YAML itself has a limit of 1,024
NOT_FIRST = "\t?:,[]{}#&*!|>'\"%@`"  # what no text without quotes begins with here, nor with a dash and a blank
_WORDS = {
    **dict.fromkeys(("yes", "Yes", "YES", "no", "No", "NO", "true", "True", "TRUE", "false", "False", "FALSE"), "bool"),
    **dict.fromkeys(("on", "On", "ON", "off", "Off", "OFF"), "bool"),
    **dict.fromkeys(("~", "null", "Null", "NULL"), "null"),
    "<<": "merge",
    "=": "value",
}
# A text with a character beside these is no number and no date, in any of their spellings; each of the words has one.
_OF_NUMBERS = "0123456789abcdefABCDEFxIiNnTtZ_.:+- \t"


def read_simple(source: Source) -> Stream | None:
    """Read a YAML text; ``None`` where it is not as simple as that."""
    text = source.text
    if len(text) > MAX_TEXT or ("\r" in text and text.count("\r") != text.count("\r\n")) or not _is_printable(text):
        return None
    reader = Reader(text)
    try:
        documents = reader.read()
    except NotSimpleError:
        return None
    return Stream(source, documents, reader.comments, reader.anchor, reader.tag)


def _is_printable(text: str) -> bool:
    """Whether a text has no characters but those that are plain ones in YAML; what is printable to Python is one."""
    if text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        return True
    from promptguard.parse.yaml_types import ODD_CHARACTER

    return ODD_CHARACTER.search(text) is None


class NotSimpleError(Exception):
    """The library has to read it."""


class _Open(NamedTuple):
    """A collection to which the next line may belong, and how deep its lines are indented."""

    node: Node
    indent: int


class Reader:
    """Reads the lines of a text.

    Attributes:
        text: the whole of it.
        comments, anchor, tag: as in ``Stream``.
        named: the nodes of the document that have an anchor.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[int] = []
        self.anchor: int | None = None
        self.tag: int | None = None
        self.named: dict[str, Node] = {}
        self._lines = text.split("\n")
        self._sizes = [len(line) + 1 for line in self._lines]
        if "\r" in text:
            self._lines = [line.removesuffix("\r") for line in self._lines]
        self._next = 0  # line
        self._start = 0  # of that line
        self._end = 0  # of the line before it, without its line break
        self._open: list[_Open] = []  # the first one is the document
        # Where the value of the last key or dash would stand on its line, while it has none; its anchor; whether it has a tag.
        self._value: int | None = None
        self._named: str | None = None
        self._tagged = False
        self._values = len(text) + 1  # at most as many stand in the text, and those that aliases stand for
        self._measures: dict[int, tuple[int, int]] = {}

    def read(self) -> list[Node]:
        """The documents."""
        documents: list[Node] = []
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
                continue
            if not indent and body.startswith("---") and body[3:4] in ("", " "):
                if is_marked or documents:
                    self._leave_document()
                behind = body[3:].lstrip(" ")
                if behind:
                    if behind[0] != "#":
                        raise NotSimpleError
                    self.comments.append(self._end - len(behind))
                is_marked = True
                self._open = []
                continue
            if not indent and body.startswith(("---\t", "...")):
                if not self._open or line != "..." or "".join(self._lines[self._next :]).strip(" "):
                    raise NotSimpleError
                break
            if not self._open:
                document = Node("sequence", 0)
                documents.append(document)
                self._open = [_Open(document, -1)]
                self._value = start
            self._see(body, indent, start)
        if documents or is_marked:
            self._leave_document()
        return [document.children[0] for document in documents]

    def _leave_document(self) -> None:
        if not self._open:
            raise NotSimpleError  # it is empty
        self._leave_empty()
        self.named.clear()

    def _take(self) -> str:
        line = self._lines[self._next]
        self._end = self._start + len(line)
        self._start += self._sizes[self._next]
        self._next += 1
        return line

    def _add(self, node: Node) -> None:
        """Add a value to the innermost collection, with the anchor that stands before it."""
        self._open[-1].node.children.append(node)
        if self._named is not None:
            self.named[self._named] = node
            self._named = None
        self._tagged = False

    def _begin(self, body: str, indent: int, start: int, *, value: int | None = None) -> None:
        """Open the collection that a line begins.

        Args:
            body: what is on the line.
            indent: how deep it is indented.
            start: where it begins.
            value: where its anchor or tag stands, on a line above.
        """
        if len(self._open) > MAX_OPEN:
            raise NotSimpleError
        node = Node("sequence" if _is_item(body) else "mapping", start if value is None else value)
        self._add(node)
        self._open.append(_Open(node, indent))

    def _leave_empty(self) -> None:
        """The last key or dash has no value after all."""
        if self._value is not None:
            plain = not self._tagged
            self._add(Node("scalar", self._value, "", plain, "null" if plain else "str"))
            self._value = None

    def _see(self, body: str, indent: int, start: int) -> None:
        """Take a line with something on it."""
        is_item = _is_item(body)
        parent = self._open[-1]
        if self._value is not None and (indent, is_item and parent.node.kind == "mapping") > (parent.indent, False):
            has_properties = self._named is not None or self._tagged
            value = self._value if has_properties else None
            self._value = None
            if not is_item and not _begins_member(body):
                if has_properties:
                    raise NotSimpleError
                self._add(self._scalar(body, start))
                return
            self._begin(body, indent, start, value=value)
        self._leave_empty()
        # A list may be indented as deep as the key that it belongs to.
        while (indent, is_item) < (self._open[-1].indent, self._open[-1].node.kind == "sequence"):
            self._open.pop()
        if (indent, is_item) != (self._open[-1].indent, self._open[-1].node.kind == "sequence"):
            raise NotSimpleError
        while is_item:
            item = body[1:].lstrip(" ")
            before = len(body) - len(item)
            body, indent, start = item, indent + before, start + before
            if _is_item(body) or _begins_member(body):
                self._begin(body, indent, start)
                is_item = _is_item(body)
            else:
                self._see_value(body, start, start - before + 1)
                return
        self._see_member(body, start)

    def _see_member(self, body: str, start: int) -> None:
        """Take a key, and its value if that is on its line."""
        if body[0] in ("'", '"'):
            key, end = self.quoted(start)
            end = len(body) - len(body[end - start :].lstrip(" "))
            if body[end : end + 2] != ": " and body[end:] != ":":
                raise NotSimpleError
        else:
            end = _key_end(body)
            text = body[: max(end, 0)].rstrip(" ")
            if not text or text[0] in NOT_FIRST or text.startswith("---") or " #" in text or "\t" in text:
                raise NotSimpleError
            key = Node("scalar", start, text, True, type_of(text))
        if end > LONGEST_KEY:
            raise NotSimpleError
        self._open[-1].node.keys.append(key)
        value = body[end + 1 :].lstrip(" ")
        self._see_value(value, start + len(body) - len(value), start + end + 1)

    def _see_value(self, body: str, start: int, empty: int) -> None:
        """Take what stands behind a colon or dash.

        Args:
            body: the rest of the line.
            start: where it begins.
            empty: where the value stands if there is none.
        """
        first = body[:1]
        value: int | None = None
        if first in ("&", "!"):
            value = empty = start
            body, start = self._properties(body, start)
            first = body[:1]
        if not first or first == "#":
            self._value = empty
            if first:
                self.comments.append(start)
        elif first == "*":
            if value is not None:
                raise NotSimpleError
            name = body[1:].partition(" ")[0]
            self._see_end(body[1 + len(name) :], start + 1 + len(name))
            self._add(self.alias(name))
        else:
            node = self._scalar(body, start)
            if value is not None:
                node.start = value
                if self._tagged:
                    node.plain, node.type = False, "str"
            self._add(node)

    def _properties(self, body: str, start: int) -> tuple[str, int]:
        """Take the anchor and the tag before a value; the rest of the line, and where it begins."""
        begin = start
        while body[:1] in ("&", "!"):
            word = body.partition(" ")[0]
            name = word[1:]
            if word[0] == "&":
                if self._named is not None or name in self.named or not is_name(name):
                    raise NotSimpleError
                self._named = name
                self.anchor = begin if self.anchor is None else self.anchor
            else:
                if self._tagged or not is_tag(name):
                    raise NotSimpleError
                self._tagged = True
                self.tag = begin if self.tag is None else self.tag
            rest = body[len(word) :].lstrip(" ")
            start += len(body) - len(rest)
            body = rest
        return body, start

    def alias(self, name: str) -> Node:
        """What an anchor names that stands before."""
        node = self.named.get(name)
        if node is None or any(collection.node is node for collection in self._open):
            raise NotSimpleError
        size, height = self._measured(node)
        self._values += size
        if height > MAX_OPEN or self._values > MAX_NODES:
            raise NotSimpleError
        return node

    def _measured(self, node: Node) -> tuple[int, int]:
        """How many values a node unfolds into, itself included, and how deep they are nested."""
        found = self._measures.get(id(node))
        if found is None:
            inner = [self._measured(child) for child in (*node.keys, *node.children)]  # the depth is bounded
            size = 1 + sum(size for size, _ in inner)
            found = self._measures[id(node)] = (size, 1 + max((depth for _, depth in inner), default=0))
        return found

    def _scalar(self, body: str, start: int) -> Node:
        """Take a value of any kind that begins on this line."""
        first = body[0]
        if first in ("|", ">"):
            return self._block(body, start)
        if first in ("'", '"', "[", "{"):
            node, end = self.quoted(start) if first in ("'", '"') else self._flow(start)
            while self._start < end:
                self._take()
            self._see_end(self.text[end : self._end], end)
            return node
        if body[1:2] in ("", " ", "\t") if first in "-?:" else first in NOT_FIRST:
            raise NotSimpleError
        text, is_open = self._line_of_text(body, start)
        if is_open:
            text += self._continued()
        return Node("scalar", start, text, True, type_of(text))

    def _line_of_text(self, body: str, start: int) -> tuple[str, bool]:
        """A line of a text without quotes, and whether it can go on behind it: a comment ends it."""
        end = body.find("#", 1)
        while end > 0 and body[end - 1] not in " \t":
            end = body.find("#", end + 1)
        text = (body[:end] if end > 0 else body).rstrip(" \t")
        if _key_end(text) >= 0 or ":\t" in text:
            raise NotSimpleError
        if end > 0:
            self.comments.append(start + end)
        return text, end < 0

    def _continued(self) -> str:
        """What stands on the following lines of a text without quotes; they are indented deeper than its collection."""
        parts: list[str] = []
        indent = self._open[-1].indent
        empty = 0
        is_open = True
        for number in range(self._next, len(self._lines)):
            line = self._lines[number]
            body = line.lstrip(" ")
            if not body:
                empty += 1
                continue
            before = len(line) - len(body)
            if not is_open or before <= indent or body[0] == "#":
                break
            if body[0] == "\t" or line.startswith(("---", "...")):
                raise NotSimpleError
            while self._next < number:
                self._take()
            text, is_open = self._line_of_text(body, self._start + before)
            self._take()
            parts += "\n" * empty or " ", text
            empty = 0
        return "".join(parts)

    def quoted(self, start: int) -> tuple[Node, int]:
        """Take a text in quotes that begins at ``start``, over any number of lines; it, and where it ends."""
        quote = self.text[start]
        end = _quote_end(self.text, start)
        if end < 0:
            raise NotSimpleError
        inner = self.text[start + 1 : end]
        if "\n" in inner or "\\" in inner:
            from promptguard.parse.yaml_quotes import in_double_quotes, in_single_quotes

            inner = in_single_quotes(inner) if quote == "'" else in_double_quotes(inner)
        elif quote == "'":
            inner = inner.replace("''", "'")
        return Node("scalar", start, inner), end + 1

    def _flow(self, start: int) -> tuple[Node, int]:
        from promptguard.parse.yaml_flow import read_flow

        return read_flow(self, start, len(self._open))

    def _see_end(self, behind: str, end: int) -> None:
        """See that behind a value that ends at ``end`` there is only a comment on its line."""
        comment = behind.lstrip(" \t")
        if comment:
            if comment[0] != "#" or behind[0] == "#":
                raise NotSimpleError
            self.comments.append(end + len(behind) - len(comment))

    def _block(self, body: str, start: int) -> Node:
        header, comment, _ = body.partition(" #")
        if comment:
            self.comments.append(start + len(header) + 1)
        marks = header.rstrip(" ")[1:]
        digit = marks.strip("+-")
        chomping = marks.replace(digit, "")
        if digit not in ("", *"123456789") or chomping not in ("", "+", "-") or len(self._open) == 1:
            raise NotSimpleError
        lines = self._block_lines(self._open[-1].indent + int(digit) if digit else 0)
        end = max((number for number, line in enumerate(lines, 1) if line), default=0)
        if not end and chomping == "+":
            raise NotSimpleError
        breaks = len(lines) - end + (self._next < len(self._lines))  # there may be none behind the last line
        kept = {"+": breaks, "-": 0}.get(chomping, min(breaks, 1))
        text = "\n".join(lines[:end]) if header[0] == "|" else _folded(lines)
        return Node("scalar", start, text + "\n" * kept if end else "")

    def _block_lines(self, depth: int) -> list[str]:
        """The lines that follow and are indented deeper, without that indentation: ``depth``, or that of the first one that has a
        text where it is 0.
        """
        lines: list[str] = []
        blanks = 0
        while self._next < len(self._lines):
            line = self._lines[self._next]
            indent = len(line) - len(line.lstrip(" "))
            if indent == len(line):
                blanks = max(blanks, indent)
                if line and self._next == len(self._lines) - 1:
                    raise NotSimpleError
            elif not depth:
                if indent < blanks or line[indent] == "\t":
                    raise NotSimpleError
                if indent <= self._open[-1].indent:
                    break
                depth = indent
            elif indent < depth:
                break
            lines.append(line[depth:] if depth else "")
            self._take()
        return lines


def is_name(text: str) -> bool:
    """Whether a text is the name of an anchor."""
    return text.isascii() and text.replace("_", "a").replace("-", "a").isalnum()


def is_tag(text: str) -> bool:
    """Whether a text is a tag without its first ``!``, and one that needs no directive."""
    return is_name(text.removeprefix("!").replace("/", "-").replace(".", "-"))


def _is_item(body: str) -> bool:
    """Whether what is on a line begins with the dash of a list."""
    return body[:1] == "-" and body[1:2] in ("", " ")


def _key_end(body: str) -> int:
    """Where the first colon stands that ends a key, or -1."""
    end = body.find(": ")
    return len(body) - 1 if end < 0 and body.endswith(":") else end


def _begins_member(body: str) -> bool:
    """Whether what is on a line begins with a key."""
    if body[:1] in ("'", '"'):
        end = _quote_end(body, 0) + 1
        return end > 0 and body[end:].lstrip(" ").startswith(":")
    return body[:1] not in NOT_FIRST and _key_end(body.partition(" #")[0]) >= 0


def _quote_end(text: str, start: int) -> int:
    """Where the quote stands that ends the text in quotes which begins at ``start``, or -1."""
    quote = text[start]
    end = text.find(quote, start + 1)
    if quote == "'":
        while end >= 0 and text[end + 1 : end + 2] == "'":
            end = text.find("'", end + 2)
        return end
    while end >= 0 and _is_escaped(text, end):
        end = text.find('"', end + 1)
    return end


def _is_escaped(text: str, at: int) -> bool:
    """Whether an odd number of backslashes stands before a character."""
    begin = at
    while text[begin - 1] == "\\":
        begin -= 1
    return (at - begin) % 2 == 1


def type_of(text: str) -> str:
    """As in ``Node.type``, for a text without quotes."""
    if text.strip(_OF_NUMBERS):
        return _WORDS.get(text, "str")
    if text[:1].isalpha() or ("0x" not in text and ("c" in text or "d" in text)):  # most ids
        return "str"
    bare = text.removeprefix("-")
    if bare.isdecimal() and (bare == "0" or bare[0] != "0"):
        return "int"
    parts = bare.split(".")
    if len(parts) > 1 and all(part.isdecimal() for part in parts):
        return "float" if len(parts) == 2 else "str"
    from promptguard.parse.yaml_types import type_of_number

    return type_of_number(text)


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
        elif above[0] in " \t" or line[0] in " \t":
            parts.append("\n" * (empty + 1))
        else:
            parts.append("\n" * empty or " ")
        parts.append(line)
        above, empty = line, 0
    return "".join(parts)
