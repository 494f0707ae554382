"""A tiny-random model from whatever the user has of the real one."""

from __future__ import annotations

import os
from pathlib import Path

from promptguard.core.errors import ConfigError, InputError
from promptguard.models.hf import from_tokenizer_files
from promptguard.models.twin import TwinReport, make_twin


def make_tiny(
    source: str | os.PathLike[str], target: str | os.PathLike[str], *, tokenizer_config: str | os.PathLike[str] | None = None
) -> TwinReport:
    """Write a tiny-random model.

    Args:
        source: a GGUF file, a ``tokenizer.json`` (any name that ends in ``.json``), or a folder that holds a ``tokenizer.json``
            and perhaps a ``tokenizer_config.json`` and a ``chat_template.jinja``.
        target: the GGUF file to write; an existing one is replaced.
        tokenizer_config: the ``tokenizer_config.json`` that belongs to a ``tokenizer.json``.

    Raises:
        ConfigError: ``tokenizer_config`` was given with a GGUF file.
        InputError: a file is missing or cannot be used.
    """
    path = Path(source)
    template = None
    if os.path.isdir(path):  # noqa: PTH112 - unlike that of pathlib it never fails
        folder, path = path, path / "tokenizer.json"
        if not path.is_file():
            raise InputError("the folder holds no tokenizer.json", where=str(folder), hint="name a GGUF file or another folder")
        if tokenizer_config is None and (folder / "tokenizer_config.json").is_file():
            tokenizer_config = folder / "tokenizer_config.json"
        if (folder / "chat_template.jinja").is_file():
            template = folder / "chat_template.jinja"
    if path.suffix == ".json":
        return from_tokenizer_files(path, tokenizer_config, target, chat_template=template)
    if tokenizer_config is not None:
        raise ConfigError(
            "a tokenizer configuration goes with a tokenizer.json only",
            where=str(path),
            hint="a GGUF file has its own: leave it out",
        )
    return make_twin(path, target)
