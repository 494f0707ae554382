from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from findings_snapshots import FILES, FOLDER, written
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from lint_results import CLEAN, CLOCK, HOSTILE, RESULT

from promptguard.core.errors import ConfigError, InputError
from promptguard.linting.result import LintResult, Record, RecordedFix, RecordedPlace
from promptguard.report.files import parse_report_options
from promptguard.report.findings import FORMATS, markdown, write_findings, write_report_files

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "lint-1.json").read_text(encoding="utf-8"))


def report(result: LintResult, form: str, **options: Any) -> str:
    pieces: list[str] = []
    write_findings(result, form, pieces.append, **options)
    return "".join(pieces)


def of(*records: Record) -> LintResult:
    return LintResult(records, files=1, looked_at=1)


@pytest.mark.parametrize("form", FORMATS)
def test_whole_report(form: str) -> None:
    assert written(form) == (FOLDER / FILES[form]).read_bytes().decode("utf-8")


def test_an_unknown_format() -> None:
    with pytest.raises(ValueError, match="no such format: 'pdf'"):
        report(CLEAN, "pdf")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("full", "All checks passed (12 files).\n"),
        ("concise", "All checks passed (12 files).\n"),
        ("github", ""),
        ("markdown", "### promptguard lint: passed\n\nAll checks passed (12 files).\n"),
    ],
)
def test_nothing_found(form: str, expected: str) -> None:
    assert report(CLEAN, form) == expected


def test_nothing_found_is_a_passed_case_in_junit() -> None:
    root = ET.fromstring(report(CLEAN, "junit").encode())
    assert [case.get("name") for case in root.iter("testcase")] == ["All checks passed (12 files)."]
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


def test_nothing_to_check() -> None:
    assert report(LintResult((), files=0, looked_at=1), "concise") == "Nothing to check in 1 file.\n"


@pytest.mark.parametrize(
    ("fixes", "expected"),
    [
        (["safe", "unsafe", "unsafe"], "1 is fixable with --fix, 2 more with --unsafe-fixes."),
        (["safe", "safe", "display"], "2 are fixable with --fix."),
        (["unsafe", "display"], "1 is fixable with --fix --unsafe-fixes."),
        (["display"], "Found 1 error in 1 file (1 checked)."),
    ],
)
def test_the_summary_says_what_can_be_fixed(fixes: list[Any], expected: str) -> None:
    records = [CLOCK._replace(fix=RecordedFix("Mend it", applicability, ())) for applicability in fixes]
    assert report(of(*records), "concise").rstrip().endswith(expected)


def test_the_schema_is_closed_and_the_report_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    for result in (RESULT, CLEAN):
        Draft202012Validator(SCHEMA).validate(json.loads(report(result, "json")))
    objects = [SCHEMA, *SCHEMA["$defs"].values()]
    assert all(item["additionalProperties"] is False and item["required"] == list(item["properties"]) for item in objects)


def test_json_keys_are_in_the_order_of_the_schema() -> None:
    value = json.loads(report(RESULT, "json"))
    assert list(value) == list(SCHEMA["properties"])
    assert list(value["findings"][0]) == list(SCHEMA["$defs"]["finding"]["properties"])
    assert list(value["summary"]) == list(SCHEMA["$defs"]["summary"]["properties"])


def test_colours_change_no_text() -> None:
    for form in ("full", "concise"):
        coloured = report(RESULT, form, color=True, statistics=True)
        assert "\x1b[1;31m" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == report(RESULT, form, statistics=True)


def test_what_a_stream_cannot_show_is_escaped_and_carets_stay_right() -> None:
    lines = report(of(CLOCK), "full", encoding="ascii").splitlines()
    start = lines[1].index("{{ now() }}")
    assert lines[1].isascii()
    assert (lines[2].index("^"), lines[2].count("^")) == (start, len("{{ now() }}"))


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x00\x1b\n\r\t`|<&>\"'%:,#@[](){}*_~\\\u202e日"))


@given(TEXT, TEXT, TEXT)
def test_no_text_gets_out_of_its_place(path: str, message: str, excerpt: str) -> None:
    fix = RecordedFix(message, "safe", ())
    record = HOSTILE._replace(
        code="PG101",
        name="clock",
        path=path,
        message=message,
        line=1,
        column=1,
        end_line=1,
        end_column=2,
        excerpt=((1, 1, excerpt),),
        fix=fix,
        related=(RecordedPlace(1, 1, 1, 2, message),),
        tokenizer=message,
        tokens_lost=3,
    )
    lines = {form: report(of(record), form).removesuffix("\n").split("\n") for form in ("full", "concise", "github", "markdown")}
    assert {form: len(found) for form, found in lines.items()} == {"full": 9, "concise": 2, "github": 1, "markdown": 7}
    assert all(line.isprintable() for found in lines.values() for line in found)
    assert re.fullmatch(r"::notice file=[^:,]*,line=1,col=1,endLine=1,endColumn=2,title=PG101 clock::.*", lines["github"][0])
    assert lines["markdown"][-1].count("|") == 6
    assert not re.search(r"[<>](?!code>|/code>)(?<!code>)", lines["markdown"][-1])
    assert len(list(ET.fromstring(report(of(record), "junit").encode()).iter("failure"))) == 1
    assert json.loads(report(of(record), "json"))["findings"][0]["message"] == message
    assert json.loads(report(of(record), "sarif"))["runs"][0]["results"][0]["ruleId"] == "PG101"


def test_a_path_that_is_not_utf_8_can_be_written() -> None:
    for form in FORMATS:
        report(of(CLOCK._replace(path="a\udcff.j2")), form).encode()
    assert '"uri": "a%FF.j2"' in report(of(CLOCK._replace(path="a\udcff.j2")), "sarif")


def test_markdown_is_bounded() -> None:
    records = [CLOCK._replace(message="é" * 5000)] * 300
    text = report(of(*records), "markdown")
    assert markdown.LIMIT - 20_000 < len(text.encode()) <= markdown.LIMIT
    rows = text.count("| <code>prompts")
    assert text.endswith(f"\nand {300 - rows} findings more, left out for their size\n")
    assert 0 < rows < 300


def test_a_quoted_backtick_is_no_code_in_markdown() -> None:
    assert "&#96;a&#96;b&#96; changes" in report(of(CLOCK._replace(message="`a`b` changes")), "markdown")


def test_reports_in_files(tmp_path: Path) -> None:
    write_report_files(RESULT, [("json", tmp_path / "a.json"), ("junit", tmp_path / "b.xml")])
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == report(RESULT, "json")
    assert (tmp_path / "b.xml").read_text(encoding="utf-8") == report(RESULT, "junit")


def test_no_report_is_written_where_one_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        write_report_files(RESULT, [("json", tmp_path / "a.json"), ("junit", tmp_path / "none" / "b.xml")])
    assert list(tmp_path.iterdir()) == []


def test_the_text_formats_import_nothing_heavy() -> None:
    code = (
        "import sys; from promptguard.linting.result import LintResult; from promptguard.report.findings import write_findings\n"
        "for form in ('full', 'concise'): write_findings(LintResult((), 1, 1), form, str, color=True, statistics=True)\n"
        "heavy = {'click', 'dataclasses', 'importlib', 'json', 'pathlib', 'rich', 'unicodedata'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (0, "")


def test_report_options_of_lint() -> None:
    assert parse_report_options(["sarif=a", "json=b"], FORMATS) == [("sarif", Path("a")), ("json", Path("b"))]
    with pytest.raises(ConfigError, match=r"unknown report format 'sarf'; did you mean sarif\?"):
        parse_report_options(["sarf=a"], FORMATS)
