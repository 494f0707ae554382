"""Counting with the tokenizer of a file, by the tokenizers library: a tokenizer.json, or the vocabulary of a GGUF file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from promptguard.core.errors import ConfigError, InputError
from promptguard.core.files import read_bytes, read_head
from promptguard.parse.gguf import MAGIC, GGUFHeader, read_header

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_MAX_BYTES = 128 << 20  # four times the largest published tokenizer.json
_MAX_PIECE = 512  # characters; pieces of SentencePiece models have up to 16, a run of spaces may have more

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)  # token types of GGUF
_SPACE = "\u2581"  # what SentencePiece writes for a space

# How llama.cpp splits a text ahead of the merges, by what tokenizer.ggml.pre says (src/llama-vocab.cpp): regular expressions,
# each applied to what the one before it has left. Behind them: whether a word that is a token is taken whole, whatever the
# merges say.
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _ENDING + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _REST
_QWEN2 = _LLAMA3.replace("{1,3}", "")
_QWEN35 = _ENDING + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + _REST
_CASED = (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]")
_TEKKEN = (
    r"[^\r\n\p{{L}}\p{{N}}]?{0}*{1}+{2}|[^\r\n\p{{L}}\p{{N}}]?{0}+{1}*{2}|\p{{N}}{3}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + _REST
)
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|""" + _REST,
)
_UNNAMED = (r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")

_Split = tuple[tuple[str, ...], bool]
_SPLITS: dict[str, _Split] = {
    "": (_UNNAMED, False),
    "default": (_UNNAMED, False),
    **dict.fromkeys(("gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "mpt", "olmo", "exaone4", "trillion"), ((_GPT2,), False)),
    **dict.fromkeys(("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"), ((r"\p{N}", _GPT2), False)),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "lfm2"), ((_LLAMA3,), True)),
    **dict.fromkeys(("glm4", "glm5"), ((_LLAMA3,), True)),
    **dict.fromkeys(("smaug-bpe", "dbrx", "chatglm-bpe"), ((_LLAMA3,), False)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "grok-2", "solar-open"), ((_QWEN2,), False)),
    "qwen35": ((_QWEN35,), False),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm"), (_DEEPSEEK3, False)),
    "tekken": ((_TEKKEN.format(*_CASED, "", ""),), True),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "minimax-m2"), ((_TEKKEN.format(*_CASED, _ENDING + "?", "{1,3}"),), False)),
}

_OTHER_FILE = "name the tokenizer.json of the model instead"


class _FileCounter:
    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def encode(self, text: str) -> list[int]:
        return list(self._encode(text).ids)

    def _encode(self, text: str) -> Encoding:
        plain = text.encode("utf-8", "replace").decode()  # an unpaired surrogate, which JSON can hold, is no text to the library
        with _library(_option(self.name), "it cannot split a text", _OTHER_FILE):
            return self._tokenizer.encode(plain, add_special_tokens=False)


def file_counter(name: str) -> _FileCounter:
    """The counter for a file, GGUF or tokenizer.json by its first bytes.

    Raises:
        ConfigError: the file cannot be used, or the tokenizers library is not installed.
    """
    path = Path(name)
    try:
        head = read_head(path, size=len(MAGIC), what="the tokenizer")
        _require_library(name)
        if head == MAGIC:
            return _FileCounter(name, _from_gguf(read_header(path)))
        return _FileCounter(name, _from_json(read_bytes(path, limit=_MAX_BYTES, what="the tokenizer"), name))
    except InputError as error:
        raise ConfigError(error.what, where=_option(name), hint=error.hint) from None


def _require_library(name: str) -> None:
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        raise ConfigError(
            "the package tokenizers is needed to count with a file",
            where=_option(name),
            hint="install promptguard-ci[tokenizers], or leave the option out to count with the bundled tokenizer",
        ) from None


def _option(name: str) -> str:
    return f"tokenizer = {name}"


