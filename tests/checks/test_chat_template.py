"""PG501 to PG507 beyond the cases of their rule files: severities, corrections, and templates that mean harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptguard.checks import chat_template
from promptguard.checks.base import Document, Hit
from promptguard.core.resources import resource
from promptguard.core.source import Source
from promptguard.parse.template import parse_template
from promptguard.prompts.rendering import Limits, Renderer

FIXTURES = resource("fixtures/chat_templates")
OPTIONS = {"tokenizer": {"name": None}}
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}<|im_end|>\n{% endfor %}"
ASK = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def document(text: str) -> Document:
    return Document(Source("c.jinja", text, "jinja"), "chat-template", syntax="jinja", template=parse_template(text))


def check(text: str) -> list[Hit]:
    return list(chat_template.check(document(text), OPTIONS))


def fixture(name: str) -> str:
    return (FIXTURES / f"{name}.jinja").read_text(encoding="utf-8")


def fixed(text: str) -> str:
    """A template after all its fixes."""
    for _ in range(10):
        fixes = [hit.fix for hit in check(text) if hit.fix is not None]
        if not fixes:
            return text
        for edit in reversed(fixes[0].edits):
            text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    raise AssertionError("the fixes do not come to an end")


@pytest.mark.parametrize(
    ("name", "code", "severity", "tokens"),
    [
        ("arguments_tojson", "PG505", "warning", 37),
        ("date_header", "PG501", "warning", 830),
        ("drops_reasoning", "PG502", "warning", 343),
        ("empty_think_block", "PG504", "error", 47),
        ("end_of_last_message", "PG502", "error", 79),
        ("tools_behind_history", "PG503", "error", 398),
        ("tools_in_last_user", "PG503", "warning", 766),
        ("trims_content", "PG506", "warning", 10),
    ],
)
def test_what_is_lost_at_tool_calls_is_an_error(name: str, code: str, severity: str, tokens: int) -> None:
    assert [(hit.code, hit.severity, hit.tokens_lost) for hit in check(fixture(name))] == [(code, severity, tokens)]


@pytest.mark.parametrize("name", ["append_only", "refuses_system", "uses_macros", "uses_break", "end_of_last_reply"])
def test_a_clean_template_has_no_finding(name: str) -> None:
    assert check(fixture(name)) == []


def test_the_message_says_what_where_when_and_how_much() -> None:
    text = fixture("keeps_reasoning_if_asked")
    (hit,) = check(text)
    assert hit.message == (
        "the reasoning of earlier turns is dropped when a new user message arrives: "
        "`{{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n…`; "
        '343 of 799 tokens of the conversation "tool loop, then a new user message" are computed again at every new user '
        'message, and none at tool calls; {"keep_reasoning": true} in chat_template_kwargs mends it'
    )
    (start, end, changed), (*decides, _) = hit.related
    assert (start, end) == (hit.start, hit.end)
    assert re.fullmatch(r'behind reply 5, from character [\d,]+ of the text on, "…[^"]*<think>.*" is printed as "….*"', changed)
    assert text[slice(*decides)] == "keep_reasoning or loop.index0 > ns.last_user"


def test_replies_in_which_alone_it_shows_are_named() -> None:
    assert check(fixture("empty_think_block"))[0].message.endswith("and at new user messages, with thinking switched off")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("drops_reasoning", "message.reasoning_content and loop.index0 > ns.last_user", "message.reasoning_content"),
        (
            "arguments_tojson",
            "{{- call.function.arguments | tojson -}}",
            "{{- (call.function.arguments if call.function.arguments is string else call.function.arguments | tojson) -}}",
        ),
        ("trims_content", "(message.content or '') | trim", "(message.content or '')"),
        ("date_header", "strftime_now('%d %B %Y')", "(current_date or '01 January 2026')"),
    ],
)
def test_a_correction_mends_the_template(name: str, before: str, after: str) -> None:
    assert fixed(fixture(name)) == fixture(name).replace(before, after)
    assert check(fixed(fixture(name))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{{ m.content.strip() }}", "{{ m.content }}"),
        ("{% set c = m.content | trim %}{{ c }}", "{% set c = m.content %}{{ c }}"),
        ("{{ m.content.strip() | trim }}", "{{ m.content }}"),
    ],
)
def test_blanks_are_kept(before: str, after: str) -> None:
    text = f"{{% for m in messages if m.content %}}<|im_start|>{{{{ m.role }}}}\n{before}<|im_end|>\n{{% endfor %}}{ASK}"
    assert fixed(text) == text.replace(before, after)


@pytest.mark.parametrize(
    ("condition", "corrected"),
    [
        ("loop.index0 > ns.last", "true"),
        ("m.reasoning_content and (loop.index0 > ns.last)", "m.reasoning_content and (true)"),
        ("loop.index0 > ns.last and m.reasoning_content", "m.reasoning_content"),
    ],
)
def test_a_condition_that_asks_for_the_position_is_taken_out(condition: str, corrected: str) -> None:
    users = (
        "{% set ns = namespace(last=0) %}{% for m in messages if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endfor %}"
    )
    think = f"{{% if {condition} %}}<think>{{{{ m.reasoning_content }}}}</think>{{% endif %}}"
    text = users + TURNS.replace("{{ m.content", think + "{{ m.content") + ASK
    assert fixed(text) == text.replace(f"if {condition}", f"if {corrected}")


@pytest.mark.parametrize("name", ["tools_in_last_user", "tools_behind_history", "empty_think_block", "end_of_last_message"])
def test_what_no_mechanical_change_mends_has_no_fix(name: str) -> None:
    assert [hit.fix for hit in check(fixture(name))] == [None]


def test_a_correction_that_loses_more_is_not_offered() -> None:
    """Printed everywhere, the text of the last message would stand in front of each reply."""
    text = TURNS.replace(
        "<|im_end|>", "{% if loop.last and m.role == 'assistant' %}<|eot|>{{ messages | length }}{% endif %}<|im_end|>"
    )
    assert [hit.fix for hit in check(text + ASK)] == [None]


def test_a_loss_of_a_few_tokens_is_a_warning() -> None:
    turn = "\n{{ m.role }}: {{ m.content or '' }}{{ 'com' if m.role == 'assistant' and not loop.last }}"
    hits = check(f"{{% for m in messages %}}{turn}{{% endfor %}}{{% if add_generation_prompt %}}\nassistant: {{% endif %}}")
    assert {(hit.severity, hit.tokens_lost) for hit in hits} == {("warning", 1)}


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[Hit]]]:
    """Checks with small limits."""
    with Renderer(Limits(seconds=1.0, characters=1 << 20, memory=64 << 20)) as renderer:

        def check_strictly(text: str) -> list[Hit]:
            with monkeypatch.context() as patch:
                patch.setattr(chat_template, "SECONDS", 1.0)
                patch.setattr(chat_template, "_renderer", lambda _: renderer)
                return check(text)

        yield check_strictly


HUGE_LOOP = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "{{ ''.__class__.__mro__[1].__subclasses__() }}": "reaches for what a template must not have",
    "{{ messages.__class__ }}": "reaches for what a template must not have",
    "{{ '{0.__class__.__init__.__globals__}'.format(messages) }}": "reaches for what a template must not have",
    "{% for i in range(10 ** 9) %}{% endfor %}": "counts to more than 100,000",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}": "is nested or calls itself too deeply",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}": "is nested or calls itself too deeply",
    "{{ 'a' * 10 ** 10 }}": "repeats a text or list to 10,000,000,000 items",
    "{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}": "prints more than 1,048,576 characters",
    HUGE_LOOP: "takes too long to render",
    "{% macro m(n) %}{% for i in range(9) %}{{ m(n + 1) if n < 99 }}{% endfor %}{% endmacro %}{{ m(0) }}": "takes too long",
    "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}": "",
    "{% include '/etc/passwd' %}": "loads another file, which promptguard does not do",
}


def test_a_date_that_a_system_message_replaces() -> None:
    (hit,) = check("{% if messages[0].role != 'system' %}{{ strftime_now('%d %B %Y') }}{% endif %}" + TURNS + ASK)
    assert hit.message.endswith(" are computed again then, where there is no system message")


def test_an_hour_is_an_error() -> None:
    (hit,) = check("{{ strftime_now('%d %B %Y, %H h') }}" + TURNS + ASK)
    assert (hit.code, hit.changes, hit.severity) == ("PG501", "hour", "error")


@pytest.mark.parametrize(("attack", "message"), HOSTILE.items())
def test_a_template_that_means_harm_is_one_finding(strict: Callable[[str], list[Hit]], attack: str, message: str) -> None:
    (hit,) = strict(attack + TURNS + ASK)
    assert (hit.code, hit.severity) == ("PG507", None)
    assert hit.message.startswith("no conversation can be rendered: ")
    assert message in hit.message


def test_harm_in_a_branch_that_only_some_conversations_take_is_contained(strict: Callable[[str], list[Hit]]) -> None:
    (hit,) = strict(f"{{% if tools and messages | length > 6 %}}{HUGE_LOOP}{{% endif %}}" + TURNS + ASK)
    assert hit.code == "PG507"


def test_the_next_template_is_checked_after_a_hostile_one() -> None:
    assert [hit.code for hit in check("{{ 'a' * 10 ** 10 }}" + TURNS)] == ["PG507"]
    assert check(TURNS + ASK) == []


def test_the_exit_code_of_a_lint_with_a_hostile_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from promptguard.cli.main import _run

    (tmp_path / "chat_template.jinja").write_text(TURNS + "{{ messages.__class__ }}" + ASK, encoding="utf-8")
    (tmp_path / "clean.jinja").write_text(TURNS + ASK, encoding="utf-8")
    assert _run(["lint", "--no-cache", "--output-format", "concise", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum("PG507" in line for line in lines) == 1
    assert not any("clean.jinja" in line for line in lines)
