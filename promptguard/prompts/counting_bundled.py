"""The tokenizer of the tiny model that ships with promptguard, in plain Python: byte-level BPE as llama.cpp does it.

It is here for the time that it takes to start: some milliseconds, without a library.
"""

# ruff: noqa: PTH123 - pathlib takes longer to import than all the rest here

from __future__ import annotations

from promptguard.core.errors import InputError
from promptguard.core.light import Callable, count_elements, insort, regex

BUNDLED = "promptguard-tiny"
"""The name of the bundled tokenizer: that of the model that ships with promptguard."""

MERGES = __file__[: -len("counting_bundled.py")] + "tiny_merges.txt"
"""The merges of the model by bucket, see ``bucket``; made by scripts/build_tiny_model.py. Behind a line that says where each
bucket begins and the last one ends, counted in bytes, there is a line for each merge: ``left right``, a tab, its rank.
"""
BUCKETS = 251  # a prime: each holds some eighteen merges

_MOST_LOOKED_UP = 2_000  # merges that are looked up in the file: as long as it takes to make a dict of all
_EXACT_BYTES = 1024  # a piece without a cut that is longer than this (no word is) is counted by the density of its first part
_CACHED_PIECES = 1 << 16
_LONGEST_TOKEN = 16  # letters; of most

# The pre-tokenizer that llama.cpp calls qwen2. Python's re has no \p{L} and \p{N}: numbers are its digits and the
# characters of the categories Nl and No, letters the other word characters. \s is spelled out because Python counts U+001C to
# U+001F in.
_NUMBER = (
    r"\d\u00b2-\u00b3\u00b9\u00bc-\u00be\u09f4-\u09f9\u0b72-\u0b77\u0bf0-\u0bf2\u0c78-\u0c7e\u0d58-\u0d5e\u0d70-\u0d78"
    r"\u0f2a-\u0f33\u1369-\u137c\u16ee-\u16f0\u17f0-\u17f9\u19da\u2070\u2074-\u2079\u2080-\u2089\u2150-\u2182\u2185-\u2189"
    r"\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u2cfd\u3007\u3021-\u3029\u3038-\u303a\u3192-\u3195\u3220-\u3229\u3248-\u324f"
    r"\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\ua6e6-\ua6ef\ua830-\ua835\U00010107-\U00010133\U00010140-\U00010178"
    r"\U0001018a-\U0001018b\U000102e1-\U000102fb\U00010320-\U00010323\U00010341\U0001034a\U000103d1-\U000103d5"
    r"\U00010858-\U0001085f\U00010879-\U0001087f\U000108a7-\U000108af\U000108fb-\U000108ff\U00010916-\U0001091b"
    r"\U000109bc-\U000109bd\U000109c0-\U000109cf\U000109d2-\U000109ff\U00010a40-\U00010a48\U00010a7d-\U00010a7e"
    r"\U00010a9d-\U00010a9f\U00010aeb-\U00010aef\U00010b58-\U00010b5f\U00010b78-\U00010b7f\U00010ba9-\U00010baf"
    r"\U00010cfa-\U00010cff\U00010e60-\U00010e7e\U00010f1d-\U00010f26\U00010f51-\U00010f54\U00010fc5-\U00010fcb"
    r"\U00011052-\U00011065\U000111e1-\U000111f4\U0001173a-\U0001173b\U000118ea-\U000118f2\U00011c5a-\U00011c6c"
    r"\U00011fc0-\U00011fd4\U00012400-\U0001246e\U00016b5b-\U00016b61\U00016e80-\U00016e96\U0001d2e0-\U0001d2f3"
    r"\U0001d360-\U0001d378\U0001e8c7-\U0001e8cf\U0001ec71-\U0001ecab\U0001ecad-\U0001ecaf\U0001ecb1-\U0001ecb4"
    r"\U0001ed01-\U0001ed2d\U0001ed2f-\U0001ed3d\U0001f100-\U0001f10c"
)
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

_SPLIT = regex(
    rf"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|(?:[^\r\n\w]|_)?[^\W_{_NUMBER}]+|[{_NUMBER}]"
    rf"| ?(?:[^{_SPACE}\w]|_)+[\r\n]*|[{_SPACE}]*[\r\n]+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)
_SPLIT_ASCII = regex(  # what it comes to for a text of ASCII; it is compiled in a fourth of the time
    r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]"
    r"| ?[^\t-\r A-Za-z0-9]+[\r\n]*|[\t-\r ]*[\r\n]+|[\t-\r ]+(?![^\t-\r ])|[\t-\r ]+"
)
_MARKS = (  # special tokens in the order of their ids, which are the last ones
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
)
_SPECIAL = regex(r"<\|(?:endoftext|im_start|im_end)\|>|</?(?:think|tool_call|tool_response)>")