@contextlib.contextmanager
def _library(where: str, what: str, hint: str) -> Iterator[None]:
    """Turns what the tokenizers library raises into a ``ConfigError``: bare exceptions, and panics, which are none."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ConfigError(f"{what} ({error})", where=where, hint=hint) from None


def _from_json(data: bytes, name: str) -> Tokenizer:
    from tokenizers import Tokenizer

    with _library(_option(name), "it is neither a GGUF file nor a tokenizer.json", "name one of the two"):
        tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _from_gguf(header: GGUFHeader) -> Tokenizer:
    from tokenizers import AddedToken

    kind = header.string("tokenizer.ggml.model")
    tokens = header.strings("tokenizer.ggml.tokens")
    if not tokens:
        raise InputError("holds no vocabulary", hint="name the GGUF file of a language model")
    types = [int(number) for number in header.numbers("tokenizer.ggml.token_type") or ()]
    types += [_NORMAL] * (len(tokens) - len(types))
    if kind == "gpt2":
        tokenizer = _byte_level(header, tokens)
    elif kind == "gemma4":
        tokenizer = _spelled(str(header.path), tokens, _merges(header), newlines_apart=True)
    elif kind == "llama":
        tokenizer = _spelled(str(header.path), tokens, _merges_by_score(header, tokens, types))
    else:
        raise InputError(f"tokenizers of the kind {kind or 'unknown'} cannot be read from a GGUF file", hint=_OTHER_FILE)
    # llama.cpp takes these out of the text ahead of everything, the longest first.
    whole = [text for text, of in zip(tokens, types, strict=False) if of in {_CONTROL, _USER_DEFINED, _UNKNOWN} and text]
    whole.sort(key=len, reverse=True)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in whole])
    return tokenizer


def _byte_level(header: GGUFHeader, tokens: list[str]) -> Tokenizer:
    from tokenizers import Regex, pre_tokenizers

    name = header.string("tokenizer.ggml.pre") or ""
    if name not in _SPLITS:
        raise InputError(f"its pre-tokenizer {name} is not known here", hint=_OTHER_FILE)
    patterns, whole_words = _SPLITS[name]
    tokenizer = _merging(str(header.path), tokens, _merges(header), ignore_merges=whole_words)
    steps: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer


def _spelled(name: str, tokens: list[str], merges: list[tuple[str, str]], *, newlines_apart: bool = False) -> Tokenizer:
    """A tokenizer that merges characters, not bytes, with spaces written as U+2581. No space is put ahead of a text: what is
    counted stands somewhere in a prompt, not at its start.
    """
    from tokenizers import Regex, normalizers, pre_tokenizers

    tokenizer = _merging(name, tokens, merges, byte_fallback=True)
    tokenizer.normalizer = normalizers.Replace(" ", _SPACE)
    if newlines_apart:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("\n+"), "isolated")
    return tokenizer


def _merging(
    name: str,
    tokens: list[str],
    merges: list[tuple[str, str]],
    *,
    ignore_merges: bool = False,
    byte_fallback: bool = False,
) -> Tokenizer:
    from tokenizers import Tokenizer, models

    vocabulary = {text: number for number, text in enumerate(tokens)}
    with _library(_option(name), "its vocabulary and its merges do not go together", _OTHER_FILE):
        return Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=ignore_merges, byte_fallback=byte_fallback))


def _merges(header: GGUFHeader) -> list[tuple[str, str]]:
    found = []
    for merge in header.strings("tokenizer.ggml.merges") or ():
        at = merge.find(" ", 1)
        if at < 0:
            raise InputError("one of its merges is not two texts", hint=_OTHER_FILE)
        found.append((merge[:at], merge[at + 1 :]))
    return found


def _merges_by_score(header: GGUFHeader, tokens: list[str], types: list[int]) -> list[tuple[str, str]]:
    """The merges that a SentencePiece vocabulary stands for: of all pairs whose union is a token that with the highest score."""
    scores = header.numbers("tokenizer.ggml.scores") or []
    if len(scores) != len(tokens):
        raise InputError("its vocabulary has no scores", hint=_OTHER_FILE)
    pieces = {text for text, kind in zip(tokens, types, strict=False) if kind in {_NORMAL, _UNUSED, _USER_DEFINED}}
    if max(map(len, pieces), default=0) > _MAX_PIECE:
        raise InputError(f"a token has more than {_MAX_PIECE} characters", hint=_OTHER_FILE)
    merges: list[tuple[float, str, str]] = []
    for text, score in zip(tokens, scores, strict=True):
        if text in pieces:
            for cut in range(1, len(text)):
                if text[:cut] in pieces and text[cut:] in pieces:
                    merges.append((-score, text[:cut], text[cut:]))  # noqa: PERF401 - a comprehension would slice twice as often
    merges.sort(key=lambda merge: merge[0])
    return [(left, right) for _, left, right in merges]
