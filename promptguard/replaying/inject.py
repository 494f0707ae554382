"""Known defects to plant in a run, to see that a gate catches them: ``--inject NAME`` or ``--inject NAME@TURN``."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from promptguard.core.errors import ConfigError
from promptguard.core.source import Place, Span
from promptguard.prompts.request import Piece, Request, Traced

Change = Callable[[Request, int, datetime], Request]


@dataclass(frozen=True)
class Injection:
    """A defect and the turn on which it shows; ``turn`` is ``None`` for those that show on every turn."""

    name: str
    change: Change
    turn: int | None

    def __call__(self, request: Request, turn: int, clock: datetime) -> Request:
        return self.change(request, turn, clock) if self.turn in (None, turn) else request


def parse_injection(text: str) -> Injection:
    """``NAME`` or ``NAME@TURN`` as an ``Injection``.

    Raises:
        ConfigError: no such defect, or not a turn.
    """
    name, at, number = text.partition("@")
    if name not in DEFECTS:
        close = difflib.get_close_matches(name, DEFECTS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"one of: {', '.join(DEFECTS)}"
        raise ConfigError(f"there is no defect {name!r}", where="--inject", hint=hint)
    change, default = DEFECTS[name]
    if not at:
        return Injection(name, change, default)
    if not number.isascii() or not number.isdecimal() or not 1 <= int(number[:6]) <= 10_000:
        raise ConfigError(f"{number!r} is not the number of a turn", where="--inject", hint=f"write {name}@7")
    return Injection(name, change, int(number))


def _clock_head(request: Request, _turn: int, clock: datetime) -> Request:
    return _insert(request, 0, f"Current time: {clock:%Y-%m-%d %H:%M:%S}\n", expression="clock")


def _clock_tail(request: Request, _turn: int, clock: datetime) -> Request:
    return _insert(request, len(_system(request).text), f"\nCurrent time: {clock:%Y-%m-%d %H:%M:%S}", expression="clock")


def _extra_space(request: Request, _turn: int, _clock: datetime) -> Request:
    text = _system(request).text
    return _insert(request, text.find(" ", len(text) // 2) + 1, " ")


def _uuid_in_tool(request: Request, turn: int, clock: datetime) -> Request:
    if not request.tools:
        return request
    function = dict(request.tools[0]["function"])
    trace = uuid.uuid5(uuid.NAMESPACE_OID, f"{turn} {clock}")
    function["description"] = f"{function.get('description', '')} (trace {trace})"
    return replace(request, tools=({**request.tools[0], "function": function}, *request.tools[1:]))


def _reorder_tools(request: Request, _turn: int, _clock: datetime) -> Request:
    return replace(request, tools=request.tools[1:] + request.tools[:1])


def _reorder_keys(request: Request, _turn: int, _clock: datetime) -> Request:
    return replace(request, tools=tuple(_reverse_keys(tool) for tool in request.tools))


def _drop_history(request: Request, _turn: int, _clock: datetime) -> Request:
    """Without the oldest call and its result, or the oldest message where there is no such pair."""
    for index in range(1, len(request.messages) - 2):
        if request.messages[index].get("role") == "assistant":
            return replace(request, messages=request.messages[:index] + request.messages[index + 2 :])
    return request


def _reverse_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reverse_keys(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [_reverse_keys(item) for item in value]
    return value


def _system(request: Request) -> Traced:
    return request.system or Traced("")


def _insert(request: Request, offset: int, text: str, *, expression: str = "planted") -> Request:
    """Put ``text`` into the system prompt; its place is where in the user's file it would stand."""
    system = _system(request)
    host = system.piece_at(offset) or (system.pieces[-1] if system.pieces else None)
    pieces: list[Piece] = []
    for piece in system.pieces:
        if piece.end <= offset:
            pieces.append(piece)
        elif piece.start >= offset:
            pieces.append(replace(piece, start=piece.start + len(text), end=piece.end + len(text)))
        else:
            pieces.extend(_split(piece, offset, len(text)))
    if host is not None:
        at = min(host.place.span.start + max(0, offset - host.start), host.place.span.end)
        pieces.append(Piece(offset, offset + len(text), Place(host.place.source, Span(at, at)), expression))
    pieces.sort(key=lambda piece: piece.start)
    return replace(request, system=Traced(system.text[:offset] + text + system.text[offset:], tuple(pieces)))


def _split(piece: Piece, offset: int, gap: int) -> tuple[Piece, Piece]:
    place, span = piece.place, piece.place.span
    middle = span.start + offset - piece.start
    if piece.expression is not None or not span.start <= middle <= span.end:
        return replace(piece, end=offset), replace(piece, start=offset + gap, end=piece.end + gap)
    return (
        Piece(piece.start, offset, Place(place.source, Span(span.start, middle))),
        Piece(offset + gap, piece.end + gap, Place(place.source, Span(middle, span.end))),
    )


# name: how the request changes, and the turn on which it does (None: every turn)
DEFECTS: dict[str, tuple[Change, int | None]] = {
    "clock-head": (_clock_head, None),
    "clock-tail": (_clock_tail, None),
    "uuid-in-tool": (_uuid_in_tool, None),
    "reorder-tools": (_reorder_tools, 7),
    "reorder-keys": (_reorder_keys, 7),
    "extra-space": (_extra_space, 7),
    "drop-history": (_drop_history, 7),
}
