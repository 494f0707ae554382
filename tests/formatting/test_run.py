from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from formatting.trees import BROKEN, CANONICAL, CANONICAL_YAML, SHUFFLED, SHUFFLED_YAML, contents, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptguard.core import files
from promptguard.core.discover import find_files
from promptguard.formatting import run as run_module
from promptguard.formatting.documents import SUFFIXES
from promptguard.formatting.result import Options, Outcome
from promptguard.formatting.run import exit_code, format_data, format_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*paths: str, options: Options | None = None) -> list[tuple[str, str, str | None]]:
    """Path, status and error of each file."""
    outcomes = format_files(find_files(paths or (".",), SUFFIXES), options or Options(), write=True)
    return [(outcome.path, outcome.status, str(outcome.error) if outcome.error else None) for outcome in outcomes]


def error(name: str, content: str | bytes, options: Options | None = None) -> str | None:
    """Why a file is refused; it is unchanged then, and nothing is left beside it."""
    write(Path(), {name: content})
    before = contents(Path())
    ((_, status, message),) = run(name, options=options)
    assert status == "refused"
    assert contents(Path()) == before
    return message


def test_a_file_that_does_not_change_is_not_touched() -> None:
    write(Path(), {"a.json": CANONICAL, "b.json": "{}"})
    before = [Path(name).stat() for name in ("a.json", "b.json")]
    assert [status for _, status, _ in run()] == ["unchanged", "no-tools"]
    assert [Path(name).stat() for name in ("a.json", "b.json")] == before


def test_permissions_stay_and_nothing_is_left(folder: Path) -> None:
    write(folder, {"a.json": SHUFFLED})
    Path("a.json").chmod(0o751)
    assert run() == [("a.json", "reformatted", None)]
    assert stat.S_IMODE(Path("a.json").stat().st_mode) == 0o751
    assert contents(folder) == {"a.json": CANONICAL.encode()}


def test_line_ends_and_a_byte_order_mark() -> None:
    write(
        Path(),
        {
            "a.json": b"\xef\xbb\xbf" + CANONICAL.replace("\n", "\r\n").encode(),
            "b.yaml": "\ufeff" + SHUFFLED_YAML.replace("\n", "\r\n"),
        },
    )
    assert [status for _, status, _ in run()] == ["reformatted", "reformatted"]
    assert contents(Path())["a.json"] == CANONICAL.encode()
    assert b"\r" not in contents(Path())["b.yaml"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.json", BROKEN, 'a.json:1:123: the key "name" stands twice in one object'),
        (
            "a.json",
            CANONICAL.encode().replace(b'"b"', b'"b\xff"'),
            "a.json:15:17: the file is not UTF-8 (byte 221); save it as UTF-8",
        ),
        ("a.json", b"\x00\x01\xfe", "a.json:1:3: the file is not UTF-8 (byte 2); save it as UTF-8"),
        ("a.yaml", SHUFFLED_YAML + "  type: function\n", 'a.yaml:7:3: the key "type" stands twice in one mapping'),
        (
            "a.yaml",
            SHUFFLED_YAML.replace("{}}", "{a: {default: .nan}}}"),
            "a.yaml:2:58: .nan is not a number in JSON; write null or a number",
        ),
        (
            "a.yaml",
            SHUFFLED_YAML.replace("{}}", "{no: {}}}"),
            "a.yaml:2:45: the key no is read as true or false; put it into quotes",
        ),
        ("a.yaml", SHUFFLED_YAML + "  a: : b", "a.yaml:7:6: not YAML: mapping values are not allowed in this context"),
        ("a.yaml", "x: " + "[" * 500, "a.yaml:1:103: nested deeper than 100 levels"),
    ],
)
def test_refused(name: str, content: str | bytes, expected: str) -> None:
    assert error(name, content) == expected


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"string"', "NaN", "a.json:20:21: "),
        ('"string"', "-Infinity", "a.json:20:21: "),
        ('"string"', "1e999", "a.json:20:21: "),
        ('"string"', '"\\ud800"', "a.json:20:21: "),
        ('"string"', "[" * 5000 + "]" * 5000, "a.json:20:"),
        ('"string"', "", "a.json:21:11: "),
    ],
)
def test_refused_values(old: str, new: str, place: str) -> None:
    message = error("a.json", CANONICAL.replace(old, new, 1))
    assert message is not None
    assert message.startswith(place)


