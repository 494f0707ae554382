"""GGUF files: the header and the tensor table are read, the weights are not; small files are written.

The format is described in docs/gguf.md of the ggml project. Little-endian files of versions 2 and 3 are read, version 3 is
written.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

from promptguard.core.errors import InputError
from promptguard.core.files import open_regular

MAGIC = b"GGUF"
VERSION = 3

# The format sets no limits to its counts, so these do: well above any published model, low enough that a forged count can neither
# fill the memory nor keep the reader busy.
MAX_HEADER_BYTES = 256 << 20
MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 17
MAX_KEY_BYTES = (1 << 16) - 1  # as the format says
MAX_DIMENSIONS = 4  # GGML_MAX_DIMS


class ValueType(IntEnum):
    """Types of metadata values, by their number in the file."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_FORMATS = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
_INTEGERS = frozenset(_FORMATS) - {ValueType.FLOAT32, ValueType.FLOAT64, ValueType.BOOL}
_SIZES = {kind: struct.calcsize("<" + code) for kind, code in _FORMATS.items()}


class TensorType(IntEnum):
    """The tensor types that are written here, by their number in the file."""

    F32 = 0
    F16 = 1


# Elements and bytes of one block of each tensor type, from the ggml source. An unknown type is let pass: an engine may know it.
_BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}


@dataclass(frozen=True)
class Value:
    """One metadata value as it stands in the file.

    Attributes:
        type: its type; for an array the element type and the count are in ``raw``.
        raw: the encoded value, so that it can be copied without decoding.
    """

    type: ValueType
    raw: bytes = field(repr=False)

    @property
    def element_type(self) -> ValueType | None:
        """The type of an array's elements, ``None`` for a single value."""
        return ValueType(int.from_bytes(self.raw[:4], "little")) if self.type is ValueType.ARRAY else None

    def __len__(self) -> int:
        """Number of elements of an array, 1 for a single value."""
        return int.from_bytes(self.raw[4:12], "little") if self.type is ValueType.ARRAY else 1

    @classmethod
    def uint32(cls, number: int) -> Value:
        return cls(ValueType.UINT32, struct.pack("<I", number))

    @classmethod
    def float32(cls, number: float) -> Value:
        return cls(ValueType.FLOAT32, struct.pack("<f", number))

    @classmethod
    def boolean(cls, truth: bool) -> Value:
        return cls(ValueType.BOOL, struct.pack("<?", truth))

    @classmethod
    def string(cls, text: str) -> Value:
        return cls(ValueType.STRING, _string(text))

    @classmethod
    def strings(cls, texts: Sequence[str]) -> Value:
        return cls._array(ValueType.STRING, len(texts), b"".join(map(_string, texts)))

    @classmethod
    def int32s(cls, numbers: Sequence[int]) -> Value:
        return cls._array(ValueType.INT32, len(numbers), struct.pack(f"<{len(numbers)}i", *numbers))

    @classmethod
    def float32s(cls, numbers: Sequence[float]) -> Value:
        return cls._array(ValueType.FLOAT32, len(numbers), struct.pack(f"<{len(numbers)}f", *numbers))

    @classmethod
    def _array(cls, kind: ValueType, count: int, raw: bytes) -> Value:
        return cls(ValueType.ARRAY, struct.pack("<IQ", kind, count) + raw)

    def head(self, count: int) -> Value:
        """The first ``count`` elements of an array of numbers or truth values."""
        kind = self.element_type
        if kind not in _SIZES:
            raise ValueError("not an array of numbers")
        return self._array(kind, count, self.raw[12 : 12 + count * _SIZES[kind]])


@dataclass(frozen=True)
class TensorInfo:
    """A row of the tensor table.

    Attributes:
        shape: the fastest dimension first, as in the file.
        type: number of the tensor type.
        offset: bytes from the start of the tensor data.
    """

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int

    @property
    def size(self) -> int | None:
        """Bytes of the tensor, ``None`` where the type is not known."""
        if self.type not in _BLOCKS:
            return None
        elements, size = _BLOCKS[self.type]
        return prod(self.shape) // elements * size


