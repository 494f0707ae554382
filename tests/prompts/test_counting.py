"""The engine and the tokenizers library are the oracles of every count."""

from __future__ import annotations

import hashlib
import re
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from gguf_sources import SENTENCEPIECE, write_source
from hypothesis import given
from hypothesis import strategies as st
from llama_server import Server, serve
from tokenizers import Tokenizer, models

from promptguard.core.errors import ConfigError
from promptguard.core.resources import resource
from promptguard.models.default import default_model
from promptguard.models.make import make_tiny
from promptguard.parse.gguf import Tensor, TensorType, Value, read_header, write_gguf
from promptguard.prompts import counting_bundled
from promptguard.prompts.counting import counter

TEXT = resource("fixtures/models/tiny/corpus.txt").read_text(encoding="utf-8")
ODD = (
    "a  b\t\tc \n\n\n  d\r\ne 12345678 it's It'S don\u2019t ½ ² e\u0301 _x_ __init__ \u00a0x ☀️👩‍🔬 नमस्ते 今日は 三 Ⅻ 🄀 \x1c\x1c "
    "<|im_start|>user\nhi!!<|im_end|>\n<tool_call></tool_call> camelCase HTTPServer $1,234.50 <=> ==>"
)
BUNDLED = counter(None)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(default_model()) as running:
        yield running


def test_bundled_counts_what_the_engine_counts(server: Server) -> None:
    texts = [ODD, TEXT, resource("fixtures/tasks/four_tool/tools.json").read_text(encoding="utf-8")]
    assert [BUNDLED.count(text) for text in texts] == [len(server.tokenize(text)) for text in texts]


def test_bundled_knows_every_character_of_the_basic_plane(server: Server) -> None:
    rows = [
        "".join(map(chr, range(start, start + 256))).lstrip("\0")
        for start in range(0, 0x10000, 256)
        if not 0xD8 <= start >> 8 < 0xE0
    ]
    texts = [" ".join(rows[at : at + 16]) + " x".join(rows[at]) for at in range(0, len(rows), 16)]
    assert [BUNDLED.count(text) for text in texts] == [len(server.tokenize(text)) for text in texts]


@pytest.fixture(scope="module")
def oracle() -> Tokenizer:
    return counter(str(default_model()))._tokenizer


pieces = st.sampled_from([*"aAeE \n\t\r.,!'<|>1_0-éЖ今²½①\u00a0\u2003٣🄀", "'s", "'LL", "<tool_call>", "</think>", " the", "\r\n"])


@given(text=st.lists(pieces, max_size=60).map("".join))
def test_bundled_counts_what_the_library_counts(oracle: Tokenizer, text: str) -> None:
    assert BUNDLED.count(text) == len(oracle.encode(text, add_special_tokens=False))


def test_no_token_of_the_bundled_vocabulary_is_cut_when_alone(oracle: Tokenizer) -> None:
    """The look-up of whole words rests on this."""
    words = read_header(default_model()).strings("tokenizer.ggml.tokens")[:-9]  # the last nine are taken out of the text before
    assert [word for word in words if len(oracle.model.tokenize(word)) != 1] == []


def test_the_merges_make_every_token_of_several_letters() -> None:
    header = read_header(default_model())
    tokens = header.strings("tokenizer.ggml.tokens")
    merges = counting_bundled._Ranks().in_order()
    assert merges == list(header.strings("tokenizer.ggml.merges"))
    assert {merge.replace(" ", "") for merge in merges} == {token for token in tokens[:-9] if len(token) > 1}
    assert [token for token in tokens[-9:] if not counting_bundled._SPECIAL.fullmatch(token)] == []


def test_a_rank_is_the_same_looked_up_in_the_file_and_in_memory() -> None:
    ranks = counting_bundled._Ranks()
    merges = ranks.in_order()
    others = [f" {merge}" for merge in merges] + [merge[1:] for merge in merges] + [f"{merge}e" for merge in merges]
    known = {merge: rank for rank, merge in enumerate(merges)}
    assert [ranks._look_up(merge) for merge in merges] == list(range(len(merges)))
    assert [ranks._look_up(merge) for merge in others] == list(map(known.get, others))


def test_many_ranks_are_taken_from_memory() -> None:
    ranks = counting_bundled._Ranks()
    assert {ranks.get("e r") for _ in range(3 * counting_bundled._MOST_LOOKED_UP)} == {3}
    assert ranks.get != ranks._look_up


