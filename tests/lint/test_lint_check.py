from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.checks.base import Hit
from promptguard.core.errors import ConfigError
from promptguard.core.finding import Edit, Fix
from promptguard.core.source import Span
from promptguard.linting.check import Checker, check_file
from promptguard.linting.result import FileResult, FixEdit
from promptguard.linting.run import collect
from promptguard.linting.settings import PromptDeclaration, Settings

CLOCK = "Be brief.\nToday: {{ now() }}.\nUse the tools.\n"


def settings(**values: object) -> Settings:
    return Settings(str(Path.cwd()), **values)  # type: ignore[arg-type]


def check(text: str, path: str = "system.j2", **values: object) -> FileResult:
    return check_file(path, text, settings(**values))


def found(result: FileResult) -> list[tuple[str, int, int]]:
    return [(record.code, record.line, record.column) for record in result.records]


def hit(code: str, start: int, end: int, **values: object) -> Hit:
    return Hit(code, start, end, f"`{code}`", **values)  # type: ignore[arg-type]


def test_a_record_says_all_that_a_report_needs(folder: Path) -> None:
    (record,) = check(CLOCK, "prompts/system.j2").records
    assert (record.path, record.line, record.column, record.end_line, record.end_column) == ("prompts/system.j2", 2, 8, 2, 19)
    assert (record.code, record.name, record.severity, record.confidence) == ("PG101", "clock", "error", "high")
    assert (record.block, record.tokenizer, record.changes) == ("system", "promptguard-tiny", "request")
    assert record.tokens_lost == 6
    assert record.excerpt == ((2, 1, "Today: {{ now() }}."),)


def test_a_variable_in_front_of_static_text_says_how_many_tokens_that_is(folder: Path) -> None:
    declared = (PromptDeclaration(path="*.j2", dynamic=("plan",)),)
    (record,) = check("Plan: {{ plan }}\nYou sell bicycles.\n", prompts=declared).records
    said = f"prints a variable that is declared to change in front of {record.tokens_lost} tokens of static text"
    assert record.message == f"`{{{{ plan }}}}` {said}: put it behind them, at the end of the block"
    assert record.tokens_lost is not None
    assert record.tokens_lost > 1


@pytest.mark.parametrize(("words", "severity"), [(1_500, "warning"), (4_000, "error")])
def test_much_that_every_conversation_computes_again_is_an_error(folder: Path, words: int, severity: str) -> None:
    (record,) = check("Hello {{ user_name }}.\n" + "word " * words + "\n", select=("PG103",)).records
    assert (record.severity, record.tokens_lost is not None and record.tokens_lost >= 2_000) == (severity, severity == "error")


def test_records_come_in_the_order_of_their_places_and_codes_each_once(folder: Path, detect: object) -> None:
    detect([hit("PG301", 5, 6), hit("PG101", 5, 6), hit("PG101", 1, 2)], [hit("PG101", 5, 6)])  # type: ignore[operator]
    assert found(check("Be brief.")) == [("PG101", 1, 2), ("PG101", 1, 6), ("PG301", 1, 6)]


def test_a_detector_that_fails_is_a_finding_and_the_others_run(folder: Path, detect: object) -> None:
    detect([hit("PG101", 0, 2), KeyError("x")], [hit("PG301", 3, 4)])  # type: ignore[operator]
    result = check("Be brief.", select=("PG3",))
    assert found(result) == [("PG999", 1, 1), ("PG301", 1, 4)]
    assert result.records[0].message == "the detector `fake0` failed with KeyError: 'x'"
    assert (result.records[0].severity, result.records[0].excerpt) == ("error", ())


@pytest.mark.parametrize("wrong", [hit("PG101", 5, 99_999), hit("PG101", 3, 2), hit("PG998", 0, 1)])
def test_a_hit_that_cannot_be_is_a_failure_of_its_detector(folder: Path, detect: object, wrong: Hit) -> None:
    detect([wrong])  # type: ignore[operator]
    assert [code for code, _, _ in found(check("Be brief."))] == ["PG999"]


def test_a_rule_for_prefix_blocks_is_silent_behind_them(folder: Path) -> None:
    assert found(check("Today: {{ now() }}\n{# promptguard: block=user #}\nNow: {{ now() }}\n")) == [("PG101", 1, 8)]


