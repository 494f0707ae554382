from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.parse.gguf import Value, write_gguf
from promptguard.parse.gguf_chat import MAX_TEMPLATE_BYTES, ChatMetadata, read_chat_metadata

METADATA = {
    "general.architecture": Value.string("llama"),
    "general.alignment": Value.uint32(32),
    "llama.rope.freq_base": Value.float32(0.5),
    "tokenizer.ggml.tokens": Value.strings(["a", "é", "", "<|im_end|>", "<s>"]),
    "tokenizer.ggml.scores": Value.float32s([0.0] * 5),
    "tokenizer.ggml.merges": Value.strings(["a b"] * 9),
    "tokenizer.ggml.bos_token_id": Value.uint32(4),
    "tokenizer.ggml.eos_token_id": Value.uint32(3),
    "tokenizer.chat_templates": Value.strings(["tool_use"]),
    "tokenizer.chat_template.tool_use": Value.string("{{ tools }}"),
    "tokenizer.chat_template": Value.string("{{ messages }} é"),
}


def file(path: Path, **changes: Value | None) -> Path:
    keys = {key.rpartition(".")[2]: key for key in METADATA}
    metadata = METADATA | {keys[name]: value for name, value in changes.items() if value is not None}
    write_gguf(path, {key: value for key, value in metadata.items() if changes.get(key.rpartition(".")[2], 0) is not None}, [])
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_chat_metadata(path)
    assert caught.value.where == str(path)
    return caught.value.what


def test_templates_and_tokens_are_found(tmp_path: Path) -> None:
    found = read_chat_metadata(file(tmp_path / "x.gguf"))
    assert dict(found.templates) == {
        "tokenizer.chat_template.tool_use": "{{ tools }}",
        "tokenizer.chat_template": "{{ messages }} é",
    }
    assert dict(found.tokens) == {"bos_token": "<s>", "eos_token": "<|im_end|>"}


def test_a_token_that_is_not_in_the_vocabulary_is_left_out(tmp_path: Path) -> None:
    path = file(tmp_path / "x.gguf", bos_token_id=None, eos_token_id=Value.uint32(5))
    assert read_chat_metadata(path).tokens == {}


def test_a_file_without_templates_has_none(tmp_path: Path) -> None:
    write_gguf(tmp_path / "x.gguf", {"general.architecture": Value.string("clip")}, [])
    assert read_chat_metadata(tmp_path / "x.gguf") == ChatMetadata({}, {})


def test_a_large_vocabulary_is_passed_over(tmp_path: Path) -> None:
    tokens = [str(number) * 40 for number in range(20_000)]  # several times what is read at once
    path = file(tmp_path / "x.gguf", tokens=Value.strings(tokens), bos_token_id=Value.uint32(19_999))
    found = read_chat_metadata(path)
    assert found.tokens["bos_token"] == tokens[-1]
    assert found.templates["tokenizer.chat_template"] == "{{ messages }} é"


def test_a_token_larger_than_what_is_read_at_once_is_passed_over(tmp_path: Path) -> None:
    path = file(tmp_path / "x.gguf", tokens=Value.strings(["a", "b" * (3 << 20), "c"]), eos_token_id=Value.uint32(2))
    assert read_chat_metadata(path).tokens == {"eos_token": "c"}


def test_a_model_is_read_without_its_weights(tmp_path: Path) -> None:
    path = file(tmp_path / "x.gguf")
    with path.open("r+b") as stream:
        stream.truncate(1 << 40)  # a sparse file of a terabyte
    assert read_chat_metadata(path).tokens["bos_token"] == "<s>"


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    data = file(tmp_path / "x.gguf").read_bytes()
    end = data.index("{{ messages }} é".encode()) + len("{{ messages }} é".encode())
    cut = tmp_path / "cut.gguf"
    for size in range(end):
        cut.write_bytes(data[:size])
        assert refused(cut).startswith(("truncated", "not a GGUF file"))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "not a GGUF file: it is empty"),
        (b"version https://git-lfs", "not a GGUF file: it starts with b'vers'"),
        (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "GGUF version 4 is not supported"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), f"absurd number of metadata keys: {1 << 60}"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 50), f"a metadata key has {1 << 50} bytes"),
        (b"GGUF" + struct.pack("<IQQQcI", 3, 0, 1, 1, b"k", 99), "k has the unknown value type 99"),
        (b"GGUF" + struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 9, 1), "k is an array of the unknown value type 9"),
        (b"GGUF" + struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 8, 1 << 62), "truncated: the header goes on behind byte 49"),
        (b"GGUF" + struct.pack("<IQQQcIIQQ", 3, 0, 1, 1, b"k", 9, 8, 1, 1 << 63), "truncated: the header goes on behind byte 57"),
    ],
)
def test_forged_headers_are_refused(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "x.gguf").write_bytes(data)
    assert refused(tmp_path / "x.gguf") == what


def test_a_template_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path / "x.gguf", chat_template=Value.string("x" * (MAX_TEMPLATE_BYTES + 1)))
    assert refused(path) == "tokenizer.chat_template is larger than 8,388,608 bytes"


def test_a_template_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path / "x.gguf")
    path.write_bytes(path.read_bytes().replace("} é".encode(), b"} \xff\xff"))
    assert refused(path) == "tokenizer.chat_template is not UTF-8 (byte 15 of it)"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0" + data)
    try:
        found = read_chat_metadata(path)
    except InputError:
        return
    assert found.templates == {}