def test_run_without_a_cut_is_estimated_beyond_a_kilobyte() -> None:
    word = "kxqz" * 256
    assert [BUNDLED.count(word * times) for times in (2, 8000)] == [BUNDLED.count(word) * times for times in (2, 8000)]


def test_name_says_what_counts(tmp_path: Path) -> None:
    path = str(write_source(tmp_path / "a.gguf", "llama"))
    assert [counter(None).name, counter(path).name] == ["promptguard-tiny", path]


def test_lone_surrogate_is_no_error() -> None:
    assert BUNDLED.count("a\ud800b") == BUNDLED.count("a?b") == counter(str(default_model())).count("a\ud800b")


# Vocabularies of GGUF files


def with_metadata(path: Path, **values: Value | None) -> Path:
    """The bundled model with other values of ``tokenizer.ggml``; ``None`` takes one out."""
    header = read_header(default_model())
    changed = {f"tokenizer.ggml.{name}": value for name, value in values.items()}
    metadata = {key: value for key, value in {**header.metadata, **changed}.items() if value is not None}
    data = default_model().read_bytes()
    tensors = [
        Tensor(info.name, info.shape, TensorType(info.type), data[header.data_start + info.offset :][: info.size])
        for info in header.tensors
    ]
    write_gguf(path, metadata, tensors)
    return path


@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe", "qwen35", "deepseek-v3", "tekken", "gpt-4o", None])
def test_gguf_counts_what_the_engine_counts(tmp_path: Path, pre: str | None) -> None:
    path = with_metadata(tmp_path / "a.gguf", pre=pre and Value.string(pre))
    mine = counter(str(path))
    with serve(path) as server:
        assert [mine.count(text) for text in (ODD, TEXT)] == [len(server.tokenize(text)) for text in (ODD, TEXT)]


def sentencepiece_file(path: Path, **values: Value) -> Path:
    """A model with a vocabulary of characters, bytes and three merges."""
    header = read_header(write_source(path.with_suffix(".source"), "llama", tokenizer="llama"))
    write_gguf(
        path.with_suffix(".vocabulary"),
        {**header.metadata, **{f"tokenizer.ggml.{name}": value for name, value in values.items()}},
        [],
    )
    make_tiny(path.with_suffix(".vocabulary"), path)
    return path


@pytest.mark.parametrize(
    "values",
    [
        {},
        {
            "model": Value.string("gemma4"),
            "bos_token_id": Value.uint32(1),
            "merges": Value.strings(["\u2581 t", "h e", "\u2581t he"]),
        },
    ],
    ids=["llama", "gemma4"],
)
def test_spelled_tokens_count_as_in_the_engine(tmp_path: Path, values: dict[str, Value]) -> None:
    path = sentencepiece_file(tmp_path / "a.gguf", **values)
    mine = counter(str(path))
    with serve(path) as server:
        # Behind a line end, since the engine puts a space ahead of a whole prompt.
        ahead = len(server.tokenize("\n"))
        for text in (ODD, TEXT[:3000], "the  the\n\nthe"):
            assert mine.count(text) == len(server.tokenize("\n" + text)) - ahead


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": Value.string("bert")}, "tokenizers of the kind bert cannot be read from a GGUF file; name the tokenizer.json"),
        ({"pre": Value.string("poro-chat")}, "its pre-tokenizer poro-chat is not known here; name the tokenizer.json"),
        ({"tokens": None}, "holds no vocabulary"),
        ({"merges": Value.strings(["ab"])}, "one of its merges is not two texts"),
        ({"merges": Value.strings(["never there"])}, "its vocabulary and its merges do not go together (Error"),
        ({"model": Value.string("llama")}, "its vocabulary has no scores"),
    ],
)
def test_gguf_that_cannot_be_used(tmp_path: Path, values: dict[str, Value | None], message: str) -> None:
    path = with_metadata(tmp_path / "a.gguf", **values)
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {message}")):
        counter(str(path))


def test_token_of_absurd_length_is_refused(tmp_path: Path) -> None:
    header = read_header(write_source(tmp_path / "source.gguf", "llama", tokenizer="llama"))
    long = [*SENTENCEPIECE[:-1], "x" * 513]
    path = tmp_path / "a.gguf"
    write_gguf(path, {**header.metadata, "tokenizer.ggml.tokens": Value.strings(long)}, [])
    with pytest.raises(ConfigError, match="a token has more than 512 characters"):
        counter(str(path))