@dataclass(frozen=True)
class Tensor:
    """A tensor to be written; ``data`` holds the elements, little-endian."""

    name: str
    shape: tuple[int, ...]
    type: TensorType
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class GGUFHeader:
    """What a GGUF file says before its weights.

    The methods that decode a value return ``None`` where the key is missing and raise ``InputError`` where it holds another type.

    Attributes:
        path: the file.
        metadata: the values by key, in the order of the file.
        tensors: the tensor table, in the order of the file.
        data_start: where the tensor data starts, in bytes from the start of the file.
        file_size: size of the file in bytes.
    """

    path: Path
    version: int
    metadata: Mapping[str, Value] = field(repr=False)
    tensors: tuple[TensorInfo, ...] = field(repr=False)
    data_start: int
    file_size: int

    @property
    def architecture(self) -> str:
        """``general.architecture``, which every model file has."""
        name = self.string("general.architecture")
        if not name:
            raise InputError("general.architecture is missing", where=str(self.path), hint="give a GGUF file of a language model")
        return name

    def string(self, key: str) -> str | None:
        value = self.metadata.get(key)
        if value is None:
            return None
        if value.type is not ValueType.STRING:
            raise self._wrong(key, "a string")
        return self._text(value.raw[8:], key)

    def integer(self, key: str) -> int | None:
        value = self.metadata.get(key)
        if value is None:
            return None
        if value.type not in _INTEGERS:
            raise self._wrong(key, "a whole number")
        return int(struct.unpack("<" + _FORMATS[value.type], value.raw)[0])

    def boolean(self, key: str) -> bool | None:
        value = self.metadata.get(key)
        if value is None:
            return None
        if value.type is not ValueType.BOOL:
            raise self._wrong(key, "true or false")
        return value.raw != b"\0"

    def numbers(self, key: str) -> list[int | float | bool] | None:
        """The elements of an array of numbers or truth values."""
        value = self.metadata.get(key)
        if value is None:
            return None
        kind = value.element_type
        if kind not in _FORMATS:
            raise self._wrong(key, "an array of numbers")
        return list(struct.unpack(f"<{len(value)}{_FORMATS[kind]}", value.raw[12:]))

    def strings(self, key: str) -> list[str] | None:
        """The elements of an array of strings; each of them must be UTF-8."""
        value = self.metadata.get(key)
        if value is None:
            return None
        if value.element_type is not ValueType.STRING:
            raise self._wrong(key, "an array of strings")
        return [self._text(raw, f"{key}[{index}]") for index, raw in enumerate(_split(value))]

    def string_at(self, key: str, index: int) -> str | None:
        """One element of an array of strings, ``None`` where the array is missing or shorter."""
        value = self.metadata.get(key)
        if value is None or value.element_type is not ValueType.STRING:
            return None
        for position, raw in enumerate(_split(value)):
            if position == index:
                return self._text(raw, f"{key}[{index}]")
        return None

    def require_weights(self) -> None:
        """Check that the file holds the tensors that its table names.

        Raises:
            InputError: there are no tensors (a vocabulary only), or the data of one is not wholly in the file.
        """
        if not self.tensors:
            raise InputError(
                "holds no weights, only a vocabulary",
                where=str(self.path),
                hint="make a model of it with `promptguard model tiny --from`",
            )
        for tensor in self.tensors:
            end = self.data_start + tensor.offset + (tensor.size or 0)
            if end > self.file_size or self.data_start + tensor.offset >= self.file_size:
                raise InputError(
                    f"truncated: the data of {tensor.name} ends at byte {end}, the file has {self.file_size}",
                    where=str(self.path),
                    hint="fetch or copy the file again",
                )

    def _text(self, raw: bytes, key: str) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{key} is not UTF-8: {error.reason} at byte {error.start}", where=str(self.path)) from None

    def _wrong(self, key: str, wanted: str) -> InputError:
        value = self.metadata[key]
        found = f"an array of {value.element_type.name}" if value.element_type is not None else value.type.name
        return InputError(f"{key} should be {wanted} and is {found}", where=str(self.path))


