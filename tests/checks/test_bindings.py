"""Where the values come from that a template prints."""

import pytest
from checked_prompts import jinja, reported

from promptguard.checks.base import Region
from promptguard.checks.values import Prefix, flow_of

SILENT = [
    "{% set now = 'x' %}{{ now }}",
    "{% set a = 'x' %}{% set now = a %}{{ now | upper }}",
    "{% set now, cwd = 'x', 'y' %}{{ now }}{{ cwd }}",
    "{% with now = 'x' %}{{ now }}{% endwith %}",
    "{% macro m(now) %}{{ now }}{% endmacro %}{{ m('x') }}{{ m(now='y') }}",
    "{% macro m(x, y) %}{% macro n(a, b=1) %}{{ y }}{% endmacro %}{{ n(now(), now()) }}{% endmacro %}{{ m(now(), 1) }}",
    "{% macro m(a, now='x') %}{{ now }}{% endmacro %}{{ m('y') }}",
    "{% for now in ['x', 'y'] %}{{ now }}{% endfor %}",
    "{% for user in [{'name': 'Ann'}] %}{{ user.name }}{% endfor %}",
    "{% set ns = namespace(now='x') %}{{ ns.now }}",
    "{% set user = {'name': 'Ann', 'id': 7} %}{{ user.name }}{{ user['id'] }}",
    "{% set at = {'fixed': 'x', 'moving': now()} %}{{ at.fixed }}",
    "{% set now %}noon{% endset %}{{ now }}",
    "{% if false %}{{ now() }}{% endif %}",
    "{% set debug = false %}{% if debug and x %}{{ now() }}{% elif not true %}{{ uuid4() }}{% else %}x{% endif %}",
    "{% if true %}x{% else %}{{ now() }}{% endif %}",
    "{{ now() if false else 'x' }}",
    "{% if x %}{% set now = 'a' %}{% else %}{% set now = 'b' %}{% endif %}{{ now }}",
    "{% if now is defined and user %}static{% endif %}",
    "{{ memories | length }}{{ memories is defined }}{{ user.name == 'Ann' }}",
    "{% from 'clock.j2' import now %}{{ now() }}",
    "{% import 'lib.j2' as user %}{{ user.name('x') }}",
    "{% set t = now() %}{% set t = 'x' %}{{ t }}",
    "{% set a = [] %}{% do a.append('x') %}{{ a }}{% print('x') %}",
    "{% set messages = ['x'] %}{{ messages | length }}",
    "{{ loop.index }}{{ self.now() }}{{ super() }}",
    "{# {{ now() }} #}{% raw %}{{ now() }}{% endraw %}",
]


@pytest.mark.parametrize("text", SILENT)
def test_a_name_is_what_it_is_bound_to(text: str) -> None:
    assert reported(text) == []


