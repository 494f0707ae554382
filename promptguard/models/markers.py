"""The default tiny model with the special tokens of a chat template added to its vocabulary.

In the model that a chat template was written for, the markers that it prints (``<|eot_id|>``, ``[INST]``) are tokens of their
own. In another vocabulary they are ordinary text, whose ends merge with what stands beside them: that would show as losses which
the real model does not have.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace

from promptguard.models.default import default_model
from promptguard.models.twin import write_model
from promptguard.parse.gguf import GGUFHeader, Value, read_header

MAX_MARKERS = 256
_MARKER = re.compile(r"<[|｜][^|｜<>\s]{1,48}[|｜]>|</?[A-Za-z][\w:.\-]{0,40}>|\[/?[A-Z][A-Z_]{1,30}\]")
_USER_DEFINED = 4  # a token type of GGUF: parsed wherever it stands, and printed


def markers(template: str) -> list[str]:
    """The markers that a chat template prints, in the order of their first place, at most ``MAX_MARKERS``."""
    return list(dict.fromkeys(_MARKER.findall(template)))[:MAX_MARKERS]


def default_model_for(template: str, target: str | os.PathLike[str]) -> list[str]:
    """Write the default model with the markers of ``template`` as tokens.

    Returns:
        The markers that were added.
    """
    header = read_header(default_model())
    known = set(header.strings("tokenizer.ggml.tokens") or [])
    added = [marker for marker in markers(template) if marker not in known]
    tokenizer = _extended(header, added)
    keys = {key: value for key, value in tokenizer.metadata.items() if key.startswith(("tokenizer.", "general.name"))}
    write_model(target, header.architecture, keys, len(known) + len(added))
    return added


def _extended(header: GGUFHeader, added: list[str]) -> GGUFHeader:
    tokens = [*(header.strings("tokenizer.ggml.tokens") or []), *added]
    types = [*(int(number) for number in header.numbers("tokenizer.ggml.token_type") or []), *[_USER_DEFINED] * len(added)]
    metadata = {
        **header.metadata,
        "tokenizer.ggml.tokens": Value.strings(tokens),
        "tokenizer.ggml.token_type": Value.int32s(types),
    }
    return replace(header, metadata=metadata)
