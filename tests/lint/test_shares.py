from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptguard.linting import run as run_module
from promptguard.linting import shares
from promptguard.linting.cache import Cache
from promptguard.linting.load import make_plan
from promptguard.linting.result import LintResult
from promptguard.linting.run import collect, find_targets, lint_files
from promptguard.linting.shares import may_fork, shared

ROOT = Path(__file__).resolve().parents[2]


started: list[int] = []


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few files are many, and threads of the test session are no reason not to fork."""
    fork = os.fork

    def counted() -> int:
        process = fork()
        started.append(process)
        return process

    started.clear()
    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(shares, "PAYS_FROM", 10)
    monkeypatch.setattr(run_module, "_MANY", 20)
    monkeypatch.setattr(run_module, "_SAMPLE", 4)
    monkeypatch.setattr(shares, "may_fork", lambda: True)


def ask(count: int, leaves_out: Callable[[Any], bool], workers: int) -> list[bool]:
    targets: Any = range(count)
    answers = list(shared(targets, leaves_out, workers))
    assert no_child()
    return answers


def open_files() -> list[str]:
    return sorted(path.name for path in Path("/proc/self/fd").iterdir())


def no_child() -> bool:
    """Whether all that were started have ended and were waited for."""
    for process in started:
        try:
            os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            continue
        return False
    return True


def here(answer: Callable[[int], bool]) -> Callable[[int], bool]:
    """``answer``, which fails in this process."""
    parent = os.getpid()

    def leaves_out(number: int) -> bool:
        assert os.getpid() != parent
        return answer(number)

    return leaves_out


@pytest.mark.parametrize(("workers", "own"), [(2, 500), (3, 333), (4, 250), (64, 15)])
def test_the_first_share_is_the_callers_and_the_others_are_answered(workers: int, own: int) -> None:
    third = [number % 3 == 0 for number in range(1000)]
    assert ask(1000, here(lambda number: third[number]), workers) == [False] * own + third[own:]
    assert len(started) == min(workers, 100) - 1


def test_more_answers_than_a_pipe_holds() -> None:
    assert ask(400_000, here(lambda _: True), 2) == [False] * 200_000 + [True] * 200_000


@pytest.mark.parametrize(("count", "workers"), [(0, 8), (19, 8), (1000, 1)])
def test_few_files_or_one_process_are_not_shared(count: int, workers: int) -> None:
    assert ask(count, here(lambda _: True), workers) == [False] * count
    assert started == []


def test_nothing_is_shared_where_a_fork_is_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "may_fork", lambda: False)
    assert ask(1000, lambda _: True, 4) == [False] * 1000
    assert started == []


def test_what_a_process_that_fails_does_not_say_is_left_to_the_caller() -> None:
    def fail(number: int) -> bool:
        if number == 700:
            raise ValueError
        if number == 800:
            os._exit(3)
        if number == 900:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    assert ask(1000, fail, 10) == ([False] * 100 + [True] * 600 + [False] * 300)


@pytest.mark.parametrize("what", ["pipe", "fork"])
def test_a_machine_at_its_limits(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError

    files = open_files()
    monkeypatch.setattr(os, what, refuse)  # of the caller only, since nothing is started
    assert ask(1000, lambda _: True, 3) == [False] * 1000
    assert open_files() == files


def test_processes_end_with_the_caller_that_wants_no_more() -> None:
    files = open_files()
    targets: Any = range(1000)
    begin = time.monotonic()
    answers = shared(targets, lambda _: time.sleep(0.1) is None, 3)
    assert next(answers) is False
    answers.close()
    assert no_child()
    assert open_files() == files
    assert time.monotonic() - begin < 60


def test_a_process_runs_no_handler_of_the_caller() -> None:
    caught: list[int] = []
    before = {number: signal.signal(number, lambda *_: caught.append(1)) for number in (signal.SIGINT, signal.SIGTERM)}

    def send(number: int) -> bool:
        os.kill(os.getpid(), signal.SIGINT if number < 1200 else signal.SIGTERM)
        return not caught

    try:
        assert ask(1800, here(send), 3) == [False] * 600 + [True] * 600 + [False] * 600
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        assert caught == [1]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_signal_while_they_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class StoppedError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StoppedError

    fork = os.fork

    def interrupted() -> int:
        process = fork()
        if process:
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)  # the mask is that of a thread
        return process

    files, mask = open_files(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    before = signal.signal(signal.SIGUSR1, stop)
    monkeypatch.setattr(os, "fork", interrupted)
    try:
        with pytest.raises(StoppedError):
            ask(1000, lambda _: time.sleep(0.1) is None, 4)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(started) == 3
    assert no_child()
    assert open_files() == files
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


ORPHANS = r"""
import os, time
from promptguard.linting import shares
shares.PAYS_FROM = 10
def look(number):
    if number % 1000 == 0:
        os.write(1, b"%d\n" % os.getpid())
    time.sleep(0.01)
    return True
answers = shares.shared(range(3000), look, 3)
for _ in range(1001):
    next(answers)