def test_notes_are_reported_where_they_are_asked_for(folder: Path, detect: object) -> None:
    detect([hit("PG101", 0, 2, severity="note")])  # type: ignore[operator]
    assert found(check("Be brief.")) == []
    assert found(check("Be brief.", pedantic=True)) == [("PG101", 1, 1)]


def test_rules_that_are_not_selected(folder: Path) -> None:
    assert found(check("{{ now() }} \n")) == [("PG101", 1, 1), ("PG301", 1, 12)]
    assert found(check("{{ now() }} \n", select=("PG3",))) == [("PG301", 1, 12)]
    assert found(check("{{ now() }} \n", ignore=("clock",))) == [("PG301", 1, 12)]


def test_a_selector_that_means_no_rule(folder: Path) -> None:
    with pytest.raises(ConfigError, match="there is no rule 'clok'; did you mean clock"):
        check(CLOCK, select=("clok",))


def test_ignores_by_file(folder: Path) -> None:
    ignores = (("legacy/", ("PG1",)), ("*.txt", ("PG",)))
    result = check(CLOCK, "legacy/a/system.j2", per_file_ignores=ignores)
    assert (found(result), result.suppressed) == ([], 1)
    assert found(check(CLOCK, "system.j2", per_file_ignores=ignores)) == [("PG101", 2, 8)]


def test_ignores_by_pointer(folder: Path, detect: object) -> None:
    detect([hit("PG101", 0, 1, pointer="/a/b"), hit("PG101", 1, 2, pointer="/ab"), hit("PG301", 2, 3, pointer="/a")])  # type: ignore[operator]
    ignores = (("*.j2", "/a", ("PG101",)),)
    assert found(check("Be brief.", pointer_ignores=ignores)) == [("PG101", 1, 2), ("PG301", 1, 3)]
    assert len(found(check("Be brief.", "x.jinja", pointer_ignores=ignores))) == 3


def test_the_text_of_embedded_documents_is_found_in_the_file(folder: Path) -> None:
    text = 'system: "Be brief.\\n\\\n  Today: {{ now() }}."\n'
    (record,) = check(text, "prompts/agent.yaml").records
    assert (record.line, record.column, record.end_line, record.end_column) == (2, 10, 2, 21)
    assert (record.code, record.pointer) == ("PG101", "/system")


def test_lines_and_columns_behind_carriage_returns_and_wide_characters(folder: Path, detect: object) -> None:
    text = "a\r\n日本e\u0301x\ry"
    detect([hit("PG101", 7, 8), hit("PG101", 9, 10)])  # type: ignore[operator]
    assert found(check(text)) == [("PG101", 2, 5), ("PG101", 3, 1)]


def test_the_edits_of_fixes_have_places(folder: Path, detect: object) -> None:
    fix = Fix("Remove it", (Edit(Span(3, 5), ""),), "safe")
    detect([hit("PG101", 3, 4, fix=fix)])  # type: ignore[operator]
    (record,) = check("ab\ncd\n").records
    assert record.fix is not None
    assert record.fix.edits == (FixEdit(3, 5, 2, 1, 2, 3, ""),)


def test_excerpts_are_bounded(folder: Path, detect: object) -> None:
    text = "a" * 5000 + "\nb\nc\nd"
    detect([hit("PG101", 4000, len(text))])  # type: ignore[operator]
    (record,) = check(text).records
    assert record.excerpt == ((1, 3801, "a" * 400), (2, 1, "b"), (3, 1, "c"))


def test_fingerprints_stay_when_lines_move(folder: Path) -> None:
    (before,) = check(CLOCK).records
    (after,) = check("New.\n" + CLOCK).records
    assert before.fingerprint == after.fingerprint
    first, second = check(CLOCK + "Today: {{ now() }}.\n").records
    assert (first.fingerprint, second.fingerprint) == (before.fingerprint, before.fingerprint[:-1] + "2")


def test_fingerprints_do_not_depend_on_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = settings()
    (folder / "a").mkdir()
    (before,) = check_file("a/system.j2", CLOCK, held).records
    monkeypatch.chdir(folder / "a")
    (after,) = check_file("system.j2", CLOCK, held).records
    assert before.fingerprint == after.fingerprint


