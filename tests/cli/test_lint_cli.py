from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import interruptible

from promptguard.cli.main import main
from promptguard.linting.settings import MAX_BYTES

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
CLOCK = "Today: {{ now() }}.\n"
FOUND = "system.j2:1:8: PG101 [error] `{{ now() }}` prints a clock, which changes with every request (1 token)\n"
SPACE = "Be brief. \n"


class Run:
    """The command in this process, in the folder of the test."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: str, command: str = "lint") -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([command, *arguments])
        captured = self._capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, captured.out, captured.err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Run(capfd)


def write(**files: str) -> None:
    for name, text in files.items():
        Path(name.replace("_", ".")).write_text(text, newline="")


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def concise(run: Run, *arguments: str) -> tuple[int, str]:
    code, out, _ = run("--output-format", "concise", *arguments)
    return code, out


def test_something_is_found(run: Run) -> None:
    write(system_j2=CLOCK)
    assert concise(run)[0] == 1
    assert concise(run)[1].startswith(FOUND)
    assert run("-q") == (1, "", "")
    assert run("--exit-zero", "-q") == (0, "", "")


def test_nothing_is_found(run: Run) -> None:
    write(system_j2="Be brief.\n")
    code, out, err = run("system.j2")
    assert (code, err) == (0, "")
    assert "1" in out


def test_nothing_to_check(run: Run) -> None:
    write(notes_txt="x\n")
    for arguments in (["notes.txt"], ["."]):
        assert run(*arguments)[0] == 3
        assert run("--exit-zero", *arguments)[0] == 0
    assert run()[0] == 0
    assert "holds no prompt, no tool schemas and no serving configuration" in run("notes.txt")[1]


def test_as_found_passes_over_what_is_no_prompt(run: Run) -> None:
    write(
        **{"system.j2": CLOCK, "a.json": "{ // a comment", "promptguard.toml": '[lint]\nexclude = ["old.j2"]\n', "old.j2": CLOCK}
    )
    assert run("--as-found", "a.json", "old.j2") == (0, "Nothing to check in 1 file.\n", "")
    code, out = concise(run, "--as-found", "a.json", "old.j2", "system.j2")
    assert (code, out) == (1, f"{FOUND}Found 1 error in 1 file (1 checked).\n")
    assert run("--as-found", "gone.j2")[0] == 2


def test_what_cannot_be_judged(run: Run) -> None:
    write(system_j2=CLOCK)
    code, out = concise(run, "gone.j2", "system.j2", "--exit-zero")
    assert code == 2
    assert out.startswith("gone.j2:1:1: PG901 [error] there is no such file or folder; check the path\n" + FOUND)


@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github", "junit", "markdown"])
def test_the_exit_code_is_the_same_in_every_format(run: Run, form: str) -> None:
    write(system_j2=CLOCK)
    assert run("--output-format", form)[0] == 1
    assert run("--output-format", form, "system.j2", "gone.j2")[0] == 2
    assert run("--output-format", form, "--select", "PG2")[0] == 0


def test_reports(run: Run) -> None:
    write(system_j2=CLOCK)
    assert run("-q", "--report", "json=a.json", "--report", "concise=b.txt") == (1, "", "")
    assert json.loads(Path("a.json").read_text())["version"] == 1
    assert Path("b.txt").read_text().startswith(FOUND)
    code, _, err = run("--report", "json=no/a.json")
    assert (code, err) == (2, "promptguard: error: no: there is no such folder; create it, or name another file for the report\n")


def test_a_report_does_not_replace_a_prompt(run: Run) -> None:
    write(system_j2=CLOCK)
    assert run("-q", "--report", "json=./system.j2")[::2] == (
        2,
        "promptguard: error: --report json=system.j2: is one of the files that are checked; name another file\n",
    )
    assert Path("system.j2").read_text() == CLOCK
    assert [run("-q", "--report", "json=lint.json")[0] for _ in range(2)] == [1, 1]  # its own report it replaces


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--report", "json=-"], "--report json=-: a report does not go to standard output; write it as json=FILE"),
        (["--select", ""], "--select: names no rule; write PG101, PG1, PG or a name"),
        (["--extend-select", " , "], "--extend-select: names no rule; write PG101, PG1, PG or a name"),
    ],
)
def test_values_that_say_nothing(run: Run, arguments: list[str], error: str) -> None:
    write(system_j2=CLOCK)
    assert run(*arguments) == (2, "", f"promptguard: error: {error}\n")
    assert not Path("-").exists()


def test_a_path_is_not_empty(run: Run) -> None:
    write(system_j2=CLOCK)
    error = "promptguard: error: PATHS: a path is empty; name a file or a folder, . for the current one\n"
    assert run("--fix", "--unsafe-fixes", "")[::2] == (2, error)
    assert Path("system.j2").read_text() == CLOCK


def test_a_large_prompt_that_was_found_is_not_passed_over_in_silence(run: Run) -> None:
    Path("big.md").write_text("You are a helper.\n" * (MAX_BYTES // 18 + 1))
    Path("latin.md").write_bytes(b"You are a helper. \xe9\n")
    Path("data.md").write_bytes(b"Notes. \xe9\n")
    code, out = concise(run)
    assert code == 0
    assert out.splitlines()[:2] == [
        f"big.md: not checked: the file is larger than {MAX_BYTES:,} bytes",
        "latin.md: not checked: the file is not UTF-8 (byte 18)",
    ]
    assert "data.md" not in out


def test_statistics(run: Run) -> None:
    write(system_j2=CLOCK * 2)
    assert "PG101 clock" in concise(run, "--statistics")[1]


def test_selection(run: Run) -> None:
    write(system_j2="Today: {{ now() }}. \n")
    assert [code for code in ("PG101", "PG301") if code in concise(run)[1]] == ["PG101", "PG301"]
    assert "PG301" not in concise(run, "--select", "clock")[1]
    assert "PG101" not in concise(run, "--ignore", "PG1")[1]
    assert concise(run, "--per-file-ignores", "*.j2:PG1,PG3")[0] == 0
    code, _, err = run("--select", "clok")
    assert (code, err) == (2, "promptguard: error: --select: there is no rule 'clok'; did you mean clock?\n")


def test_fix(run: Run) -> None:
    write(system_j2=SPACE + CLOCK)
    code, out, _ = run("--fix", "--output-format", "concise")
    assert (code, "PG301" in out, "PG101" in out) == (1, False, True)
    assert Path("system.j2").read_text() == "Be brief.\n" + CLOCK
    write(system_j2=CLOCK + SPACE)
    assert run("--fix", "--unsafe-fixes", "-q")[0] == 1
    assert Path("system.j2").read_text() == "Be brief.\n" + CLOCK


def test_fix_ends_the_last_line(run: Run) -> None:
    write(system_j2="Be brief.", b_j2="You help.\n\n\n")
    assert run()[:2] == (0, "All checks passed (2 files).\n")
    code, out, err = run("--diff")
    assert (code, err, out.count("\n+Be brief.\n")) == (1, "0 findings; 2 fixes would change 2 files\n", 1)
    assert run("--fix", "--ignore", "PG305") == (0, "All checks passed (2 files).\n", "")
    assert Path("system.j2").read_text() == "Be brief."
    assert run("--fix") == (0, "Fixed 2 findings. All checks passed (2 files).\n", "")
    assert (Path("system.j2").read_text(), Path("b.j2").read_text()) == ("Be brief.\n", "You help.\n")
    assert run("--fix") == (0, "All checks passed (2 files).\n", "")


def test_fix_ends_the_last_line_of_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"Be brief.")
    assert run("--fix", "--stdin-filename", "system.j2", "-q") == (0, "Be brief.\n", "")


@pytest.mark.parametrize("comment", [" {# promptguard: ignore[PG305] #}", ""])
def test_a_note_that_is_suppressed_or_known_is_not_fixed(run: Run, comment: str) -> None:
    write(system_j2="Be brief." + comment, promptguard_toml="[lint]\npedantic = true\n")
    run(command="baseline")
    Path("promptguard.toml").unlink()
    assert run("--fix", "-q", "--baseline", ".promptguard-baseline.json") == (0, "", "")
    assert Path("system.j2").read_text() == "Be brief." + comment


def test_unsafe_fixes_of_notes_that_are_not_shown_are_not_applied(run: Run) -> None:
    text = "You help. {% if now() %}a{% endif %}\n"
    write(system_j2=text)
    assert run("--fix", "--unsafe-fixes", "-q") == (0, "", "")
    assert Path("system.j2").read_text() == text


def test_fix_takes_a_byte_order_mark_from_tools(run: Run) -> None:
    write(tools_json='[{"name": "b", "input_schema": {"type": "object"}}]\n')
    run(command="format")
    canonical = Path("tools.json").read_bytes()
    Path("tools.json").write_bytes(BOM + canonical)
    assert run("--check", command="format")[0] == 1
    assert concise(run)[1].startswith("tools.json:1:1: PG303 [warning] the file begins with a byte order mark")
    assert run("--fix", "-q") == (0, "", "")
    assert Path("tools.json").read_bytes() == canonical


def test_diff(run: Run) -> None:
    write(system_j2=SPACE)
    code, out, err = run("--diff")
    assert (code, err) == (1, "1 finding; 1 fix would change 1 file\n")
    assert out == "--- system.j2\n+++ system.j2\n@@ -1 +1 @@\n-Be brief. \n+Be brief.\n"
    assert Path("system.j2").read_text() == SPACE
    write(system_j2="Be brief.\n")
    assert run("--diff") == (0, "", "0 findings; nothing to fix\n")


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["-"], []):
        stdin(monkeypatch, CLOCK.encode())
        assert concise(run, "--stdin-filename", "system.j2", *arguments) == (1, concise_of_one(run, monkeypatch))
    stdin(monkeypatch, b"\xff\0")
    assert concise(run, "--stdin-filename", "system.j2")[0] == 2
    stdin(monkeypatch, b"x")
    assert concise(run, "--stdin-filename", "x.py")[0] == 3


def concise_of_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    write(system_j2=CLOCK)
    out = concise(run, "system.j2")[1]
    Path("system.j2").unlink()
    stdin(monkeypatch, CLOCK.encode())
    return out


BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("flags", "after"),
    [
        ((), b"Be brief.\n"),
        (("--select", "PG303"), b"Be brief. \n"),
        (("--ignore", "PG303"), BOM + b"Be brief.\n"),
        (("--diff",), BOM + b"Be brief. \n"),
    ],
)
def test_a_byte_order_mark_is_taken_away(run: Run, flags: tuple[str, ...], after: bytes) -> None:
    Path("system.j2").write_bytes(BOM + b"Be brief. \n")
    _, out, err = run("--fix", *flags)
    assert Path("system.j2").read_bytes() == after
    assert ("-\ufeffBe brief. \n+Be brief.\n" in out, "2 fixes would change 1 file" in err) == (flags == ("--diff",),) * 2


def test_a_byte_order_mark_that_is_known_stays(run: Run) -> None:
    Path("system.j2").write_bytes(BOM + b"Be brief.\n")
    run(command="baseline")
    assert run("--fix", "-q", "--baseline", ".promptguard-baseline.json") == (0, "", "")
    assert Path("system.j2").read_bytes() == BOM + b"Be brief.\n"


def test_standard_input_is_fixed_to_standard_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, BOM + SPACE.encode() + CLOCK.encode())
    code, out, err = run("--fix", "--stdin-filename", "system.j2", "--output-format", "concise", "--select", "PG1,PG301", "-")
    assert (code, out) == (1, "\ufeffBe brief.\n" + CLOCK)
    assert err.startswith("system.j2:2:8: PG101 [error]")
    stdin(monkeypatch, BOM + SPACE.encode())
    assert run("--fix", "--stdin-filename", "system.j2", "-q") == (0, "Be brief.\n", "")
    stdin(monkeypatch, SPACE.encode())
    code, out, err = run("--diff", "--stdin-filename", "system.j2")
    assert (code, out[:24], err) == (1, "--- system.j2\n+++ system", "1 finding; 1 fix would change 1 file\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "-: nothing says what standard input is; add --stdin-filename prompt.j2"),
        (["-", "a.j2"], "PATHS: - stands for standard input and cannot be combined with other paths"),
        (["--stdin-filename", "x.j2", "a.j2"], "--stdin-filename: checks standard input alone; leave the paths out"),
        (["--stdin-filename", ""], "--stdin-filename: is no file name"),
        (["--config", "no.toml"], "no.toml: the configuration file does not exist; check the path"),
        (["--baseline", "no.json"], "no.json: the baseline does not exist; check the path"),
    ],
)
def test_usage(run: Run, arguments: list[str], message: str) -> None:
    assert run(*arguments) == (2, "", f"promptguard: error: {message}\n")


def test_usage_errors_of_flags_are_those_of_click(run: Run) -> None:
    code, out, err = run("--output-format", "xml")
    assert (code, out) == (2, "")
    assert "Usage: promptguard lint [OPTIONS] [PATHS]..." in err
    assert "promptguard: error: Invalid value for '--output-format': 'xml' is not one of 'full', 'concise'" in err


def test_help(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "--per-file-ignores PATTERN:RULES" in out


def test_baseline(run: Run) -> None:
    write(system_j2=CLOCK)
    assert run(command="baseline") == (0, "wrote 1 finding to .promptguard-baseline.json\n", "")
    write(promptguard_toml='[lint]\nbaseline = ".promptguard-baseline.json"\n', system_j2="Be brief.\n" + CLOCK)
    assert run("-q") == (0, "", "")
    write(system_j2=CLOCK * 2)
    assert concise(run)[1].startswith("system.j2:2:8: PG101")
    write(system_j2="Be brief.\n")
    code, _, err = run()
    assert (code, err) == (
        0,
        "promptguard: note: 1 known finding is no longer there; update the baseline with promptguard baseline\n",
    )
    assert run(command="baseline") == (0, "wrote 0 findings to .promptguard-baseline.json\n", "")
    assert run()[2] == ""


def test_a_baseline_keeps_what_is_known_of_files_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "system.j2").write_text(CLOCK)
    known = Path(".promptguard-baseline.json")
    run(command="baseline")
    Path("a/system.j2").rename("a/other.j2").write_text("Be brief.\n")
    assert run("a", command="baseline")[1] == f"wrote 0 findings to {known}\n"
    assert list(json.loads(known.read_text())["findings"]) == ["b/system.j2"]
    monkeypatch.chdir("b")
    assert run("-q", "--baseline", f"../{known}") == (0, "", "")


def test_a_baseline_of_what_cannot_be_judged_is_not_written(run: Run) -> None:
    code, out, err = run("gone.j2", "-o", "x.json", command="baseline")
    assert (code, out, Path("x.json").exists()) == (2, "", False)
    assert err.startswith("gone.j2:1:1: PG901 [error]")


@pytest.mark.parametrize("cached", [(), ("--no-cache",)])
@pytest.mark.usefixtures("kept")
def test_a_baseline_of_more_than_is_reported(run: Run, cached: tuple[str, ...]) -> None:
    many = "".join(f"It is {{{{ now() }}}} in {number}.\n" for number in range(1200)) + "Be brief.\n"
    write(system_j2=many)
    flags = ("--baseline", ".promptguard-baseline.json", *cached)
    assert " (and 200 more in this file)" in concise(run, *cached)[1]
    assert run(command="baseline")[1] == "wrote 1200 findings to .promptguard-baseline.json\n"
    assert run("-q", *flags) == (0, "", "")
    write(system_j2=many + "x {{ now() }} y\nz {{ now() }} y\n")
    for _ in range(2):
        code, out = concise(run, *flags)
        assert [line.partition(": ")[0] for line in out.splitlines()[:-1]] == ["system.j2:1202:3", "system.j2:1203:3"]
        assert (code, "Suppressed 1,200 findings." in out, "more in this file" in out) == (1, True, False)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of small runs are kept too."""
    monkeypatch.setattr("promptguard.linting.cache._WORTH", 0)
    monkeypatch.setattr("promptguard.cli.lint._SMALL", 0)


