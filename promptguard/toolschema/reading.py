"""The usual JSON text of tools, read one tool after the other at the speed of C.

A text is usual if it is a list of tools, one tool, or an object with such a list, and if a parser and a printer of JSON give back
its very tokens. Any other text is left to ``document``, which takes everything and says what is wrong, and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson

from promptguard.parse.strict import MAX_NESTING, deeper_than
from promptguard.toolschema.canonical import join, tool_texts
from promptguard.toolschema.dialects import detect, may_stand_among_tools, root_role
from promptguard.toolschema.equality import spelled
from promptguard.toolschema.order import Canonicalizer
from promptguard.toolschema.references import may_dangle

_ESCAPES = re.compile(r"\\(?:u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|.)", re.DOTALL)
_NEEDS_NONE = re.compile(r'[^\x00-\x1f"\\]+')
_LIST = re.compile(rb"[ \t\r\n]*\[")
_SPACE = b" \t\r\n"
_UNKNOWN = 10  # elements of a list before the first one that is a tool beyond doubt
_KEYS = ("tools", "functions")
_LEVELS = MAX_NESTING - 2
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True)
class Reading:
    """What a text says.

    Attributes:
        wire: its canonical form as compact JSON.
        said: what each tool, and the rest, says: see ``equality.same_values``.
        may_dangle: there may be a ``$ref`` in it that points nowhere.
        holds_tools: as ``document.holds_tools``.
    """

    wire: bytes
    said: list[bytes]
    may_dangle: bool
    holds_tools: bool


def read_usual(text: str) -> Reading | None:
    """Read a usual text; ``None`` for any other."""
    try:
        return _read((_ESCAPES.sub(_unescaped, text) if "\\u" in text or "\\/" in text else text).encode())
    except Exception:  # whatever it is: the exact way says it with its place
        return None


def read_canonical(data: bytes) -> Reading | None:
    """Read a text in canonical form, if it is usual, to see what it says."""
    try:
        return _read(data)
    except Exception:  # whatever it is: the exact way says it with its place
        return None


def _read(data: bytes) -> Reading | None:
    around, key, raws = _split(data)
    tools = _Tools()
    texts = tool_texts(tools.each(raws, held=key is not None), parsed=True)
    if key is None:
        wire, value = (join(texts), tools.known) if around is None else (texts[0], around)
        return Reading(wire, tools.said, tools.may_dangle, detect(value) is not None)
    canonicalizer = Canonicalizer()
    ordered = canonicalizer.tools(around)
    if canonicalizer.wire(ordered) != orjson.dumps(ordered):  # a number that orjson writes in a way of its own
        return None
    wire = orjson.dumps({**ordered, key: orjson.Fragment(join(texts))})
    said = spelled(around)
    known = detect({**around, key: tools.known}) is not None
    return Reading(wire, [*tools.said, b"around " + said], tools.may_dangle or b'"$ref"' in said, known)


def _split(data: bytes) -> tuple[Any, str | None, Iterable[bytes]]:
    """What holds a list of tools, with an empty one; its key; and the tools.

    A list of tools has nothing around it and no key, one tool has itself around it and no key.
    """
    if _LIST.match(data):
        return None, None, map(bytes, _elements(data))
    members = {name: bytes(raw) for name, raw in _members(data).items()}
    key = next((key for key in _KEYS if members.get(key, b"").startswith(b"[")), None)
    if key is not None:
        around = {name: [] if name == key else orjson.loads(raw) for name, raw in members.items()}
        _check_tokens(data, orjson.dumps({**around, key: orjson.Fragment(members[key])}))
        return around, key, map(bytes, _elements(members[key]))
    tool = orjson.loads(data)
    if root_role(tool) != "tool":
        raise ValueError
    return tool, None, [data]


def _check_tokens(text: bytes, printed: bytes) -> None:
    """See that a text has the very tokens that were printed of what it says, but for spaces in texts.

    Then no key stands twice in it, since a parser keeps only one of them, and every number in it is spelled as it is printed, so
    that a float has lost nothing of it. The spaces in texts do not matter here: what was parsed has them.
    """
    if text != printed and text.translate(None, _SPACE) != printed.translate(None, _SPACE):
        raise ValueError


@dataclass
class _Tools:
    """What has been learned of the tools so far.

    Attributes:
        count: how many there were.
        said: what each says, as in ``Reading``.
        may_dangle: one of them has a ``$ref`` that may point nowhere.
        known: one that is a tool beyond doubt, if there is any.
    """

    count: int = 0
    said: list[bytes] = field(default_factory=list)
    may_dangle: bool = False
    known: list[Any] = field(default_factory=list)

    def each(self, raws: Iterable[bytes], *, held: bool) -> Iterator[Any]:
        for raw in raws:
            tool = orjson.loads(raw)
            printed = orjson.dumps(tool)
            _check_tokens(raw, printed)
            if held and printed.count(b"{") + printed.count(b"[") > _LEVELS and deeper_than(tool, _LEVELS):
                raise ValueError  # two levels are around it, not one as in a list of tools
            self.count += 1
            self.said.append(spelled(tool))
            self.may_dangle = self.may_dangle or (b'"$ref"' in printed and may_dangle(tool))
            if not self.known and detect([tool]) is not None:
                self.known = [tool]
            elif self.count > _UNKNOWN and not self.known:
                raise ValueError  # a list of something else, perhaps a long one
            elif not may_stand_among_tools(tool) and detect([tool]) is None:
                raise ValueError
            yield tool


def _unescaped(match: re.Match[str]) -> str:
    """Characters for escapes that need not be."""
    escapes = match.group()
    if escapes[1] not in "u/":
        return escapes
    characters = str(orjson.loads(f'"{escapes}"'))
    return characters if _NEEDS_NONE.fullmatch(characters) else escapes
