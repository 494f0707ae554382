"""Tiny models with random weights that keep a state, with the tokenizer of the model that ships with promptguard."""

from __future__ import annotations

import random
from pathlib import Path

from promptguard.models.default import default_model
from promptguard.parse.gguf import Tensor, TensorType, Value, read_header, write_gguf

WIDTH = 32
INNER = 2 * WIDTH  # llama.cpp asks for twice the embedding
STATE, KERNEL, RANK = 16, 4, 2
FEED_FORWARD = 64


def recurrent(path: Path) -> Path:
    """Mamba: nothing but states."""
    return _write(path, "mamba", {"attention.head_count": Value.uint32(0)}, [_mamba, _mamba])


def hybrid(path: Path) -> Path:
    """Jamba: a layer with a state, then one with attention."""
    keys = {
        "feed_forward_length": Value.uint32(FEED_FORWARD),
        "attention.head_count": Value.uint32(1),
        "attention.head_count_kv": Value.int32s([0, 1]),
    }
    return _write(path, "jamba", keys, [_mamba, _attention])


def _write(path: Path, architecture: str, keys: dict[str, Value], layers: list) -> Path:
    header = read_header(default_model())
    vocabulary = len(header.metadata["tokenizer.ggml.tokens"])
    keys = {
        "context_length": Value.uint32(32768),
        "embedding_length": Value.uint32(WIDTH),
        "block_count": Value.uint32(len(layers)),
        "feed_forward_length": Value.uint32(0),
        "attention.layer_norm_rms_epsilon": Value.float32(1e-5),
        "ssm.conv_kernel": Value.uint32(KERNEL),
        "ssm.inner_size": Value.uint32(INNER),
        "ssm.state_size": Value.uint32(STATE),
        "ssm.time_step_rank": Value.uint32(RANK),
        **keys,
    }
    general = {
        "general.architecture": Value.string(architecture),
        "general.file_type": Value.uint32(0),
        "general.quantization_version": Value.uint32(2),
    }
    tokenizer = {key: value for key, value in header.metadata.items() if key.startswith("tokenizer.")}
    tensors = [_weights("token_embd", WIDTH, vocabulary), _constant("output_norm", 1.0, WIDTH)]
    for number, layer in enumerate(layers):
        tensors += layer(f"blk.{number}.")
        if architecture == "jamba":
            tensors += _feed_forward(f"blk.{number}.")
            tensors += _norms(f"blk.{number}.") if layer is _mamba else []
    write_gguf(path, {**general, **{f"{architecture}.{key}": value for key, value in keys.items()}, **tokenizer}, tensors)
    return path


def _mamba(prefix: str) -> list[Tensor]:
    return [
        _constant(prefix + "attn_norm", 1.0, WIDTH),
        _weights(prefix + "ssm_in", WIDTH, 2 * INNER),
        _weights(prefix + "ssm_conv1d", KERNEL, INNER),
        _constant(prefix + "ssm_conv1d", 0.0, INNER, kind="bias"),
        _weights(prefix + "ssm_x", INNER, RANK + 2 * STATE),
        _weights(prefix + "ssm_dt", RANK, INNER),
        _constant(prefix + "ssm_dt", 0.0, INNER, kind="bias"),
        _constant(prefix + "ssm_a", -1.0, STATE, INNER, kind=""),
        _constant(prefix + "ssm_d", 1.0, INNER, kind=""),
        _weights(prefix + "ssm_out", INNER, WIDTH),
    ]


def _norms(prefix: str) -> list[Tensor]:
    """Jamba has these; mamba reads them not."""
    return [
        _constant(prefix + "ssm_dt_norm", 1.0, RANK),
        _constant(prefix + "ssm_b_norm", 1.0, STATE),
        _constant(prefix + "ssm_c_norm", 1.0, STATE),
    ]


def _attention(prefix: str) -> list[Tensor]:
    names = ("attn_q", "attn_k", "attn_v", "attn_output")
    return [_constant(prefix + "attn_norm", 1.0, WIDTH), *(_weights(prefix + name, WIDTH, WIDTH) for name in names)]


def _feed_forward(prefix: str) -> list[Tensor]:
    return [
        _constant(prefix + "ffn_norm", 1.0, WIDTH),
        _weights(prefix + "ffn_gate", WIDTH, FEED_FORWARD),
        _weights(prefix + "ffn_up", WIDTH, FEED_FORWARD),
        _weights(prefix + "ffn_down", FEED_FORWARD, WIDTH),
    ]


def _weights(name: str, *shape: int) -> Tensor:
    draw = random.Random(name)
    numbers = [draw.uniform(-0.1, 0.1) for _ in range(shape[0] * shape[1])]
    return Tensor(f"{name}.weight", shape, TensorType.F32, b"".join(Value.float32(number).raw for number in numbers))


def _constant(name: str, number: float, *shape: int, kind: str = "weight") -> Tensor:
    count = 1
    for size in shape:
        count *= size
    return Tensor(f"{name}.{kind}".rstrip("."), shape, TensorType.F32, Value.float32(number).raw * count)
