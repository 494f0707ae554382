from __future__ import annotations

from pathlib import Path

from llama_server import serve

from promptguard.models.default import default_model
from promptguard.models.markers import MAX_MARKERS, markers
from promptguard.models.twin import make_twin
from promptguard.parse.gguf import read_header

TEMPLATE = "{{ '<|turn|>' + x }}<｜Assistant｜>[INST] a < b > c [x] {% if a<b %}</s><tool:call><|turn|>"


def test_markers_are_found_once_and_comparisons_are_not_markers() -> None:
    assert markers(TEMPLATE) == ["<|turn|>", "<｜Assistant｜>", "[INST]", "</s>", "<tool:call>"]


def test_the_number_of_markers_is_bounded() -> None:
    assert len(markers("".join(f"<|m{number}|>" for number in range(10_000)))) == MAX_MARKERS


def test_each_marker_becomes_one_token_and_nothing_else_changes(tmp_path: Path) -> None:
    target = tmp_path / "tiny.gguf"
    added = markers(TEMPLATE)
    report = make_twin(default_model(), target, added=[*added, "<|im_end|>", *added])  # the model has <|im_end|> already
    assert report.notes == ("5 markers of the chat template were added to its vocabulary",)
    before = read_header(default_model()).strings("tokenizer.ggml.tokens")
    assert read_header(target).strings("tokenizer.ggml.tokens") == [*before, *added]
    with serve(default_model()) as plain, serve(target) as marked:
        assert [len(marked.tokenize(marker)) for marker in added] == [1] * len(added)
        text = "Plain text, 3 < 4 and [x]. <|im_end|>\n"
        assert marked.tokenize(text) == plain.tokenize(text)
        assert marked.tokenize("}}<|turn|>}}") == [*marked.tokenize("}}"), *marked.tokenize("<|turn|>"), *marked.tokenize("}}")]