def chat_template(header: GGUFHeader, name: str | None = None) -> str | None:
    """The chat template, or the one called ``name``, ``None`` where the file has none."""
    return header.string("tokenizer.chat_template" + (f".{name}" if name else ""))


def special_token(header: GGUFHeader, role: str) -> str | None:
    """The text of a special token.

    Args:
        header: what was read.
        role: ``bos``, ``eos``, ``eot``, ``eom``, ``unknown`` or ``padding``.

    Returns:
        ``None`` where the file names no such token.
    """
    number = header.integer(f"tokenizer.ggml.{role}_token_id")
    return None if number is None else header.string_at("tokenizer.ggml.tokens", number)


# Tokens that llama.cpp takes for the end of a reply by their text alone (src/llama-vocab.cpp), besides those that the file names.
_END_TEXTS = """
<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> <|endoftext|> </s> <|eom_id|> <EOT> _<EOT>
[EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> <\uff5cend\u2581of\u2581sentence\uff5c> [e~[
"""


def end_tokens(header: GGUFHeader) -> frozenset[str]:
    """The texts of the tokens that end a reply: those that the file names, and those that llama.cpp knows by their text."""
    named = {special_token(header, role) for role in ("eos", "eot", "eom")} - {None}
    value = header.metadata.get("tokenizer.ggml.tokens")
    known: set[str] = set()
    if value is not None and value.element_type is ValueType.STRING:
        wanted = {text.encode(): text for text in _END_TEXTS.split()}
        known = {wanted[raw] for raw in _split(value) if raw in wanted}
    return frozenset(known | cast("set[str]", named))


def read_header(path: str | os.PathLike[str]) -> GGUFHeader:
    """Read the metadata and the tensor table of a GGUF file.

    Only these are read, so it does not matter how large the weights are. Values are not decoded. Whether the weights are there is
    not checked: a vocabulary-only file has none, see ``GGUFHeader.require_weights``.

    Raises:
        InputError: the file cannot be opened, is not a little-endian GGUF file of version 2 or 3, is truncated, or names counts
            that no model has.
    """
    file = Path(path)
    try:
        with open_regular(file, what="the model") as stream:
            return _Reader(stream, file, os.fstat(stream.fileno()).st_size).header()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(file), hint="check the path") from None


