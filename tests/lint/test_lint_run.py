from __future__ import annotations

import multiprocessing
import os
import random
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from promptguard.core.errors import PromptguardError
from promptguard.linting import contents, shares
from promptguard.linting import run as run_module
from promptguard.linting.check import Checker
from promptguard.linting.contents import fix_data, fix_file
from promptguard.linting.load import make_plan
from promptguard.linting.result import FileResult, LintResult, Record
from promptguard.linting.run import collect, exit_code, find_targets, lint_files
from promptguard.linting.settings import MAX_BYTES

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "Today: {{ now() }}.\n"


def lint(*paths: str, jobs: int = 1) -> LintResult:
    plan = make_plan({})
    return collect(lint_files(find_targets(paths, plan), plan.settings, jobs=jobs))


def found(*paths: str) -> list[tuple[str, str]]:
    return [(record.path, record.code) for record in lint(*paths).records]


def reason(path: str) -> str:
    (record,) = lint(path).records
    assert (record.code, record.line, record.column, record.excerpt) == ("PG901", 1, 1, ())
    return record.message


@pytest.fixture
def many(folder: Path) -> Path:
    draw = random.Random(0)
    for number in range(60):
        path = folder / f"d{number % 7}" / f"prompt_{number}.j2"
        path.parent.mkdir(exist_ok=True)
        path.write_text(CLOCK * draw.randint(0, 3) + "Be brief. \n" * draw.randint(1, 9))
    return folder


def test_the_order_is_that_of_the_paths_whatever_the_arguments_are(many: Path) -> None:
    everything = lint(".")
    names = sorted(path.name for path in many.iterdir())
    assert lint(*reversed(names), "d3", "./d1/../d1").records == everything.records
    assert [record.path for record in everything.records] == sorted(
        (record.path for record in everything.records), key=lambda path: path.split("/")
    )
    assert everything.files == everything.looked_at == 60


