"""A lint result with what is hard to show: wide and combining characters, tabs, several lines, fixes, hostile text."""

from __future__ import annotations

from promptguard.lint.result import FixEdit, LintResult, Record, RecordedFix, RecordedPlace

CLOCK = Record(
    path="prompts/日 1.j2",
    line=2,
    column=8,
    end_line=2,
    end_column=19,
    code="PG101",
    name="clock",
    severity="error",
    confidence="high",
    message="`{{ now() }}` prints the clock",
    block="system",
    tokens_lost=1234,
    tokenizer="bundled tokenizer",
    changes="request",
    pointer=None,
    excerpt=((2, 1, "今日は e\u0301\t{{ now() }}。"),),
    fix=RecordedFix("Move the line to the end", "unsafe", (FixEdit(4, 24, 2, 1, 3, 1, ""), FixEdit(90, 90, 9, 1, 9, 1, "x\n"))),
    related=(RecordedPlace(7, 1, 7, 5, "the same value stands here"),),
    fingerprint="aaaa",
)
LOOP = CLOCK._replace(
    line=10,
    column=1,
    end_line=15,
    end_column=1,
    code="PG102",
    name="random-id",
    severity="warning",
    message="the loop over `a|b` <b> prints ids",
    tokens_lost=1,
    changes=None,
    excerpt=((10, 1, "{% for id in ids %}"), (11, 1, "\t- {{ id }}"), (12, 1, "")),
    fix=RecordedFix("Sort the list", "safe", (FixEdit(200, 203, 10, 14, 10, 17, "ids|sort"),)),
    related=(),
    fingerprint="bbbb",
)
HOSTILE = CLOCK._replace(
    path="a\x1b[31m\n::error::,b.json",
    line=3,
    column=401,
    end_line=3,
    end_column=405,
    code="PG102",
    name="random-id",
    severity="note",
    confidence="low",
    message="`\x1b]0;x\x07` and `[x](http://y) <!-- @team #1 \u202e%0A",
    tokens_lost=None,
    tokenizer=None,
    changes=None,
    block=None,
    pointer="/tools/0/a~1b",
    excerpt=((3, 201, "z" * 200 + "\x1b[0m" + "z" * 196),),
    fix=None,
    related=(),
    fingerprint="cccc",
)
RESULT = LintResult(
    records=(CLOCK, LOOP, HOSTILE), files=12, looked_at=40, suppressed=2, skipped=(("x.bin", "it is not\ntext"),), fixed=1
)
CLEAN = LintResult(records=(), files=12, looked_at=40)