"""


def test_they_end_when_the_caller_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    caller = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, env=environment)
    assert caller.stdout is not None
    processes = [int(caller.stdout.readline()) for _ in range(2)]
    caller.kill()
    caller.wait()
    assert caller.stdout.read() == b""  # it ends when nobody can write to it any more
    caller.stdout.close()
    for process in processes:
        with pytest.raises(ProcessLookupError):
            wait_for_its_end(process)


def wait_for_its_end(process: int) -> None:
    for _ in range(1000):
        os.kill(process, 0)
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError  # nobody waits for orphans here
        time.sleep(0.01)


def test_a_fork_is_not_safe_next_to_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    command = [sys.executable, "-c", "from promptguard.linting.shares import may_fork; print(may_fork())"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout == f"{sys.platform == 'linux'}\n"
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert not may_fork()
    finally:
        stop.set()
        thread.join()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not may_fork()


def lint(jobs: int, cache: Cache | None = None) -> LintResult:
    plan = make_plan({})
    return collect(lint_files(find_targets((), plan), plan.settings, jobs=jobs, cache=cache))


def mostly_data(folder: Path) -> None:
    for number in range(60):
        (folder / f"data_{number:03}.json").write_text('{"name": "item"}')
    for number in range(0, 60, 3):
        (folder / f"data_{number:03}.j2").write_text(f"{number} Today: {{{{ now() }}}}.\n")


def test_what_is_in_the_cache_is_found_in_every_share(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mostly_data(folder)
    monkeypatch.setattr("promptguard.linting.cache._WORTH", 1)
    files = open_files()
    runs = [lint(jobs, Cache("cache", make_plan({}).settings)) for jobs in (1, 4, 4)]
    assert len(started) == 6
    assert runs[0] == runs[1] == runs[2]
    assert len(runs[0].records) == 20
    assert open_files() == files


def test_an_interrupt_ends_the_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mostly_data(folder)
    result = run_module._Sieve.result

    def interrupted(self: Any, target: Any) -> Any:
        if target.path == "data_010.json":
            assert len(started) == 3
            raise KeyboardInterrupt
        return result(self, target)

    monkeypatch.setattr(run_module._Sieve, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lint(4)
    assert no_child()


def test_prompts_are_not_looked_through_twice(folder: Path) -> None:
    for number in range(60):
        (folder / f"{number}.j2").write_text("Be brief.\n")
    assert lint(4).files == 60
    assert started == []


def test_files_are_looked_through_by_several_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(200):
        (folder / f"data_{number:03}.json").write_text('{"name": "item"}')
        (folder / f"notes_{number:03}.md").write_text("# Notes\n\nSome text.\n")
    for number in range(0, 200, 20):
        (folder / f"prompt_{number:03}.j2").write_text("Today: {{ now() }}.\n")
        (folder / f"notes_{number:03}.md").write_text("You are a helper. Today: {{ now() }}.\n")
        (folder / f"model_{number:03}.gguf").write_bytes(b"GGUF")
        (folder / f"tools_{number:03}.json").write_text("[")
        (folder / f"prompt_{number:03}.md").write_bytes(b"\0\1")
    alone = lint(1)
    assert len({record.path for record in alone.records}) == 40

    parent = os.getpid()
    looked: list[str] = []
    result = run_module._Sieve.result

    def counted(self: Any, target: Any) -> Any:
        if os.getpid() == parent:
            looked.append(target.path)
        return result(self, target)

    monkeypatch.setattr(run_module._Sieve, "result", counted)
    monkeypatch.setattr(run_module, "_PAYS_FROM", 1 << 40)  # no further processes
    assert lint(4) == alone
    assert len(started) == 3
    assert no_child()
    files = [target.path for target in find_targets((), make_plan({}))]
    own = 4 + (len(files) - 4) // 4
    assert looked[:own] == files[:own]
    rest = set(looked[own:])
    assert rest
    assert not any(name.startswith("data_") for name in rest)
    assert {record.path for record in alone.records} <= set(looked)


def test_a_file_that_is_gone_or_another_by_now(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (folder / f"data_{number:02}.json").write_text("{}")
        (folder / f"prompt_{number:02}.j2").write_text("Today: {{ now() }}.\n")
    plan = make_plan({})
    targets = find_targets((), plan)
    (folder / "prompt_99.j2").unlink()
    (folder / "prompt_98.j2").unlink()
    (folder / "prompt_98.j2").mkdir()
    (folder / "prompt_97.j2").unlink()
    os.mkfifo(folder / "prompt_97.j2")
    several, alone = (collect(lint_files(targets, plan.settings, jobs=jobs)) for jobs in (2, 1))
    assert len(started) == 1
    assert several == alone
    assert [(record.path, record.message) for record in several.records if record.code == "PG901"] == [
        ("prompt_97.j2", "the file is not a regular file"),
        ("prompt_98.j2", "the file is a folder; name a file"),
        ("prompt_99.j2", "the file does not exist; check the path"),
    ]
