"""Small GGUF files of every family, written with the gguf package, as models that twins are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
WINDOW = 64

BYTE_TEXTS = [chr(byte) if 33 <= byte < 127 or 161 <= byte < 173 or byte >= 174 else None for byte in range(256)]
_rest = iter(range(256, 512))
BYTE_TEXTS = [text or chr(next(_rest)) for text in BYTE_TEXTS]
BYTE_LEVEL = [*BYTE_TEXTS, "Ġt", "he", "Ġthe", "<|im_start|>", "<|im_end|>"]
SENTENCEPIECE = [
    "<unk>",
    "<s>",
    "</s>",
    *[f"<0x{byte:02X}>" for byte in range(256)],
    "▁",
    *map(chr, range(33, 127)),
    "▁t",
    "he",
    "▁the",
]


def write_source(path: Path, architecture: str, *, tokenizer: str = "gpt2", name: str = "Source", **keys: Any) -> Path:
    """A file without weights that names the dimensions of a real model of ``architecture``."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_block_count(26)
    writer.add_embedding_length(2304)
    writer.add_feed_forward_length(9216)
    writer.add_head_count(8)
    writer.add_head_count_kv(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_context_length(keys.pop("context_length", 131072))
    if "window" in keys:
        writer.add_sliding_window(keys.pop("window"))
    if "pattern" in keys:
        writer.add_key_value(f"{architecture}.attention.sliding_window_pattern", *_typed(keys.pop("pattern")))
    assert not keys
    writer.add_tokenizer_model(tokenizer)
    if tokenizer == "gpt2":
        tokens = BYTE_LEVEL
        writer.add_tokenizer_pre("qwen2")
        writer.add_token_merges(["Ġ t", "h e", "Ġt he"])
        writer.add_token_types([4 if token.startswith("<|") else 1 for token in tokens])
        writer.add_eos_token_id(len(tokens) - 1)
    else:
        tokens = SENTENCEPIECE
        writer.add_token_scores([-float(index) for index in range(len(tokens))])
        writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * (len(tokens) - 259)])
    writer.add_token_list(tokens)
    writer.add_chat_template(TEMPLATE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _typed(value: int | list[bool]) -> tuple[Any, ...]:
    if isinstance(value, int):
        return value, gguf.GGUFValueType.UINT32
    return value, gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.BOOL
