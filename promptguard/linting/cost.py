"""What a change costs: the tokens behind a place, which the engine computes again when what stands there is another.

``docs/numbers.md`` defines the number.
"""

from __future__ import annotations

from promptguard.checks.base import BLOCKS, Block, Document
from promptguard.core import patterns as re
from promptguard.core.light import (
    TYPE_CHECKING,
    Callable,
    Iterable,
    Iterator,
    NamedTuple,
    Sequence,
    bisect_right,
    lru_cache,
    regex,
)
from promptguard.parse.template_nodes import Text
from promptguard.prompts.counting_bundled import BUNDLED, Bundled

if TYPE_CHECKING:
    from promptguard.prompts.counting import Counter

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
        if document.prompt is None:
            return self._counts(document).behind(offset)
        sums = self._sums_of(document.prompt, documents)
        document, offset = sums.whole(document, offset)
        counts = self._counts(document, sums.inside.get(id(document), ()))
        block = document.block_at(offset)
        return counts.behind(offset) + (sums.behind(document, block, counts) if block is not None else 0)

    def _sums_of(self, prompt: str, documents: Sequence[Document]) -> _Sums:
        known = self._sums.get(prompt)
        if known is None or (known.documents is not documents and known.documents != documents):
            known = self._sums[prompt] = _Sums(documents, prompt, self._counts)
        return known

    def _counts(self, document: Document, inside: Iterable[Document] = ()) -> _Counts:
        kept = self._counted.get(id(document))
        if kept is not None:
            return kept[1]
        if self._kept > _KEPT:
            self._counted.clear()
            self._kept = 0
        if self._counter is None:
            self._counter = _loaded(self._tokenizer)
        made = _Counts(document, inside, self._counter)
        self._counted[id(document)] = (document, made)
        self._kept += len(document.text)
        return made


@lru_cache(maxsize=2)
def _loaded(tokenizer: str | None) -> Counter:
    """Costers come and go with the files that they are for; a tokenizer may take a second to load."""
    if tokenizer is None:
        return Bundled()
    from promptguard.prompts.counting import counter  # and what the others take

    return counter(tokenizer)


class _Piece(NamedTuple):
    """A stretch of a document and the text that reaches the model of it."""

    start: int
    end: int
    text: str

    def part(self, start: int, end: int) -> _Piece:
        """The part of it that lies in a range of the document; a blank that is put in front belongs to its beginning."""
        start, end = max(start, self.start), min(end, self.end)
        first = 0 if start == self.start else max(0, len(self.text) - (self.end - start))
        return _Piece(start, end, self.text[first : max(0, len(self.text) - (self.end - end))])


class _Counts:
    """The tokens of the static text of a document, so that those behind an offset are a look-up and the count of one chunk.

    Args:
        document: the one.
        inside: documents of templates that are parts of it.
        counter: what counts.

    Attributes:
        blocks: tokens by block.
    """

    __slots__ = ("_behind", "_chunks", "_counter", "_starts", "blocks")

    def __init__(self, document: Document, inside: Iterable[Document], counter: Counter) -> None:
        self._counter = counter
        self._chunks: list[list[_Piece]] = []
        sizes: list[int] = []
        self.blocks: dict[Block, int] = {}
        for block, pieces in _static(document, inside):
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
        rest = [piece.part(offset, piece.end).text for piece in chunk if piece.end > offset]
        return self._counter.count("".join(rest)) + self._behind[index]


class _Sums:
    """The tokens of the documents of one prompt, so that those behind a document are a look-up.

    The texts of tools that are templates are documents of their own, and parts of the one of the tools: a place in one is a place
    there, and they are counted there alone.

    Attributes:
        documents: all that they were made of, whatever their prompt.
        inside: the parts of a document, by its id.
    """

    __slots__ = ("_behind", "_numbers", "_whole", "documents", "inside")

    def __init__(
        self, documents: Sequence[Document], prompt: str, count: Callable[[Document, Iterable[Document]], _Counts]
    ) -> None:
        self.documents = documents
        self.inside: dict[int, list[Document]] = {}
        self._whole: dict[int, Document] = {}
        mine = [document for document in documents if document.prompt == prompt]
        tools = [document for document in mine if document.kind == "tools"]
        for document in mine if tools else ():
            whole = _tools_around(document, tools)
            if whole is not None:
                self._whole[id(document)] = whole
                self.inside.setdefault(id(whole), []).append(document)
        mine = [document for document in mine if id(document) not in self._whole]
        blocks = [count(document, self.inside.get(id(document), ())).blocks for document in mine]
        self._numbers = {id(document): number for number, document in enumerate(mine)}
        self._behind = {block: [0] * (len(mine) + 1) for block in BLOCKS}  # tokens of a block in a document and all after it
        for block, behind in self._behind.items():
            for number in range(len(mine) - 1, -1, -1):
                behind[number] = behind[number + 1] + blocks[number].get(block, 0)

    def whole(self, document: Document, offset: int) -> tuple[Document, int]:
        """The document that a document is a part of, and where an offset is there; the same where it is none."""
        whole = self._whole.get(id(document))
        return (whole, document.place(offset, offset).span.start) if whole is not None else (document, offset)

    def behind(self, document: Document, block: Block, own: _Counts) -> int:
        """Tokens of other documents behind a block of a document: in the same block the order of the documents decides."""
        later = BLOCKS[BLOCKS.index(block) + 1 :]
        in_others = sum(self._behind[other][0] - own.blocks.get(other, 0) for other in later)
        return self._behind[block][self._numbers[id(document)] + 1] + in_others