# tokenizer.json


def test_tokenizer_json_counts_as_the_library_does(tmp_path: Path, oracle: Tokenizer) -> None:
    oracle.save(str(tmp_path / "tokenizer.json"))
    assert counter(str(tmp_path / "tokenizer.json")).count(ODD) == BUNDLED.count(ODD)


def test_length_limits_of_a_tokenizer_json_do_not_count(tmp_path: Path, oracle: Tokenizer) -> None:
    limited = Tokenizer.from_str(oracle.to_str())
    limited.enable_truncation(5)
    limited.enable_padding(length=9)
    limited.save(str(tmp_path / "tokenizer.json"))
    assert [counter(str(tmp_path / "tokenizer.json")).count(text) for text in ("a", "a b c d e f g")] == [1, 7]


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}'],
)
def test_file_that_is_no_tokenizer(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"^tokenizer = .*x\.json: it is neither a GGUF file nor a tokenizer\.json \("):
        counter(str(tmp_path / "x.json"))


def test_text_that_a_tokenizer_cannot_split(tmp_path: Path) -> None:
    Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ConfigError, match=r"it cannot split a text \("):
        counter(str(tmp_path / "tokenizer.json")).count("b")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^tokenizer = .*none: the tokenizer does not exist; check the path$"):
        counter(str(tmp_path / "none"))


@pytest.mark.parametrize(("setting", "package"), [("tokenizer.json", "tokenizers"), ("tiktoken:cl100k_base", "tiktoken")])
def test_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, package: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf"the package {package} is needed .*; install promptguard-ci\[tokenizers\]"):
        counter(setting)


# tiktoken


URL = "https://example.invalid/tiny.tiktoken"


@pytest.fixture
def encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An encoding ``tiny`` of single bytes and "he"; the file of it, in the cache of the library."""

    def tiny() -> dict[str, Any]:
        ranks = tiktoken.load.load_tiktoken_bpe(URL)
        return {"name": "tiny", "pat_str": r"\S+|\s+", "mergeable_ranks": ranks, "special_tokens": {"<|end|>": len(ranks)}}

    tiktoken.list_encoding_names()
    monkeypatch.setattr(tiktoken.registry, "ENCODING_CONSTRUCTORS", {"tiny": tiny})
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    cached = tmp_path / hashlib.sha1(URL.encode()).hexdigest()
    tokens = [*(bytes([byte]) for byte in range(256)), b"he"]
    cached.write_bytes(b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens)))
    return cached


def test_tiktoken_encoding(encoding: Path) -> None:
    mine = counter("tiktoken:tiny")
    assert (mine.name, mine.count("the he<|end|>")) == ("tiktoken:tiny", 5)


def test_encoding_that_is_not_here_is_not_fetched(encoding: Path) -> None:
    encoding.unlink()
    message = (
        rf"^tokenizer = tiktoken:tiny: the encoding is not on this machine, .* \({URL}\); fetch it once .*TIKTOKEN_CACHE_DIR"
    )
    with pytest.raises(ConfigError, match=message):
        counter("tiktoken:tiny")


def test_broken_encoding(encoding: Path) -> None:
    encoding.write_bytes(b"nonsense")
    with pytest.raises(ConfigError, match="tiktoken cannot load the encoding"):
        counter("tiktoken:tiny")


@pytest.mark.parametrize(
    ("name", "message"), [("tony", r"did you mean tiktoken:tiny\?"), ("zzz", "it has tiny"), ("", "no encoding without a name")]
)
def test_unknown_encoding(encoding: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        counter(f"tiktoken:{name}")


def test_bundled_gives_the_ids_of_the_engine(server: Server) -> None:
    for text in (ODD, TEXT):
        assert BUNDLED.encode(text) == server.tokenize(text)


def test_a_file_gives_the_ids_that_the_bundled_tokenizer_gives() -> None:
    assert counter(str(default_model())).encode(ODD) == BUNDLED.encode(ODD)


@given(st.text(max_size=200))
def test_there_are_as_many_ids_as_are_counted(text: str) -> None:
    assert len(BUNDLED.encode(text)) == BUNDLED.count(text)


def test_a_run_without_a_cut_has_as_many_ids_as_are_counted() -> None:
    run = "-" * 5000
    assert len(BUNDLED.encode(run)) == BUNDLED.count(run)
