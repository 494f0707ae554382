from __future__ import annotations

from pathlib import Path

import gguf
import pytest
from gguf_sources import BYTE_LEVEL, SENTENCEPIECE, TEMPLATE, WINDOW, write_source
from llama_server import serve

from promptguard.core.errors import InputError
from promptguard.models.twin import make_twin
from promptguard.parse.gguf import Value, chat_template, read_header, write_gguf

FULL = ["llama", "mistral3", "qwen2", "qwen3", "phi3"]
SLIDING = ["gemma2", "gemma3"]
# The engine keeps a window and one batch (512 tokens) of it: the change has to be further back than that.
PROMPT = [(index * 7) % 250 for index in range(1500)]
CHANGED = [*PROMPT[:300], 251, *PROMPT[301:]]
REUSED, LOST = (300, 1200), (0, 1500)


def turns(model: Path) -> list[tuple[int, int]]:
    """A prompt, the same one longer, and one that differs in the middle."""
    with serve(model) as server:
        return [server.complete(PROMPT), server.complete([*PROMPT, *PROMPT[:40]]), server.complete(CHANGED)]


@pytest.mark.parametrize("architecture", FULL)
def test_full_attention_reuses_the_common_prefix(tmp_path: Path, architecture: str) -> None:
    report = make_twin(write_source(tmp_path / "source.gguf", architecture), tmp_path / "twin.gguf")
    assert (report.architecture, report.window, report.notes) == (architecture, None, ())
    assert turns(report.path) == [(0, 1500), (1500, 40), REUSED]


@pytest.mark.parametrize("architecture", SLIDING)
def test_sliding_window_forgets_what_is_behind_the_window(tmp_path: Path, architecture: str) -> None:
    report = make_twin(write_source(tmp_path / "source.gguf", architecture, window=WINDOW), tmp_path / "twin.gguf")
    assert (report.architecture, report.window, report.notes) == (architecture, WINDOW, ())
    assert turns(report.path) == [(0, 1500), (1500, 40), LOST]


def test_gemma3_without_a_window_has_full_attention(tmp_path: Path) -> None:
    report = make_twin(write_source(tmp_path / "source.gguf", "gemma3"), tmp_path / "twin.gguf")
    assert (report.layers, report.window) == (2, None)
    assert turns(report.path)[2] == REUSED


def test_gemma2_without_a_window_has_the_usual_one(tmp_path: Path) -> None:
    report = make_twin(write_source(tmp_path / "source.gguf", "gemma2"), tmp_path / "twin.gguf")
    assert (report.layers, report.window) == (2, 4096)


def test_empty_pattern_is_refused(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "llama")
    write_gguf(source, {**read_header(source).metadata, "llama.attention.sliding_window_pattern": Value.int32s([])}, [])
    with pytest.raises(InputError, match=r"llama\.attention\.sliding_window_pattern is empty"):
        make_twin(source, tmp_path / "twin.gguf")


def test_sentencepiece_tokenizer_is_kept(tmp_path: Path) -> None:
    report = make_twin(write_source(tmp_path / "source.gguf", "llama", tokenizer="llama"), tmp_path / "twin.gguf")
    with serve(report.path) as server:
        pieces = [SENTENCEPIECE[token] for token in server.tokenize("the é")]
    assert pieces == ["<s>", "▁the", "▁", "<0xC3>", "<0xA9>"]


@pytest.mark.parametrize("architecture", [*FULL, *SLIDING])
def test_tokenizer_and_template_are_kept_byte_for_byte(tmp_path: Path, architecture: str) -> None:
    source, target = write_source(tmp_path / "source.gguf", architecture), tmp_path / "twin.gguf"
    report = make_twin(source, target)
    before, after = read_header(source).metadata, read_header(target).metadata
    kept = {key: value for key, value in before.items() if key.startswith("tokenizer.") or key == "general.name"}
    assert kept == {key: after[key] for key in kept}
    assert chat_template(read_header(target)) == TEMPLATE
    assert (report.vocabulary, report.context, report.size) == (len(BYTE_LEVEL), 8192, target.stat().st_size)


def test_weights_are_where_the_table_says(tmp_path: Path) -> None:
    make_twin(write_source(tmp_path / "source.gguf", "qwen3"), tmp_path / "twin.gguf")
    read_header(tmp_path / "twin.gguf").require_weights()
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "twin.gguf").tensors}
    embedding = abs(tensors["token_embd.weight"].data.astype("f4"))
    assert embedding.shape == (len(BYTE_LEVEL), 32)
    assert 2**-7 <= embedding.min() < embedding.max() < 2**-5
    assert set(tensors["blk.1.attn_q_norm.weight"].data) == {1.0}


def test_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "gemma3", window=WINDOW)
    make_twin(source, tmp_path / "one.gguf")
    make_twin(source, tmp_path / "two.gguf")
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "two.gguf").read_bytes()


@pytest.mark.parametrize(
    ("pattern", "layers"),
    [(None, 6), (3, 3), (1, 2), (10**6, 64), ([True, True, True, False] * 5, 4), ([True] * 9, 2), ([False, True, True], 2)],
)
def test_layers_cover_one_period_of_the_pattern(tmp_path: Path, pattern: int | list[bool] | None, layers: int) -> None:
    keys = {} if pattern is None else {"pattern": pattern}
    source = write_source(tmp_path / "source.gguf", "gemma3", window=WINDOW, **keys)
    assert make_twin(source, tmp_path / "twin.gguf").layers == layers
    kept = read_header(tmp_path / "twin.gguf")
    assert kept.integer("gemma3.block_count") == layers
    if isinstance(pattern, list):
        assert kept.numbers("gemma3.attention.sliding_window_pattern") == pattern[:layers]


def test_array_pattern_has_a_window(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "gemma3", window=WINDOW, pattern=[True, True, False] * 4)
    make_twin(source, tmp_path / "twin.gguf")
    assert turns(tmp_path / "twin.gguf")[2] == LOST


def test_unknown_architecture_falls_back_and_says_so(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "gpt-oss", window=WINDOW)
    report = make_twin(source, tmp_path / "twin.gguf")
    assert (report.architecture, report.source_architecture, report.window, report.context) == ("llama", "gpt-oss", None, 8192)
    (note,) = report.notes
    assert note.startswith("there is no twin of the architecture gpt-oss: ")
    assert "full attention (llama), its sliding window" in note
    assert turns(report.path)[2] == REUSED


def test_source_is_never_overwritten(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "llama")
    before = source.read_bytes()
    with pytest.raises(InputError, match=r"source\.gguf: source and target are the same file"):
        make_twin(source, tmp_path / "." / "source.gguf")
    assert source.read_bytes() == before


def test_without_a_tokenizer_it_says_so(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "clip.gguf", "clip")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(InputError, match=r"clip\.gguf: holds no tokenizer"):
        make_twin(tmp_path / "clip.gguf", tmp_path / "twin.gguf")
    assert not (tmp_path / "twin.gguf").exists()


def test_unknown_tokenizer_model_is_refused(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source.gguf", "llama", tokenizer="enigma")
    with pytest.raises(InputError, match="its tokenizer model 'enigma' is not one"):
        make_twin(source, tmp_path / "twin.gguf")
