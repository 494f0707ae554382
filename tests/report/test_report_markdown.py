from __future__ import annotations

import re
from dataclasses import replace

import pytest

from promptguard.core.source import Place, Source, Span
from promptguard.replaying.result import Result
from promptguard.report.markdown import code, escape, render


def test_a_failed_run_begins_with_verdict_cause_and_place(clock: Result) -> None:
    head = render(clock).partition("| hit rate")[0]
    assert head.startswith("### promptguard replay: failed\n")
    assert "| prompt-loss | **failed** | the prompt changed and threw away 191 reusable tokens at worst, on 3 turns |" in head
    assert "**K1 clock** at <code>prompts/system.j2&#58;2&#58;7</code>, system block, turns 1-3: the text is a time" in head
    assert "```text\nTime: {{ now }}.\n      ^^^^^^^^^\n```" in head
    assert '```diff\n- "Time: 12:00:01."\n+ "Time: 12:00:02."\n```' in head


def test_the_table_of_turns(clean: Result) -> None:
    lines = render(clean).splitlines()
    assert "| 1 | user 1 | 120 | 100 | 20 | 100 | 100 | 0 | 0 | 83.3% | 20 ms |" in lines
    assert {line.count("|") for line in lines if re.match(r"\|( \d+ | &#35;|---:)", line)} == {12}


def test_a_run_that_broke_off(broken_off: Result) -> None:
    head = "The run broke off after 1 measured turn:\n\n```text\nthe engine died (exit code -6)\nlast log line\n```\n"
    assert head in render(broken_off)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", "a&#124;b"),
        ("`x`", "&#96;x&#96;"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("&lt;", "&#38;lt;"),
        ("@team", "&#64;&#8203;team"),
        ("#12", "&#35;&#8203;12"),
        ("[a](http://b)", "&#91;a&#93;(http&#58;//b)"),
        ("**b** _i_ ~s~", "&#42;&#42;b&#42;&#42; &#95;i&#95; &#126;s&#126;"),
        ("a\nb\x1b", "a&#92;nb&#92;x1b"),
    ],
)
def test_escape(text: str, expected: str) -> None:
    assert escape(text) == expected


def test_code_is_literal() -> None:
    assert code("@a|`</code>") == "<code>&#64;a&#124;&#96;&#60;/code&#62;</code>"


def test_backticks_in_a_prompt_do_not_end_the_fence(clock: Result) -> None:
    turn = clock.turns[0]
    assert turn.divergence is not None
    source = Source("a.md", "````\n")
    found = replace(turn.divergence, before="```\n# x", after="`", place=Place(source, Span(0, 4)))
    report = render(replace(clock, turns=(replace(turn, divergence=found),)))
    assert "`````text\n````\n^^^^\n`````\n" in report
    assert '````diff\n- "```\\n# x"\n+ "`"\n````\n' in report