def test_the_size_limit() -> None:
    size = len(CANONICAL)
    assert error("a.json", CANONICAL, Options(max_bytes=size - 1)) == f"a.json: the file is larger than {size - 1} bytes"
    assert run("a.json", options=Options(max_bytes=size)) == [("a.json", "unchanged", None)]


def test_what_would_be_refused_the_next_time_is_not_written() -> None:
    size = len(CANONICAL)
    expected = f"a.json: the file would become larger than {size - 1} bytes; split it; nothing is written"
    assert error("a.json", SHUFFLED, Options(max_bytes=size - 1)) == expected
    assert run("a.json", options=Options(max_bytes=size)) == [("a.json", "reformatted", None)]


def test_a_huge_file_is_not_read_whole() -> None:
    with Path("a.json").open("wb") as file:
        file.write(CANONICAL.encode())
        file.truncate(100 * 2**20)
    assert run("a.json") == [("a.json", "refused", "a.json: the file is larger than 8,388,608 bytes")]


def test_what_is_found_in_a_folder_is_refused_only_where_it_seems_to_be_a_tools_file() -> None:
    openings = {
        "nan.json": '{"a": NaN, "function": 1}',
        "comment.json": '{"parameters": 1, // x\n}',
        "latin.json": b'{"function": "\xff"}',
    }
    write(
        Path(),
        {**openings, "large.json": '{"function": 1}' + " " * 2000, "chart.yaml": "function: {{ x }}\n", "tools.json": BROKEN},
    )
    assert [status for _, status, _ in run(options=Options(max_bytes=1000))] == ["no-tools"] * 5 + ["refused"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tools.json", '[{"name": "x"', "tools.json:1:14: not JSON: expecting ',' delimiter"),
        ("x/get_time.tool.json", "", "x/get_time.tool.json:1:1: not JSON: expecting value"),
        ("myTools.yaml", "- name: [x\n", "myTools.yaml:2:1: not YAML: did not find expected ',' or ']'"),
        ("tools-v2.jsonl", '{"a": 1}\n\n[{"name": "x"', "tools-v2.jsonl:3:14: not JSON: expecting ',' delimiter"),
        ("tools.json", b'["\xff"]', "tools.json:1:3: the file is not UTF-8 (byte 2); save it as UTF-8"),
    ],
)
def test_a_broken_file_whose_name_says_tools_is_refused_where_it_is_found(name: str, content: str | bytes, message: str) -> None:
    assert error(name, content) == message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tool-versions.json", "{"),
        ("toolbar.json", "{"),
        ("tsconfig.tools.json", "{ // comment\n}"),
        ("tools.yaml", "tools: {{ .Values.tools }}\n- : ["),
        ("tools.json", '{"a": 1, "a": 2}'),
    ],
)
def test_other_broken_files_that_are_found_are_passed_over(name: str, content: str) -> None:
    write(Path(), {name: content})
    assert run() == [(name, "no-tools", None)]


@pytest.mark.parametrize(
    "name",
    [
        "package.json",
        "openapi.json",
        "request.json",
        "schema.json",
        "data.jsonl",
        "mcp.json",
        "workflow.yaml",
        "empty.json",
        "empty.yaml",
    ],
)
def test_other_files_are_left_alone(name: str) -> None:
    others = {
        "package.json": {"name": "x", "scripts": {"function": "y"}},
        "openapi.json": {
            "openapi": "3.1.0",
            "paths": {"/x": {"get": {"parameters": [{"name": "a", "schema": {"type": "object"}}]}}},
        },
        "request.json": {"tools": json.loads(SHUFFLED), "messages": []},
        "schema.json": {"type": "object", "properties": {"function": {}}, "title": "parameters"},
        "data.jsonl": {"function": 1},
        "mcp.json": {"mcpServers": {"x": {"command": "function"}}},
        "workflow.yaml": {"name": "x", "on": "push", "jobs": {"a": {"with": {"function": 1}}}},
    }
    text = json.dumps(others[name]) if name in others else ""
    assert format_data(text.encode(), name, Options(), named=False).status == "no-tools"


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_lines(name: str) -> None:
    line = SHUFFLED.replace("\n", " ")
    write(Path(), {name: f'{line}\r\n{{"a":  1}}\n'})
    assert run() == [(name, "reformatted", None)]
    text = contents(Path())[name].decode()
    assert json.loads(text.split("\n")[0]) == json.loads(CANONICAL)
    assert text.endswith('}]\n{"a":  1}\n')


