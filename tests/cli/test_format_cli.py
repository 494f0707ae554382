from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from formatting.trees import BROKEN, CANONICAL, CANONICAL_YAML, SHUFFLED, SHUFFLED_YAML, WIRE, contents, write

from promptguard.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
DUPLICATE = 'promptguard: error: {}:1:123: the key "name" stands twice in one object'


class Run:
    """The command in this process, in the folder of the test."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["format", *arguments])
        captured = self._capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, captured.out, captured.err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return Run(capfd)


def tree(**files: str | bytes) -> None:
    write(Path(), {name.replace("__", "/").replace("_", "."): content for name, content in files.items()})


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_folder(run: Run) -> None:
    tree(a_json=SHUFFLED, x__b_json=CANONICAL, x__c_yaml=SHUFFLED_YAML, package_json='{"name": "x"}')
    assert run() == (0, "formatted a.json\nformatted x/c.yaml\n2 files reformatted, 1 left unchanged\n", "")
    assert contents(Path()) == {
        "a.json": CANONICAL.encode(),
        "x/b.json": CANONICAL.encode(),
        "x/c.yaml": CANONICAL_YAML.encode(),
        "package.json": b'{"name": "x"}',
    }
    assert run() == (0, "3 files left unchanged\n", "")


def test_the_order_of_the_arguments_does_not_show(run: Run) -> None:
    tree(a_json=SHUFFLED, b_json=SHUFFLED)
    expected = (1, "would format a.json\nwould format b.json\n2 files would be reformatted\n", "")
    assert run("--check", "b.json", "a.json", "b.json", ".") == run("--check", "a.json", "b.json") == expected


def test_check_writes_nothing(run: Run) -> None:
    tree(a_json=SHUFFLED, b_json=CANONICAL)
    assert run("--check") == (1, "would format a.json\n1 file would be reformatted, 1 would be left unchanged\n", "")
    assert run("--check", "b.json") == (0, "1 file would be left unchanged\n", "")
    assert contents(Path()) == {"a.json": SHUFFLED.encode(), "b.json": CANONICAL.encode()}


def test_diff(run: Run) -> None:
    text = '{\r\n  "type": "function",\n  "function": {\n    "description": "d",\n    "name": "a"\n  }\n}\n'
    tree(a_json=text, b_json=CANONICAL)
    code, out, err = run("--diff")
    assert (code, err) == (1, "1 file would be reformatted, 1 would be left unchanged\n")
    assert out == (
        "--- a.json\n+++ a.json\n@@ -1,7 +1,7 @@\n-{\r\n+{\n"
        '   "type": "function",\n   "function": {\n-    "description": "d",\n-    "name": "a"\n'
        '+    "name": "a",\n+    "description": "d"\n   }\n }\n'
    )
    assert contents(Path())["a.json"] == text.encode()


def test_a_diff_of_a_text_without_a_final_newline(run: Run) -> None:
    tree(a_json=CANONICAL.rstrip("\n"))
    tail = "-]\n\\ No newline at end of file\n+]\n"
    code, out, _ = run("--diff")
    assert (code, out.endswith(tail)) == (1, True)


def test_quiet(run: Run) -> None:
    tree(a_json=SHUFFLED, b_json=BROKEN)
    assert run("--quiet", "--diff", "a.json") == (1, "", "")
    assert run("--quiet", "a.json") == (0, "", "")
    assert run("--quiet") == (2, "", DUPLICATE.format("b.json") + "\n")


def test_as_found_passes_over_what_is_no_tools_file(run: Run) -> None:
    tree(
        a_json=CANONICAL,
        b_json="{ // a comment",
        c_json="{}",
        promptguard_toml='[format]\nexclude = ["old/"]\n',
        old__d_json=SHUFFLED,
    )
    assert run("--as-found", "--check", "a.json", "b.json", "c.json", "old/d.json") == (0, "1 file would be left unchanged\n", "")
    assert run("--as-found", "c.json") == (0, "no tool schemas found\n", "")
    assert run("--as-found", "gone.json")[0] == 2


def test_exit_zero(run: Run) -> None:
    tree(a_json=SHUFFLED, b_json=BROKEN, c_json="{}")
    assert run("--check", "--exit-zero", "a.json")[0] == 0
    assert run("--exit-zero", "c.json")[0] == 0
    assert run("--exit-zero")[0] == 2


def test_nothing_found_in_a_folder(run: Run) -> None:
    tree(package_json="{}")
    assert run() == (0, "no tool schemas found\n", "")


def test_a_named_file_without_tool_schemas(run: Run) -> None:
    tree(package_json="{}", a_json=CANONICAL)
    note = "promptguard: note: package.json: holds no tool schemas: left as it is\n"
    assert run("package.json") == (3, "no tool schemas found\n", note)
    assert run("package.json", "a.json") == (0, "1 file left unchanged\n", note)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.yaml"])
def test_a_named_record(run: Run, name: str) -> None:
    tools = WIRE
    write(
        Path(), {name: f'{{"model": "m", "messages": [], "tools": {tools}}}\n', "x" + name: f'{{"query": "q", "tools": {tools}}}'}
    )
    note = f"promptguard: note: {name}: is a request with messages, which is a record: left as it is\n"
    assert run(name) == (3, "no tool schemas found\n", note)
    note = f'promptguard: note: x{name}: has more than tools in it ("query"), so it is a record or a manifest: left as it is\n'
    assert run("x" + name) == (3, "no tool schemas found\n", note)
    assert run() == (0, "no tool schemas found\n", "")


def test_a_path_that_does_not_exist(run: Run) -> None:
    tree(a_json=SHUFFLED)
    error = "promptguard: error: b.json: there is no such file or folder; check the path\n"
    assert run("a.json", "b.json") == (2, "formatted a.json\n1 file reformatted, 1 refused\n", error)
    assert contents(Path()) == {"a.json": CANONICAL.encode()}


def test_a_named_file_that_cannot_be_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refuse(path: object, *rest: int) -> int:
        if str(path) == "a.json":
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest)  # type: ignore[call-overload, no-any-return]

    tree(a_json=SHUFFLED, b_json=SHUFFLED)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    error = "promptguard: error: a.json: the file cannot be read (Permission denied)\n"
    assert run("a.json", "b.json") == (2, "formatted b.json\n1 file reformatted, 1 refused\n", error)


def test_a_refused_file_does_not_keep_the_others(run: Run) -> None:
    tree(a_json=BROKEN, b_json=SHUFFLED)
    assert run() == (2, "formatted b.json\n1 file reformatted, 1 refused\n", DUPLICATE.format("a.json") + "\n")
    assert contents(Path()) == {"a.json": BROKEN.encode(), "b.json": CANONICAL.encode()}


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, SHUFFLED.encode())
    assert run("-") == (0, CANONICAL, "")
    stdin(monkeypatch, SHUFFLED_YAML.encode())
    assert run("--stdin-filename", "x/tools.yaml") == (0, CANONICAL_YAML, "")
    stdin(monkeypatch, b"\xef\xbb\xbf" + SHUFFLED.encode())
    assert run("--wire", "-") == (0, WIRE, "")


def test_standard_input_check_and_diff(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, SHUFFLED.encode())
    assert run("--check", "--stdin-filename", "x.json") == (1, "would format x.json\n", "")
    stdin(monkeypatch, SHUFFLED.encode())
    code, out, err = run("--diff", "--stdin-filename", "x.json", "-")
    assert (code, out[:24], err) == (1, "--- x.json\n+++ x.json\n@@", "")
    stdin(monkeypatch, CANONICAL.encode())
    assert run("--check", "-") == (0, "", "")


def test_standard_input_that_is_refused_or_holds_no_tools(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, BROKEN.encode())
    assert run("-") == (2, "", DUPLICATE.format("<stdin>") + "\n")
    stdin(monkeypatch, b'{"a": 1}\r\n')
    code, out, err = run("--stdin-filename", "package.json")
    assert (code, out, err) == (3, '{"a": 1}\r\n', "promptguard: note: package.json: holds no tool schemas: left as it is\n")


def test_standard_input_is_bytes(tmp_path: Path) -> None:
    tools = SHUFFLED.replace('"b"', '"é😀"').encode()
    command = [sys.executable, "-m", "promptguard", "format", "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, input=tools, capture_output=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, CANONICAL.replace('"b"', '"é😀"').encode(), b"")


def test_wire(run: Run) -> None:
    tree(a_json=SHUFFLED, b_yaml=SHUFFLED_YAML, c_json="{}", d_jsonl=SHUFFLED.replace("\n", " ") + "\n")
    assert run("--wire", "a.json") == (0, WIRE, "")
    code, out, _ = run("--wire", "b.yaml")
    assert (code, out[:56]) == (0, '[{"type":"function","function":{"name":"a"}},{"type":"fu')
    assert run("--wire", "d.jsonl") == (0, WIRE + "\n", "")
    tree(e_jsonl='{"a": 1}\n' + SHUFFLED.replace("\n", " "))
    assert run("--wire", "e.jsonl") == (0, '{"a": 1}\n' + WIRE + "\n", "")
    assert run("--wire", "c.json") == (3, "", "promptguard: note: c.json: holds no tool schemas: left as it is\n")
    assert contents(Path())["a.json"] == SHUFFLED.encode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--wire", "a.json", "b.json"], "--wire: takes one file; name it"),
        (["--wire"], "--wire: takes one file; name it"),
        (["--wire", "."], "--wire: takes one file; name it"),
        (["--wire", "--check", "a.json"], "--wire: prints a file and compares nothing; leave --check and --diff out"),
        (["-", "a.json"], "PATHS: - stands for standard input and cannot be combined with other paths"),
        (["--stdin-filename", "x.json", "a.json"], "--stdin-filename: formats standard input alone; leave the paths out"),
    ],
)
def test_usage(run: Run, arguments: list[str], message: str) -> None:
    tree(a_json=SHUFFLED, b_json=SHUFFLED)
    assert run(*arguments) == (2, "", f"promptguard: error: {message}\n")


def test_sort_properties(run: Run) -> None:
    tool = '[{"name": "a", "parameters": {"type": "object", "properties": {"z": {}, "b": {}}}}]'
    tree(a_json=tool)
    assert run("--wire", "a.json")[1].endswith('"properties":{"z":{},"b":{}}}}]')
    assert run("--wire", "--sort-properties", "a.json")[1].endswith('"properties":{"b":{},"z":{}}}}]')


def test_unsafe_fixes_say_what_they_changed(run: Run) -> None:
    tree(a_json=CANONICAL.replace('"name": "a",', '"name": "a",\n      "description": "x \\r\\ny",'))
    assert run("--check")[0] == 0
    code, out, err = run("--unsafe-fixes")
    assert (code, out) == (0, "formatted a.json\n1 file reformatted\n")
    assert err.startswith("promptguard: unsafe fix: a.json:6:22: normalized line ends, trailing spaces")
    assert '"description": "x\\ny"' in contents(Path())["a.json"].decode()


def test_unsafe_fixes_in_yaml(run: Run) -> None:
    tree(a_yaml='- type: function\n  function:\n    name: a\n    description: "x \\r\\ny"\n')
    code, out, err = run("--unsafe-fixes")
    assert (code, out) == (0, "formatted a.yaml\n1 file reformatted\n")
    assert err == "promptguard: unsafe fix: a.yaml:4:18: normalized line ends, trailing spaces of /0/function/description\n"
    assert contents(Path())["a.yaml"] == b"- type: function\n  function:\n    name: a\n    description: |-\n      x\n      y\n"


def test_configuration(run: Run) -> None:
    tree(a_json=SHUFFLED, gen__b_json=SHUFFLED, c_json=SHUFFLED)
    write(Path(), {"pyproject.toml": '[tool.promptguard.format]\nexclude = ["gen/"]\n'})
    assert run("--check")[1] == "would format a.json\nwould format c.json\n2 files would be reformatted\n"
    assert (
        run("--check", "--exclude", "a.json")[1] == "would format c.json\nwould format gen/b.json\n2 files would be reformatted\n"
    )
    write(Path(), {"other.toml": '[format]\nexclude = ["*"]\n'})
    assert run("--check", "--config", "other.toml") == (0, "no tool schemas found\n", "")


def test_yaml_with_comments_is_kept(run: Run) -> None:
    text = "# Tools\n" + SHUFFLED_YAML
    tree(a_yaml=text, b_yaml="# Tools\n" + CANONICAL_YAML)
    note = (
        'promptguard: note: a.yaml:2:3: not canonical, "a" belongs before "b"; not rewritten because it has comments (line 1)\n'
    )
    assert run() == (0, "1 file left unchanged, 1 not canonical and not rewritten\n", note)
    assert run("--check") == (1, "1 file would be left unchanged, 1 not canonical and not rewritten\n", note)
    assert run("--check", "b.yaml") == (0, "1 file would be left unchanged\n", "")
    assert contents(Path())["a.yaml"] == text.encode()


def test_yaml_with_comments_is_not_normalized(run: Run) -> None:
    text = '- type: function  # Tools\n  function:\n    name: a\n    description: "x \\r\\ny"\n'
    tree(a_yaml=text, b_yaml="# Tools\n" + text.replace("    name: a\n", "") + "    name: a\n")
    assert run("--check", "a.yaml") == (0, "1 file would be left unchanged\n", "")
    code, out, err = run("--unsafe-fixes", "--check")
    assert (code, out) == (1, "2 files not canonical and not rewritten\n")
    assert err == (
        "promptguard: note: a.yaml:4:18: not normalized because it has comments (line 1)\n"
        'promptguard: note: b.yaml:4:5: not canonical, "name" belongs before "description"; '
        "not rewritten and not normalized because it has comments (line 1)\n"
    )
    assert contents(Path())["a.yaml"] == text.encode()


def test_a_yaml_directive_is_no_tag(run: Run) -> None:
    tree(a_yaml="%YAML 1.1\n---\n" + SHUFFLED_YAML)
    assert run("--check")[2] == "promptguard: note: a.yaml:1:1: left as it is because it has a directive\n"


def test_warnings(run: Run) -> None:
    tool = CANONICAL.replace('"type": "string"', '"$ref": "#/$defs/gone"')
    tree(a_json=tool)
    code, out, err = run()
    assert (code, out) == (0, "1 file left unchanged\n")
    assert err.startswith("promptguard: warning: a.json:20:")


def test_a_warning_on_a_write_gives_the_place_after_it(run: Run) -> None:
    tool = SHUFFLED.replace('"type": "string"', '"$ref": "#/gone"')
    text = 'promptguard: warning: {}: the $ref "#/gone" points nowhere\n'
    tree(a_json=tool, b_jsonl=tool.replace("\n", " ") + "\n", c_yaml=tool)
    before = [text.format(place) for place in ("a.json:1:79", "b.jsonl:1:79", "c.yaml:1:79")]
    assert run("--check")[2] == "".join(before)
    after = [text.format(place) for place in ("a.json:20:21", "b.jsonl:1:191", "c.yaml:14:17")]
    assert run()[2] == "".join(after)
    assert run()[2] == "".join(after)


def test_a_cache_mark_that_is_moved_off_the_end(run: Run) -> None:
    mark = '"cache_control": {"type": "ephemeral"}'
    tools = f'[{{"name": "b", "input_schema": {{}}}}, {{"name": "a", "input_schema": {{"type": "object"}}, {mark}}}]'
    text = (
        'promptguard: warning: {}: cache_control was on the last tool and moves with "a": the tools behind it are no longer in '
        "what it caches; put it on the last tool\n"
    )
    tree(a_json=tools, b_jsonl=f"{{}}\n{tools}\n", c_yaml=tools, d_json=f'{{"tools": {tools}}}')
    before = [text.format(place) for place in ("a.json:1:104", "b.jsonl:2:104", "c.yaml:1:104", "d.json:1:114")]
    assert run("--check")[2] == "".join(before)
    assert run("--wire", "c.yaml")[2] == before[2]
    after = [text.format(place) for place in ("a.json:7:22", "b.jsonl:2:63", "c.yaml:5:5", "d.json:8:24")]
    assert run()[2] == "".join(after)
    assert run()[2] == ""


@pytest.mark.parametrize(("marked", "warned"), [("ab", True), ("ac", False), ("b", False), ("c", False), ("", False)])
def test_a_cache_mark_matters_where_it_was_last_and_none_is_last_now(run: Run, marked: str, warned: bool) -> None:
    tools = [
        {"name": name, "cache_control": {} if name in marked else None, "input_schema": {"type": "object"}} for name in "bca"
    ]
    tree(a_json=json.dumps(tools))
    code, _, err = run("--check")
    assert (code, "cache_control" in err) == (1, warned)


def test_names_are_printed_harmlessly(run: Run) -> None:
    write(Path(), {"x/\x1b[2J.json": SHUFFLED})
    code, out, err = run("--check")
    assert (code, err) == (1, "")
    assert out == "would format x/\\x1b[2J.json\n1 file would be reformatted\n"


def test_a_reader_that_has_seen_enough_does_not_change_the_verdict(tmp_path: Path) -> None:
    write(tmp_path, {f"{number}.json": SHUFFLED for number in range(3)})
    command = f'"{sys.executable}" -m promptguard format --diff | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr) == (1, b"3 files would be reformatted\n")


@pytest.mark.parametrize(
    ("redirect", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")], ids=["full", "closed"]
)
@pytest.mark.parametrize("arguments", ["", "--diff", "--check", "--wire 0.json", "- <0.json"])
def test_output_that_cannot_be_written(tmp_path: Path, redirect: str, reason: str, arguments: str) -> None:
    write(tmp_path, {f"{number}.json": SHUFFLED for number in range(2)})
    command = f'"{sys.executable}" -m promptguard format {arguments} {redirect}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    summary = "2 files would be reformatted\n" if arguments == "--diff" else ""
    expected = f"{summary}promptguard: error: standard output cannot be written ({reason})\n"
    assert (done.returncode, done.stderr.decode()) == (2, expected)
    assert contents(tmp_path) == dict.fromkeys(("0.json", "1.json"), (SHUFFLED if arguments else CANONICAL).encode())


def test_permissions_and_links_stay(run: Run) -> None:
    tree(real__a_json=SHUFFLED)
    Path("real/a.json").chmod(0o640)
    Path("link.json").symlink_to("real/a.json")
    assert run("link.json") == (0, "formatted link.json\n1 file reformatted\n", "")
    assert contents(Path()) == {"link.json": b"-> real/a.json", "real/a.json": CANONICAL.encode()}
    assert stat.S_IMODE(Path("real/a.json").stat().st_mode) == 0o640