@pytest.mark.usefixtures("kept")
def test_the_cache(run: Run) -> None:
    write(system_j2=CLOCK)
    first = run()
    assert {".gitignore", "CACHEDIR.TAG"} < {path.name for path in Path(".promptguard_cache").iterdir()}
    assert run() == first
    for path in Path(".promptguard_cache").iterdir():
        path.unlink()
    run("--no-cache")
    assert list(Path(".promptguard_cache").iterdir()) == []
    run("--cache-dir", "other")
    assert len(list(Path("other").iterdir())) == 3


@pytest.mark.usefixtures("kept")
def test_a_poisoned_cache_does_not_reach_the_file(run: Run) -> None:
    write(system_j2=SPACE)
    run()
    (cache,) = Path(".promptguard_cache").glob("*.cache")
    cache.write_text(cache.read_text().replace('[[9,10,1,10,1,11,""]]', '[[0,9,1,1,1,10,"Obey."]]'))
    assert "Obey." in cache.read_text()
    run("--fix")
    assert Path("system.j2").read_text() == "Be brief.\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color=always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always", "--output-format", "json"], {}, False),
    ],
)
def test_color(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], environment: dict[str, str], colored: bool
) -> None:
    write(system_j2=CLOCK)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run(*arguments)[1]) is colored


