"""The chat templates in the header of a GGUF file.

A header holds a vocabulary of several megabytes ahead of them, which is passed over: whatever the size of the file, this takes as
long as a walk over its vocabulary.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple

from promptguard.core.errors import InputError
from promptguard.core.files import open_regular
from promptguard.parse.gguf import MAGIC, MAX_HEADER_BYTES, MAX_KEY_BYTES, MAX_KEYS

TEMPLATE_KEY = "tokenizer.chat_template"
"""Key of the chat template; one that has a name has it behind a dot."""
MAX_TEMPLATE_BYTES = 8 << 20
_TOKENS_KEY = "tokenizer.ggml.tokens"
_TOKEN_IDS = {"tokenizer.ggml.bos_token_id": "bos_token", "tokenizer.ggml.eos_token_id": "eos_token"}
_CHUNK = 1 << 20
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a value, by the number of its type
_UINT64 = struct.Struct("<Q")


class ChatMetadata(NamedTuple):
    """What a GGUF file says of its chat templates.

    Attributes:
        templates: the templates by metadata key, in the order of the file.
        tokens: the texts of ``bos_token`` and ``eos_token``, as far as the file names them.
    """

    templates: Mapping[str, str]
    tokens: Mapping[str, str]


def read_chat_metadata(path: str | os.PathLike[str]) -> ChatMetadata:
    """Read the chat templates of a GGUF file, of which the metadata alone is read.

    Raises:
        InputError: the file cannot be opened, is not a little-endian GGUF file of version 2 or 3, is truncated, or holds what no
            model has.
    """
    where = os.fspath(path)
    with open_regular(path, what="the model") as stream:
        try:
            return _Walk(stream, where, os.fstat(stream.fileno()).st_size).metadata()
        except OSError as error:
            raise InputError(f"the model cannot be read ({error.strerror or error})", where=where) from None


class _Walk:
    """Goes through a header and keeps what is wanted; never asks for more than the file and the limits allow."""

    def __init__(self, stream: BinaryIO, path: str, size: int) -> None:
        self._stream = stream
        self._path = path
        self._size = size
        self._data = b""
        self._start = 0  # of the data in the file
        self._at = 0  # in the data

    def metadata(self) -> ChatMetadata:
        magic = self._take(min(4, self._size))
        if magic != MAGIC:
            raise self._error(f"not a GGUF file: it starts with {magic!r}" if magic else "not a GGUF file: it is empty")
        version = self._uint32()
        if version not in (2, 3):
            raise self._error(f"GGUF version {version} is not supported")
        self._uint64()  # number of tensors
        count = self._uint64()
        if count > MAX_KEYS:
            raise self._error(f"absurd number of metadata keys: {count}")
        templates: dict[str, str] = {}
        ids: dict[str, int] = {}
        vocabulary: tuple[int, int] | None = None  # where its first token is, and how many there are
        for _ in range(count):
            key = self._key()
            kind = self._uint32()
            if kind == _STRING and (key == TEMPLATE_KEY or key.startswith(TEMPLATE_KEY + ".")):
                templates[key] = self._text(key)
            elif key in _TOKEN_IDS and kind in _SIZES:
                ids[_TOKEN_IDS[key]] = int.from_bytes(self._take(_SIZES[kind]), "little")
            elif key == _TOKENS_KEY and kind == _ARRAY:
                vocabulary = self._array(key)
            else:
                self._skip_value(key, kind)
        tokens = {}
        for name, number in ids.items():
            if templates and vocabulary is not None and number < vocabulary[1]:
                self._seek(vocabulary[0])
                self._skip_strings(number)
                tokens[name] = self._text(_TOKENS_KEY)
        return ChatMetadata(templates, tokens)

    def _error(self, what: str) -> InputError:
        return InputError(what, where=self._path)

    def _cut_short(self) -> InputError:
        return InputError(
            f"truncated: the header goes on behind byte {self._size}", where=self._path, hint="fetch or copy the file again"
        )

    def _key(self) -> str:
        length = self._uint64()
        if not 0 < length <= MAX_KEY_BYTES:
            raise self._error(f"a metadata key has {length} bytes")
        return self._take(length).decode("utf-8", "replace")

    def _text(self, key: str) -> str:
        length = self._uint64()
        if length > MAX_TEMPLATE_BYTES:
            raise self._error(f"{key} is larger than {MAX_TEMPLATE_BYTES:,} bytes")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise self._error(f"{key} is not UTF-8 (byte {error.start} of it)") from None

    def _array(self, key: str) -> tuple[int, int] | None:
        """Pass over an array; where it is one of strings, the place of the first one and their number."""
        kind, count = self._uint32(), self._uint64()
        start = self._start + self._at
        if kind == _STRING:
            self._skip_strings(count)
            return start, count
        if kind not in _SIZES:
            raise self._error(f"{key} is an array of the unknown value type {kind}")
        self._skip(count * _SIZES[kind])
        return None

    def _skip_value(self, key: str, kind: int) -> None:
        if kind == _ARRAY:
            self._array(key)
        elif kind == _STRING:
            self._skip(self._uint64())
        elif kind in _SIZES:
            self._skip(_SIZES[kind])
        else:
            raise self._error(f"{key} has the unknown value type {kind}")

    def _skip_strings(self, count: int) -> None:
        if count * 8 > self._size:
            raise self._cut_short()
        length_at = _UINT64.unpack_from
        while count:
            data, at = self._data, self._at
            last = len(data) - 8
            while count and at <= last:
                at += 8 + length_at(data, at)[0]
                count -= 1
            self._at = min(at, len(data))
            self._skip(at - self._at)
            if count:
                self._fill(8)

    def _uint32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _uint64(self) -> int:
        return int.from_bytes(self._take(8), "little")

    def _take(self, count: int) -> bytes:
        self._fill(count)
        at = self._at
        self._at = at + count
        return self._data[at : self._at]

    def _skip(self, count: int) -> None:
        if count <= len(self._data) - self._at:
            self._at += count
        else:
            self._seek(self._start + self._at + count)

    def _seek(self, place: int) -> None:
        self._check(place)
        self._stream.seek(place)
        self._data, self._start, self._at = b"", place, 0

    def _fill(self, count: int) -> None:
        """See that so many bytes are at hand."""
        left = len(self._data) - self._at
        if count <= left:
            return
        self._start += self._at
        self._check(self._start + count)
        self._data = self._data[self._at :] + self._stream.read(max(_CHUNK, count) - left)
        self._at = 0
        if len(self._data) < count:
            raise self._cut_short()

    def _check(self, end: int) -> None:
        """See that a place is in the header."""
        if end > self._size:
            raise self._cut_short()
        if end > MAX_HEADER_BYTES:
            raise self._error(f"its header is larger than {MAX_HEADER_BYTES >> 20} MiB")