MANY = [f"user_{number}" for number in range(40)]
OF_MANY = f"{{{{ m({'1, ' * 39}now()) }}}}"
FOLLOWED = [
    ("{% set t = now() %}{{ t }}", "{{ t }}"),
    ("{% set a = now() %}{% set b = a ~ '!' %}{{ b | upper }}", "{{ b | upper }}"),
    ("{% with t = now() %}{{ t }}{% endwith %}", "{{ t }}"),
    ("{% macro m(t) %}{{ t }}{% endmacro %}{{ m(now()) }}", "{{ m(now()) }}"),
    ("{% macro m(a, t=now()) %}{{ t }}{% endmacro %}{{ m(1) }}", "{{ m(1) }}"),
    ("{% macro m() %}{{ now() }}{% endmacro %}{{ m() }}", "{{ m() }}"),
    ("{% macro m() %}{{ n() }}{% endmacro %}{% macro n() %}{{ now() }}{% endmacro %}{{ m() }}", "{{ m() }}"),
    ("{% macro m() %}{{ now() }}{% endmacro %}", "{{ now() }}"),
    (
        f"{{% macro m({', '.join(MANY)}) %}}{{{{ {' ~ '.join(MANY)} }}}}{{% endmacro %}}{{{{ m({'1, ' * 39}now()) }}}}",
        OF_MANY,
    ),
    (f"{{{{ {' ~ '.join(MANY)} ~ now() }}}}",) * 2,
    (f"{{{{ [{', '.join(MANY)}, now()] | tojson }}}}",) * 2,
    (
        "{% macro m(x, t) %}{% macro n(a=1) %}{{ t }}{% endmacro %}{{ n() }}{{ n(2) }}{% endmacro %}{{ m(1, now()) }}",
        "{{ m(1, now()) }}",
    ),
    (
        "{% macro m(x, t) %}{% macro n(a, b=x) %}{{ b }}{% endmacro %}{{ n(now()) }}{% endmacro %}{{ m(now(), 1) }}",
        "{{ m(now(), 1) }}",
    ),
    ("{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ now() }}{% endcall %}", "{{ now() }}"),
    ("{% macro m(t) %}{{ t }}{% endmacro %}{% call m(now()) %}x{% endcall %}", "{% call m(now()) %}"),
    ("{% set ns = namespace(t='') %}{% for x in y %}{% set ns.t = now() %}{% endfor %}{{ ns.t }}", "{{ ns.t }}"),
    ("{% set at = {'fixed': 'x', 'moving': now()} %}{{ at.moving }}", "{{ at.moving }}"),
    ("{% set t %}at {{ now() }}{% endset %}{{ t }}", "{{ t }}"),
    ("{% if x %}{% set t = now() %}{% else %}{% set t = 'x' %}{% endif %}{{ t }}", "{{ t }}"),
    ("{% if not now is defined %}{% set now = 'x' %}{% endif %}{{ now }}", "{{ now }}"),
    ("{% for t in [now(), 'x'] %}{{ t }}{% endfor %}", "{{ t }}"),
    ("{% print(now()) %}", "{% print(now()) %}"),
    ("{% now 'utc' %}", "{% now 'utc' %}"),
    ("{% do x.append(now()) %}{{ x }}", "{{ x }}"),
    ("{% set a = [] %}{% for b in c %}{% do a.append(now()) %}{% endfor %}{{ a }}", "{{ a }}"),
    ("{% set a = [] %}{% set _ = a.append(now()) %}{{ a }}", "{{ a }}"),
    ("{{ x or now() }}", "{{ x or now() }}"),
    ("{{ x | default(now()) }}", "{{ x | default(now()) }}"),
    ("{{ [now(), 'x'] | join(' ') }}", "{{ [now(), 'x'] | join(' ') }}"),
    ("{% block a %}{% filter upper %}{{ now() }}{% endfilter %}{% endblock %}", "{{ now() }}"),
]


@pytest.mark.parametrize(("text", "printed"), FOLLOWED)
def test_a_call_is_reported_where_it_is_printed(text: str, printed: str) -> None:
    assert reported(text) == [f"PG101 {printed}"]


def test_a_macro_that_calls_itself_comes_to_an_end() -> None:
    assert reported("{% macro m(n) %}{{ now() }}{{ m(n) }}{% endmacro %}{{ m(1) }}") == ["PG101 {{ m(1) }}"]


@pytest.mark.parametrize(
    "text",
    [
        "{{ x" + " | upper" * 5_000 + " }}",
        "{{ x" + ".a" * 5_000 + " }}",
        "{% if x %}" * 500 + "{{ y }}" + "{% endif %}" * 500,
        "".join(f"{{% macro m{n}() %}}{{{{ m{n + 1}() }}}}{{% endmacro %}}" for n in range(500)) + "{{ m0() }}",
        "{% set ns = namespace() %}{% set ns.a = ns %}{% if x %}{% set ns = ns.a %}{% endif %}{{ ns.a.a }}",
    ],
    ids=["filters", "attributes", "branches", "macros", "itself"],
)
def test_what_is_nested_without_end_is_given_up(text: str) -> None:
    assert reported(text) == []


def test_texts_are_the_static_parts_of_prefix_blocks() -> None:
    text = "one {{ a }}{# no #}{% if false %}dead{% endif %}{% macro m() %}no{% endmacro %}two USER three"
    at = text.index("USER")
    document = jinja(text, regions=[Region(0, at, "system"), Region(at, len(text), "user")])
    flow = flow_of(document, Prefix(document))
    assert [text[start:end] for start, end in flow.texts] == ["one ", "two "]
