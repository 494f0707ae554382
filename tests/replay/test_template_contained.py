"""A chat template that means harm in a conversation that the task does not have reaches no engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chat_templates import CHATML
from models_for_tests import with_chat_template

from promptguard.core.errors import TemplateLimitError
from promptguard.replaying.result import Result

HARM = {
    "{% for i in range(20000000) %}{% endfor %}": "the template counts to more than 100,000",
    "{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}": "the template takes too long to render",
    "{{ 'abc ' * 300000 }}": "the template repeats a text or list to 1,200,000 items",
    "{% for i in range(1100) %}{{ 'x' * 1000 }}{% endfor %}": "the template prints more than 1,048,576 characters",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "the template is nested or calls itself too deeply",
}


def on_parallel_calls(harm: str) -> str:
    return f"{{% for m in messages %}}{{% if m.tool_calls and m.tool_calls[1] %}}\n{harm}{{% endif %}}{{% endfor %}}{CHATML}"


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("an engine is started")

    monkeypatch.setattr("promptguard.engines.embedded.EmbeddedServer", start)


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize(("harm", "message"), HARM.items())
def test_of_the_user(execute: Callable[..., Result], tmp_path: Path, harm: str, message: str) -> None:
    path = tmp_path / "chat.jinja"
    path.write_text(on_parallel_calls(harm), encoding="utf-8")
    with pytest.raises(TemplateLimitError) as caught:
        execute(chat_template=path)
    assert str(caught.value) == (
        f"{path}:2: several tool calls in one reply cannot be rendered (PG507): {message}; "
        "no engine is given such a chat template"
    )


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("option", ["model", "model_from"])
def test_of_a_model(execute: Callable[..., Result], tmp_path: Path, option: str) -> None:
    model = with_chat_template(tmp_path / "m.gguf", on_parallel_calls("{{ 'abc ' * 300000 }}"))
    with pytest.raises(TemplateLimitError, match=r"^<chat template of m\.gguf>:2: several tool calls in one reply cannot be"):
        execute(**{option: model})


@pytest.mark.usefixtures("no_engine")
def test_in_all_conversations_but_not_in_the_task(execute: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "chat.jinja"
    harm = "{% if 'rail' in messages[0].content or messages | length < 6 %}\n{{ 'abc ' * 300000 }}{% endif %}"
    path.write_text("{% if tools[0].function.name == 'find_trains' %}" + harm + "{% endif %}" + CHATML, encoding="utf-8")
    with pytest.raises(TemplateLimitError, match=r"chat\.jinja:2: .+ cannot be rendered \(PG507\): the template repeats"):
        execute(chat_template=path)