@pytest.mark.parametrize("name", ["train.json", "tools.json"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_data_set_of_lines_is_left_alone_whatever_its_name(name: str, start: str) -> None:
    record = json.dumps({"id": 1, "question": "When?", "functions": [{"name": "f", "parameters": {"type": "object"}}]})
    for named in (True, False):
        assert format_data(f"{start}{record}\n{record}\n".encode(), name, Options(), named=named).status == "no-tools"


def test_lines_that_are_refused() -> None:
    broken = BROKEN.replace("\n", " ")
    message = error("a.jsonl", SHUFFLED.replace("\n", " ") + "\n" + broken + "\n")
    assert message == 'a.jsonl:2:123: the key "name" stands twice in one object'


def test_a_line_of_tools_that_is_broken() -> None:
    line = SHUFFLED.replace("\n", " ")
    message = error("a.jsonl", f"{line}\nnot JSON\n{line[:-1]}\n")
    assert message is not None
    assert message.startswith("a.jsonl:3:244: ")


def test_a_write_that_fails_leaves_everything_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert error("a.json", SHUFFLED) == "a.json: the file cannot be written (No space left on device)"


def test_an_interrupt_leaves_everything_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    write(folder, {"a.json": SHUFFLED})
    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert contents(folder) == {"a.json": SHUFFLED.encode()}


def test_a_folder_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open

    def refuse(path: object, mode: str = "r", *rest: object) -> object:
        if mode == "xb":
            raise PermissionError(13, "Permission denied")
        return opened(path, mode, *rest)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", refuse)
    write(Path(), {"a.json": SHUFFLED})
    assert run() == [("a.json", "refused", "a.json: the file cannot be written (Permission denied)")]


def test_a_file_that_is_write_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    assert error("a.json", SHUFFLED) == "a.json: the file is write-protected; nothing is written"


def test_a_file_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    write(Path(), {"a.json": SHUFFLED})
    monkeypatch.setattr(files.os, "open", refuse)
    assert run() == [("a.json", "refused", "a.json: the file cannot be read (Permission denied)")]


def test_a_file_that_vanishes() -> None:
    write(Path(), {"a.json": SHUFFLED, "b.json": SHUFFLED})
    targets = find_files(["."], SUFFIXES)
    Path("a.json").unlink()
    outcomes = list(format_files(targets, Options(), write=True))
    assert [(outcome.status, str(outcome.error)) for outcome in outcomes] == [
        ("refused", "a.json: the file does not exist; check the path"),
        ("reformatted", "None"),
    ]


def test_a_file_that_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(data: bytes, path: str, options: Options, *, named: bool) -> Outcome:
        Path(path).write_text("{}")
        return format_data(data, path, options, named=named)

    write(Path(), {"a.json": SHUFFLED})
    monkeypatch.setattr(run_module, "format_data", slow)
    assert run() == [("a.json", "refused", "a.json: the file changed while it was being formatted; run it again")]
    assert contents(Path()) == {"a.json": b"{}"}


def test_a_fault_of_ours_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(data: bytes, path: str, options: Options, *, named: bool) -> Outcome:
        if path == "a.json":
            raise KeyError("x")
        return format_data(data, path, options, named=named)

    write(Path(), {"a.json": SHUFFLED, "b.json": SHUFFLED})
    monkeypatch.setattr(run_module, "format_data", faulty)
    assert run() == [
        ("a.json", "refused", "a.json: internal error: KeyError: 'x'; please report it; nothing is written"),
        ("b.json", "reformatted", None),
    ]


def test_pipes_and_folders() -> None:
    os.mkfifo("a.json")
    done = threading.Thread(target=run, args=("a.json",), daemon=True)
    done.start()
    done.join(20)
    assert not done.is_alive(), "it waits for the pipe"
    assert run("a.json") == [("a.json", "refused", "a.json: the file is not a regular file")]


def test_a_loop_of_links() -> None:
    Path("a.json").symlink_to("a.json")
    ((_, status, message),) = run("a.json")
    assert (status, message) == ("refused", "a.json: the file cannot be read (Too many levels of symbolic links)")


def test_links_are_written_through(folder: Path) -> None:
    write(folder, {"x/real.json": SHUFFLED})
    Path("one.json").symlink_to("x/real.json")
    Path("two.json").symlink_to("one.json")
    assert run("two.json", "one.json") == [("one.json", "reformatted", None)]
    assert contents(folder) == {"one.json": b"-> x/real.json", "two.json": b"-> one.json", "x/real.json": CANONICAL.encode()}


def outcome(status: str) -> Outcome:
    return Outcome("a", status, named=False)  # type: ignore[arg-type]


def test_exit_codes() -> None:
    assert exit_code([], judge=True, paths_given=False) == 0
    assert exit_code([outcome("reformatted"), outcome("kept")], judge=False, paths_given=True) == 0
    assert exit_code([outcome("kept"), outcome("unchanged")], judge=True, paths_given=True) == 1
    assert exit_code([outcome("reformatted")], judge=True, paths_given=True, exit_zero=True) == 0
    assert exit_code([outcome("refused"), outcome("reformatted")], judge=True, paths_given=True, exit_zero=True) == 2
    assert exit_code([outcome("no-tools")], judge=True, paths_given=False) == 0
    assert exit_code([outcome("no-tools")], judge=False, paths_given=True) == 3
    assert exit_code([], judge=False, paths_given=True) == 3
    assert exit_code([], judge=False, paths_given=True, exit_zero=True) == 0
    assert exit_code([outcome("no-tools"), outcome("unchanged")], judge=False, paths_given=True) == 0


TOOLS = json.loads(SHUFFLED)
HELD = json.dumps({"tools": [{"name": "b", "input_schema": {"type": "object"}, "cache_control": {}}], "nextCursor": None})
DIALECTS = json.dumps([{"name": "é", "inputSchema": {"$ref": "#/$defs/x", "$defs": {"x": {"enum": [1.0, "a"]}}}}, *TOOLS])
SEEDS = {
    "a.json": [SHUFFLED, CANONICAL, HELD, DIALECTS],
    "a.jsonl": [SHUFFLED.replace("\n", " ") + "\n" + HELD + "\r\n{}\n", DIALECTS],
    "a.yaml": [SHUFFLED_YAML, CANONICAL_YAML, "# Tools\n" + SHUFFLED_YAML, DIALECTS],
}
PIECES = [
    b"",
    b'"',
    b"\\",
    b"{",
    b"]",
    b",",
    b": ",
    b"#",
    b"&a ",
    b"!t ",
    b"\t",
    b"\r",
    b"\n",
    b"\x00",
    b"NaN",
    b"1e999",
    b"\\ud800",
]
INVALID = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"]
"""Bytes that are no UTF-8: never used, cut off, a surrogate, beyond Unicode, longer than need be."""


@st.composite
def mutated(draw: st.DrawFn, pieces: list[bytes]) -> tuple[str, bytes]:
    """A tools file, and its content with some bits flipped and some pieces put in or put over something."""
    name = draw(st.sampled_from(sorted(SEEDS)))
    data = bytearray(draw(st.sampled_from(SEEDS[name])).encode())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            data[at] ^= 1 << draw(st.integers(0, 7))
        else:
            data[at : at + draw(st.integers(0, 2))] = draw(st.sampled_from(pieces))
    return name, bytes(data)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated(PIECES), st.booleans(), st.booleans())
def test_mutated_files(file: tuple[str, bytes], named: bool, written: bool) -> None:
    check(*file, named, Options(written=written, unsafe_fixes=written))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(SEEDS)), st.data(), st.sampled_from(INVALID))
def test_files_that_are_not_utf_8(name: str, data: st.DataObject, invalid: bytes) -> None:
    text = data.draw(st.sampled_from(SEEDS[name]))
    at = data.draw(st.integers(0, len(text)))
    content = text[:at].encode() + invalid + text[at:].encode()
    assert check(name, content, named=True) == "refused"


def check(name: str, data: bytes, named: bool, options: Options | None = None) -> str:
    """No crash; a file that is not reformatted is as it was; one that is stays as it is the second time. Gives the status."""
    for path in Path().iterdir():
        path.unlink()
    write(Path(), {name: data})
    ((_, status, message),) = run(name if named else ".", options=options)
    assert "internal error" not in (message or "")
    assert (message is not None) == (status == "refused")
    after = contents(Path())
    assert list(after) == [name]
    if status == "reformatted":
        assert run(name if named else ".", options=options) == [(name, "unchanged", None)]
    else:
        assert after == {name: data}
    return status