def _tools_around(document: Document, tools: Sequence[Document]) -> Document | None:
    """The tools that a text lies in, which is a template."""
    if document.embedding is None or not document.regions or document.regions[0].block != "tools":
        return None
    source, at = document.embedding.source, document.place(0, 0).span.start
    return next((each for each in tools if each.source is source and each.block_at(at) is not None), None)


def _static(document: Document, inside: Iterable[Document]) -> Iterator[tuple[Block, Iterable[Iterable[_Piece]]]]:
    """The static text of a document: for each region its stretches that nothing interrupts, each as pieces."""
    if document.kind == "tools":
        holes = sorted(hole for each in inside for hole in _holes(each))
        for region in document.regions:
            yield region.block, _without(_printed(document, region.start, region.end), holes)
        return
    text = document.text
    stretches = list(_literals(document))
    at = 0
    for region in document.regions:
        found = []
        while at < len(stretches) and stretches[at][1] <= region.start:
            at += 1
        index = at
        while index < len(stretches) and stretches[index][0] < region.end:
            start, end = max(stretches[index][0], region.start), min(stretches[index][1], region.end)
            if start < end:
                found.append(_lines(text, start, end))
            index += 1
        yield region.block, found


def _holes(document: Document) -> Iterator[tuple[int, int]]:
    """Where a text in a file has no literal text, as ranges of the file."""
    at = 0
    for start, end in [*_literals(document), (len(document.text), len(document.text))]:
        if start > at:
            span = document.place(at, start).span
            yield span.start, span.end
        at = end


def _without(pieces: Iterable[_Piece], holes: Sequence[tuple[int, int]]) -> Iterator[list[_Piece]]:
    """The stretches of pieces between holes."""
    stretch: list[_Piece] = []
    at = 0
    for piece in pieces:
        start = piece.start
        while at < len(holes) and holes[at][0] < piece.end:
            low, high = holes[at]
            if low > start:
                stretch.append(piece.part(start, low))
            if stretch:
                yield stretch
                stretch = []
            start = max(start, high)
            if high > piece.end:
                break  # it goes on in the next piece
            at += 1
        if start < piece.end:
            stretch.append(piece.part(start, piece.end))
    yield stretch


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


def _lines(text: str, start: int, end: int) -> Iterator[_Piece]:
    """A stretch of literal text in small pieces."""
    for line in _LINE.finditer(text, start, end):
        yield _Piece(line.start(), line.end(), line[0])


def _printed(document: Document, start: int, end: int) -> Iterator[_Piece]:
    """Tool schemas in small pieces, as the JSON that a chat template prints: ``{"a": 1, "b": 2}``."""
    json = document.source.kind == "json"
    space = ""
    for token in (_JSON if json else _BLANKS).finditer(document.text, start, end):
        written = token[0]
        if written.isspace():
            written, space = "", space if json else " "
        else:
            written, space = space + written, " " if json and written in {",", ":"} else ""
        if len(written) <= _LONGEST:
            yield _Piece(token.start(), token.end(), written)
        else:
            yield from _cut(_Piece(token.start(), token.end(), written))


def _cut(piece: _Piece) -> Iterator[_Piece]:
    """A long piece in shorter ones, at blanks where it has some: what is behind a place in it is counted for each anew."""
    text, ahead = piece.text, piece.start - len(piece.text) + (piece.end - piece.start)  # the document's offset of the text's own
    at, start = 0, piece.start
    while len(text) - at > _LONGEST:
        blank = text.rfind(" ", at + 1, at + _LONGEST)
        cut = blank if blank > 0 else at + _LONGEST
        yield _Piece(start, ahead + cut, text[at:cut])
        at, start = cut, ahead + cut
    yield _Piece(start, piece.end, text[at:])


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
