from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptguard.checks.base import Document, make_fix
from promptguard.core.errors import InputError
from promptguard.core.source import Span
from promptguard.linting.models import model_stamp
from promptguard.linting.reading import may_hold_prompt, read_documents
from promptguard.linting.reading.chat_templates import model_templates
from promptguard.linting.settings import Settings
from promptguard.parse.gguf import Value, write_gguf

TEMPLATE = "{% for message in messages %}\n<|{{ message.role }}|>\t{{ message['content'] }} é 🌤{% endfor %}"


def documents(value: Any, path: str = "tokenizer_config.json", **dump: Any) -> list[Document]:
    return read_documents(path, json.dumps(value, **dump), Settings("/"))


def model(path: Path, **keys: Value) -> Path:
    names = {name: name.replace("__", ".") for name in keys}
    tokens = {"tokenizer.ggml.tokens": Value.strings(["<s>", "</s>"]), "tokenizer.ggml.eos_token_id": Value.uint32(1)}
    write_gguf(path, {**tokens, **{names[name]: value for name, value in keys.items()}}, [])
    return path


# -- JSON


@pytest.mark.parametrize("escapes", [True, False])
def test_a_template_in_tokenizer_config_has_its_places_in_the_file(escapes: bool) -> None:
    (document,) = documents({"model_max_length": 10, "chat_template": TEMPLATE}, ensure_ascii=escapes)
    assert (document.kind, document.pointer, document.text) == ("chat-template", "/chat_template", TEMPLATE)
    at = TEMPLATE.index("<|")
    assert document.place(at, at + 2).text == "<|"
    end = TEMPLATE.index("🌤")
    assert json.loads(f'"{document.place(at, end + 1).text}"') == TEMPLATE[at : end + 1]


def test_a_place_behind_an_escape_is_on_the_line_of_the_string() -> None:
    (document,) = documents({"chat_template": "a\nb"}, indent=1)
    assert (document.place(2, 3).line, document.place(2, 3).column) == (2, 23)


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        ([{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}], ["/0/template", "/1/template"]),
        ([{"template": "a", "name": 3}, "x", {"name": "n"}, {"name": "e", "template": ""}], ["/0/template"]),
        ({"default": "a", "a/b": "b", "c": 1}, ["/default", "/a~1b"]),
        ("", []),
        (None, []),
        (7, []),
        ([[{"template": "a"}]], []),
    ],
)
def test_named_templates(value: Any, pointers: list[str]) -> None:
    found = documents({"chat_template": value})
    assert [document.pointer for document in found] == ["/chat_template" + pointer for pointer in pointers]
    assert [document.text for document in found] == ["a", "b"][: len(pointers)]


def test_the_template_for_tools_of_a_server_is_found() -> None:
    found = documents({"chat_template": "a", "chat_template_tool_use": "b"})
    assert [document.pointer for document in found] == ["/chat_template", "/chat_template_tool_use"]


@pytest.mark.parametrize("bos", ["<s>", {"content": "<s>", "lstrip": False}])
def test_tokens_are_strings_or_objects(bos: Any) -> None:
    (document,) = documents({"bos_token": bos, "eos_token": None, "chat_template": "a"})
    assert document.tokens == {"bos_token": "<s>"}


def test_of_equal_keys_the_last_counts() -> None:
    text = '{"chat_template": "a", "chat_template": "b"}'
    (document,) = read_documents("chat_template.json", text, Settings("/"))
    assert (document.text, document.place(0, 1).column) == ("b", 42)


def test_a_fix_is_written_as_json() -> None:
    (document,) = documents({"chat_template": 'a"b"c'})
    fix = make_fix(document, "Change it", [(1, 4, '"\n')], safe=False)
    assert fix is not None
    (edit,) = fix.edits
    text = document.file.text[: edit.span.start] + edit.text + document.file.text[edit.span.end :]
    assert json.loads(text) == {"chat_template": 'a"\nc'}


