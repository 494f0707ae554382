"""Counting with an encoding of the tiktoken library, without a download."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from promptguard.core.errors import ConfigError

if TYPE_CHECKING:
    from tiktoken import Encoding


class _TiktokenCounter:
    def __init__(self, name: str, encoding: Encoding) -> None:
        self.name = name
        self._encoding = encoding

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def encode(self, text: str) -> list[int]:
        return list(self._encoding.encode(text, allowed_special="all"))


class _DownloadError(Exception):
    """The library wants to fetch a file."""


def tiktoken_counter(name: str, encoding: str) -> _TiktokenCounter:
    """The counter for an encoding; ``name`` is what the user wrote.

    Raises:
        ConfigError: the library is not installed, has no such encoding, or would have to download it.
    """
    where = f"tokenizer = {name}"
    try:
        import tiktoken
    except ImportError:
        raise ConfigError(
            "the package tiktoken is needed to count with its encodings",
            where=where,
            hint="install promptguard-ci[tokenizers], or leave the option out to count with the bundled tokenizer",
        ) from None
    known = tiktoken.list_encoding_names()
    if encoding not in known:
        close = get_close_matches(encoding, known, 1)
        hint = f"did you mean tiktoken:{close[0]}?" if close else f"it has {', '.join(sorted(known))}"
        raise ConfigError(f"tiktoken has no encoding {encoding or 'without a name'}", where=where, hint=hint)
    try:
        return _TiktokenCounter(name, _load(encoding))
    except _DownloadError as error:
        raise ConfigError(
            f"the encoding is not on this machine, and promptguard downloads nothing ({error})",
            where=where,
            hint=f'fetch it once with `python -c "import tiktoken; tiktoken.get_encoding({encoding!r})"` and set'
            " TIKTOKEN_CACHE_DIR to a folder that keeps it",
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"tiktoken cannot load the encoding ({error})", where=where) from None


def _load(encoding: str) -> Encoding:
    """The encoding from the cache of the library, which has no option that keeps it from downloading."""
    import tiktoken.load

    read_file = tiktoken.load.read_file

    def read_local(path: str) -> bytes:
        if "://" in path:
            raise _DownloadError(path)
        data: bytes = read_file(path)
        return data

    tiktoken.load.read_file = read_local
    try:
        return tiktoken.get_encoding(encoding)
    finally:
        tiktoken.load.read_file = read_file