class _Reader:
    """Reads a stream forwards and never asks for more than the file and the limits allow."""

    def __init__(self, stream: BinaryIO, path: Path, size: int) -> None:
        self.stream = stream
        self.path = path
        self.size = size
        self.position = 0

    def error(self, what: str, hint: str | None = None) -> InputError:
        return InputError(what, where=str(self.path), hint=hint)

    def take(self, count: int) -> bytes:
        if self.position + count > MAX_HEADER_BYTES and count <= self.size - self.position:
            raise self.error(f"its header is larger than {MAX_HEADER_BYTES >> 20} MiB")
        data = self.stream.read(count) if count <= self.size - self.position else b""
        if len(data) != count:
            raise self.error(
                f"truncated: {count} bytes are missing or cut short at byte {self.position} of {self.size}",
                "fetch or copy the file again",
            )
        self.position += count
        return data

    def uint32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def uint64(self) -> int:
        return int.from_bytes(self.take(8), "little")

    def string(self) -> bytes:
        return self.take(self.uint64())

    def name(self, what: str) -> str:
        length = self.uint64()
        if not 0 < length <= MAX_KEY_BYTES:
            raise self.error(f"the name of a {what} at byte {self.position} has {length} bytes")
        try:
            return self.take(length).decode()
        except UnicodeDecodeError:
            raise self.error(f"the name of a {what} at byte {self.position - length} is not UTF-8") from None

    def header(self) -> GGUFHeader:
        magic = self.take(min(4, self.size))
        if magic != MAGIC:
            start = f"it starts with {magic!r}" if magic else "it is empty"
            raise self.error(f"not a GGUF file: {start}", "give a .gguf file")
        version = self.uint32()
        if version & 0xFFFF == 0 and version:
            raise self.error("a big-endian GGUF file", "convert it to little-endian")
        if version not in (2, 3):
            raise self.error(f"GGUF version {version} is not supported", "convert it to version 3")
        tensor_count, key_count = self.uint64(), self.uint64()
        if tensor_count > MAX_TENSORS or key_count > MAX_KEYS:
            raise self.error(f"absurd counts: {tensor_count} tensors and {key_count} metadata keys")
        metadata = self.metadata(key_count)
        tensors = tuple(self.tensor() for _ in range(tensor_count))
        alignment = metadata.get("general.alignment", Value.uint32(32))
        step = int.from_bytes(alignment.raw, "little")
        if alignment.type is not ValueType.UINT32 or step == 0 or step & (step - 1):
            raise self.error("general.alignment is not a power of two")
        return GGUFHeader(self.path, version, metadata, tensors, _align(self.position, step), self.size)

    def metadata(self, count: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for _ in range(count):
            key = self.name("metadata key")
            if key in values:
                raise self.error(f"the metadata key {key} appears twice")
            kind = self.kind(key)
            values[key] = Value(kind, self.array(key) if kind is ValueType.ARRAY else self.scalar(kind))
        return values

    def kind(self, key: str) -> ValueType:
        number = self.uint32()
        try:
            return ValueType(number)
        except ValueError:
            raise self.error(f"{key} has the unknown value type {number}") from None

    def scalar(self, kind: ValueType) -> bytes:
        if kind is not ValueType.STRING:
            return self.take(_SIZES[kind])
        length = self.take(8)
        return length + self.take(int.from_bytes(length, "little"))

    def array(self, key: str) -> bytes:
        kind = self.kind(key)
        count = self.uint64()
        head = struct.pack("<IQ", kind, count)
        if kind is ValueType.ARRAY:
            raise self.error(f"{key} is an array of arrays, which is not supported")
        if kind is not ValueType.STRING:
            return head + self.take(count * _SIZES[kind])
        if count * 8 > self.size - self.position:
            raise self.error(f"truncated: {key} claims {count} strings, {self.size - self.position} bytes are left")
        return head + b"".join([self.scalar(kind) for _ in range(count)])

    def tensor(self) -> TensorInfo:
        name = self.name("tensor")
        dimensions = self.uint32()
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise self.error(f"the tensor {name} has {dimensions} dimensions")
        shape = struct.unpack(f"<{dimensions}Q", self.take(8 * dimensions))
        return TensorInfo(name, shape, self.uint32(), self.uint64())


def write_gguf(path: str | os.PathLike[str], metadata: Mapping[str, Value], tensors: Iterable[Tensor]) -> int:
    """Write a GGUF file of version 3; the same input gives the same bytes.

    The file appears whole or not at all: it is written under another name in the same folder and then renamed.

    Returns:
        The size of the file in bytes.

    Raises:
        InputError: the file cannot be written.
    """
    file = Path(path)
    rows = list(tensors)
    parts = [MAGIC, struct.pack("<IQQ", VERSION, len(rows), len(metadata))]
    for key, value in metadata.items():
        parts += [_string(key), struct.pack("<I", value.type), value.raw]
    alignment = 32
    offsets = [0, *accumulate(_align(len(tensor.data), alignment) for tensor in rows)]
    for tensor, offset in zip(rows, offsets, strict=False):
        shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
        parts += [_string(tensor.name), shape, struct.pack("<IQ", tensor.type, offset)]
    length = sum(map(len, parts))
    parts.append(bytes(_align(length, alignment) - length))
    for tensor in rows:
        parts += [tensor.data, bytes(_align(len(tensor.data), alignment) - len(tensor.data))]
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.writelines(parts)
        temporary.replace(file)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(file)) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return sum(map(len, parts))


def _split(value: Value) -> Iterator[bytes]:
    """The elements of an array of strings; their lengths were checked when the array was read."""
    raw, position = value.raw, 12
    for _ in range(len(value)):
        start = position + 8
        position = start + int.from_bytes(raw[position:start], "little")
        yield raw[start:position]


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _align(position: int, step: int) -> int:
    return -(-position // step) * step
