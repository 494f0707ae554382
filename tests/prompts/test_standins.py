from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from promptguard.core.source import Source
from promptguard.prompts.rendering import Renderer, SystemPrompt
from promptguard.prompts.standins import StandIn, kind_of, varies, words

CLOCK = datetime(2026, 3, 4, 10, 11, 12)  # noqa: DTZ001


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def render(renderer: Renderer, text: str, turn: int = 1, **context: object) -> SystemPrompt:
    return renderer.render_system(Source("p.jinja", text, "jinja"), context, clock=CLOCK, turn=turn, seed=0)


def test_words_of_a_name() -> None:
    assert words("lastUserName_2 HTTPPort") == ["last", "user", "name", "2", "http", "port"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("now", "clock"),
        ("currentDate", "clock"),
        ("datetime.now", "clock"),
        ("session.timestamp", "clock"),
        ("date_format", "text"),
        ("timezone", "text"),
        ("request_id", "id"),
        ("uuid4", "id"),
        ("nonce", "id"),
        ("model_id", "text"),
        ("eos_token", "text"),
        ("user.name", "user"),
        ("user_id", "user"),
        ("customer.email", "user"),
        ("remaining", "counter"),
        ("tool_calls_left", "counter"),
        ("remaining_tokens", "counter"),
        ("max_turns", "text"),
        ("memories", "memory"),
        ("documents", "memory"),
        ("max_context_length", "text"),
        ("question", "memory"),
        ("user_message", "memory"),
        ("cwd", "environment"),
        ("git.status", "environment"),
        ("company", "text"),
        ("update", "text"),
    ],
)
def test_kind_by_name(name: str, kind: str) -> None:
    assert kind_of(name.split(".")) == kind


def test_an_environment_stays_but_for_the_state_of_the_work_tree() -> None:
    assert not varies(["cwd"], "environment")
    assert not varies(["git", "branch"], "environment")
    assert varies(["git_status"], "environment")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("now", "2026-03-04 10:11:12"),
        ("now()", "2026-03-04 10:11:12"),
        ("time", "2026-03-04 10:11:12"),
        ("timestamp", "2026-03-04T10:11:12"),
        ("date", "2026-03-04"),
        ("today", "2026-03-04"),
        ("yesterday", "2026-03-03"),
        ("weekday", "Wednesday"),
        ("month", "March"),
        ("year", "2026"),
        ("now.year", "2026"),
        ("now().strftime('%d.%m.%Y')", "04.03.2026"),
        ("strftime('%H:%M')", "10:11"),
        ("datetime.now().isoformat()", "2026-03-04T10:11:12"),
        ("datetime.datetime.utcnow().date()", "2026-03-04"),
        ("date.today().isoformat()", "2026-03-04"),
        ("now().replace(microsecond=0)", "2026-03-04 10:11:12"),
        ("'{:%Y}'.format(now)", "2026"),
        ("'morning' if hour < 12 else 'evening'", "morning"),
        ("time.time() | int", str(int(CLOCK.timestamp()))),
    ],
)
def test_clocks_show_the_given_time(renderer: Renderer, expression: str, text: str) -> None:
    assert render(renderer, "{{ " + expression + " }}").traced.text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ company }}", "company"),
        ("{{ company.long_name }}", "long name"),
        ("{{ company['name'] }}", "name"),
        ("{{ lookup('x') }}", "lookup"),
        ("{% for rule in rules %}- {{ rule }}\n{% endfor %}", "- rules 1\n- rules 2\n"),
        ("{% for key, value in limits.items() %}{{ key }}={{ value }};{% endfor %}", "first=limits 1;second=limits 2;"),
        ("{% for key, value in limits | items %}{{ key }};{% endfor %}", "first;second;"),
        ("{{ rules | join(', ') }}", "rules 1, rules 2"),
        (
            "{{ rules | length }} {{ rules | first }} {{ rules | last }} {{ rules | sort | join }}",
            "2 rules 1 rules 2 rules 1rules 2",
        ),
        ("{{ rules | map(attribute='title') | join('/') }}", "title 1/title 2"),
        ("{{ company | upper }} {{ company.upper() }} {{ company | default('none') }}", "COMPANY COMPANY company"),
        ("{{ company is defined }} {{ company is string }} {{ tool_count is number }}", "True True True"),
        ("{{ company | tojson }} {{ tool_count | tojson }}", '"company" 1'),
        ("{{ 'x' in company }} {{ company == 'other' }} {{ tool_count > 3 }}", "True False False"),
        ("{{ 'We are ' + company + '.' }} {{ 'We are %s' % company }}", "We are company. We are company"),
        (
            "{{ tool_count + 1 }} {{ tool_count * 2 }} {{ tool_count | round }} {{ [tool_count, 2] | sum }}",
            "2 2 1 3",
        ),
        ("{{ 'a' if debug else 'b' }}", "a"),
        ("{{ cwd }} {{ hostname }} {{ os.getcwd() }}", "/home/agent/project edge-device /home/agent/project"),
        ("{% if x is odd_name %}yes{% endif %} {{ [1, 2] | shuffle }}", "yes [1, 2]"),
        ("{{ turn }} {{ remaining }}", "1 999"),
    ],
)
def test_a_stand_in_survives_what_templates_do_with_it(renderer: Renderer, text: str, expected: str) -> None:
    assert render(renderer, text).traced.text == expected


@pytest.mark.parametrize(
    "name", ["uuid", "session_id", "nonce", "seed", "user.name", "username", "turn", "memories", "query", "git_status"]
)
def test_what_varies_is_another_on_the_next_turn_and_the_same_on_the_same(renderer: Renderer, name: str) -> None:
    text = "{{ " + name + " }}"
    first, again, second = (render(renderer, text, turn).traced.text for turn in (1, 1, 2))
    assert first == again
    assert first != second


@pytest.mark.parametrize("name", ["company", "cwd", "git.branch", "max_tokens"])
def test_what_does_not_vary_stays(renderer: Renderer, name: str) -> None:
    text = "{{ " + name + " }}"
    assert render(renderer, text, 1).traced.text == render(renderer, text, 2).traced.text


def test_shapes_of_ids(renderer: Renderer) -> None:
    uuid, digest = render(renderer, "{{ request_id }} {{ nonce }}").traced.text.split()
    assert [len(part) for part in uuid.split("-")] == [8, 4, 4, 4, 12]
    assert len(bytes.fromhex(digest)) == 16


def test_stand_ins_are_listed_as_they_stand_in_the_template(renderer: Renderer) -> None:
    text = "{{ user.name }}{{ datetime.now().strftime('%Y') }}{{ a | shuffle }}{% if b is fine %}{% endif %}{{ unused if false }}"
    assert render(renderer, text).stand_ins == (
        StandIn("user.name", "user", varies=True),
        StandIn("datetime.now", "clock", varies=True),
        StandIn("|shuffle", "text", varies=False),
        StandIn("a", "text", varies=False),
        StandIn("is fine", "text", varies=False),
    )


def test_the_context_goes_ahead_of_stand_ins(renderer: Renderer) -> None:
    prompt = render(renderer, "{{ now }} {{ user.name }}|", now="noon", user={})
    assert prompt.traced.text == "noon |"
    assert prompt.stand_ins == ()


def test_the_random_filter_depends_on_seed_and_turn(renderer: Renderer) -> None:
    text = "{% for i in range(20) %}{{ range(10) | random }}{% endfor %}"
    assert render(renderer, text, 1).traced.text == render(renderer, text, 1).traced.text
    assert render(renderer, text, 1).traced.text != render(renderer, text, 2).traced.text
