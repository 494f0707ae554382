"""What a change costs: the tokens behind a place, which the engine computes again when what stands there is another.

``docs/numbers.md`` defines the number.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from promptguard.checks.base import BLOCKS, Block, Document
from promptguard.core.light import NamedTuple, regex
from promptguard.parse.template_nodes import Text
from promptguard.prompts.counting import BUNDLED, Counter, counter

_CHUNK = 512  # code points from which on a chunk may end, where tokens end too
_LONGEST = 4096  # code points at which it ends wherever that is
_KEPT = 16 << 20  # code points of documents whose counts are kept

_LINE = regex(rf"[^\n]{{1,{_LONGEST}}}\n?|\n")
_JSON = regex(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|\s+|[,:]|[^"\s,:]+', re.DOTALL)
_BLANKS = regex(r"\s+|\S+")


class Coster:
    """Counts the tokens behind places.

    Nothing is loaded and nothing is counted before the first call. A document is counted once, whatever the number of places in
    it that are asked for.

    Args:
        tokenizer: see ``promptguard.prompts.counting.counter``.

    Attributes:
        name: what it counts with.
    """

    def __init__(self, tokenizer: str | None) -> None:
        self.name = tokenizer or BUNDLED
        self._tokenizer = tokenizer
        self._counter: Counter | None = None
        self._counted: dict[int, tuple[Document, _Counts]] = {}  # the document is kept, so its id stays its own
        self._kept = 0
        self._sums: dict[str, _Sums] = {}

    def tokens_behind(self, documents: Sequence[Document], document: Document, offset: int) -> int:
        """The number of tokens of static text behind an offset that an engine computes again when the value there changes.

        Args:
            documents: all that may belong to the prompt, in the order of their files and places; ``document`` is one of them.
            document: the one that the value is in.
            offset: of the value; static text that begins there counts.

        Returns:
            The tokens of what follows in the document, and in the other documents of the same prompt that come after it.

        Raises:
            ConfigError: the tokenizer cannot be loaded.
        """
        counts = self._counts(document)
        block = document.block_at(offset)
        if document.prompt is None or block is None:
            return counts.behind(offset)
        return counts.behind(offset) + self._sums_of(document.prompt, documents).behind(document, block, counts)

    def _sums_of(self, prompt: str, documents: Sequence[Document]) -> _Sums:
        known = self._sums.get(prompt)
        if known is None or (known.documents is not documents and known.documents != documents):
            mine = [(document, self._counts(document).blocks) for document in documents if document.prompt == prompt]
            known = self._sums[prompt] = _Sums(documents, mine)
        return known

    def _counts(self, document: Document) -> _Counts:
        kept = self._counted.get(id(document))
        if kept is not None:
            return kept[1]
        if self._kept > _KEPT:
            self._counted.clear()
            self._kept = 0
        if self._counter is None:
            self._counter = _loaded(self._tokenizer)
        made = _Counts(document, self._counter)
        self._counted[id(document)] = (document, made)
        self._kept += len(document.text)
        return made


@lru_cache(maxsize=2)
def _loaded(tokenizer: str | None) -> Counter:
    """Costers come and go with the files that they are for; a tokenizer may take a second to load."""
    return counter(tokenizer)


class _Piece(NamedTuple):
    """A stretch of a document and the text that reaches the model of it."""

    start: int
    end: int
    text: str

    def text_from(self, offset: int) -> str:
        """What reaches the model of the piece from an offset of the document on."""
        return self.text if offset <= self.start else self.text[-(self.end - offset) :]


class _Counts:
    """The tokens of the static text of a document, so that those behind an offset are a look-up and the count of one chunk.

    Attributes:
        blocks: tokens by block.
    """

    __slots__ = ("_behind", "_chunks", "_counter", "_starts", "blocks")

    def __init__(self, document: Document, counter: Counter) -> None:
        self._counter = counter
        self._chunks: list[list[_Piece]] = []
        sizes: list[int] = []
        self.blocks: dict[Block, int] = {}
        for block, pieces in _static(document):
            for chunk in _chunks(pieces):
                size = counter.count("".join([piece.text for piece in chunk]))
                self._chunks.append(chunk)
                sizes.append(size)
                self.blocks[block] = self.blocks.get(block, 0) + size
        self._starts = [chunk[0].start for chunk in self._chunks]
        self._behind = [0] * (len(sizes) + 1)  # tokens of a chunk and all after it
        for index in range(len(sizes) - 1, -1, -1):
            self._behind[index] = self._behind[index + 1] + sizes[index]

    def behind(self, offset: int) -> int:
        """Tokens of the document from an offset on."""
        index = bisect_right(self._starts, offset)  # of the first chunk that begins behind it
        if not index:
            return self._behind[0]
        chunk = self._chunks[index - 1]
        if chunk[0].start == offset:
            return self._behind[index - 1]
        rest = [
            piece.text
            if piece.start >= offset or len(piece.text) != piece.end - piece.start
            else piece.text[offset - piece.start :]
            for piece in chunk
            if piece.end > offset
        ]
        return self._counter.count("".join(rest)) + self._behind[index]


class _Sums:
    """The tokens of the documents of one prompt, so that those behind a document are a look-up.

    Attributes:
        documents: all that they were made of, whatever their prompt.
    """

    __slots__ = ("_behind", "_numbers", "documents")

    def __init__(self, documents: Sequence[Document], mine: Sequence[tuple[Document, Mapping[Block, int]]]) -> None:
        self.documents = documents
        self._numbers = {id(document): number for number, (document, _) in enumerate(mine)}
        self._behind = {block: [0] * (len(mine) + 1) for block in BLOCKS}  # tokens of a block in a document and all after it
        for block, behind in self._behind.items():
            for number in range(len(mine) - 1, -1, -1):
                behind[number] = behind[number + 1] + mine[number][1].get(block, 0)

    def behind(self, document: Document, block: Block, own: _Counts) -> int:
        """Tokens of other documents behind a block of a document: in the same block the order of the documents decides."""
        later = BLOCKS[BLOCKS.index(block) + 1 :]
        in_others = sum(self._behind[other][0] - own.blocks.get(other, 0) for other in later)
        return self._behind[block][self._numbers[id(document)] + 1] + in_others


def _static(document: Document) -> Iterator[tuple[Block, Iterable[Iterable[_Piece]]]]:
    """The static text of a document: for each region its stretches that nothing interrupts, each as pieces."""
    text = document.text
    stretches = list(_literals(document))
    at = 0
    for region in document.regions:
        inside = []
        while at < len(stretches) and stretches[at][1] <= region.start:
            at += 1
        index = at
        while index < len(stretches) and stretches[index][0] < region.end:
            start, end = max(stretches[index][0], region.start), min(stretches[index][1], region.end)
            if start < end:
                inside.append(_pieces(document, text, start, end))
            index += 1
        yield region.block, inside


def _literals(document: Document) -> Iterator[tuple[int, int]]:
    """Where a document has literal text, in order: neither tags nor comments nor placeholders."""
    if document.template is not None:
        for node in document.template.walk():
            if isinstance(node, Text):
                yield node.start, node.end
        return
    at = 0
    for placeholder in document.placeholders:
        if placeholder.start > at:
            yield at, placeholder.start
        at = max(at, placeholder.end)
    yield at, len(document.text)


def _pieces(document: Document, text: str, start: int, end: int) -> Iterator[_Piece]:
    """A stretch of literal text in small pieces; of tool schemas the JSON that a chat template prints: ``{"a": 1, "b": 2}``."""
    if document.kind != "tools":
        for line in _LINE.finditer(text, start, end):
            yield _Piece(line.start(), line.end(), line[0])
        return
    json = document.source.kind == "json"
    space = ""
    for token in (_JSON if json else _BLANKS).finditer(text, start, end):
        written = token[0]
        if written.isspace():
            written, space = "", space if json else " "
        else:
            written, space = space + written, " " if json and written in {",", ":"} else ""
        yield _Piece(token.start(), token.end(), written)


def _chunks(stretches: Iterable[Iterable[_Piece]]) -> Iterator[list[_Piece]]:
    """Pieces in runs that are counted together; a run does not go beyond its stretch."""
    for stretch in stretches:
        run: list[_Piece] = []
        size = 0
        for piece in stretch:
            if size >= _LONGEST or (size >= _CHUNK and _parts(run[-1].text, piece.text)):
                yield run
                run, size = [], 0
            run.append(piece)
            size += len(piece.text)
        if run:
            yield run


def _parts(before: str, after: str) -> bool:
    """Whether no token of a byte-level tokenizer crosses from one text to the next."""
    if after[:1] == " ":
        return not before[-1:].isspace()
    return before[-1:] == "\n" and not after[:1].isspace()
