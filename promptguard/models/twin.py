"""Tiny-random models that use the prefix cache as a real one does.

Which tokens an engine reuses depends on the tokenizer, the chat template, the architecture and the attention layout, not on the
weights. A twin keeps the former byte for byte and replaces the latter by a few small random tensors.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptguard.core.errors import InputError
from promptguard.parse.gguf import GGUFHeader, Tensor, TensorType, Value, ValueType, read_header, write_gguf

CONTEXT_LENGTH = 131072
"""Context length of a model whose source does not say how long its own is, in tokens."""

_WIDTH = 32  # of the embedding and of the one attention head: the smallest head that all llama.cpp backends have kernels for
_FEED_FORWARD = 64
LAYERS = 2
_MAX_LAYERS = 64  # no published attention pattern has a period near this
MAX_VOCABULARY = 1 << 21  # eight times the largest published one

# Tokenizer models that llama.cpp can load (src/llama-vocab.cpp).
_TOKENIZERS = frozenset(["llama", "gpt2", "gemma4", "bert", "t5", "rwkv", "plamo2"])


@dataclass(frozen=True)
class _Family:
    """What one llama.cpp architecture asks for beyond a plain llama (src/models of llama.cpp).

    Attributes:
        pattern: every so many layers one has full attention where there is a sliding window; 1: llama.cpp knows no window here.
        window: the sliding window that llama.cpp takes where the file names none.
        qkv_bias: the query, key and value projections have a bias.
        head_norms: queries and keys are normalised per head.
        post_norms: attention and feed-forward are normalised behind as well.
        fused: query, key and value are one tensor, and so are gate and up.
    """

    pattern: int = 1
    window: int = 0
    qkv_bias: bool = False
    head_norms: bool = False
    post_norms: bool = False
    fused: bool = False


_FAMILIES = {
    "llama": _Family(),
    "mistral3": _Family(),
    "qwen2": _Family(qkv_bias=True),
    "qwen3": _Family(head_norms=True),
    "gemma2": _Family(pattern=2, window=4096, post_norms=True),
    "gemma3": _Family(pattern=6, head_norms=True, post_norms=True),
    "phi3": _Family(fused=True),
}
_FALLBACK = "llama"
_NORMAL, _USER_DEFINED = 1, 4  # token types of GGUF

# Keys behind the architecture's name that are kept as they are. Rope scaling is left out: it moves no token in or out of the
# cache, and some kinds of it need tensors of their own.
_KEPT = ("context_length", "rope.freq_base", "rope.freq_base_swa")
_PATTERN = "attention.sliding_window_pattern"
_WINDOW = "attention.sliding_window"
# llama.cpp gives some tokens other attributes by the name of the model, so the name belongs to the tokenizer.
_KEPT_GENERAL = ("general.type", "general.name", "general.license", "general.license.name")


@dataclass(frozen=True)
class TwinReport:
    """What was made.

    Attributes:
        path: the file that was written.
        architecture: its architecture.
        source_architecture: the architecture of the source, which differs where there is no twin of it.
        layers: number of layers.
        window: sliding window in tokens, ``None`` for full attention.
        context: context length in tokens.
        vocabulary: number of tokens in the vocabulary.
        size: size of the file in bytes.
        notes: sentences about what could not be kept.
    """

    path: Path
    architecture: str
    source_architecture: str
    layers: int
    window: int | None
    context: int
    vocabulary: int
    size: int
    notes: tuple[str, ...] = ()


def make_twin(source: str | os.PathLike[str], target: str | os.PathLike[str], *, added: Sequence[str] = ()) -> TwinReport:
    """Write the tiny-random twin of a GGUF model.

    The source may be a vocabulary without weights; its weights are not read in any case. The same source gives the same bytes.

    Args:
        source: any GGUF file with a tokenizer.
        target: the file to write; an existing one is replaced.
        added: texts that become tokens of their own, where they are none yet.

    Raises:
        InputError: the source cannot be read or has no tokenizer, the target cannot be written or is the source.
    """
    if Path(source).resolve() == Path(target).resolve():
        raise InputError("source and target are the same file", where=str(target), hint="name another file to write")
    header = read_header(source)
    vocabulary = _vocabulary(header)
    origin = header.architecture
    arch = origin if origin in _FAMILIES else _FALLBACK
    shape = {key: header.metadata[f"{origin}.{key}"] for key in _KEPT if f"{origin}.{key}" in header.metadata}
    if arch == origin:
        layers, attention, window = _attention(header)
        shape |= attention
        notes = []
    else:
        layers, window = LAYERS, None
        notes = [_fallback_note(header)]
    context = header.integer(f"{origin}.context_length") or CONTEXT_LENGTH
    if context < CONTEXT_LENGTH:
        notes.append(
            f"the context of this one is {CONTEXT_LENGTH:,} tokens, so that any task fits; that of the real model is {context:,}"
        )
        context = CONTEXT_LENGTH
    shape["context_length"] = Value.uint32(context)
    general = {key: header.metadata[key] for key in _KEPT_GENERAL if key in header.metadata}
    tokenizer = {key: value for key, value in header.metadata.items() if key.startswith("tokenizer.")}
    new = missing_tokens(header, added) if added else []
    if new:
        tokenizer |= _with_tokens(header, new)
        vocabulary += len(new)
        notes.append(f"{len(new)} markers of the chat template were added to its vocabulary")
    size = write_model(target, arch, general | tokenizer, vocabulary, layers=layers, shape=shape)
    return TwinReport(
        path=Path(target),
        architecture=arch,
        source_architecture=origin,
        layers=layers,
        window=window,
        context=context,
        vocabulary=vocabulary,
        size=size,
        notes=tuple(notes),
    )


def write_model(
    target: str | os.PathLike[str],
    architecture: str,
    metadata: Mapping[str, Value],
    vocabulary: int,
    *,
    layers: int = LAYERS,
    shape: Mapping[str, Value] | None = None,
) -> int:
    """Write a model with small random weights and return its size in bytes.

    Args:
        target: the file to write.
        architecture: one of those that twins can have.
        metadata: general and tokenizer keys.
        vocabulary: number of tokens.
        layers: number of layers.
        shape: architecture keys without the architecture's name, which take the place of the default ones.
    """
    family = _FAMILIES[architecture]
    keys = {
        "context_length": Value.uint32(CONTEXT_LENGTH),
        "embedding_length": Value.uint32(_WIDTH),
        "block_count": Value.uint32(layers),
        "feed_forward_length": Value.uint32(_FEED_FORWARD),
        "attention.head_count": Value.uint32(1),
        "attention.head_count_kv": Value.uint32(1),
        "attention.key_length": Value.uint32(_WIDTH),
        "attention.value_length": Value.uint32(_WIDTH),
        "attention.layer_norm_rms_epsilon": Value.float32(1e-6),
        "rope.dimension_count": Value.uint32(_WIDTH),
        "vocab_size": Value.uint32(vocabulary),
        **(shape or {}),
    }
    head = {
        "general.architecture": Value.string(architecture),
        "general.file_type": Value.uint32(1),  # mostly F16
        "general.quantization_version": Value.uint32(2),
    }
    own = {f"{architecture}.{key}": value for key, value in keys.items()}
    return write_gguf(target, {**head, **own, **metadata}, _tensors(family, layers, vocabulary))


def _vocabulary(header: GGUFHeader) -> int:
    """The number of tokens, after a check that an engine can load the tokenizer."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    model = header.string("tokenizer.ggml.model")
    if tokens is None or model in (None, "none", "no_vocab") or tokens.element_type is not ValueType.STRING or not len(tokens):
        raise InputError("holds no tokenizer", where=str(header.path), hint="give the GGUF file of the language model itself")
    if len(tokens) > MAX_VOCABULARY:
        raise InputError(
            f"a vocabulary of {len(tokens)} tokens is more than the {MAX_VOCABULARY} supported", where=str(header.path)
        )
    if model not in _TOKENIZERS:
        raise InputError(f"its tokenizer model {model!r} is not one that llama.cpp is known to load", where=str(header.path))
    return len(tokens)


