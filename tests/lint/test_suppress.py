from __future__ import annotations

from pathlib import Path

import pytest

from promptguard.checks.base import Hit
from promptguard.linting.check import Checker, check_file
from promptguard.linting.contents import fix_data
from promptguard.linting.result import FileResult
from promptguard.linting.settings import Settings

CLOCK = "Today: {{ now() }}."


def check(text: str, path: str = "system.j2", **values: object) -> FileResult:
    return check_file(path, text, Settings(str(Path.cwd()), **values), named=True)  # type: ignore[arg-type]


def fix(text: str, path: str = "system.j2", *, unsafe: bool = False, **values: object) -> tuple[str, FileResult]:
    checker = Checker(Settings(str(Path.cwd()), ignore=("PG305",), **values))  # type: ignore[arg-type]
    result, change = fix_data(path, text.encode(), checker, unsafe=unsafe)
    return change.after, result


def found(text: str, path: str = "system.j2", **values: object) -> list[tuple[str, int, int]]:
    return [(record.code, record.line, record.column) for record in check(text, path, **values).records]


@pytest.mark.parametrize(
    "text",
    [
        CLOCK + " {# promptguard: ignore[PG101] frozen in tests #}\n",
        CLOCK + " {#- promptguard: ignore[PG101]\nover two lines -#}\n",
        CLOCK + " <!-- promptguard: ignore[PG1] -->\n",
        CLOCK + " {# promptguard:ignore [clock, PG301] #} \n",
        CLOCK + " {# promptguard: ignore #}\n",
        "{# promptguard: ignore[PG101] #}\n" + CLOCK + "\n",
        "  {# promptguard: ignore[PG101] #}\r\n" + CLOCK + "\r\n",
        "{# promptguard: ignore[PG101] #}\n{# promptguard: ignore[PG301] #}\n" + CLOCK + " \n",
        "{# promptguard: ignore[PG101]\n  over two lines #}\n" + CLOCK + "\n",
        "Be brief.\n" + CLOCK + "\n{# promptguard: ignore-file[PG101] #}",
        "{# promptguard: ignore-file #}\n" + CLOCK,
    ],
)
def test_suppressed(folder: Path, text: str) -> None:
    assert found(text) == []
    assert check(text).suppressed >= 1


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (CLOCK + "\nBe brief. {# promptguard: ignore[PG101] #}\n", (1, 8)),
        ("{# promptguard: ignore[PG101] #}\nBe brief.\n" + CLOCK, (3, 8)),
        ("{# promptguard: ignore[PG301] #}\n" + CLOCK, (2, 8)),
        ("# promptguard: ignore[PG101]\n" + CLOCK, (2, 8)),
        ("promptguard: ignore[PG101] " + CLOCK, (1, 35)),
        ("{# promptguard: ignored #} " + CLOCK, (1, 35)),
        ("{# promptguard: ignore[PG101]\n" + CLOCK, None),
        ("{# promptguard: ignore[PG101 #}\n" + CLOCK, (2, 8)),
        ("{# promptguard: ignore-file[PG301 #}\n" + CLOCK, (2, 8)),
        ("{# promptguard: ignore [ #}\n" + CLOCK, (2, 8)),
    ],
)
def test_not_suppressed(folder: Path, text: str, place: tuple[int, int] | None) -> None:
    places = [(line, column) for code, line, column in found(text) if code == "PG101"]
    assert places == ([place] if place else [])


def test_host_comments_of_yaml(folder: Path) -> None:
    text = "system: |\n  {}\n  Today: {{{{ now() }}}}.\n"
    assert found("# promptguard: ignore-file[PG101]\n" + text.format("Be brief."), "prompts/a.yaml") == []
    inside = [code for code, _, _ in found(text.format("# promptguard: ignore-file[PG101]"), "prompts/a.yaml")]
    assert inside == ["PG101"], "a line of the prompt is no comment"
    assert found(text.format("{# promptguard: ignore-file[PG101] #}"), "prompts/a.yaml") == []


def test_a_directive_behind_another_comment_of_yaml(folder: Path) -> None:
    above = "# a # promptguard: ignore[PG101]\n"
    text = "system: 'At {{ now() }} # promptguard: ignore[PG1]'  # c # promptguard: ignore[PG301]\n"
    assert found(above + text, "prompts/a.yaml") == [("PG900", 2, 1 + text.index("PG301"))]


