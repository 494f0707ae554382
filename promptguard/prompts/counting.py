"""How many tokens a text has, for what is reported about files before any engine has seen them.

Nothing heavy is imported here: the bundled tokenizer needs ``re`` alone, and the libraries for the others come with the first
``counter`` that asks for them.
"""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

_TIKTOKEN = "tiktoken:"


class Counter(Protocol):
    """Counts the tokens of texts."""

    @property
    def name(self) -> str:
        """What it counts with, as reports print it: ``promptguard-tiny``, the path of a file, ``tiktoken:cl100k_base``."""

    def count(self, text: str) -> int:
        """The number of tokens of a text; nothing is added in front of it or behind it, and ``<|im_end|>`` and the like are one
        token each where the tokenizer has them.
        """

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of a text, as many as ``count`` says."""


def counter(tokenizer: str | None) -> Counter:
    """The counter that a setting names.

    Args:
        tokenizer: ``None`` for the bundled tokenizer, ``tiktoken:ENCODING``, or the path of a ``tokenizer.json`` (any name that
            ends in ``.json``) or a GGUF file.

    Raises:
        ConfigError: there is no such tokenizer, or what it takes to load it is not installed or not on this machine.
    """
    if tokenizer is None:
        from promptguard.prompts.counting_bundled import Bundled

        return Bundled()
    if tokenizer.startswith(_TIKTOKEN):
        from promptguard.prompts.counting_tiktoken import tiktoken_counter

        return tiktoken_counter(tokenizer, tokenizer[len(_TIKTOKEN) :])
    from promptguard.prompts.counting_files import file_counter

    return file_counter(tokenizer)
