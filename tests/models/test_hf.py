"""The tokenizers library is the oracle: the engine has to give the same token ids on the same text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_server import serve
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from promptguard.core.errors import InputError
from promptguard.core.resources import resource
from promptguard.models.hf import from_tokenizer_files
from promptguard.parse.gguf import chat_template, read_header, special_token

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXT = resource("fixtures/models/tiny/corpus.txt").read_text(encoding="utf-8")
TEXTS = [
    TEXT[:4000],
    "a  b\t\tc \n\n\n  d\r\ne 12345678 it's It'S don\u2019t ½ ² e\u0301 _x_ __init__ \u00a0x ☀️👩‍🔬 नमस्ते 今日は",
    "<|im_start|>user\nhi <|im_end|>\n",
]


def byte_level(regex: str | None, *, digits: bool = False) -> pre_tokenizers.PreTokenizer:
    if regex is None:
        steps = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
    else:
        steps = [
            pre_tokenizers.Split(Regex(regex), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    return (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), *steps])
        if digits
        else pre_tokenizers.Sequence(steps)
    )


def trained(pre: pre_tokenizers.PreTokenizer, *, ignore_merges: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    return tokenizer


def sentencepiece_like(*, prefix: bool) -> Tokenizer:
    """A BPE model with all merges of its vocabulary, as the conversion of a SentencePiece model has."""
    pieces = trained(pre_tokenizers.Metaspace(prepend_scheme="never")).get_vocab()
    learned = [text for text, _ in sorted(pieces.items(), key=lambda item: item[1]) if not text.startswith("<|")]
    texts = ["<unk>", "<s>", "</s>", *[f"<0x{byte:02X}>" for byte in range(256)], *learned]
    vocab = {text: number for number, text in enumerate(texts)}
    splits = [[(text[:cut], text[cut:]) for cut in range(1, len(text))] for text in learned]
    merges = [pair for pairs in splits for pair in pairs if pair[0] in vocab and pair[1] in vocab]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    replace = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prefix else replace
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def assert_same_tokens(tokenizer: Tokenizer, folder: Path) -> None:
    tokenizer.save(str(folder / "tokenizer.json"))
    report = from_tokenizer_files(folder / "tokenizer.json", None, folder / "tiny.gguf")
    assert report.vocabulary == tokenizer.get_vocab_size()
    with serve(report.path) as server:
        assert [server.tokenize(text) for text in TEXTS] == [tokenizer.encode(text).ids for text in TEXTS]


@pytest.mark.parametrize(
    ("name", "regex", "ignore_merges", "digits"),
    [
        ("gpt-2", None, False, False),
        ("smollm", None, False, True),
        ("llama-bpe", LLAMA3, True, False),
        ("smaug-bpe", LLAMA3, False, False),
        ("qwen2", QWEN2, False, False),
        ("qwen35", QWEN35, False, False),
    ],
)
def test_byte_level_bpe(tmp_path: Path, name: str, regex: str | None, ignore_merges: bool, digits: bool) -> None:
    assert_same_tokens(trained(byte_level(regex, digits=digits), ignore_merges=ignore_merges), tmp_path)
    assert read_header(tmp_path / "tiny.gguf").string("tokenizer.ggml.pre") == name


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_like_bpe(tmp_path: Path, prefix: bool) -> None:
    assert_same_tokens(sentencepiece_like(prefix=prefix), tmp_path)
    assert read_header(tmp_path / "tiny.gguf").boolean("tokenizer.ggml.add_space_prefix") is prefix


def saved(tokenizer: Tokenizer, folder: Path, change: Callable[[dict[str, Any]], object] = lambda root: None) -> Path:
    root = json.loads(tokenizer.to_str())
    change(root)
    (folder / "tokenizer.json").write_text(json.dumps(root), encoding="utf-8")
    return folder / "tokenizer.json"


def test_configuration_names_special_tokens_and_template(tmp_path: Path) -> None:
    file = saved(trained(byte_level(QWEN2)), tmp_path)
    config = tmp_path / "tokenizer_config.json"
    template = [{"name": "default", "template": "{{ 1 }}"}, {"name": "tool_use", "template": "{{ 2 }}"}]
    values = {
        "eos_token": "<|im_end|>",
        "bos_token": {"content": "<|im_start|>"},
        "add_bos_token": True,
        "model_max_length": 4096,
    }
    config.write_text(json.dumps({**values, "chat_template": template}), encoding="utf-8")
    report = from_tokenizer_files(file, config, tmp_path / "tiny.gguf")
    read = read_header(report.path)
    assert (special_token(read, "bos"), special_token(read, "eos")) == ("<|im_start|>", "<|im_end|>")
    assert (read.boolean("tokenizer.ggml.add_bos_token"), read.boolean("tokenizer.ggml.add_eos_token")) == (True, False)
    assert (chat_template(read), chat_template(read, "tool_use"), report.context) == ("{{ 1 }}", "{{ 2 }}", 4096)


def test_template_file_takes_the_place_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ 3 }}", encoding="utf-8")
    (tmp_path / "config.json").write_text('{"chat_template": "{{ 1 }}"}', encoding="utf-8")
    file = saved(trained(byte_level(None)), tmp_path)
    report = from_tokenizer_files(
        file, tmp_path / "config.json", tmp_path / "tiny.gguf", chat_template=tmp_path / "chat_template.jinja"
    )
    assert chat_template(read_header(report.path)) == "{{ 3 }}"


def test_unused_ids_are_filled(tmp_path: Path) -> None:
    tokenizer = trained(byte_level(QWEN2))
    size = tokenizer.get_vocab_size()
    file = saved(
        tokenizer, tmp_path, lambda root: root["added_tokens"].append({"id": size + 3, "content": "<late>", "special": False})
    )
    from_tokenizer_files(file, None, tmp_path / "tiny.gguf")
    read = read_header(tmp_path / "tiny.gguf")
    assert read.strings("tokenizer.ggml.tokens")[size:] == [*[f"[PAD{size + index}]" for index in range(3)], "<late>"]
    assert read.numbers("tokenizer.ggml.token_type")[size:] == [5, 5, 5, 4]


def test_what_cannot_be_kept_is_noted(tmp_path: Path) -> None:
    tokenizer = trained(byte_level(QWEN2))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_tokens([AddedToken("<mask>", lstrip=True)])
    report = from_tokenizer_files(saved(tokenizer, tmp_path), None, tmp_path / "tiny.gguf")
    assert report.notes[1:] == (
        "1 added tokens swallow the white space beside them, which llama.cpp does for few models only",
        "the tokenizer composes characters (NFC) ahead of everything, llama.cpp does not",
    )


def put(*path: str, value: object) -> Callable[[dict[str, Any]], object]:
    def change(root: dict[str, Any]) -> None:
        for key in path[:-1]:
            root = root[key]
        root[path[-1]] = value

    return change


def nested(step: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        step = {"type": "Sequence", "normalizers": [step]}
    return step


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (put("model", value={"type": "WordPiece", "vocab": {}}), "a WordPiece tokenizer is not supported"),
        (put("normalizer", value=nested({"type": "Lowercase"}, 400)), "the normalizer Lowercase is not supported"),
        (put("normalizer", value={"type": "Lowercase"}), "the normalizer Lowercase is not supported"),
        (put("pre_tokenizer", value={"type": "Whitespace"}), "its pre-tokenizer is not supported"),
        (put("pre_tokenizer", value=None), "its pre-tokenizer is not supported"),
        (put("model", "ignore_merges", value=True), "its pre-tokenizer is not supported"),
        (put("model", "dropout", value=0.1), "a BPE model with dropout, subword prefix or word suffix is not supported"),
        (put("model", value=[]), "not a tokenizer: 'model' is missing or not an object"),
        (put("model", "vocab", value={"a": "b"}), "not a tokenizer: 'vocab' should be an object from tokens to numbers"),
        (put("model", "vocab", value={"a": 0, "b": 10**12}), "the numbers of its tokens are negative, too large or not distinct"),
        (put("model", "vocab", value={"a": 0, "b": 0}), "the numbers of its tokens are negative, too large or not distinct"),
        (put("model", "merges", value=["a b c"]), "not a tokenizer: the merge 'a b c' is not a pair"),
        (put("added_tokens", value=[{"id": 1}]), "not a tokenizer: 'added_tokens' should be a list of objects"),
        (put("added_tokens", value=[{"id": 5000, "content": "a"}]), "two of its tokens have the same text"),
    ],
)
def test_what_llama_cpp_cannot_do_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], object], what: str) -> None:
    file = saved(trained(byte_level(QWEN2)), tmp_path, change)
    with pytest.raises(InputError) as caught:
        from_tokenizer_files(file, None, tmp_path / "tiny.gguf")
    assert caught.value.what.startswith(what)
    assert caught.value.where == str(file)
    assert not (tmp_path / "tiny.gguf").exists()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            lambda root: root["model"]["merges"].pop(),
            "a BPE model with byte fallback whose merges are not those of a SentencePiece",
        ),
        (
            lambda root: root["model"]["merges"].append(root["model"]["merges"][0]),
            "a BPE model with byte fallback whose merges are not those",
        ),
        (lambda root: root["model"]["vocab"].update({"a" * 513: 9999}), "a token of more than 512 characters"),
        (put("normalizer", value=None), "a BPE model with byte fallback that keeps spaces"),
        (put("pre_tokenizer", value={"type": "Whitespace"}), "the pre-tokenizer Whitespace"),
    ],
)
def test_other_byte_fallback_models_are_refused(tmp_path: Path, change: Callable[[dict[str, Any]], object], what: str) -> None:
    file = saved(sentencepiece_like(prefix=True), tmp_path, change)
    with pytest.raises(InputError) as caught:
        from_tokenizer_files(file, None, tmp_path / "tiny.gguf")
    assert caught.value.what.startswith(what)


@pytest.mark.parametrize(
    ("text", "what"), [("{", "not JSON: "), ("[]", "should hold a JSON object"), (None, "the file does not exist")]
)
def test_unreadable_files_are_named(tmp_path: Path, text: str | None, what: str) -> None:
    file = tmp_path / "tokenizer.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        from_tokenizer_files(file, None, tmp_path / "tiny.gguf")
    assert (caught.value.what.startswith(what), caught.value.where) == (True, str(file))


def test_source_is_never_overwritten(tmp_path: Path) -> None:
    file = saved(trained(byte_level(None)), tmp_path)
    with pytest.raises(InputError, match="source and target are the same file"):
        from_tokenizer_files(file, None, file)
