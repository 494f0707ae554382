from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path

import pytest

from promptguard.core.errors import ConfigError, InputError
from promptguard.core.option_tables import REPORT_FORMATS
from promptguard.replaying.result import Result
from promptguard.report.files import FORMATS, check_target, parse_report_option, parse_report_options, render, show, write_report


def test_the_configuration_knows_the_same_formats() -> None:
    assert tuple(FORMATS) == REPORT_FORMATS


@pytest.mark.parametrize(("format_", "start"), [("text", "engine "), ("json", "{"), ("markdown", "###"), ("junit", "<?xml")])
def test_render(clean: Result, format_: str, start: str) -> None:
    assert render(clean, format_).startswith(start)
    assert render(clean, format_).endswith("\n")


def test_structured_formats_are_utf_8_on_any_stream(clean: Result) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(clean, "json", stream)
    assert json.loads(stream.buffer.getvalue().decode("utf-8"))["version"] == 1  # type: ignore[attr-defined]


def test_show_on_a_stream_of_text(clean: Result) -> None:
    stream = io.StringIO()
    show(clean, "junit", stream)
    assert stream.getvalue() == render(clean, "junit")


def test_parse() -> None:
    assert parse_report_option("json=out=1.json") == ("json", Path("out=1.json"))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("jsn=a", "--report jsn=a: unknown report format 'jsn'; did you mean json?"),
        ("pdf=a", "--report pdf=a: unknown report format 'pdf'; the formats are text, json, sarif, markdown, junit"),
        ("json", "--report json: the file name is missing; write it as json=FILE"),
        ("json=", "--report json=: the file name is missing; write it as json=FILE"),
    ],
)
def test_parse_errors(option: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_report_option(option)
    assert str(caught.value) == message


def test_no_file_is_named_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_report_options(["json=a", "junit=b"]) == [("json", Path("a")), ("junit", Path("b"))]
    with pytest.raises(ConfigError, match="two reports would be written to"):
        parse_report_options(["json=a", f"junit={tmp_path}/./a"])


def test_write_and_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_report(path, "one")
    write_report(path, "zw\xf6lf\n")
    assert path.read_bytes() == b"zw\xc3\xb6lf\n"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_the_umask_or_of_the_old_file(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        write_report(tmp_path / "new", "x")
    finally:
        os.umask(umask)
    (tmp_path / "old").touch(0o600)
    write_report(tmp_path / "old", "x")
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")] == [0o640, 0o600]


def test_a_symbolic_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/target")
    write_report(link, "x")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "target").read_text() == "x"


def test_a_pipe_is_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_report(pipe, "x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_nothing_is_left_of_a_report_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def full(_source: str, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError, match="the report cannot be written: No space left on device"):
        write_report(path, "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out", "old")]


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing/out", "there is no such folder"), ("file/out", "there is no such folder"), ("", "this is a folder")],
)
def test_a_target_that_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        check_target(tmp_path / name)


def test_a_folder_without_write_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="the folder cannot be written to; name another file"):
        check_target(tmp_path / "out")
