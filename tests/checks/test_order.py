"""PG201 and PG204 beyond the cases of their rule files."""

import pytest
from checked_prompts import fixed, hits, jinja, reported

from promptguard.checks.base import Region


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("PG201", "set(tools)"),
        ("PG201", "frozenset(tools)"),
        ("PG201", "tool_set"),
        ("PG201", "config.toolSet"),
        ("PG201", "tools | set"),
        ("PG201", "core.union(extra)"),
        ("PG201", "set(tools) | list | map('upper')"),
        ("PG201", "list(set(tools))"),
        ("PG204", "os.listdir('x')"),
        ("PG204", "glob('*.md')"),
        ("PG204", "path.iterdir()"),
        ("PG204", "os.scandir('x')"),
        ("PG204", "'*.md' | fileglob"),
    ],
)
def test_a_list_without_an_order(code: str, expression: str) -> None:
    assert reported(f"{{% for x in {expression} %}}- {{{{ x }}}}\n{{% endfor %}}") == [f"{code} {expression}"]


@pytest.mark.parametrize(
    "expression",
    [
        *("tools", "sorted(set(tools))", "set(tools) | sort", "tools | unique", "tools.keys()", "tools.items()", "skill_set"),
        *("settings", "set(tools) | dictsort", "listdir('x') | map('upper') | sort", "['a', 'b']", "walk_through", "dataset"),
    ],
)
def test_a_list_with_an_order(expression: str) -> None:
    assert reported(f"{{% for x in {expression} %}}- {{{{ x }}}}\n{{% endfor %}}") == []


def test_a_set_is_followed_to_where_it_is_printed() -> None:
    text = "{% set names = set(tools) %}{{ names | length }}{{ 'a' in names }}{{ names | join(', ') }}"
    (hit,) = [hit for hit in hits(jinja(text)) if hit.code == "PG201"]
    assert text[hit.start : hit.end] == "{{ names | join(', ') }}"
    assert [text[start:end] for start, end, _ in hit.related] == ["set(tools)"]
    assert fixed(text) == text.replace("names | join", "names | sort | join")


def test_only_prefix_blocks_count() -> None:
    text = "{% for x in set(tools) %}{{ x }}{% endfor %}{{ set(tools) }}"
    assert [hit.code for hit in hits(jinja(text, regions=[Region(0, len(text), "history")]))] == []


@pytest.mark.parametrize("expression", ["os.walk('x')", "(set(a) if b else c)", "set(a) + set(b)"])
def test_what_cannot_be_sorted_in_place_has_no_fix(expression: str) -> None:
    text = f"{{% for x in {expression} %}}- {{{{ x }}}}\n{{% endfor %}}"
    assert len(hits(jinja(text))) == 1
    assert fixed(text) == text