class Bundled:
    """Counts with the bundled tokenizer; a ``Counter``.

    The counts are those of llama.cpp with the model. Only a run of more than 1,024 bytes without a place to cut (base64, a line
    drawn of dashes) is estimated, from its first 1,024 bytes, so that no text takes long.

    Raises:
        InputError: the installation does not hold the model.
    """

    name = BUNDLED

    def __init__(self) -> None:
        self._ranks = _Ranks()
        self._letters = _letters()
        self._counts: dict[str, int] = {}
        self._ids: dict[str, list[int]] = {}
        self._all_numbers: dict[str, int] = {}

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        parts = _SPECIAL.split(text) if "<" in text else [text]
        total = len(parts) - 1
        counts = self._counts
        pieces = (_SPLIT_ASCII if text.isascii() else _SPLIT).finditer
        times_found: dict[str, int] = {}
        count_elements(times_found, (piece[0] for part in parts for piece in pieces(part)))
        for piece, times in times_found.items():
            size = counts.get(piece)
            if size is None:
                if len(counts) >= _CACHED_PIECES:
                    counts.clear()
                size = counts[piece] = self._count_piece(piece)
            total += size * times
        return total

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of a text; of an estimated run those of its first part, again and again."""
        ids = self._ids
        if len(ids) >= _CACHED_PIECES:
            ids.clear()
        found: list[int] = []
        marks = _SPECIAL.findall(text)
        pieces = (_SPLIT_ASCII if text.isascii() else _SPLIT).findall
        for number, part in enumerate(_SPECIAL.split(text)):
            if number:
                found.append(self._numbers[marks[number - 1]])
            for piece in pieces(part):
                found += ids.get(piece) or self._encode_piece(piece)
        return found

    def _encode_piece(self, piece: str) -> list[int]:
        word = self._word(piece)
        known = self._numbers.get(word)
        part = [known] if known is not None else [self._numbers[token] for token in self._merge(word[:_EXACT_BYTES])]
        if known is None and len(word) > _EXACT_BYTES:
            size = len(part) * len(word) // _EXACT_BYTES
            part = (part * (size // len(part) + 1))[:size]
        self._ids[piece] = part
        return part

    @property
    def _numbers(self) -> dict[str, int]:
        """The id of each token: the letters of the bytes, what the merges make in their order, the special tokens."""
        if not self._all_numbers:
            letters = [self._letters.get(byte, chr(byte)) for byte in range(256)]
            made = [merge.replace(" ", "", 1) for merge in self._ranks.in_order()]
            self._all_numbers = {token: number for number, token in enumerate([*letters, *made, *_MARKS])}
        return self._all_numbers

    def _word(self, piece: str) -> str:
        return piece.encode("utf-8", "replace").decode("latin-1").translate(self._letters)

    def _count_piece(self, piece: str) -> int:
        word = self._word(piece)
        size = len(self._merge(word[:_EXACT_BYTES]))
        return size if len(word) <= _EXACT_BYTES else size * len(word) // _EXACT_BYTES

    def _merge(self, word: str) -> list[str]:
        """The tokens that are left when all merges are done: the first in rank first, of equals the leftmost."""
        rank_of = self._ranks.get
        # No token is cut when it stands alone, so what one merge makes is one: the quick way for most words.
        for cut in range(1, len(word)) if len(word) <= _LONGEST_TOKEN else ():
            if rank_of(f"{word[:cut]} {word[cut:]}") is not None:
                return [word]
        parts = list(word)  # of parts that were joined the first holds the text, the others nothing
        after = list(range(1, len(parts) + 1))
        before = list(range(-1, len(parts) - 1))
        queue = []  # sorted, the next one last; a word has so few letters that a heap would be no faster
        for at in range(len(parts) - 1):
            rank = rank_of(f"{parts[at]} {parts[at + 1]}")
            if rank is not None:
                queue.append((-rank, -at))
        queue.sort()
        while queue:
            rank, at = queue.pop()
            rank, at = -rank, -at
            right = after[at]
            if right >= len(parts) or rank_of(f"{parts[at]} {parts[right]}") != rank:
                continue  # one of the two was joined with another part meanwhile
            parts[at] += parts[right]
            parts[right] = ""
            after[at] = following = after[right]
            if following < len(parts):
                before[following] = at
                if (rank := rank_of(f"{parts[at]} {parts[following]}")) is not None:
                    insort(queue, (-rank, -at))
            if (preceding := before[at]) >= 0 and (rank := rank_of(f"{parts[preceding]} {parts[at]}")) is not None:
                insort(queue, (-rank, -preceding))
        return [part for part in parts if part]


def _letters() -> dict[int, str]:
    """The letter that byte-level BPE writes for each byte that it cannot write as itself."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(0x100 + index) for index, byte in enumerate(others)}


def bucket(merge: bytes) -> int:
    """The number of the bucket that a merge lies in."""
    return int.from_bytes(merge, "little") % BUCKETS


class _Ranks:
    """The rank of each merge.

    For a small prompt they are looked up in the file: to make a dict of all takes as long as all else that is done for it.

    Attributes:
        get: the rank of a merge, ``left right``; ``None`` where there is no such merge.
    """

    def __init__(self) -> None:
        try:
            with open(MERGES, "rb") as file:
                self._data = data = file.read()
        except OSError:
            raise InputError("a file of promptguard itself is missing", where=MERGES, hint="install promptguard again") from None
        self._starts = list(map(int, data[: data.index(b"\n")].split()))
        self._left = _MOST_LOOKED_UP
        self.get: Callable[[str], int | None] = self._look_up

    def _look_up(self, merge: str) -> int | None:
        self._left -= 1
        if not self._left:
            self.get = self._all().get
        line = merge.encode()
        number = bucket(line)
        line = b"\n%b\t" % line
        at = self._data.find(line, self._starts[number], self._starts[number + 1])
        if at < 0:
            return None
        at += len(line)
        return int(self._data[at : self._data.index(b"\n", at)])

    def in_order(self) -> list[str]:
        """All merges, the first in rank first."""
        ranks = self._all()
        return sorted(ranks, key=ranks.__getitem__)

    def _all(self) -> dict[str, int]:
        lines = self._data[self._starts[0] + 1 : -1].decode().split("\n")
        pairs = (line.split("\t") for line in lines)
        return {merge: int(rank) for merge, rank in pairs}