def test_examples_in_the_code_of_markdown(folder: Path) -> None:
    code = "```\n{{# promptguard: ignore-file[PG1] #}}\n{{# promptguard: ignore[PG1, x] #}}\n```\n"
    text = code + "`{{# promptguard: ignore #}}`\n\n{}\n"
    assert found(text.format(CLOCK), "prompts/a.md") == [("PG101", 7, 8)]
    assert found(f"```\n{CLOCK} {{# promptguard: ignore[PG101] #}}\n```\n", "prompts/a.md") == []
    assert {code for code, _, _ in found(text.format("Be brief."), "a.j2")} == {"PG900"}


def test_host_comments_of_front_matter(folder: Path) -> None:
    text = "---\nname: a\n# promptguard: ignore-file[PG101]\n---\n" + CLOCK + "\n"
    assert found(text, "a.prompt") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Be brief. {# promptguard: ignore[PG101] #}\n", [(1, 34, "`PG101` suppresses nothing here")]),
        ("Be brief. {# promptguard: ignore #}\n", [(1, 14, "`promptguard: ignore` suppresses nothing")]),
        ("{# promptguard: ignore[PG301 #}\nBe brief.\n", [(1, 4, "`promptguard: ignore[` has no closing bracket")]),
        ("{# promptguard: ignore[] #}\nBe brief.\n", [(1, 4, "`promptguard: ignore[]` names no rule")]),
        (CLOCK + "{# promptguard: ignore[PG101, clok] #}\n", [(1, 50, "`clok` is no rule")]),
        (CLOCK + "{# promptguard: ignore-file[PG101,PG102] #}\n", [(1, 54, "`PG102` suppresses nothing here")]),
    ],
)
def test_what_does_nothing_is_a_finding(folder: Path, text: str, expected: list[tuple[int, int, str]]) -> None:
    records = check(text).records
    assert [(record.line, record.column, record.message) for record in records] == expected
    assert {(record.code, record.severity) for record in records} == {("PG900", "warning")}


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("{# promptguard: ignroe[PG101] #}\n", "a.j2", [(1, 17, "there is no directive `ignroe`; did you mean ignore?")]),
        (
            "<!-- promptguard: ignore-next-line[PG102] -->\n",
            "prompts/a.md",
            [(1, 19, "there is no directive `ignore-next-line`; did you mean ignore-file?")],
        ),
        ("{#- promptguard: off -#}\n", "a.j2", [(1, 18, "there is no directive `off`")]),
        ("{# promptguard: blok=user #}\n", "a.j2", [(1, 17, "there is no directive `blok`; did you mean block?")]),
        ("{# promptguard: see the handbook #}\n", "a.j2", []),
        ("Write promptguard: ignroe[PG101] there.\n", "a.j2", []),
        ("{% raw %}{# promptguard: ignroe[PG101] #}{% endraw %}\n", "a.j2", []),
        ("```\n<!-- promptguard: ignroe[PG101] -->\n```\n", "prompts/a.md", []),
        ("Write `{# promptguard: ignroe[PG101] #}` there.\n", "prompts/a.md", []),
    ],
)
def test_directives_that_there_are_not(folder: Path, text: str, path: str, expected: list[tuple[int, int, str]]) -> None:
    records = check(text + "You help customers.\n", path).records
    assert [(record.line, record.column, record.message) for record in records if record.code == "PG900"] == expected


def test_usefulness_does_not_depend_on_what_is_selected(folder: Path) -> None:
    text = CLOCK + " {# promptguard: ignore[PG101] #}\n"
    assert found(text, select=("PG3", "PG9")) == []
    assert found(text, ignore=("PG101",)) == []


def test_a_suppression_of_unused_suppressions(folder: Path) -> None:
    assert found("Be brief. {# promptguard: ignore[PG101,PG900] #}\n") == []
    assert found("{# promptguard: ignore-file[PG900] #}\nBe brief. {# promptguard: ignore[PG101] #}\n") == []
    assert found("Be brief. {# promptguard: ignore[PG101] #}\n", per_file_ignores=(("*", ("PG900",)),)) == []


def test_an_internal_error_cannot_be_suppressed(folder: Path, detect: object) -> None:
    detect([RuntimeError("x")])  # type: ignore[operator]
    assert found("{# promptguard: ignore-file #}\n") == [("PG999", 1, 1)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Be brief. {# promptguard: ignore[PG101] #}\nEnd.\n", "Be brief.\nEnd.\n"),
        ("A.\n  {# promptguard: ignore[PG101] #}\nEnd.\n", "A.\nEnd.\n"),
        ("A.\r\n{# promptguard: ignore #}\r\nEnd.\r\n", "A.\r\nEnd.\r\n"),
        ("A.\n{# promptguard: ignore #}", "A."),
        ("A.\r\n{# promptguard: ignore #}", "A."),
        ("{# promptguard: ignore #}", ""),
        ("A {# promptguard: ignore #} b.\n", "A  b.\n"),
        ("A. <!-- promptguard: ignore[PG101] x -->\n", "A.\n"),
        (CLOCK + "{# promptguard: ignore[PG102, PG101] x #}\n", CLOCK + "{# promptguard: ignore[PG101] x #}\n"),
        (CLOCK + "{# promptguard: ignore[PG102,PG101,PG103,xy] #}\n", CLOCK + "{# promptguard: ignore[PG101] #}\n"),
    ],
)
def test_fixes(folder: Path, before: str, after: str) -> None:
    fixed, result = fix(before)
    assert (fixed, result.records) == (after, ())


