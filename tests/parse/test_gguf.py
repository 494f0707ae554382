from __future__ import annotations

import struct
from pathlib import Path

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.parse.gguf import (
    MAX_HEADER_BYTES,
    Tensor,
    TensorType,
    Value,
    ValueType,
    chat_template,
    end_tokens,
    read_header,
    special_token,
    write_gguf,
)

METADATA = {
    "general.architecture": Value.string("llama"),
    "general.alignment": Value.uint32(32),
    "llama.context_length": Value.uint32(512),
    "llama.rope.freq_base": Value.float32(0.5),
    "tokenizer.ggml.add_bos_token": Value.boolean(True),
    "tokenizer.ggml.tokens": Value.strings(["a", "é", "", "<|im_end|>", "<s>"]),
    "tokenizer.ggml.scores": Value.float32s([0.0, -1.5]),
    "tokenizer.ggml.token_type": Value.int32s([1, -3]),
    "tokenizer.ggml.bos_token_id": Value.uint32(4),
    "tokenizer.ggml.eos_token_id": Value.uint32(99),
    "tokenizer.chat_template": Value.string("{{ messages }}"),
    "tokenizer.chat_template.tool_use": Value.string("{{ tools }}"),
}
TENSORS = [
    Tensor("one", (3, 2), TensorType.F16, bytes(range(12))),
    Tensor("two", (5,), TensorType.F32, bytes(range(20))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_gguf(tmp_path / "x.gguf", METADATA, TENSORS)
    return tmp_path / "x.gguf"


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_header(path)
    assert caught.value.where == str(path)
    return caught.value.what


def header(keys: int, tensors: int = 0, *, version: int = 3, body: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + body


def entry(key: str, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value


def test_read_gives_what_was_written(path: Path) -> None:
    read = read_header(path)
    assert read.metadata == METADATA
    assert list(read.metadata) == list(METADATA)
    assert [(row.name, row.shape, row.type, row.offset, row.size) for row in read.tensors] == [
        ("one", (3, 2), 1, 0, 12),
        ("two", (5,), 0, 32, 20),
    ]
    assert (read.version, read.architecture, read.file_size) == (3, "llama", path.stat().st_size)


def test_values_are_decoded(path: Path) -> None:
    read = read_header(path)
    assert read.integer("llama.context_length") == 512
    assert read.boolean("tokenizer.ggml.add_bos_token") is True
    assert read.numbers("tokenizer.ggml.scores") == [0.0, -1.5]
    assert read.numbers("tokenizer.ggml.token_type") == [1, -3]
    assert read.strings("tokenizer.ggml.tokens") == ["a", "é", "", "<|im_end|>", "<s>"]
    assert (read.string("none"), read.integer("none"), read.numbers("none"), read.strings("none")) == (None, None, None, None)


def test_wrong_type_is_named(path: Path) -> None:
    read = read_header(path)
    with pytest.raises(InputError, match=r"x\.gguf: llama\.context_length should be a string and is UINT32"):
        read.string("llama.context_length")
    with pytest.raises(InputError, match="should be an array of numbers and is an array of STRING"):
        read.numbers("tokenizer.ggml.tokens")
    with pytest.raises(InputError, match="should be a whole number and is FLOAT32"):
        read.integer("llama.rope.freq_base")


def test_templates_and_special_tokens(path: Path) -> None:
    read = read_header(path)
    assert chat_template(read) == "{{ messages }}"
    assert chat_template(read, "tool_use") == "{{ tools }}"
    assert chat_template(read, "rag") is None
    assert special_token(read, "bos") == "<s>"
    assert special_token(read, "eos") is None  # its number is beyond the vocabulary
    assert end_tokens(read) == {"<|im_end|>"}


def test_the_gguf_package_reads_the_same(path: Path) -> None:
    read = gguf.GGUFReader(path)
    values = {key: field.contents() for key, field in read.fields.items() if not key.startswith("GGUF.")}
    assert values["tokenizer.ggml.tokens"] == ["a", "é", "", "<|im_end|>", "<s>"]
    assert values["llama.rope.freq_base"] == 0.5
    assert list(values) == list(METADATA)
    assert [tensor.data.tobytes() for tensor in read.tensors] == [tensor.data for tensor in TENSORS]


def test_reads_every_value_type_of_the_gguf_package(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "all.gguf", "test")
    writer.add_uint8("u8", 200)
    writer.add_int8("i8", -5)
    writer.add_uint16("u16", 60000)
    writer.add_int16("i16", -300)
    writer.add_int32("i32", -70000)
    writer.add_uint64("u64", 2**63)
    writer.add_int64("i64", -(2**62))
    writer.add_array("flags", [True, False])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read = read_header(tmp_path / "all.gguf")
    numbers = [read.integer(key) for key in ("u8", "i8", "u16", "i16", "i32", "u64", "i64")]
    assert numbers == [200, -5, 60000, -300, -70000, 2**63, -(2**62)]
    assert read.numbers("flags") == [True, False]


def test_version_2_is_read(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4] = 2
    path.write_bytes(data)
    read = read_header(path)
    assert (read.version, read.metadata) == (2, METADATA)


def test_block_sizes_are_those_of_the_gguf_package() -> None:
    from promptguard.parse.gguf import _BLOCKS

    known = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert {kind: size for kind, size in _BLOCKS.items() if known.get(kind) != size} == {}


def test_reading_stops_ahead_of_the_weights(path: Path) -> None:
    whole = read_header(path)
    with path.open("r+b") as stream:
        stream.truncate(8 << 30)  # sparse: takes no space
    grown = read_header(path)
    assert (grown.tensors, grown.file_size) == (whole.tensors, 8 << 30)


def test_weights_are_missed_only_when_asked_for(path: Path) -> None:
    read_header(path).require_weights()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"x\.gguf: truncated: the data of two ends at byte \d+, the file has \d+"):
        read_header(path).require_weights()


def test_vocabulary_without_weights(tmp_path: Path) -> None:
    write_gguf(tmp_path / "vocab.gguf", METADATA, [])
    with pytest.raises(InputError, match=r"vocab\.gguf: holds no weights, only a vocabulary"):
        read_header(tmp_path / "vocab.gguf").require_weights()


def test_every_truncation_is_an_error(path: Path) -> None:
    data = path.read_bytes()
    start = read_header(path).data_start
    tail = len(data) - start + 31  # the padding ahead of the data is not read
    whats = [refused(path, data[:size]) for size in range(len(data) - tail)]
    assert whats[0] == "not a GGUF file: it is empty"
    assert whats[3] == "not a GGUF file: it starts with b'GGU'"
    assert {what.partition(":")[0] for what in whats[4:]} == {"truncated"}


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04 a zip file", "not a GGUF file: it starts with b'PK\\x03\\x04'"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "a big-endian GGUF file"),
        (header(0, version=1), "GGUF version 1 is not supported"),
        (header(2**63), "absurd counts: 0 tensors and 9223372036854775808 metadata keys"),
        (header(0, 2**40), "absurd counts: 1099511627776 tensors and 0 metadata keys"),
        (header(1, body=struct.pack("<Q", 2**60)), f"the name of a metadata key at byte 32 has {2**60} bytes"),
        (header(1, body=struct.pack("<Q", 2) + b"\xff\xfe"), "the name of a metadata key at byte 32 is not UTF-8"),
        (header(1, body=entry("a", 77, b"")), "a has the unknown value type 77"),
        (
            header(1, body=entry("a", 8, struct.pack("<Q", 2**63))),
            f"truncated: {2**63} bytes are missing or cut short at byte 45 of 45",
        ),
        (header(1, body=entry("a", 9, struct.pack("<IQ", 9, 1))), "a is an array of arrays, which is not supported"),
        (header(1, body=entry("a", 9, struct.pack("<IQ", 8, 2**40))), f"truncated: a claims {2**40} strings, 0 bytes are left"),
        (header(2, body=2 * entry("a", 7, b"\1")), "the metadata key a appears twice"),
        (header(1, body=entry("general.alignment", 4, struct.pack("<I", 24))), "general.alignment is not a power of two"),
        (header(0, 1, body=struct.pack("<Q", 1) + b"t" + struct.pack("<I", 2**31)), "the tensor t has 2147483648 dimensions"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, data: bytes, what: str) -> None:
    assert refused(tmp_path / "bad.gguf", data) == what


def test_header_size_is_bounded(tmp_path: Path) -> None:
    count = MAX_HEADER_BYTES
    file = tmp_path / "large.gguf"
    file.write_bytes(header(1, body=entry("a", 9, struct.pack("<IQ", 0, count))))
    with file.open("r+b") as stream:
        stream.truncate(2 * count)
    with pytest.raises(InputError, match="its header is larger than 256 MiB"):
        read_header(file)


def test_text_that_is_not_utf8_is_an_error_only_when_decoded(tmp_path: Path) -> None:
    file = tmp_path / "latin.gguf"
    write_gguf(file, {"name": Value(ValueType.STRING, struct.pack("<Q", 2) + b"\xe9a")}, [])
    read = read_header(file)
    with pytest.raises(InputError, match=r"latin\.gguf: name is not UTF-8: invalid continuation byte at byte 0"):
        read.string("name")


def test_missing_file_and_folder_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the model does not exist"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(InputError, match="the model is a folder"):
        read_header(tmp_path)


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken.gguf").mkdir()
    with pytest.raises(InputError, match=r"taken\.gguf: cannot be written"):
        write_gguf(tmp_path / "taken.gguf", METADATA, TENSORS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken.gguf"]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "random.gguf"
    file.write_bytes(header(3, 2, body=body))
    with pytest.raises(InputError):
        read_header(file)
