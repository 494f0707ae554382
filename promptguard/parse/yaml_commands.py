"""Command lines and environment variables in YAML: compose files, Kubernetes, and scripts in the texts of any other file."""

from __future__ import annotations

from promptguard.core.errors import InputError
from promptguard.core.light import Iterator, NamedTuple, Sequence
from promptguard.core.source import Source
from promptguard.parse.commands import (
    MAX_COMMANDS,
    Launch,
    Setting,
    Wanted,
    Word,
    assignment,
    commands_in,
    logical_lines,
)
from promptguard.parse.yaml import Node, merged, read_yaml

_COMMAND = ("entrypoint", "command", "args")  # of compose and of Kubernetes, in the order in which they make one command
_ENVIRONMENT = ("environment", "env")


def read_yaml_launches(text: str, wanted: Wanted) -> list[Launch]:
    """Each mapping with a command or an environment is one launch, each other text with a wanted line one more.

    A text that is no YAML holds none.
    """
    try:
        stack = [merged(root) for root in reversed(read_yaml(Source("", text)).documents)]
    except InputError:
        return []
    found: list[Launch] = []
    seen: set[int] = set()  # what an alias names is read once
    while stack and len(found) < MAX_COMMANDS:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.kind == "scalar":
            if wanted(node.text):
                found.append(Launch(list(_script(text, node, wanted)), {}))
            continue
        keys = {key.text: child for key, child in zip(node.keys, node.children, strict=False)}
        own = [keys[name] for name in _COMMAND + _ENVIRONMENT if name in keys]
        stack += [child for child in reversed(node.children) if child not in own]
        if own:
            found.append(_launch(text, keys, wanted))
    return found


def _launch(text: str, keys: dict[str, Node], wanted: Wanted) -> Launch:
    launch = Launch([], {}, keys["image"].text if "image" in keys else "")
    for name in _ENVIRONMENT:
        if name in keys:
            _read_environment(launch, text, keys[name])
    words: list[Word] = []
    for name in _COMMAND:
        if name in keys:
            node = keys[name]
            words += _words(text, node)
            for child in [node] if node.kind == "scalar" else node.children:
                if child.kind == "scalar" and len(child.text.split(None, 1)) == 2 and wanted(child.text):
                    launch.commands.extend(_script(text, child, wanted))
    if words:
        launch.commands.append(words)
    return launch


def _words(text: str, node: Node) -> list[Word]:
    """The words of a command that is written as one text or as a list."""
    if node.kind == "scalar":
        scalar = _scalar(text, node)
        return [word for command in commands_in(scalar.text, 0, len(scalar.text)) for word in scalar.words(command)]
    return [_scalar(text, child).whole() for child in node.children if child.kind == "scalar"]


def _script(text: str, node: Node, wanted: Wanted) -> Iterator[list[Word]]:
    """The commands of a text with lines that are wanted."""
    scalar = _scalar(text, node)
    for start, end in logical_lines(scalar.text):
        if wanted(scalar.text[start:end]):
            for command in commands_in(scalar.text, start, end, wanted):
                yield scalar.words(command)


def _read_environment(launch: Launch, text: str, node: Node) -> None:
    """``NAME: value``, ``- NAME=value``, or ``- name: NAME`` with a ``value``."""
    for key, child in zip(node.keys, node.children, strict=False):
        if child.kind == "scalar":
            value = _scalar(text, child).whole()
            end = value.end + (text[value.end : value.end + 1] in {"'", '"'})
            launch.settings[key.text] = Setting(key.text, value.text, key.start, end, value.literal)
    for child in node.children if node.kind == "sequence" else ():
        if child.kind == "scalar":
            made = assignment(_scalar(text, child).whole())
            launch.settings.update({made.name: made} if made is not None else {})
            continue
        parts = {key.text: part for key, part in zip(child.keys, child.children, strict=False) if part.kind == "scalar"}
        if "name" in parts and "value" in parts:
            value = _scalar(text, parts["value"]).whole()
            launch.settings[parts["name"].text] = Setting(parts["name"].text, value.text, value.start, value.end, value.literal)


class _Scalar(NamedTuple):
    """The text of a scalar, and the range of each code point of it in the file."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def words(self, command: list[Word]) -> list[Word]:
        """Words of the text as words of the file."""
        return [word._replace(start=self.starts[word.start], end=self.ends[word.end - 1]) for word in command]

    def whole(self) -> Word:
        """All of the text as one word."""
        return Word(self.starts[0], self.ends[-1] if self.text else self.starts[0], self.text, "$" not in self.text)


def _scalar(source: str, node: Node) -> _Scalar:
    """A scalar; where it cannot be said where its text stands, all of it stands where the scalar begins."""
    from promptguard.parse.yaml_scalars import written_scalar

    written = written_scalar(source, node.start, node.text)
    if written is None or not node.text:
        at = node.start if written is None else min(written.start + (written.style in ("single", "double")), written.end)
        length = max(1, len(node.text))
        return _Scalar(node.text, [at] * length, [at + 1] * length)
    return _Scalar(node.text, written.places.starts, written.places.ends)