def test_removing_a_comment_that_strips_blanks_is_unsafe(folder: Path) -> None:
    text = "A.\n{#- promptguard: ignore[PG101] #}\nEnd.\n"
    assert fix(text)[0] == text
    assert fix(text, unsafe=True)[0] == "A.\nEnd.\n"


@pytest.mark.parametrize(
    ("unit", "count"),
    [
        ("{# promptguard: ignore #} x", 999),
        ("{# promptguard: ignore #}\n", 999),
        ("{# promptguard: ignore[", 0),
        ("<!-- promptguard: ignore\n", 0),
    ],
)
def test_a_file_of_comments(folder: Path, unit: str, count: int) -> None:
    codes = [code for code, _, _ in found(unit * 20_000 + "End.\n", select=("PG900",))]
    assert codes[:count] == ["PG900"] * count


def test_suppressions_behind_more_findings_than_are_reported(folder: Path) -> None:
    used, idle = " {# promptguard: ignore[PG101] #} \n", "Be brief. {# promptguard: ignore[PG101,PG102] #}\n"
    result = check(f"{CLOCK}\n" * 1100 + CLOCK + used + idle)
    rows = [record for record in result.records if record.code != "PG101"]
    assert [(record.code, record.line) for record in rows] == [("PG301", 1101), ("PG900", 1102), ("PG900", 1102)]
    assert (result.suppressed, sum(count for _, _, count in result.rest)) == (1, 100)


@pytest.mark.parametrize("directive", ["", "{# promptguard: ignore-file[PG101] #}\n"])
def test_a_finding_behind_many_that_are_suppressed(folder: Path, directive: str) -> None:
    result = check(directive + f"{CLOCK} {{# promptguard: ignore[PG101] #}}\n" * 1500 + f"{CLOCK}\n")
    places = [(record.code, record.line) for record in result.records]
    assert (places, result.suppressed) == (([], 1501) if directive else ([("PG101", 1501)], 1500))


def test_findings_that_are_ignored_by_pointer_take_nothing_of_those_that_are_reported(folder: Path) -> None:
    clocks = ", ".join(['"You are it. {{ now() }}, yes."'] * 1100)
    text = f'{{"prompts": [{clocks}], "system_prompt": "You are it. {{{{ now() }}}}, yes."}}'
    ignores = (("*", "/prompts", ("PG1",)),)
    result = check(text, "prompts/a.json", select=("PG101",), pointer_ignores=ignores)
    assert [record.pointer for record in result.records] == ["/system_prompt"]
    assert result.suppressed == 1100


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("You are.\n{# promptguard: ignore[PG101] meant #}\n{{ now() }}\n{# promptguard: block=usr #}\nbar\n", "a.j2", "PG901"),
        ('# promptguard: ignore[PG101] meant\nsystem_prompt: "You {{ now() }} foo"\nx: [1, 2\n', "prompts.yaml", "PG901"),
        ("{% if a %}\n{{ b c }} {# promptguard: ignore[PG101] #}\n", "a.j2", "PG901"),
    ],
)
def test_nothing_is_said_of_the_suppressions_of_a_file_that_cannot_be_judged(
    folder: Path, text: str, path: str, code: str
) -> None:
    assert [record.code for record in check(text, path).records] == [code]


def test_nothing_is_said_of_the_suppressions_where_a_detector_failed(folder: Path, detect: object) -> None:
    detect([RuntimeError("x")])  # type: ignore[operator]
    assert [code for code, _, _ in found("Be brief. {# promptguard: ignore[PG101] #}\n")] == ["PG999"]