def test_the_settings_that_hold(run: Run) -> None:
    write(promptguard_toml='[lint]\n\nignore = ["PG3"]\n[rules.PG106]\nmin-static-characters = 5\n[[prompts]]\npath = "a.tpl"\n')
    code, out, err = run("--show-settings", "--select", "PG1", "--pedantic")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    path = f"{Path.cwd()}/promptguard.toml"
    for line in (
        f"# configuration file: {path}",
        'select = ["PG1"]  # --select',
        f'ignore = ["PG3"]  # {path}:3',
        "pedantic = true  # --pedantic",
        "# output-format: full",
        'path = "a.tpl"',
        f"min-static-characters = 5  # {path}:5",
    ):
        assert line in lines
    assert run(command="config")[1] == run("--show-settings")[1]


def test_a_reader_that_has_seen_enough_does_not_change_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "system.j2").write_text(CLOCK * 900)
    command = f'"{sys.executable}" -m promptguard lint | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("redirect", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")], ids=["full", "closed"]
)
@pytest.mark.parametrize("arguments", ["", "--diff", "--fix --stdin-filename a.j2 <system.j2", "--output-format json"])
def test_output_that_cannot_be_written(tmp_path: Path, redirect: str, reason: str, arguments: str) -> None:
    (tmp_path / "system.j2").write_text(SPACE)
    command = f'"{sys.executable}" -m promptguard lint {arguments} {redirect}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, env=ENVIRONMENT)
    expected = f"promptguard: error: standard output cannot be written ({reason})\n"
    assert (done.returncode, done.stderr.decode()) == (2, expected)


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], object]) -> None:
    for _ in range(6000):  # a minute
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_a_signal_ends_all_processes_at_once(tmp_path: Path, number: int, code: int) -> None:
    for name in ("a.j2", "b.j2"):
        (tmp_path / name).write_text(CLOCK * 15_000)
    slow = (
        "import sys, time; from promptguard.linting import run; from promptguard.cli.main import main\n"
        "run._check_job = lambda *_: time.sleep(600)\n"
        "main(['lint', '--jobs', '2', '--no-cache'])"
    )
    process = interruptible([sys.executable, "-c", slow], stdout=subprocess.PIPE, cwd=tmp_path, env=ENVIRONMENT)
    wait_for(lambda: len(children(process.pid)) == 2)
    workers = children(process.pid)
    wait_for(lambda: all(len(list(Path(f"/proc/{worker}/task").iterdir())) == 2 for worker in workers))  # they have begun
    process.send_signal(number)
    assert process.communicate(timeout=20) == (b"", None), "the workers hold the pipe no longer"
    assert process.returncode == code
    wait_for(lambda: not any(map(alive, workers)))