def test_processes_give_what_one_gives(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = lint(".")
    monkeypatch.setattr(run_module, "_PAYS_FROM", 1)
    monkeypatch.setattr(run_module, "_CHUNK", 500)
    monkeypatch.setattr(run_module, "_check_job", _no_other_process(run_module._check_job))
    assert lint(".", jobs=3) == one
    assert multiprocessing.active_children() == []
    assert [thread.name for thread in threading.enumerate() if "Executor" in type(thread).__name__] == []


def _no_other_process(check: object) -> object:
    parent = os.getpid()

    def checked(*arguments: object) -> object:
        assert os.getpid() != parent, "it is checked in this process"
        return check(*arguments)  # type: ignore[operator]

    return checked


@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_the_hash_seed_does_not_show(many: Path, seed: str) -> None:
    command = [sys.executable, "-m", "promptguard", "lint", "--no-cache", "--output-format", "json", "d1", "d2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
    outputs = {
        subprocess.run([*command, "--jobs", jobs], capture_output=True, env={**environment, "PYTHONHASHSEED": other}).stdout
        for jobs, other in (("1", "7"), ("2", seed))
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_a_process_that_ends_is_said(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_PAYS_FROM", 1)
    monkeypatch.setattr(run_module, "_check_job", lambda *_: os._exit(1))
    monkeypatch.setattr(shares, "may_fork", lambda: True)  # whatever threads run: a fork inherits the stand-in
    with pytest.raises(PromptguardError, match="a process that checks files ended unexpectedly; run it again with --jobs 1"):
        lint(".", jobs=2)


def test_what_is_looked_into(folder: Path) -> None:
    for name in ("a.j2", "b.txt", "c.py", "d.toml", "run.sh", "Dockerfile", "dockerfile.gpu", "x.j2.bak"):
        (folder / name).write_text("x")
    assert [target.path for target in find_targets((), make_plan({}))] == [
        "Dockerfile",
        "a.j2",
        "b.txt",
        "dockerfile.gpu",
        "run.sh",
    ]


def test_declared_prompts_are_found_whatever_their_names_are(folder: Path) -> None:
    (folder / "promptguard.toml").write_text('[[prompts]]\npath = "agents/*.tpl"\nsyntax = "jinja"\n')
    (folder / "agents").mkdir()
    (folder / "agents" / "a.tpl").write_text(CLOCK)
    (folder / "b.tpl").write_text(CLOCK)
    assert found() == [("agents/a.tpl", "PG101")]


def test_exclude(folder: Path) -> None:
    (folder / "promptguard.toml").write_text('[lint]\nexclude = ["b.j2"]\n')
    for name in ("a.j2", "b.j2"):
        (folder / name).write_text(CLOCK)
    assert found() == [("a.j2", "PG101")]
    assert found("b.j2") == [("b.j2", "PG101")]


def test_a_byte_order_mark_is_no_part_of_the_text(folder: Path) -> None:
    (folder / "a.j2").write_bytes(b"\xef\xbb\xbf" + CLOCK.encode())
    (record,) = [record for record in lint("a.j2").records if record.code == "PG101"]
    assert (record.line, record.column) == (1, 8)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff\xfeT\x00o\x00", "the file holds null characters, so it is no text"),
        (b"caf\xe9", "the file is not UTF-8 (byte 3); save it as UTF-8"),
        (b"x" * (MAX_BYTES + 1), "the file is larger than 8,388,608 bytes"),
    ],
)
def test_what_cannot_be_read_is_a_finding_where_it_is_meant_to_be_checked(folder: Path, data: bytes, expected: str) -> None:
    for name in ("system.j2", "notes.txt"):
        (folder / name).write_bytes(data)
        assert reason(name) == expected
    assert found() == [("system.j2", "PG901")]


def test_paths_that_lead_to_no_file(folder: Path) -> None:
    os.mkfifo("pipe.j2")
    Path("loop.j2").symlink_to("loop.j2")
    assert reason("gone.j2") == "there is no such file or folder; check the path"
    assert reason("pipe.j2") == "the file is not a regular file"
    assert reason("loop.j2") == "the file cannot be read (Too many levels of symbolic links)"
    assert found() == []


def test_a_file_that_vanishes_or_changes_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.j2", "b.j2"):
        (folder / name).write_text("Be brief.\n")
    read = run_module.read_found

    def late(path: str, *, size: int) -> bytes:
        data = read(path, size=size)
        Path(path).unlink() if path == "a.j2" else Path(path).write_text(CLOCK)
        return data

    monkeypatch.setattr(run_module, "read_found", late)
    assert found() == [("a.j2", "PG901"), ("b.j2", "PG101")]


def test_a_folder_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert found() == [(".", "PG901")]


def test_named_files_that_hold_nothing_are_said(folder: Path) -> None:
    (folder / "a.txt").write_text("x")
    result = lint("a.txt")
    assert result.skipped == (("a.txt", "holds no prompt, no tool schemas and no serving configuration"),)
    assert lint(".").skipped == ()


def record(code: str) -> Record:
    return Record("a", 1, 1, 1, 1, code, "x", "error", "high", "x", None, None, None, None, None, (), None, (), "x")


@pytest.mark.parametrize(
    ("codes", "files", "paths_given", "expected", "with_exit_zero"),
    [
        ([], 1, True, 0, 0),
        (["PG101"], 1, True, 1, 0),
        (["PG101", "PG901"], 1, True, 2, 2),
        (["PG999"], 1, False, 2, 2),
        ([], 0, True, 3, 0),
        ([], 0, False, 0, 0),
    ],
)
def test_exit_codes(codes: list[str], files: int, paths_given: bool, expected: int, with_exit_zero: int) -> None:
    result = LintResult(tuple(map(record, codes)), files, 1)
    assert exit_code(result, paths_given=paths_given) == expected
    assert exit_code(result, paths_given=paths_given, exit_zero=True) == with_exit_zero


def fix(path: str, *, write: bool = True) -> tuple[FileResult, str | None]:
    plan = make_plan({})
    (result,) = lint_files(find_targets((path,), plan), plan.settings)
    after, change = fix_file(result, Checker(plan.settings), unsafe=False, baseline=None, write=write)
    return after, change.after if change is not None else None


def test_a_fix_keeps_mark_line_ends_links_and_permissions(folder: Path) -> None:
    (folder / "real.j2").write_bytes(b"\xef\xbb\xbfBe brief. \r\nEnd.\r\n")
    (folder / "real.j2").chmod(0o751)
    Path("link.j2").symlink_to("real.j2")
    fix("link.j2")
    assert (folder / "real.j2").read_bytes().removeprefix(b"\xef\xbb\xbf") == b"Be brief.\r\nEnd.\r\n"
    assert Path("link.j2").is_symlink()
    assert stat.S_IMODE((folder / "real.j2").stat().st_mode) == 0o751


def test_however_many_fixes_there_are_the_file_is_checked_three_times(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    real = Checker.check
    monkeypatch.setattr(Checker, "check", lambda *args, **named: checks.append(1) or real(*args, **named))
    text = "You help.\n" + "a \n" * 5000
    result, change = fix_data("system.j2", text.encode(), Checker(make_plan({}).settings), unsafe=False)
    assert (change.after, change.fixes, result.records, len(checks)) == (text.replace(" \n", "\n"), 5000, (), 3)


def test_more_fixes_than_are_taken_at_a_time_are_all_applied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptguard.linting.check.MAX_MENDS", 2)
    change = fix_data("system.j2", b"a \n" * 7, Checker(make_plan({}).settings), unsafe=False)[1]
    assert (change.after, change.fixes) == ("a\n" * 7, 7)


def test_a_safe_fix_behind_many_findings_that_have_none_is_applied(folder: Path) -> None:
    (folder / "a.j2").write_text("{#c#} \n" * 1001 + "a \nb\n")
    assert fix("a.j2")[1] == "{#c#} \n" * 1001 + "a\nb\n"


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("a.j2", "You help {{ name -}}\u200b\nBe brief.\n", None),
        ("a.j2", "You help.{% if a %} Be kind.{% endif %} \nAnswer.\n", None),
        ("a.yaml", "system_prompt: >\n  You are.\n    \n     \n  B  \n", "system_prompt: >\n  You are.\n    \n     \n  B\n"),
        ("a.yaml", "system_prompt: |\n  You are.\n  \u202e  \n", "system_prompt: |\n  You are.\n  \u202e\n"),
        ("a.json", '{"system_prompt": "- item  \\r\u2028 "}', '{"system_prompt": "- item\\r\u2028 "}'),
    ],
)
def test_no_line_is_lost_by_a_safe_fix(folder: Path, name: str, text: str, after: str | None) -> None:
    (folder / "prompts").mkdir()
    (folder / "prompts" / name).write_text(text, encoding="utf-8", newline="")
    assert fix(f"prompts/{name}")[1] == after


def test_a_file_without_fixes_is_not_touched(folder: Path) -> None:
    (folder / "a.j2").write_text(CLOCK)
    before = (folder / "a.j2").stat()
    assert fix("a.j2")[1] is None
    after = (folder / "a.j2").stat()  # it may be read, which some file systems note
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (before.st_ino, before.st_mtime_ns, before.st_ctime_ns)


def test_nothing_is_written_where_the_changes_are_only_shown(folder: Path) -> None:
    (folder / "a.j2").write_text("Be brief. \n")
    assert fix("a.j2", write=False)[1] == "Be brief.\n"
    assert (folder / "a.j2").read_text() == "Be brief. \n"


def test_a_file_that_changes_while_it_is_fixed_is_not_overwritten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.j2").write_text("Be brief. \n")

    def slow(*arguments: object, **keywords: object) -> object:
        (folder / "a.j2").write_text("Mine.\n")
        return fix_data(*arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(contents, "fix_data", slow)
    result, _ = fix("a.j2")
    assert [(item.code, item.message) for item in result.records] == [
        ("PG301", "a space at the end of the line"),
        ("PG901", "the file changed while it was being fixed; run it again"),
    ]
    assert (folder / "a.j2").read_text() == "Mine.\n"


def test_a_file_that_is_write_protected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.j2").write_text("Be brief. \n")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert [item.message for item in fix("a.j2")[0].records][1:] == ["the file is write-protected; nothing is written"]
    assert (folder / "a.j2").read_text() == "Be brief. \n"


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("tools.json", '[{"name": "x"', (1, 14), "not JSON: expecting ',' delimiter"),
        ("x/get_time.tool.yaml", "- name: [x\n", (2, 1), "not YAML: did not find expected ',' or ']'"),
        ("my_tools.jsonl", '{"a": 1}\n[{"name": "x"', (2, 14), "not JSON: expecting ',' delimiter"),
        ("prompts/agent.json", '{"a":\n ', (2, 2), "not JSON: expecting value"),
        (
            "system.j2",
            "{# promptguard: block=usr #}",
            (1, 23),
            'there is no block "usr"; write one of tools, system, history, user',
        ),
    ],
)
def test_a_broken_file_whose_name_says_what_it_is(
    folder: Path, name: str, text: str, place: tuple[int, int], message: str
) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    result = lint()
    (record,) = result.records
    assert (record.code, record.line, record.column, record.message) == ("PG901", *place, message)
    assert (result.files, lint(name).records) == (0, result.records)


@pytest.mark.parametrize("name", ["data.json", "tool-versions.yaml", "tsconfig.tools.json"])
def test_other_broken_files_are_errors_only_where_they_are_named(folder: Path, name: str) -> None:
    (folder / name).write_text('{"name": [')
    assert found() == []
    assert found(name) == [(name, "PG901")]


def test_a_file_that_could_not_be_judged_does_not_count_as_checked(folder: Path) -> None:
    (folder / "system.j2").write_text("You help. {% if a %}\n")
    (folder / "good.j2").write_text("You help.\n")
    assert (lint().files, lint("system.j2").files, lint("good.j2").files) == (1, 0, 1)
