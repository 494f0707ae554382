"""What a detector is given, and what it gives.

A detector is a function that takes a ``Document`` and yields ``Hit``s. It knows nothing of severity words, costs, suppression or
output: the engine makes a ``Finding`` of a hit.
"""

from __future__ import annotations

from promptguard.core.finding import Confidence, Edit, Fix, Severity
from promptguard.core.light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    Literal,
    Mapping,
    NamedTuple,
    Sequence,
    lru_cache,
)
from promptguard.core.source import Place, Source, Span

if TYPE_CHECKING:  # tool schemas and command lines have no templates
    from promptguard.parse.template_nodes import Expr, Template

Block = Literal["tools", "system", "history", "user"]
BLOCKS: tuple[Block, ...] = ("tools", "system", "history", "user")
"""In the order in which they reach the engine."""
PREFIX: frozenset[Block] = frozenset({"tools", "system"})
"""The resident prefix: what is sent again, unchanged, on every turn."""

Kind = Literal["prompt", "tools", "chat-template", "serving"]
KINDS: tuple[Kind, ...] = ("prompt", "tools", "chat-template", "serving")
Syntax = Literal["jinja", "format", "mustache", "dollar", "erb"]
SYNTAXES: tuple[Syntax, ...] = ("jinja", "format", "mustache", "dollar", "erb")
TOKENS_BEHIND = "\0"
"""Stands in a message for "n tokens": the static ones behind the place, which the engine counts."""
Changes = Literal["request", "minute", "hour", "day", "conversation", "deployment"]
"""How often a value changes. ``conversation``: it is another one in every conversation and stays within it."""


class Region(NamedTuple):
    """A stretch of a document that belongs to one block; half-open range of code points."""

    start: int
    end: int
    block: Block


class Placeholder(NamedTuple):
    """Where a template prints a value: ``{{ user.name }}``, ``{name}``, ``${name}``, ``<%= name %>``.

    Attributes:
        start, end: with its braces.
        expression: what it prints, as Jinja would write it; spans are those of the document. ``None`` where it is none.
    """

    start: int
    end: int
    expression: Expr | None


class Embedding:
    """How the text of a document lies in the file around it: the decoded value of a JSON string or a YAML scalar.

    Attributes:
        source: the file.
        starts, ends: for each code point of the document the range of code points of the file that it is written as. They are
            not contiguous where the file has indentation in between.
        escape: writes a new text so that it can stand in the place of old one: ``escape(start, end, text)`` with the range in the
            document; ``None`` where it cannot.
        agree: whether edits of the file that ``escape`` has written, each as start, end and text, say together what each says
            alone; they come in order and do not overlap.
    """

    __slots__ = ("agree", "ends", "escape", "source", "starts")

    def __init__(
        self,
        source: Source,
        starts: Sequence[int],
        ends: Sequence[int],
        escape: Callable[[int, int, str], str | None],
        agree: Callable[[Sequence[tuple[int, int, str]]], bool] = lambda _edits: True,
    ) -> None:
        self.source = source
        self.starts = starts
        self.ends = ends
        self.escape = escape
        self.agree = agree

    def span(self, start: int, end: int) -> Span:
        """The range of the file for a range of the document; an empty one lies in front of what follows it."""
        if start < end:
            return Span(self.starts[start], self.ends[end - 1])
        at = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return Span(at, at)


class Document:
    """One text to check: a prompt, a file of tool schemas, a command line; a file may hold several.

    Attributes:
        source: its text. Where ``embedding`` is set this is the decoded value, not the file.
        kind: what it is. ``tools`` and ``serving`` documents are whole files; ``tools`` that lie beside a prompt have a pointer,
            and the region is where they are.
        syntax: how its placeholders are written, ``None`` where it has none.
        regions: its parts in order; text outside of them (front matter, comments of another kind) is no part of a prompt.
        embedding: the file around it, ``None`` where the document is the file (``source.text`` is the text of the file then).
        pointer: where it is in a JSON or YAML file, as a JSON pointer.
        stable, dynamic: variables that the configuration declares (dotted names; a name covers all below it).
        known: values of a context file, by name: such a variable is stable.
        placeholders: where it prints values, in order.
        template: the tree where the syntax is ``jinja``.
        prompt: name of the prompt that it is a part of; documents of one name make one prompt, in the order of their blocks.
        tokens: texts of ``bos_token`` and ``eos_token`` of a chat template, as far as the file around it names them.
        bom: whether the file begins with a byte order mark (which is no part of any text here).
        hurried: a detector sets it where time, or the state of the machine, has a say in what it found: it may be otherwise next
            time.
    """

    __slots__ = (
        "bom",
        "dynamic",
        "embedding",
        "hurried",
        "kind",
        "known",
        "placeholders",
        "pointer",
        "prompt",
        "regions",
        "source",
        "stable",
        "syntax",
        "template",
        "tokens",
    )

    def __init__(
        self,
        source: Source,
        kind: Kind,
        *,
        syntax: Syntax | None = None,
        regions: Sequence[Region] = (),
        embedding: Embedding | None = None,
        pointer: str | None = None,
        stable: frozenset[str] = frozenset(),
        dynamic: frozenset[str] = frozenset(),
        known: Mapping[str, object] | None = None,
        placeholders: Sequence[Placeholder] = (),
        template: Template | None = None,
        prompt: str | None = None,
        tokens: Mapping[str, str] | None = None,
        bom: bool = False,
    ) -> None:
        self.source = source
        self.kind = kind
        self.syntax = syntax
        self.regions = regions
        self.embedding = embedding
        self.pointer = pointer
        self.stable = stable
        self.dynamic = dynamic
        self.known = known or {}
        self.placeholders = placeholders
        self.template = template
        self.prompt = prompt
        self.tokens = tokens or {}
        self.bom = bom
        self.hurried = False

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def file(self) -> Source:
        """The file that holds the document."""
        return self.embedding.source if self.embedding is not None else self.source

    def block_at(self, offset: int) -> Block | None:
        """The block that an offset lies in; at the very end of a region still that one; ``None`` outside of all."""
        found: Block | None = None
        for region in self.regions:
            if region.start <= offset < region.end:
                return region.block
            if offset == region.end:
                found = region.block
        return found

    def place(self, start: int, end: int) -> Place:
        """A range of the document as a place in the file."""
        if self.embedding is None:
            return Place(self.source, Span(start, end))
        return Place(self.embedding.source, self.embedding.span(start, end))

    def edit(self, start: int, end: int, text: str) -> Edit | None:
        """An edit of the file: ``text`` in the place of a range of the document; ``None`` where that cannot be written."""
        if self.embedding is None:
            return Edit(Span(start, end), text)
        written = self.embedding.escape(start, end, text)
        return Edit(self.embedding.span(start, end), written) if written is not None else None