def test_many_findings_of_a_rule_are_cut(folder: Path, detect: object) -> None:
    order = [*range(900, 2203), *range(900)]
    detect([hit("PG101", start, start + 1) for start in order], [hit("PG102", 5, 6)])  # type: ignore[operator]
    result = check("a" * 2203)
    assert [record.column - 1 for record in result.records if record.code == "PG101"] == list(range(1000))
    (more,) = result.rest
    assert (more[0], more[2]) == ("PG101", 1203)
    whole = collect([result])
    assert [record.message for record in whole.records[-2:]] == ["`PG101`", "`PG101` (and 1,203 more in this file)"]
    assert whole.more == 1203


def test_notes_that_are_not_shown_take_nothing_of_the_findings_that_are(folder: Path, detect: object) -> None:
    detect([hit("PG101", at, at + 1, severity="note") for at in range(1500)] + [hit("PG101", 1500, 1501)])  # type: ignore[operator]
    assert found(check("a" * 1501)) == [("PG101", 1, 1501)]


def test_what_could_not_be_judged_costs_nothing(folder: Path) -> None:
    (record,) = check("You help.\n{{ a b }}\nBe brief.\n").records
    assert (record.code, record.tokens_lost) == ("PG901", None)


def test_a_file_that_holds_nothing(folder: Path) -> None:
    assert check("Hello.", "notes.txt") == FileResult("notes.txt", checked=False)
    named = check_file("notes.txt", "Hello.", settings(), named=True)
    assert named.reason == "holds no prompt, no tool schemas and no serving configuration"


def test_a_file_that_cannot_be_read_as_what_it_is(folder: Path) -> None:
    result = check_file("tools.json", '[{"name": "a", "parameters": {]', settings(), named=True)
    assert [(record.code, record.block, record.tokens_lost) for record in result.records][-1:] == [("PG901", None, None)]


def test_the_cost_counts_the_other_files_of_a_prompt(folder: Path) -> None:
    (folder / "user.txt").write_text("Answer the question of the customer in one sentence.\n")
    (folder / "late").mkdir()
    (folder / "late" / "more.txt").write_text("And be kind.\n")
    alone = Checker(settings(prompts=(PromptDeclaration("system.j2", block="system", name="agent"),)))
    both = Checker(
        settings(
            prompts=(
                PromptDeclaration("system.j2", block="system", name="agent"),
                PromptDeclaration("user.txt", block="user", name="agent"),
                PromptDeclaration("late/*.txt", block="user", name="agent"),
            )
        )
    )
    (few,), (many,) = (checker.check("system.j2", CLOCK).records for checker in (alone, both))
    assert (few.tokens_lost, many.tokens_lost) == (6, 24)


def test_a_prompt_file_that_is_gone_does_not_count(folder: Path) -> None:
    declared = (PromptDeclaration("system.j2", name="agent"), PromptDeclaration("gone.j2", name="agent"))
    assert found(check(CLOCK, prompts=declared)) == [("PG101", 2, 8)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CLOCK + "{{ name\n", [("PG101", 2, 8), ("PG901", 4, 1)]),
        ("{% if a %}\n" + CLOCK, [("PG901", 1, 1), ("PG101", 3, 8)]),
        ("You help.\n{{ a b }} {{ c d }}\n", [("PG901", 2, 6)]),
        ("You help.{% cache %}Be brief.{% endcache %}\n", []),
    ],
)
def test_a_broken_template(folder: Path, text: str, expected: list[tuple[str, int, int]]) -> None:
    records = check_file("a.j2", text, Settings(str(folder)), named=True).records
    assert [(record.code, record.line, record.column) for record in records] == expected


def test_only_what_is_surely_jinja_is_a_broken_template(folder: Path) -> None:
    text = "You are a helper.\n{{ name }} {{ a b }}\n"
    declared = Settings(str(folder), prompts=(PromptDeclaration(path="*.md", syntax="jinja"),))
    assert check_file("prompts/system.md", text, Settings(str(folder))).records == ()
    assert [record.message for record in check_file("system.md", text, declared).records if record.code == "PG901"] == [
        "the template is broken: unexpected 'b'"
    ]


@pytest.mark.parametrize(
    ("text", "includes"),
    [
        ('You help.\n{% include "rules.j2" %}\n', True),
        ('{%- extends "base.j2" %}{% block system %}You help.{% endblock %}\n', True),
        ('{% from "macros.j2" import rules %}You help. {{ rules() }}\n', True),
        ('You help.\n{# {% include "rules.j2" %} #}{% raw %}{% include "a" %}{% endraw %}\n', False),
    ],
)
def test_what_a_template_includes_is_not_followed(folder: Path, text: str, includes: bool) -> None:
    assert check(text).includes is includes
