"""Chat templates in the files in which models bring them, as ``promptguard replay --chat-template`` reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import defects
import pytest
from chat_templates import CHATML
from models_for_tests import with_chat_template
from tiny_task import write_task

from promptguard.core.errors import InputError, TemplateError
from promptguard.core.source import Place, Span
from promptguard.engines.base import Engine
from promptguard.linting.accepted import acceptance
from promptguard.replaying.result import Result, TemplateFinding
from promptguard.replaying.template_file import in_file, read_chat_template

TRIMS = (Path(defects.CHAT_TEMPLATES) / "trims_content.jinja").read_text(encoding="utf-8")
TRIMMED = "{{- (message.content or '') | trim -}}"


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps({"bos_token": "<s>", "chat_template": value}, indent=1), encoding="utf-8")
    return path


def named(**templates: str) -> list[dict[str, str]]:
    return [{"name": name, "template": text} for name, text in templates.items()]


@pytest.mark.parametrize(
    ("value", "tools", "expected"),
    [
        ("one", True, ("one", None)),
        (named(default="one", tool_use="two"), True, ("two", "tool_use")),
        (named(default="one", tool_use="two"), False, ("one", "default")),
        (named(rag="one", default="two"), True, ("two", "default")),
        (named(custom="one"), True, ("one", None)),
        ({"default": "one", "rag": "two"}, True, ("one", "default")),
    ],
)
def test_which_template_is_taken(tmp_path: Path, value: object, tools: bool, expected: tuple[str, str | None]) -> None:
    source, name = read_chat_template(written(tmp_path / "tokenizer_config.json", value), tools=tools)
    assert (source.text, name) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (json.dumps({"chat_template": named(a="x", b="y")}), "holds the chat templates a, b, none of which is the default; put"),
        ("{}", "holds no chat template; give a file that does"),
        ("{% for m in messages %}", "not JSON; a chat template of its own belongs into a .jinja file"),
    ],
)
def test_a_file_without_the_template_to_take(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "chat_template.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_chat_template(path, tools=True)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_place_behind_escapes(tmp_path: Path) -> None:
    path = written(tmp_path / "chat_template.json", 'ü"\n{{ x }}')
    source, _ = read_chat_template(path, tools=True)
    place = in_file(Place(source, Span(3, 10)))
    assert (place.text, place.line) == ("{{ x }}", 3)


def only_finding(measure: Callable[..., Result], engine: Engine, path: Path) -> TemplateFinding:
    result = measure(engine, task=write_task(path.parent), chat_template=path)
    assert result.template is not None
    (found,) = result.template.findings
    assert found.code == "PG506"
    assert found.place is not None
    return found


def test_a_finding_has_its_place_in_the_json_file(embedded: Engine, measure: Callable[..., Result], tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer_config.json", TRIMS)
    place = only_finding(measure, embedded, path).place
    assert place is not None
    assert (place.source.path, place.line, place.text) == (str(path), 3, TRIMMED)


def test_a_finding_has_its_place_in_the_template_of_a_model(
    embedded: Engine, measure: Callable[..., Result], tmp_path: Path
) -> None:
    path = with_chat_template(tmp_path / "trims.gguf", TRIMS)
    place = only_finding(measure, embedded, path).place
    assert place is not None
    assert (place.source.path, place.source.parent, place.text) == (str(path), None, TRIMMED)


def test_a_loss_of_the_task_has_its_place_in_the_json_file(
    embedded: Engine, measure: Callable[..., Result], tmp_path: Path
) -> None:
    text = (Path(defects.CHAT_TEMPLATES) / "tools_in_last_user.jinja").read_text(encoding="utf-8")
    path = written(tmp_path / "tokenizer_config.json", text)
    divergences = [turn.divergence for turn in measure(embedded, chat_template=path).turns if turn.divergence is not None]
    assert {(each.place.source.kind, each.place.line) for each in divergences if each.place is not None} == {("json", 3)}


def test_which_template_was_taken_is_said(embedded: Engine, measure: Callable[..., Result], tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer_config.json", named(default="{{ 1 / 0 }}", tool_use=CHATML))
    result = measure(embedded, task=write_task(tmp_path), chat_template=path)
    assert f"of the chat templates in {path} the one named tool_use is measured" in result.notes


def test_an_error_has_its_place_in_the_json_file(embedded: Engine, measure: Callable[..., Result], tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer_config.json", "\n\n{{ 1 / 0 }}")
    with pytest.raises(TemplateError) as caught:
        measure(embedded, task=write_task(tmp_path), chat_template=path)
    assert caught.value.where == f"{path}:3:24"


@pytest.mark.parametrize(("name", "pointer"), [("config.json", "/chat_template"), ("trims.gguf", "/tokenizer.chat_template")])
def test_what_is_accepted_at_a_place_of_a_file(tmp_path: Path, name: str, pointer: str) -> None:
    path = tmp_path / name
    if path.suffix == ".gguf":
        with_chat_template(path, TRIMS)
    else:
        written(path, TRIMS)
    config = tmp_path / "promptguard.toml"
    config.write_text(
        f'[lint]\nignore-at = [{{ path = "{name}", pointer = "{pointer}", rules = ["PG506"] }}]\n', encoding="utf-8"
    )
    source, _ = read_chat_template(path, tools=True)
    accepted = acceptance(config)
    assert (accepted(source, "PG506", None), accepted(source, "PG507", None)) == (True, False)
