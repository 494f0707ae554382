"""Tiny-random models from the tokenizer files of the transformers library: tokenizer.json and tokenizer_config.json.

Only tokenizers that llama.cpp reproduces are taken: byte-level BPE with a pre-tokenizer that it has built in, and BPE with byte
fallback whose merges are those of a SentencePiece model. Everything else is refused with a sentence that says why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from promptguard.core.errors import InputError
from promptguard.core.files import read_bytes, read_text
from promptguard.models.twin import CONTEXT_LENGTH, LAYERS, MAX_VOCABULARY, TwinReport, write_model
from promptguard.parse.gguf import Value

MAX_BYTES = 128 << 20  # four times the largest published tokenizer.json
_MAX_PIECE = 512  # characters; SentencePiece models have up to 16, a run of spaces may have more
_MAX_CONTEXT = 1 << 24  # beyond this, model_max_length stands for "no limit"

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)  # token types of GGUF
_SPACE = "\u2581"  # what SentencePiece writes for a space

# The regular expressions by which byte-level BPE tokenizers split a text, as they stand in tokenizer.json, and the name that
# llama.cpp has for each (src/llama-vocab.cpp). The truth value is ``ignore_merges``, which belongs to the name as well.
_LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN2 = _LLAMA3.replace("{1,3}", "")
_QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    # Here the line ends stand as characters, not as escapes.
    (
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
        r"""\s*[\r\n]+|\s+(?!\S)|\s+"""
    ).replace(r"\r\n", "\r\n"),
)
_GPT2_STEP, _DIGITS_STEP = "<gpt-2>", "<digits>"
_PRE_TOKENIZERS = {
    ((_GPT2_STEP,), False): "gpt-2",
    ((_DIGITS_STEP, _GPT2_STEP), False): "smollm",
    ((_LLAMA3,), True): "llama-bpe",
    ((_LLAMA3,), False): "smaug-bpe",
    ((_QWEN2,), False): "qwen2",
    ((_QWEN35,), False): "qwen35",
    (_DEEPSEEK3, False): "deepseek-v3",
}

_Kind = TypeVar("_Kind")


def from_tokenizer_files(
    tokenizer_json: str | os.PathLike[str],
    tokenizer_config_json: str | os.PathLike[str] | None,
    target: str | os.PathLike[str],
    *,
    chat_template: str | os.PathLike[str] | None = None,
) -> TwinReport:
    """Write a tiny-random model with full attention and the tokenizer of a ``tokenizer.json``.

    Args:
        tokenizer_json: the tokenizer.
        tokenizer_config_json: names the special tokens and usually holds the chat template; ``None`` where there is none.
        target: the GGUF file to write; an existing one is replaced.
        chat_template: a file with the chat template, which takes the place of the one in the configuration.

    Raises:
        InputError: a file cannot be read or is not what it should be, or llama.cpp has nothing that works like this tokenizer.
    """
    sources = [Path(path) for path in (tokenizer_json, tokenizer_config_json, chat_template) if path is not None]
    if Path(target).resolve() in [path.resolve() for path in sources]:
        raise InputError("source and target are the same file", where=str(target), hint="name another file to write")
    tokenizer = _Tokenizer(_load(Path(tokenizer_json)), str(tokenizer_json))
    config = {} if tokenizer_config_json is None else _load(Path(tokenizer_config_json))
    metadata = {
        "general.type": Value.string("model"),
        "general.name": Value.string(Path(tokenizer_json).resolve().parent.name or "model"),
        **tokenizer.metadata(),
        **_special_tokens(tokenizer, config),
        **_templates(config, str(tokenizer_config_json), None if chat_template is None else Path(chat_template)),
    }
    length = config.get("model_max_length")
    context = length if isinstance(length, int) and 0 < length <= _MAX_CONTEXT else CONTEXT_LENGTH
    vocabulary = len(tokenizer.tokens)
    size = write_model(target, "llama", metadata, vocabulary, shape={"context_length": Value.uint32(context)})
    return TwinReport(
        path=Path(target),
        architecture="llama",
        source_architecture="llama",
        layers=LAYERS,
        window=None,
        context=context,
        vocabulary=vocabulary,
        size=size,
        notes=(
            "a tokenizer does not name the architecture: this model has full attention, one with a sliding window may reuse less",
            *tokenizer.notes,
        ),
    )


class _Tokenizer:
    """A tokenizer.json, checked."""

    def __init__(self, root: Mapping[str, Any], where: str) -> None:
        self.where = where
        self.notes: list[str] = []
        self.root = root
        self.model = self.expect(root, "model", dict)
        if self.model.get("type", "BPE") != "BPE":
            raise self.refuse(f"a {self.model['type']} tokenizer", "give the GGUF file of the model instead")
        self.added = self.added_tokens()
        self.tokens, self.types = self.vocabulary()
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        if len(self.ids) < len(self.tokens):
            raise InputError("two of its tokens have the same text", where=where)
        self.merges = self.merge_pairs()

    def expect(self, holder: Mapping[str, Any], key: str, kind: type[_Kind]) -> _Kind:
        value = holder.get(key)
        if not isinstance(value, kind):
            raise InputError(f"not a tokenizer: {key!r} is missing or not {_KINDS[kind]}", where=self.where)
        return value

    def refuse(self, what: str, hint: str | None = None) -> InputError:
        return InputError(
            f"{what} is not supported, because llama.cpp has nothing that works like it", where=self.where, hint=hint
        )

    def added_tokens(self) -> list[Mapping[str, Any]]:
        added = self.root.get("added_tokens") or []
        if not isinstance(added, list) or not all(
            isinstance(token, dict) and isinstance(token.get("id"), int) and isinstance(token.get("content"), str)
            for token in added
        ):
            raise InputError("not a tokenizer: 'added_tokens' should be a list of objects with id and content", where=self.where)
        stripping = sum(bool(token.get("lstrip") or token.get("rstrip")) for token in added)
        if stripping:
            self.notes.append(
                f"{stripping} added tokens swallow the white space beside them, which llama.cpp does for few models only"
            )
        return added

    def vocabulary(self) -> tuple[list[str], list[int]]:
        """The texts and the types of all tokens, by id; an id that nobody uses gets a placeholder."""
        plain = self.expect(self.model, "vocab", dict)
        if not plain or not all(isinstance(number, int) for number in plain.values()):
            raise InputError("not a tokenizer: 'vocab' should be an object from tokens to numbers", where=self.where)
        numbers = [*plain.values(), *(token["id"] for token in self.added)]
        size = max(numbers) + 1
        if min(numbers) < 0 or size > MAX_VOCABULARY or len(set(plain.values())) < len(plain):
            raise InputError("the numbers of its tokens are negative, too large or not distinct", where=self.where)
        tokens = [f"[PAD{number}]" for number in range(size)]
        types = [_UNUSED] * size
        bytes_too = self.byte_fallback
        unknown = self.model.get("unk_token")
        for text, number in plain.items():
            tokens[number] = text
            types[number] = _BYTE if bytes_too and _BYTE_TOKEN.fullmatch(text) else _UNKNOWN if text == unknown else _NORMAL
        for token in self.added:
            tokens[token["id"]] = token["content"]
            if token["content"] != unknown:
                types[token["id"]] = _CONTROL if token.get("special") else _USER_DEFINED
        return tokens, types

    @property
    def byte_fallback(self) -> bool:
        return bool(self.model.get("byte_fallback"))

    def merge_pairs(self) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        for merge in self.expect(self.model, "merges", list):
            pair = merge.split(" ") if isinstance(merge, str) else merge
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) and part for part in pair):
                raise InputError(f"not a tokenizer: the merge {merge!r} is not a pair", where=self.where)
            pairs.append((pair[0], pair[1]))
        return pairs

    def metadata(self) -> dict[str, Value]:
        if self.model.get("dropout") or self.model.get("continuing_subword_prefix") or self.model.get("end_of_word_suffix"):
            raise self.refuse("a BPE model with dropout, subword prefix or word suffix")
        own = self.sentencepiece() if self.byte_fallback else self.byte_level()
        return {**own, "tokenizer.ggml.tokens": Value.strings(self.tokens), "tokenizer.ggml.token_type": Value.int32s(self.types)}

    def byte_level(self) -> dict[str, Value]:
        normalizers = [step.get("type") for step in _steps(self.root.get("normalizer"), "normalizers")]
        if normalizers == ["NFC"]:
            self.notes.append("the tokenizer composes characters (NFC) ahead of everything, llama.cpp does not")
        elif normalizers:
            raise self.refuse(f"the normalizer {' + '.join(map(str, normalizers))}")
        steps = tuple(self.split_step(step) for step in _steps(self.root.get("pre_tokenizer"), "pretokenizers"))
        key = (tuple(step for step in steps if step), bool(self.model.get("ignore_merges")))
        if not key[0] or key not in _PRE_TOKENIZERS:
            raise self.refuse("its pre-tokenizer", "give the GGUF file of the model instead")
        if any(" " in part for pair in self.merges for part in pair):
            raise self.refuse("a merge of texts with spaces")
        return {
            "tokenizer.ggml.model": Value.string("gpt2"),
            "tokenizer.ggml.pre": Value.string(_PRE_TOKENIZERS[key]),
            "tokenizer.ggml.merges": Value.strings([f"{left} {right}" for left, right in self.merges]),
        }

    def split_step(self, step: Mapping[str, Any]) -> str:
        """A pre-tokenizer step as it stands in the table of those known; empty where it does not split."""
        kind = step.get("type")
        if kind == "ByteLevel" and not step.get("add_prefix_space"):
            return _GPT2_STEP if step.get("use_regex", True) else ""
        if kind == "Digits" and step.get("individual_digits"):
            return _DIGITS_STEP
        pattern = step.get("pattern")
        if kind == "Split" and step.get("behavior") == "Isolated" and not step.get("invert") and isinstance(pattern, dict):
            return str(pattern.get("Regex", "<text>"))
        return f"<{kind}>"

    def sentencepiece(self) -> dict[str, Value]:
        scores = self.scores()
        return {
            "tokenizer.ggml.model": Value.string("llama"),
            "tokenizer.ggml.pre": Value.string("default"),
            "tokenizer.ggml.scores": Value.float32s(scores),
            "tokenizer.ggml.add_space_prefix": Value.boolean(self.space_prefix()),
        }

    def space_prefix(self) -> bool:
        """Whether a space is put ahead of the text; refuses what does more than write U+2581 for each space."""
        prefix = replaced = False
        for step in _steps(self.root.get("normalizer"), "normalizers"):
            if step.get("type") == "Prepend" and step.get("prepend") == _SPACE:
                prefix = True
            elif step.get("type") == "Replace" and step.get("pattern") == {"String": " "} and step.get("content") == _SPACE:
                replaced = True
            else:
                raise self.refuse(f"the normalizer {step.get('type')}")
        for step in _steps(self.root.get("pre_tokenizer"), "pretokenizers"):
            kind = step.get("type")
            if kind == "Metaspace" and step.get("replacement") == _SPACE and step.get("split", True) is False:
                scheme = step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never")
                prefix, replaced = prefix or scheme != "never", True
                if scheme == "first":
                    self.notes.append(
                        "the tokenizer puts a space ahead of the text only, llama.cpp behind each special token as well"
                    )
            elif not (kind == "Split" and step.get("pattern") == {"String": " "} and replaced):  # no space is left to split at
                raise self.refuse(f"the pre-tokenizer {kind}")
        if not replaced:
            raise self.refuse("a BPE model with byte fallback that keeps spaces")
        return prefix

    def scores(self) -> list[float]:
        """A score for each token, so that llama.cpp merges in the order of ``merges``.

        llama.cpp takes the pair whose union has the highest score, whichever two parts it has; so the order must be one of unions
        (all pairs with the same union together), and every pair of tokens whose union is a token must be there. Both hold for
        what is converted from a SentencePiece model.
        """
        first: dict[str, int] = {}
        last = ""
        for rank, (left, right) in enumerate(self.merges):
            union = left + right
            if union in first and union != last:
                raise self.refuse("a BPE model with byte fallback whose merges are not those of a SentencePiece model")
            first.setdefault(union, rank)
            last = union
        known = set(self.merges)
        merged = {text for text, kind in zip(self.tokens, self.types, strict=True) if kind == _NORMAL}
        if max(map(len, merged), default=0) > _MAX_PIECE:
            raise self.refuse(f"a token of more than {_MAX_PIECE} characters")
        for text in merged:
            for cut in range(1, len(text)):
                pair = (text[:cut], text[cut:])
                if pair[0] in merged and pair[1] in merged and pair not in known:
                    raise self.refuse("a BPE model with byte fallback whose merges are not those of a SentencePiece model")
        return [-1.0 - first[text] if text in first else -1e6 for text in self.tokens]


_KINDS: dict[type, str] = {dict: "an object", list: "a list"}
_BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")


def _special_tokens(tokenizer: _Tokenizer, config: Mapping[str, Any]) -> dict[str, Value]:
    """The special tokens that the configuration names, and which of them are put around a prompt."""
    first, final = _surroundings(tokenizer.root.get("post_processor"))
    found: dict[str, str] = {}
    for role in ("bos", "eos", "unk", "pad"):
        named = config.get(f"{role}_token")
        text = named.get("content") if isinstance(named, dict) else named
        if isinstance(text, str) and text in tokenizer.ids:
            found[role] = text
    if first in tokenizer.ids:
        found.setdefault("bos", first)
    if final in tokenizer.ids:
        found.setdefault("eos", final)
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    out = {f"tokenizer.ggml.{roles[role]}_token_id": Value.uint32(tokenizer.ids[text]) for role, text in found.items()}
    for role, implied in (("bos", first), ("eos", final)):
        stated = config.get(f"add_{role}_token")
        add = stated if isinstance(stated, bool) else implied != ""
        out[f"tokenizer.ggml.add_{role}_token"] = Value.boolean(add and role in found)
    return out


def _surroundings(processor: object) -> tuple[str, str]:
    """The tokens that a TemplateProcessing puts ahead of and behind a text, empty where it does not."""
    for step in _steps(processor, "processors"):
        single = step.get("single")
        if step.get("type") == "TemplateProcessing" and isinstance(single, list) and single:
            ends = (single[0], single[-1])
            names = [end.get("SpecialToken", {}).get("id", "") if isinstance(end, dict) else "" for end in ends]
            return str(names[0]), str(names[1])
    return "", ""


def _templates(config: Mapping[str, Any], where: str, file: Path | None) -> dict[str, Value]:
    """The chat templates: one text, or a list of named ones of which ``default`` is the one."""
    if file is not None:
        return {"tokenizer.chat_template": Value.string(_text(file))}
    named = config.get("chat_template")
    if isinstance(named, str):
        return {"tokenizer.chat_template": Value.string(named)}
    if named is None:
        return {}
    if not isinstance(named, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("template"), str) for one in named
    ):
        raise InputError("'chat_template' should be a text or a list of objects with name and template", where=where)
    texts = {one["name"]: one["template"] for one in named}
    out = {f"tokenizer.chat_template.{name}": Value.string(text) for name, text in texts.items() if name != "default"}
    if out:
        out["tokenizer.chat_templates"] = Value.strings([name for name in texts if name != "default"])
    if "default" in texts:
        out["tokenizer.chat_template"] = Value.string(texts["default"])
    return out


def _steps(step: object, members: str) -> list[Mapping[str, Any]]:
    """The steps of a normalizer, pre-tokenizer or post-processor, which may be none, one, or a sequence."""
    found: list[Mapping[str, Any]] = []
    left = [step]
    while left:
        one = left.pop(0)
        inner = one.get(members) if isinstance(one, dict) and one.get("type") == "Sequence" else None
        if isinstance(inner, list):
            left[:0] = inner
        elif isinstance(one, dict):
            found.append(one)
    return found


def _load(path: Path) -> dict[str, Any]:
    try:
        value = orjson.loads(read_bytes(path, limit=MAX_BYTES))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", where=str(path)) from None
    if not isinstance(value, dict):
        raise InputError("should hold a JSON object", where=str(path))
    return value


def _text(path: Path) -> str:
    return read_text(path, limit=MAX_BYTES)
