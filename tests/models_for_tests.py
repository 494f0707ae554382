"""Variants of the model that ships with promptguard."""

from __future__ import annotations

from pathlib import Path

from promptguard.models.default import default_model
from promptguard.parse.gguf import Tensor, TensorType, Value, read_header, write_gguf

TEMPLATE_KEY = "tokenizer.chat_template"


def with_chat_template(path: Path, template: str | None) -> Path:
    """The model with another chat template, or with none."""
    header = read_header(default_model())
    metadata = {key: value for key, value in header.metadata.items() if key != TEMPLATE_KEY}
    if template is not None:
        metadata[TEMPLATE_KEY] = Value.string(template)
    data = default_model().read_bytes()
    tensors = [
        Tensor(info.name, info.shape, TensorType(info.type), data[header.data_start + info.offset :][: info.size])
        for info in header.tensors
    ]
    write_gguf(path, metadata, tensors)
    return path


def without_weights(path: Path) -> Path:
    """Its vocabulary alone."""
    write_gguf(path, read_header(default_model()).metadata, [])
    return path