def missing_tokens(header: GGUFHeader, texts: Sequence[str]) -> list[str]:
    """Those of some texts that are no tokens of a model, each once."""
    known = set(header.strings("tokenizer.ggml.tokens") or [])
    return [text for text in dict.fromkeys(texts) if text not in known]


def _with_tokens(header: GGUFHeader, new: Sequence[str]) -> dict[str, Value]:
    """The arrays of the vocabulary with further tokens, which are parsed wherever they stand."""
    count = len(header.metadata["tokenizer.ggml.tokens"])
    types = header.numbers("tokenizer.ggml.token_type") or [_NORMAL] * count
    keys = {
        "tokenizer.ggml.tokens": Value.strings([*(header.strings("tokenizer.ggml.tokens") or []), *new]),
        "tokenizer.ggml.token_type": Value.int32s([*(int(number) for number in types), *[_USER_DEFINED] * len(new)]),
    }
    scores = header.numbers("tokenizer.ggml.scores")
    if scores is not None:
        keys["tokenizer.ggml.scores"] = Value.float32s([*(float(score) for score in scores), *[0.0] * len(new)])
    return keys


def _attention(header: GGUFHeader) -> tuple[int, dict[str, Value], int | None]:
    """The attention layout: as many layers as one period of it has, the keys that describe it, and the sliding window."""
    family = _FAMILIES[header.architecture]
    window_key, pattern_key = (f"{header.architecture}.{key}" for key in (_WINDOW, _PATTERN))
    window = header.integer(window_key)
    if window is None:
        window = family.window
    keys = {_WINDOW: header.metadata[window_key]} if window_key in header.metadata else {}
    layers = max(LAYERS, family.pattern if window else 1)
    pattern = header.metadata.get(pattern_key)
    if pattern is not None and pattern.type is not ValueType.ARRAY:
        layers = min(max(LAYERS, header.integer(pattern_key) or 0), _MAX_LAYERS)
        keys[_PATTERN] = pattern
    elif pattern is not None:
        flags = [bool(flag) for flag in header.numbers(pattern_key) or []]
        if not flags:
            raise InputError(f"{pattern_key} is empty", where=str(header.path))
        period = flags.index(not flags[0]) + 1 if (not flags[0]) in flags else LAYERS
        layers = min(max(LAYERS, period), len(flags), _MAX_LAYERS)
        keys[_PATTERN] = pattern.head(layers)
    return layers, keys, (window or None) if family.pattern > 1 else None