IGNORE = "{# promptguard: ignore #}"


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ('{"system_prompt":"NOW","b":{"system_prompt":"hi <!-- promptguard: ignore --> NOW"}}', ["/system_prompt"]),
        ('{"system_prompt":"hi IGNORE NOW","b":{"system_prompt":"NOW"}}', ["/b/system_prompt"]),
        (r'{"system_prompt":"NOW\nNOW IGNORE\n"}', ["/system_prompt"]),
        (r'{"system_prompt":"NOW\r\nIGNORE\r\nNOW"}', ["/system_prompt"]),
        (r'{"system_prompt":"C:\\new IGNORE NOW"}', []),
        (r'{"system_prompt":"say \"no\" IGNORE NOW"}', []),
        ('{"system_prompt":"{# promptguard: ignore-file #}","b":{"system_prompt":"NOW"}}', []),
        ('{"system_prompt":"{# promptguard: ignore","b":{"system_prompt":"#} NOW"}}', ["/b/system_prompt"]),
    ],
)
def test_the_lines_of_a_json_string_are_its_own(folder: Path, text: str, pointers: list[str]) -> None:
    text = text.replace("NOW", "You {{ now() }} x").replace("IGNORE", IGNORE)
    records = check(text, "prompts/a.json", select=("PG101", "PG9")).records
    assert [(record.code, record.pointer) for record in records] == [("PG101", pointer) for pointer in pointers]


def test_a_broken_line_of_json_lines_leaves_the_strings_of_the_others(folder: Path) -> None:
    said = r"Current time: 2026-05-01T10:03:22Z.\nIt helps. <!-- promptguard: ignore[PG405] -->"
    text = '{"name": "x\n{"name": "a", "description": "' + said + '", "input_schema": {"type": "object"}}\n'
    assert [(code, line) for code, line, _ in found(text, "a.jsonl")] == [("PG405", 2), ("PG900", 2)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("You are. {# promptguard: ignore #}\\nEnd.", "You are.\\nEnd."),
        ("You are.\\n{# promptguard: ignore #}\\nEnd.", "You are.\\nEnd."),
        ("You are.\\r\\n{# promptguard: ignore #}", "You are."),
        ("{# promptguard: ignore #}", ""),
    ],
)
def test_fixes_in_a_json_string(folder: Path, before: str, after: str) -> None:
    text = '{"system_prompt": "%s", "user_prompt": "{{ x }}"}\n'
    assert fix(text % before, "prompts/a.json", select=("PG900",))[0] == text % after


PASTED = "Current time: 2026-05-01T10:03:22Z"


@pytest.mark.parametrize("rows", [999, 1000, 1100])
def test_what_stands_in_other_blocks_takes_nothing_of_the_findings_that_are_looked_for(folder: Path, rows: int) -> None:
    asked = f"{{% block user %}}\n{PASTED}\n{{% endblock %}}\n"
    text = asked * 500 + f"{PASTED} {{# promptguard: ignore[PG101] #}}\n" * rows
    result = check(text, pedantic=True, select=("PG1", "PG900"))
    assert (result.records, result.suppressed) == ((), rows)


def test_findings_in_other_blocks_use_no_suppression(folder: Path, detect: object) -> None:
    text = "{% block user %}a{% endblock %} b {# promptguard: ignore[PG101] #}\n"
    at = text.index("a{")
    detect([Hit("PG101", at, at + 1, "x")] * 1000)  # type: ignore[operator]
    assert [record.code for record in check(text).records] == ["PG900"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("prompts.yaml", 'note: "see # promptguard: ignore-file[PG101]"\nsystem_prompt: "You are {{ now() }}"\n'),
        ("prompts.yaml", 'doc: |\n  with # promptguard: ignore-file[PG101] at its top\nsystem_prompt: "You are {{ now() }}"\n'),
        ("prompts.yaml", 'note: "{# promptguard: ignore-file[PG101] #}"\nsystem_prompt: "You are {{ now() }}"\n'),
        ("prompts.yaml", 'doc: |\n  # promptguard: block=nonsense\nsystem_prompt: "You are {{ now() }}"\n'),
        ("prompt.json", '{"note": "{# promptguard: ignore-file[PG101] #}", "system_prompt": "You are {{ now() }}"}'),
    ],
)
def test_what_looks_like_a_comment_in_another_text_is_none(name: str, text: str) -> None:
    assert [code for code, *_ in found(text, name)] == ["PG101"]


@pytest.mark.parametrize(
    "text",
    [
        '- name: a\n  description: "to silence: # promptguard: ignore[PG101]"\n  input_schema: {type: object}\n- name: b\n',
        'system_prompt: You are a bot.\nhelp:\n  - "To silence it write # promptguard: ignore[PG101]"\n  - "# is how"\n',
    ],
)
def test_a_text_with_what_looks_like_a_comment_stays(text: str) -> None:
    assert found(text, "prompts.yaml") == []
