"""Build fixtures/models/tiny/promptguard-tiny.gguf from corpus.txt, words.txt and chat_template.jinja beside it.

    python scripts/build_tiny_model.py            write the model, and its merges as promptguard/prompts/tiny_merges.txt
    python scripts/build_tiny_model.py --check    build it and compare with the files that are there

The result depends on these three files and on this script alone, down to the byte.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptguard.models.twin import write_model
from promptguard.parse.gguf import Value
from promptguard.prompts.counting_bundled import BUCKETS, MERGES, bucket

FOLDER = ROOT / "fixtures" / "models" / "tiny"
MODEL = FOLDER / "promptguard-tiny.gguf"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # token types of GGUF

# How llama.cpp splits a text ahead of the merges with tokenizer.ggml.pre = qwen2. Python's re has no \p{L} and \p{N}: numbers are
# the digits and those of Latin-1, letters the other word characters, which is the same for every character of the corpus.
NUMBER = r"\d\u00b2\u00b3\u00b9\u00bc-\u00be"
LETTER = rf"[^\W_{NUMBER}]"
SPLIT = re.compile(
    rf"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|(?:[^\r\n\w]|_)?{LETTER}+|[{NUMBER}]| ?(?:[^\s\w]|_)+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

Word = tuple[str, ...]
Pair = tuple[str, str]


def byte_alphabet() -> list[str]:
    """The letter that GPT-2's byte-level BPE writes for each byte: itself where it is printable, the next free one otherwise."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def split(text: str) -> list[str]:
    """The pieces of a text that merges do not cross."""
    return SPLIT.findall(text)


def corpus() -> str:
    """The text to train on. Each word counts twice, with a space ahead of it, so that it becomes one token."""
    words = (FOLDER / "words.txt").read_text(encoding="utf-8").split()
    return "".join([(FOLDER / "corpus.txt").read_text(encoding="utf-8"), *(f" {word}" for word in 2 * words)])


def train(text: str) -> list[Pair]:
    """Byte-pair encoding: join the most frequent pair until none occurs twice; of equals the first in code point order."""
    alphabet = byte_alphabet()
    counts = Counter(split(text))
    words: list[Word] = [tuple(alphabet[byte] for byte in word.encode()) for word in counts]
    weights = list(counts.values())
    totals: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for index, word in enumerate(words):
        for pair in pairwise(word):
            totals[pair] += weights[index]
            places[pair].add(index)
    found: list[Pair] = []
    while (most := max(totals.values(), default=0)) > 1:
        best = min(pair for pair, total in totals.items() if total == most)
        found.append(best)
        for index in places.pop(best):
            before, after = words[index], join(words[index], best)
            for pair in pairwise(before):
                totals[pair] -= weights[index]
                if not totals[pair]:
                    del totals[pair]
            for pair in pairwise(after):
                totals[pair] += weights[index]
                places[pair].add(index)
            words[index] = after
    return found


def join(word: Word, pair: Pair) -> Word:
    """The word with each occurrence of the pair joined, from left to right."""
    out: list[str] = []
    index = 0
    while index < len(word):
        size = 2 if word[index : index + 2] == pair else 1
        out.append("".join(word[index : index + size]))
        index += size
    return tuple(out)


def encode(text: str, merges: Sequence[Pair]) -> list[str]:
    """The tokens of a text without special tokens, as the model's tokenizer is meant to give them."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    alphabet = byte_alphabet()
    tokens: list[str] = []
    for piece in split(text):
        word: Word = tuple(alphabet[byte] for byte in piece.encode())
        while True:
            known = [pair for pair in pairwise(word) if pair in ranks]
            if not known:
                break
            word = join(word, min(known, key=lambda pair: ranks[pair]))
        tokens.extend(word)
    return tokens


def in_buckets(merges: Sequence[Pair]) -> bytes:
    """The file of the merges, see ``counting_bundled.MERGES``."""
    buckets = [b""] * BUCKETS
    for rank, (left, right) in enumerate(merges):
        merge = f"{left} {right}".encode()
        buckets[bucket(merge)] += b"\n%b\t%d" % (merge, rank)
    sizes = [len(content) for content in buckets]
    width = len(str(sum(sizes))) + 1  # of a start
    head = (BUCKETS + 1) * (width + 1) - 1
    starts = [head + sum(sizes[:number]) for number in range(BUCKETS + 1)]
    return b"%b%b\n" % (" ".join(f"{start:{width}}" for start in starts).encode(), b"".join(buckets))


def build(target: Path, lines: Path) -> int:
    """Write the model and, as ``lines``, its merges; return the size of the model in bytes."""
    merges = train(corpus())
    lines.write_bytes(in_buckets(merges))
    plain = [*byte_alphabet(), *map("".join, merges)]
    tokens = [*plain, *SPECIAL, *MARKERS]
    types = [NORMAL] * len(plain) + [CONTROL] * len(SPECIAL) + [USER_DEFINED] * len(MARKERS)
    metadata = {
        "general.type": Value.string("model"),
        "general.name": Value.string("promptguard-tiny"),
        "general.license": Value.string("mit"),
        "tokenizer.ggml.model": Value.string("gpt2"),
        "tokenizer.ggml.pre": Value.string("qwen2"),
        "tokenizer.ggml.tokens": Value.strings(tokens),
        "tokenizer.ggml.token_type": Value.int32s(types),
        "tokenizer.ggml.merges": Value.strings([f"{left} {right}" for left, right in merges]),
        "tokenizer.ggml.bos_token_id": Value.uint32(tokens.index("<|endoftext|>")),
        "tokenizer.ggml.eos_token_id": Value.uint32(tokens.index("<|im_end|>")),
        "tokenizer.ggml.padding_token_id": Value.uint32(tokens.index("<|endoftext|>")),
        "tokenizer.ggml.add_bos_token": Value.boolean(False),
        "tokenizer.chat_template": Value.string((FOLDER / "chat_template.jinja").read_text(encoding="utf-8")),
    }
    return write_model(target, "llama", metadata, len(tokens))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the file differs from what would be built"
    )
    if not parser.parse_args().check:
        print(f"{MODEL}: {build(MODEL, Path(MERGES))} bytes")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        fresh, lines = Path(folder) / MODEL.name, Path(folder) / Path(MERGES).name
        build(fresh, lines)
        same = all(old.is_file() and new.read_bytes() == old.read_bytes() for new, old in ((fresh, MODEL), (lines, Path(MERGES))))
    print(f"{MODEL}: {'is current' if same else 'differs, run scripts/build_tiny_model.py'}")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
