"""Collections in brackets, as in JSON or shorter, over any number of lines."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING, regex
from promptguard.parse.yaml import Node
from promptguard.parse.yaml_simple import LONGEST_KEY, MAX_OPEN, NOT_FIRST, NotSimpleError, is_name, is_tag, type_of

if TYPE_CHECKING:
    from promptguard.parse.yaml_simple import Reader

_WORD = r"(?:[^,\[\]{}:# \t\r\n]|:(?![,\[\]{}? \t\r\n]|\Z)|(?<![ \t\r\n])#)+"
_RUN = regex(rf"{_WORD}(?: +{_WORD})*")  # what of a text without quotes stands on one line
_GAP = regex(r"[ \t]*(?:\r?\n[ \t]*)+")
_NO_RUN = ("- ", "---", "...")


def read_flow(reader: Reader, at: int, depth: int) -> tuple[Node, int]:
    """Read a collection in brackets.

    Args:
        reader: of the text.
        at: where the collection begins.
        depth: in how many collections it stands.

    Returns:
        It, and where it ends.

    Raises:
        NotSimpleError: the library has to read it.
    """
    text = reader.text
    if depth > MAX_OPEN:
        raise NotSimpleError
    is_list = text[at] == "["
    closing = "]" if is_list else "}"
    node = Node("sequence" if is_list else "mapping", at)
    at = _behind_gap(reader, at + 1)
    while text[at : at + 1] != closing:
        begin = at
        child, at = _value(reader, at, depth)
        value = -1 if is_list else _behind_colon(text, begin, at, child)
        if value >= 0:
            node.keys.append(child)
            child, at = _value(reader, _behind_gap(reader, value), depth)
        at = _behind_gap(reader, at)
        if not is_list and value < 0:
            node.keys.append(child)
            child = Node("scalar", at, "", True, "null")
        node.children.append(child)
        if text[at : at + 1] == ",":
            at = _behind_gap(reader, at + 1)
        elif text[at : at + 1] != closing:
            raise NotSimpleError
    return node, at + 1


def _value(reader: Reader, at: int, depth: int) -> tuple[Node, int]:
    first = reader.text[at : at + 1]
    if first in ("[", "{"):
        return read_flow(reader, at, depth + 1)
    if first in ("'", '"'):
        return reader.quoted(at)
    if first in ("&", "!"):
        return _with_properties(reader, at, depth)
    if first == "*":
        end = at + 1
        while is_name(reader.text[end : end + 1]):
            end += 1
        return reader.alias(reader.text[at + 1 : end]), end
    return _plain(reader.text, at)


def _with_properties(reader: Reader, at: int, depth: int) -> tuple[Node, int]:
    """A value with an anchor, a tag, or both ahead of it on its line."""
    text = reader.text
    begin = at
    anchor = tag = ""
    while text[at : at + 1] in ("&", "!"):
        end = text.find(" ", at)
        word = text[at + 1 : max(end, at + 1)]
        if text[at] == "&":
            if anchor or word in reader.named or not is_name(word):
                raise NotSimpleError
            anchor = word
            reader.anchor = begin if reader.anchor is None else reader.anchor
        else:
            if tag or not is_tag(word):
                raise NotSimpleError
            tag = word
            reader.tag = begin if reader.tag is None else reader.tag
        at = _behind_gap(reader, end)
    if text[at : at + 1] == "*":
        raise NotSimpleError
    node, end = _value(reader, at, depth)
    node.start = begin
    if tag and node.kind == "scalar":
        node.plain, node.type = False, "str"
    if anchor:
        reader.named[anchor] = node
    return node, end


def _behind_colon(text: str, begin: int, end: int, key: Node) -> int:
    """Where the value of a key may begin; -1 where it has none.

    Args:
        text: the YAML text.
        begin: where the key begins.
        end: where it ends.
        key: it.
    """
    while text[end : end + 1] == " ":
        end += 1
    if text[end : end + 1] != ":":
        return -1
    if key.kind != "scalar" or text[begin] in "*&!" or end - begin > LONGEST_KEY or "\n" in text[begin:end]:
        raise NotSimpleError
    if key.plain and text[end + 1 : end + 2] not in (" ", "\n", "\r"):
        raise NotSimpleError
    return end + 1


def _plain(text: str, at: int) -> tuple[Node, int]:
    """A text without quotes, over any number of lines, and where it ends."""
    run = _RUN.match(text, at)
    if run is None or text[at] in NOT_FIRST or run[0] == "-" or run[0].startswith(_NO_RUN):
        raise NotSimpleError
    parts = [run[0]]
    end = run.end()
    while (gap := _GAP.match(text, end)) is not None:
        if "\t" in gap[0].lstrip(" \t") or text.startswith(_NO_RUN[1:], gap.end()):
            raise NotSimpleError
        run = _RUN.match(text, gap.end())
        if run is None:
            break
        parts += "\n" * (gap[0].count("\n") - 1) or " ", run[0]
        end = run.end()
    said = "".join(parts)
    return Node("scalar", at, said, True, type_of(said)), end


def _behind_gap(reader: Reader, at: int) -> int:
    """Where the blanks, line ends and comments from ``at`` on end."""
    text = reader.text
    while True:
        character = text[at : at + 1]
        if character == "#" and text[at - 1] in " \t\n":
            reader.comments.append(at)
            at = text.find("\n", at)
            if at < 0:
                raise NotSimpleError
        elif not character or character not in " \t\n\r":
            return at
        at += 1