def _fallback_note(header: GGUFHeader) -> str:
    windowed = f"{header.architecture}.{_WINDOW}" in header.metadata
    lost = "its sliding window and any other" if windowed else "any special"
    return (
        f"there is no twin of the architecture {header.architecture}: this one has the same tokenizer and chat template but full "
        f"attention ({_FALLBACK}), {lost} attention is not reproduced, so the real model may reuse less"
    )


def _tensors(family: _Family, layers: int, vocabulary: int) -> Iterator[Tensor]:
    """The tensors of a model, the output projection tied to the embedding."""
    yield _weights("token_embd.weight", _WIDTH, vocabulary)
    yield _norm("output_norm.weight")
    for layer in range(layers):
        yield from _layer(family, f"blk.{layer}.")


def _layer(family: _Family, prefix: str) -> Iterable[Tensor]:
    yield _norm(prefix + "attn_norm.weight")
    if family.fused:
        yield _weights(prefix + "attn_qkv.weight", _WIDTH, 3 * _WIDTH)
    else:
        for name in ("attn_q", "attn_k", "attn_v"):
            yield _weights(f"{prefix}{name}.weight", _WIDTH, _WIDTH)
            if family.qkv_bias:
                yield _constant(f"{prefix}{name}.bias", 0.0)
    yield _weights(prefix + "attn_output.weight", _WIDTH, _WIDTH)
    if family.head_norms:
        yield _norm(prefix + "attn_q_norm.weight")
        yield _norm(prefix + "attn_k_norm.weight")
    yield _norm(prefix + "ffn_norm.weight")
    if family.fused:
        yield _weights(prefix + "ffn_up.weight", _WIDTH, 2 * _FEED_FORWARD)
    else:
        yield _weights(prefix + "ffn_gate.weight", _WIDTH, _FEED_FORWARD)
        yield _weights(prefix + "ffn_up.weight", _WIDTH, _FEED_FORWARD)
    yield _weights(prefix + "ffn_down.weight", _FEED_FORWARD, _WIDTH)
    if family.post_norms:
        yield _norm(prefix + "post_attention_norm.weight")
        yield _norm(prefix + "post_ffw_norm.weight")


def _weights(name: str, columns: int, rows: int) -> Tensor:
    """A matrix of half-precision numbers, evenly spread over ±[2⁻⁷, 2⁻⁵), that depends on its name alone.

    The bits come from SHAKE-128, so they are the same everywhere. Of each number the sign, the last bit of the exponent and the
    mantissa are kept; the exponent's other bits are set for all numbers at once.
    """
    count = columns * rows
    noise = int.from_bytes(hashlib.shake_128(name.encode()).digest(2 * count), "little")
    mask = int.from_bytes(b"\xff\x87" * count, "little")
    exponent = int.from_bytes(b"\x00\x20" * count, "little")
    return Tensor(name, (columns, rows), TensorType.F16, (noise & mask | exponent).to_bytes(2 * count, "little"))


def _norm(name: str) -> Tensor:
    return _constant(name, 1.0)


def _constant(name: str, number: float) -> Tensor:
    return Tensor(name, (_WIDTH,), TensorType.F32, Value.float32(number).raw * _WIDTH)