def test_several_processes_end_and_close_the_pipe(tmp_path: Path) -> None:
    for name in ("a.j2", "b.j2"):
        (tmp_path / name).write_text("Be brief.\n" * 30_000 + CLOCK)
    command = [sys.executable, "-m", "promptguard", "lint", "--jobs", "2", "--output-format", "concise"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=ENVIRONMENT, timeout=60)
    assert (done.returncode, done.stdout.count(b": PG101 "), done.stderr) == (1, 2, b"")


def test_findings_have_their_fingerprints_where_they_are_asked_for(run: Run) -> None:
    write(**{"system.j2": CLOCK})
    (ours,) = json.loads(run("--no-cache", "--output-format", "json", "system.j2")[1])["findings"]
    assert ours["fingerprint"].endswith(":1")
    assert run("--no-cache", "-q", "--report", "json=a.json", "--report", "sarif=a.sarif", "system.j2")[0] == 1
    assert json.loads(Path("a.json").read_text())["findings"] == [ours]
    (result,) = json.loads(Path("a.sarif").read_text())["runs"][0]["results"]
    assert list(result["partialFingerprints"].values()) == [ours["fingerprint"]]
    assert run(command="baseline")[0] == 0
    assert run("--baseline", ".promptguard-baseline.json", "system.j2")[0] == 0
