"""Tiny files with random weights for what the twins of promptguard are not: models that keep a state, and a projector."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from promptguard.models.default import default_model
from promptguard.parse.gguf import Tensor, TensorType, Value, read_header, write_gguf

WIDTH = 32  # of the embedding, as in the model that ships with promptguard
INNER = 2 * WIDTH  # llama.cpp asks for twice the embedding
STATE, KERNEL, RANK = 16, 4, 2
FEED_FORWARD = 64
PATCH, PICTURE = 14, 28


def recurrent_model(path: Path) -> Path:
    """Mamba: every layer keeps a state."""
    keys = {"feed_forward_length": Value.uint32(0), "attention.head_count": Value.uint32(0)}
    return _write(path, "mamba", keys, [_state, _state])


def hybrid_model(path: Path) -> Path:
    """Jamba: a layer that keeps a state, and one with attention."""
    keys = {
        "feed_forward_length": Value.uint32(FEED_FORWARD),
        "attention.head_count": Value.uint32(1),
        "attention.head_count_kv": Value.int32s([0, 1]),
    }
    return _write(path, "jamba", keys, [_normed_state, _attention])


def projector(path: Path) -> Path:
    """What turns pictures into embeddings of a model that is as wide as the one that ships with promptguard."""
    vision = {
        "image_size": Value.uint32(PICTURE),
        "patch_size": Value.uint32(PATCH),
        "embedding_length": Value.uint32(WIDTH),
        "feed_forward_length": Value.uint32(FEED_FORWARD),
        "projection_dim": Value.uint32(WIDTH),
        "block_count": Value.uint32(1),
        "attention.head_count": Value.uint32(1),
        "attention.layer_norm_epsilon": Value.float32(1e-5),
        "image_mean": Value.float32s([0.5] * 3),
        "image_std": Value.float32s([0.5] * 3),
    }
    keys = {
        "general.architecture": Value.string("clip"),
        "general.type": Value.string("mmproj"),
        "clip.has_vision_encoder": Value.boolean(True),
        "clip.projector_type": Value.string("mlp"),
        "clip.use_gelu": Value.boolean(True),
        **{f"clip.vision.{key}": value for key, value in vision.items()},
    }
    tensors = [
        _weights("v.patch_embd.weight", PATCH, PATCH, 3, WIDTH),
        _weights("v.position_embd.weight", WIDTH, (PICTURE // PATCH) ** 2),
        *(_weights(f"v.blk.0.{name}.weight", WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v", "attn_out")),
        *(_constant(f"v.blk.0.{name}.weight", 1.0, WIDTH) for name in ("ln1", "ln2")),
        _weights("v.blk.0.ffn_up.weight", WIDTH, FEED_FORWARD),
        _weights("v.blk.0.ffn_down.weight", FEED_FORWARD, WIDTH),
        *(_weights(f"mm.{number}.weight", WIDTH, WIDTH) for number in (0, 2)),
        *(_constant(f"mm.{number}.bias", 0.0, WIDTH) for number in (0, 2)),
    ]
    write_gguf(path, keys, tensors)
    return path


def _write(path: Path, architecture: str, special: Mapping[str, Value], layers: list[Callable[[str], list[Tensor]]]) -> Path:
    header = read_header(default_model())
    keys = {
        "context_length": Value.uint32(32768),
        "embedding_length": Value.uint32(WIDTH),
        "block_count": Value.uint32(len(layers)),
        "attention.layer_norm_rms_epsilon": Value.float32(1e-5),
        "ssm.conv_kernel": Value.uint32(KERNEL),
        "ssm.inner_size": Value.uint32(INNER),
        "ssm.state_size": Value.uint32(STATE),
        "ssm.time_step_rank": Value.uint32(RANK),
        **special,
    }
    metadata = {
        "general.architecture": Value.string(architecture),
        **{f"{architecture}.{key}": value for key, value in keys.items()},
        **{key: value for key, value in header.metadata.items() if key.startswith("tokenizer.")},
    }
    tensors = [
        _weights("token_embd.weight", WIDTH, len(header.metadata["tokenizer.ggml.tokens"])),
        _constant("output_norm.weight", 1.0, WIDTH),
    ]
    for number, layer in enumerate(layers):
        tensors += layer(f"blk.{number}.")
    write_gguf(path, metadata, tensors)
    return path


def _state(prefix: str) -> list[Tensor]:
    return [
        _constant(f"{prefix}attn_norm.weight", 1.0, WIDTH),
        _weights(f"{prefix}ssm_in.weight", WIDTH, 2 * INNER),
        _weights(f"{prefix}ssm_conv1d.weight", KERNEL, INNER),
        _constant(f"{prefix}ssm_conv1d.bias", 0.0, INNER),
        _weights(f"{prefix}ssm_x.weight", INNER, RANK + 2 * STATE),
        _weights(f"{prefix}ssm_dt.weight", RANK, INNER),
        _constant(f"{prefix}ssm_dt.bias", 0.0, INNER),
        _constant(f"{prefix}ssm_a", -1.0, STATE, INNER),
        _constant(f"{prefix}ssm_d", 1.0, INNER),
        _weights(f"{prefix}ssm_out.weight", INNER, WIDTH),
    ]


def _normed_state(prefix: str) -> list[Tensor]:
    norms = {"ssm_dt_norm": RANK, "ssm_b_norm": STATE, "ssm_c_norm": STATE}
    return [
        *_state(prefix),
        *(_constant(f"{prefix}{name}.weight", 1.0, size) for name, size in norms.items()),
        *_feed_forward(prefix),
    ]


def _attention(prefix: str) -> list[Tensor]:
    names = ("attn_q", "attn_k", "attn_v", "attn_output")
    return [
        _constant(f"{prefix}attn_norm.weight", 1.0, WIDTH),
        *(_weights(f"{prefix}{name}.weight", WIDTH, WIDTH) for name in names),
        *_feed_forward(prefix),
    ]


def _feed_forward(prefix: str) -> list[Tensor]:
    return [
        _constant(f"{prefix}ffn_norm.weight", 1.0, WIDTH),
        _weights(f"{prefix}ffn_gate.weight", WIDTH, FEED_FORWARD),
        _weights(f"{prefix}ffn_up.weight", WIDTH, FEED_FORWARD),
        _weights(f"{prefix}ffn_down.weight", FEED_FORWARD, WIDTH),
    ]


def _weights(name: str, *shape: int) -> Tensor:
    draw = random.Random(name)
    numbers = (Value.float32(draw.uniform(-0.1, 0.1)).raw for _ in range(math.prod(shape)))
    return Tensor(name, shape, TensorType.F32, b"".join(numbers))


def _constant(name: str, number: float, *shape: int) -> Tensor:
    return Tensor(name, shape, TensorType.F32, Value.float32(number).raw * math.prod(shape))
