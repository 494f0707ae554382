"""Templates that want to hang, fill or leave the process that renders them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import datetime

import pytest

from promptguard.core.errors import TemplateError, TemplateLimitError
from promptguard.core.source import Source
from promptguard.prompts import rendering
from promptguard.prompts.rendering import PATIENCE, Budget, Limits, Renderer

CLOCK = datetime(2026, 3, 4, 10, 11, 12)  # noqa: DTZ001


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer(Limits(seconds=1)) as renderer:
        yield renderer


def render(renderer: Renderer, text: str, context: dict[str, object] | None = None) -> str:
    source = Source("p.jinja", text, "jinja")
    return renderer.render_system(source, context or {}, clock=CLOCK, turn=1, seed=0).traced.text


UNSAFE = "p.jinja:1: the template reaches for what a template must not have: access to attribute "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ ''.__class__.__mro__ }}", UNSAFE + "'__class__' of 'str' object is unsafe."),
        ("{{ cycler.__init__.__globals__ }}", UNSAFE + "'__init__' of 'type' object is unsafe."),
        ("{{ raise_exception.__globals__.x }}", UNSAFE + "'__globals__' of 'function' object is unsafe."),
        ("{{ '{0.__class__.x}'.format('') }}", UNSAFE + "'__class__' of 'str' object is unsafe."),
        ("{{ [].append(1) }}", UNSAFE + "'append' of 'list' object is unsafe."),
        ("{% for a in range(10 ** 9) %}{% endfor %}", "p.jinja:1: the template counts to more than 100,000"),
        ("\n{{ 'a' * 10 ** 10 }}", "p.jinja:2: the template repeats a text or list to 10,000,000,000 items"),
        ("{{ [1] * 10 ** 10 }}", "p.jinja:1: the template repeats a text or list to 10,000,000,000 items"),
        ("{{ 10 ** (10 ** 10) }}", "p.jinja:1: the template computes a number that is too large"),
        ("{{ (2 ** 9000) * (2 ** 9000) }}", "p.jinja:1: the template computes a number that is too large"),
        ("{{ '%1000000000d' % 1 }}", "p.jinja:1: the template pads a text to 100,000,000 characters"),
        ("{{ '%*d' % (10 ** 9, 1) }}", "p.jinja:1: the template formats a value with a width that is itself a value"),
        ("{{ '%9999999d' | format(1) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ '{:9999999}'.format(1) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ '{:{w}}'.format(1, w=9999999) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ 'x'.center(9999999) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ 'x' | center(9999999) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ 'x' | indent(9999999) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{{ [1] | tojson(indent=9999999) }}", "p.jinja:1: the template pads a text to 9,999,999 characters"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "p.jinja:1: the template is nested or calls itself too deeply"),
        ("{{ " + "(" * 5000 + ")" * 5000 + " }}", "p.jinja: the template is nested or calls itself too deeply"),
        ("{% if 1 %}" * 150 + "{% endif %}" * 150, "p.jinja: the template cannot be compiled: too many levels of indentation"),
        (
            "{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
            "p.jinja:1: the template prints more than 4,194,304 characters",
        ),
        (
            "\n{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
            "p.jinja:2: the template takes longer than 1 s to render",
        ),
        ("a\n{% include 'x' %}", "p.jinja:2:4: the template loads another file, which promptguard does not do"),
        ("{% from 'x' import y %}", "p.jinja:1:4: the template loads another file, which promptguard does not do"),
        ("{{ raise_exception('no\nway') }}", "p.jinja:1: the template refuses the request: no way"),
        (
            "{{ '\\ud800' }}",
            "p.jinja: the template prints half of a surrogate pair at character 0, which is no text",
        ),
    ],
)
def test_each_gets_one_sentence_and_the_next_template_renders(renderer: Renderer, text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(renderer, text)
    assert str(caught.value) == message
    assert render(renderer, "next {{ 1 + 1 }}") == "next 2"


def test_memory_is_bounded(renderer: Renderer) -> None:
    doubling = "{% set n = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}"
    with pytest.raises(TemplateError, match=r"needs too much memory|died, probably from lack of memory|takes longer"):
        render(renderer, doubling)
    assert render(renderer, "next") == "next"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ a b }}", "p.jinja:1:6: not a valid template: expected token 'end of print statement', got 'b'"),
        ("x\r\n {% if %}", "p.jinja:2:8: not a valid template: Expected an expression, got 'end of statement block'"),
        ("\n\n{{ {}.x.y }}", "p.jinja:3: the template does not render: 'dict object' has no attribute 'x'"),
        ("\n{{ 1 / 0 }}", "p.jinja:2: the template does not render: ZeroDivisionError: division by zero"),
        ("{{ 'open }}", 'p.jinja:1: not a valid template: unexpected char "\'" at 3'),
    ],
)
def test_an_honest_mistake_gets_its_place(renderer: Renderer, text: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(renderer, text)
    assert str(caught.value) == message


def test_a_process_that_died_is_replaced(renderer: Renderer) -> None:
    assert render(renderer, "one") == "one"
    assert renderer._worker is not None
    renderer._worker._child.process.send_signal(signal.SIGTERM)
    with pytest.raises(TemplateError, match=r"p\.jinja: the process that renders it died"):
        render(renderer, "two")
    assert render(renderer, "three") == "three"


ENDLESS = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"


def test_processor_time_is_bounded_and_counted() -> None:
    with Renderer(Limits(seconds=0.2)) as renderer:
        assert render(renderer, "one") == "one"
        assert (renderer.computed < 0.2, renderer.given_up) == (True, 0)
        with pytest.raises(TemplateLimitError, match=r"takes longer than 0\.2 s"):
            render(renderer, ENDLESS)
        assert (renderer.computed > 0.1, renderer.given_up) == (True, 1)


def test_the_clock_is_a_bound_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "PATIENCE", 0.01)
    with Renderer(Limits(seconds=20)) as renderer, pytest.raises(TemplateLimitError, match="takes longer than 20 s"):
        render(renderer, ENDLESS)


@pytest.mark.parametrize(("clock", "computed", "left"), [(9.9, 0.0, 1.0), (10.1, 0.0, 0.0), (0.0, 0.7, 0.3), (0.0, 1.1, -0.1)])
def test_a_budget_is_processor_time(monkeypatch: pytest.MonkeyPatch, clock: float, computed: float, left: float) -> None:
    """A machine that is busy with other work takes nothing of it, up to a bound."""
    times = {"monotonic": 100.0, "thread_time": 5.0}
    for name in times:
        monkeypatch.setattr(rendering.time, name, lambda name=name: times[name])
    renderer = Renderer()
    budget = Budget(renderer, 1.0)
    times["monotonic"] += clock * PATIENCE / 10
    renderer.computed += computed / 2
    times["thread_time"] += computed / 2
    assert budget.left == pytest.approx(left)


def test_what_is_too_long_is_not_sent() -> None:
    with Renderer(Limits(template=10, variables=100)) as renderer:
        with pytest.raises(TemplateError) as caught:
            render(renderer, "x" * 11)
        assert str(caught.value) == "p.jinja: the template is longer than 10 characters; is it the right file?"
        with pytest.raises(TemplateError, match="its variables are longer than 100 characters of JSON"):
            render(renderer, "x", {"x": "y" * 100})
        assert renderer._worker is None


def test_variables_that_json_cannot_hold_are_refused(renderer: Renderer) -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(TemplateError, match="its variables cannot be handed over: Circular reference detected"):
        render(renderer, "x", {"ring": ring})


def test_the_process_ends_with_its_parent() -> None:
    renderer = Renderer()
    renderer.start()
    worker = renderer._worker
    assert worker is not None
    assert worker._child.process.poll() is None
    assert worker._child.process.stdin is not None
    worker._child.process.stdin.close()  # as when the parent is killed
    assert worker._child.process.wait(timeout=60) == 0
    renderer.close()


def test_start_does_not_lose_a_process_and_close_can_be_repeated() -> None:
    renderer = Renderer()
    renderer.start()
    first = renderer._worker
    renderer.start()
    assert renderer._worker is first
    renderer.close()
    renderer.close()
    assert first is not None
    assert first._child.process.poll() is not None