@pytest.mark.parametrize(
    "text", ['{"chat_template": "a"', '["chat_template"]', '{"a": {"chat_template": "a"}}', '"chat_template"']
)
def test_other_files_hold_none(text: str) -> None:
    assert read_documents("tokenizer_config.json", text, Settings("/")) == []


def test_broken_json_is_an_error_where_it_is_named() -> None:
    with pytest.raises(InputError, match="not JSON") as caught:
        read_documents("tokenizer_config.json", '{"chat_template": "a"', Settings("/"), named=True)
    assert caught.value.where == "tokenizer_config.json:1:22"


def test_deep_nesting_is_no_template() -> None:
    text = '{"chat_template": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert read_documents("tokenizer_config.json", text, Settings("/")) == []


@pytest.mark.parametrize(
    "name", ["tokenizer_config.json", "m/Chat_Template.json", "processor_config.json", "qwen.chat_template.json"]
)
def test_names_of_json_files(name: str) -> None:
    assert may_hold_prompt(name, b"{}")
    assert [document.kind for document in documents({"chat_template": "a"}, name)] == ["chat-template"]


def test_a_json_file_of_another_name_has_to_be_named() -> None:
    text = '{"chat_template": "a"}'
    assert read_documents("x.json", text, Settings("/")) == []
    assert len(read_documents("x.json", text, Settings("/"), named=True)) == 1


# -- Jinja files


@pytest.mark.parametrize("name", ["chat_template.jinja", "additional_chat_templates/tool_use.jinja"])
def test_the_name_of_a_jinja_file_says_that_it_is_one(name: str) -> None:
    (document,) = read_documents(name, "<html>{{ messages }}", Settings("/"))
    assert (document.kind, document.pointer, document.embedding) == ("chat-template", None, None)


def test_a_jinja_file_of_another_name_is_known_by_its_content() -> None:
    (document,) = read_documents("qwen.jinja", "{{ bos_token }}" + TEMPLATE, Settings("/"))
    assert document.kind == "chat-template"


# -- GGUF files


def test_templates_of_a_model_are_files_of_their_own(tmp_path: Path) -> None:
    path = str(
        model(
            tmp_path / "m.gguf", tokenizer__chat_template=Value.string(TEMPLATE), tokenizer__chat_template__rag=Value.string("b")
        )
    )
    found = model_templates(path)
    assert [(each.name, each.document.pointer) for each in found] == [
        (None, "/tokenizer.chat_template"),
        ("rag", "/tokenizer.chat_template.rag"),
    ]
    document = found[0].document
    assert (document.kind, document.text, document.tokens) == ("chat-template", TEMPLATE, {"eos_token": "</s>"})
    at = TEMPLATE.index("<|")
    assert str(document.place(at, at + 2)) == f"{path}:2:1"
    assert document.place(at, at).span == Span(at, at)


def test_nothing_in_a_model_can_be_mended(tmp_path: Path) -> None:
    path = str(model(tmp_path / "m.gguf", tokenizer__chat_template=Value.string("abc")))
    assert make_fix(model_templates(path)[0].document, "Change it", [(0, 1, "x")], safe=True) is None


def test_an_empty_template_is_none(tmp_path: Path) -> None:
    assert model_templates(str(model(tmp_path / "m.gguf", tokenizer__chat_template=Value.string("")))) == []


def test_the_stamp_of_a_model_changes_with_it(tmp_path: Path) -> None:
    path = model(tmp_path / "m.gguf", tokenizer__chat_template=Value.string("abc"))
    before = model_stamp(str(path), named=False)
    assert before is not None
    assert before == model_stamp(str(path), named=True)
    path.write_bytes(path.read_bytes() + b"x")
    assert model_stamp(str(path), named=False) != before


def test_a_pointer_to_a_model_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    assert model_stamp(str(path), named=False) is None
    assert model_stamp(str(path), named=True) is not None