class Hit(NamedTuple):
    """What a detector has found.

    Attributes:
        code: of the rule.
        start, end: range of code points of the document; its text is ``quote``.
        message: one sentence, lower case, without a full stop; it says what, and shows ``quote`` (``shown`` cuts it) in backticks
            where it is a text that can be shown.
        changes: how often the value changes, ``None`` where the rule is not about a value.
        severity, confidence: where they differ from those of the rule.
        fix: how to mend it. Its edits are those of the file (``Document.edit``).
        related: other ranges of the document, and what is there.
        pointer: where it is below ``Document.pointer``, as a JSON pointer.
        tokens_lost: what it costs, where the detector has measured it.
    """

    code: str
    start: int
    end: int
    message: str
    changes: Changes | None = None
    severity: Severity | None = None
    confidence: Confidence | None = None
    fix: Fix | None = None
    related: tuple[tuple[int, int, str], ...] = ()
    pointer: str = ""
    tokens_lost: int | None = None


Detector = Callable[[Document, Mapping[str, Any]], Iterator[Hit]]
"""Takes a document and the options of its rules (code: values by option name); under ``tokenizer`` stands the ``name`` of the one
that is configured. It yields all that it finds, however much that is: what is left out of a report is for the engine to say.
"""


def byte_order_mark(document: Document, why: str) -> Iterator[Hit]:
    """PG303 for the mark that a file begins with; ``why`` says what is wrong with it."""
    if document.bom and document.embedding is None:
        # The mark is no part of the text, so the edit says no more than where it is.
        fix = make_fix(document, "Remove the byte order mark", [(0, 0, "")], safe=True)
        yield Hit("PG303", 0, min(1, len(document.text)), f"the file begins with a byte order mark, {why}", fix=fix)


def make_fix(document: Document, title: str, edits: Sequence[tuple[int, int, str]], *, safe: bool) -> Fix | None:
    """A fix from edits of the document; ``None`` where one of them cannot be written into the file."""
    made = [document.edit(start, end, text) for start, end, text in edits]
    if not made or any(edit is None for edit in made):
        return None
    return Fix(title, tuple(edit for edit in made if edit is not None), "safe" if safe else "unsafe")


def mentions(text: str, words: Sequence[str]) -> bool:
    """Whether a text has one of some words in it."""
    for word in words:  # noqa: SIM110 - faster than any(), and asked of every file
        if word in text:
            return True
    return False


def shown(text: str, limit: int = 60) -> str:
    """A text for a message: in one line, cut where it is long; control and invisible characters as escapes."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or f"\\u{ord(character):04x}"


_MODULES: dict[Kind, tuple[str, ...]] = {
    "prompt": ("dynamic", "order", "whitespace"),
    "tools": ("tools",),
    "chat-template": ("chat_template",),
    "serving": ("serving",),
}


IN_LITERALS = (*"0123456789", "/tmp/", "/var/", "\\Temp\\")  # noqa: S108 - looked for in a text
"""One of these is in every time, id and temporary path."""
_IN_ORDERS = (
    *("set(", "_set", "Set", "|set", "| set", "union(", "intersection(", "difference("),
    *("listdir", "glob", "iterdir", "walk(", "scandir"),
)


def _may_vary(document: Document) -> bool:
    return bool(document.placeholders) or document.template is not None or mentions(document.text, IN_LITERALS)


_MAY_FIND: dict[str, Callable[[Document], bool]] = {
    "dynamic": _may_vary,
    "order": lambda document: mentions(document.text, _IN_ORDERS),
}
"""What every document has in which a module finds something: where it is not there, the module is not even imported."""


@lru_cache(maxsize=None)
def detectors(kind: Kind) -> tuple[tuple[str, Detector], ...]:
    """Name and detector of each module that looks at documents of a kind."""
    return tuple((name, _where_may_find(name) if name in _MAY_FIND else _detector(name)) for name in _MODULES[kind])


def _detector(name: str) -> Detector:
    # importlib itself takes longer to import than one of them
    check: Detector = __import__(f"promptguard.checks.{name}", fromlist=["check"]).check
    return check


def _where_may_find(name: str) -> Detector:
    may_find = _MAY_FIND[name]

    def check(document: Document, options: Mapping[str, Any]) -> Iterator[Hit]:
        if may_find(document):
            yield from _detector(name)(document, options)

    return check
