from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.popen_fork import Popen
from pathlib import Path
from typing import Any

import pytest
from processes import gone, interruptible

from promptguard.core.errors import ConfigError, PromptguardError
from promptguard.core.signals import undisturbed
from promptguard.linting import shares
from promptguard.linting.pool import in_order

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
CHUNKS = [[0, 1, 2], [3], [4, 5], [6], [7]]


@pytest.fixture(params=[True, False], ids=["fork", "spawn"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "may_fork", lambda: request.param)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of the test session are no reason not to fork."""
    monkeypatch.setattr(shares, "may_fork", lambda: True)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    files = open_files()
    yield
    assert multiprocessing.active_children() == []
    assert open_files() == files
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def open_files() -> list[str]:
    """But for the one that tells the processes of ``spawn`` what to clean up, which is kept to the end."""
    kept = resource_tracker._resource_tracker._fd  # type: ignore[attr-defined]
    return sorted(path.name for path in Path("/proc/self/fd").iterdir() if path.exists() and path.name != str(kept))


def with_pid(each: Callable[[Any], object] = lambda _: None) -> Callable[[Sequence[Any]], list[tuple[Any, int]]]:
    def answer(items: Sequence[Any]) -> list[tuple[Any, int]]:
        for item in items:
            each(item)
        return [(item, os.getpid()) for item in items]

    return answer


def fail(error: Exception, _item: int) -> object:
    raise error


def ask(each: Callable[[int], object] = lambda _: None, most: int = 2) -> list[tuple[int, int]]:
    return list(in_order(partial(with_pid, each), CHUNKS, most))


def processes(answers: list[tuple[int, int]]) -> int:
    """How many answered, in the right order, and this one not."""
    assert [item for item, _ in answers] == list(range(8))
    assert os.getpid() not in {process for _, process in answers}
    return len({process for _, process in answers})


@pytest.mark.usefixtures("forked")
def test_the_order_holds_where_later_chunks_are_answered_first(tmp_path: Path) -> None:
    def late(item: int) -> None:
        while item == 0 and not (tmp_path / "7").exists():
            time.sleep(0.01)
        (tmp_path / str(item)).touch()

    assert processes(ask(late)) == 2


@pytest.mark.usefixtures("way")
def test_what_is_pickled_is_enough() -> None:
    answers = list(in_order(partial(with_pid, time.sleep), [[0.0], [0.0]], 2))
    assert [item for item, _ in answers] == [0.0, 0.0]
    assert os.getpid() not in {process for _, process in answers}


@pytest.mark.usefixtures("way")
def test_answers_and_chunks_that_no_pipe_holds() -> None:
    chunks = [["x" * 3_000_000]] * 5
    assert [item for item, _ in in_order(partial(with_pid, str), chunks, 2)] == ["x" * 3_000_000] * 5


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_ends(code: int) -> None:
    with pytest.raises(PromptguardError, match="ended unexpectedly; run it again with --jobs 1 to see where"):
        list(in_order(partial(with_pid, os._exit), [[code]] * 5, 2))


@pytest.mark.usefixtures("forked")
def test_a_process_that_ends_in_the_middle_of_an_answer() -> None:
    def begin() -> Any:
        Connection.send = lambda pipe, _: os._exit(os.write(pipe.fileno(), b"\0\0\1\0x"))  # type: ignore[assignment]
        return lambda items: items

    with pytest.raises(PromptguardError, match="ended unexpectedly"):
        list(in_order(begin, CHUNKS, 2))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("error", [ConfigError("is no file", where="x", hint="name one"), KeyError("x")], ids=["ours", "any"])
def test_what_is_raised_there_is_raised_here_in_its_turn(error: Exception) -> None:
    answers = in_order(partial(with_pid, partial(fail, error)), [[], [1], [2]], 2)
    with pytest.raises(type(error)) as caught:
        list(answers)
    assert vars(caught.value) == vars(error)
    assert caught.value.args == error.args
    assert "in fail\n    raise error" in str(caught.value.__cause__)


@pytest.mark.usefixtures("forked")
def test_what_is_raised_late_comes_behind_the_answers_before_it() -> None:
    answers = in_order(partial(with_pid, lambda item: item == 6 and fail(KeyError(), item)), CHUNKS, 3)
    assert [item for item, _ in islice(answers, 6)] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(KeyError):
        next(answers)


class Refusal:
    """Stands in for what starts a process, and fails from the n-th time on."""

    def __init__(self, fails_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started = 0
        launch = Popen._launch  # type: ignore[attr-defined]

        def start(popen: Any, process: Any) -> None:
            self.started += 1
            if self.started >= fails_from:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            launch(popen, process)

        monkeypatch.setattr(Popen, "_launch", start)


@pytest.mark.usefixtures("forked")
def test_no_more_processes_than_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Refusal(2, monkeypatch)
    assert processes(ask(most=4)) == 1
    assert refusal.started == 2


@pytest.mark.usefixtures("forked")
def test_where_none_can_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    Refusal(1, monkeypatch)
    assert ask() == [(item, os.getpid()) for item in range(8)]


@pytest.mark.usefixtures("forked")
def test_a_process_that_may_not_start_others_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    assert ask() == [(item, os.getpid()) for item in range(8)]


def test_some_files_can_be_opened_whatever_was_started() -> None:
    code = (
        "import os, resource; from promptguard.linting.pool import in_order\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))\n"
        "begin = lambda: lambda _: [os.close(os.open(os.devnull, 0)) or os.getpid()]\n"
        "answers = in_order(begin, [()] * 40, 40)\n"
        "processes = {next(answers)}; files = [os.dup(2) for _ in range(8)]; processes |= set(answers)\n"
        "print(os.getpid() in processes, 1 < len(processes) < 7)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.stdout, done.stderr) == ("False True\n", "")


@pytest.mark.usefixtures("forked")
def test_closed_early() -> None:
    answers = in_order(partial(with_pid, lambda item: time.sleep(600 * item)), [[0], [1], [2]], 3)
    assert next(answers)[0] == 0
    begun = multiprocessing.active_children()
    assert len(begun) == 3
    answers.close()


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_for_all_is_answered_by_the_caller_alone(number: int, tmp_path: Path) -> None:
    def answer(_number: int, _frame: object) -> None:
        (tmp_path / str(os.getpid())).touch()
        raise KeyboardInterrupt

    def send(item: int) -> None:
        if item == 1:
            os.kill(os.getppid(), number)
            os.kill(os.getpid(), number)
        time.sleep(600 * item)

    before = signal.signal(number, answer)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(in_order(partial(with_pid, send), [[0], [1], [2]], 2))
    finally:
        signal.signal(number, before)
    assert list(tmp_path.iterdir()) == [tmp_path / str(os.getpid())]


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_a_process_goes_on_where_it_is_for_the_caller_to_answer(number: int) -> None:
    before = signal.signal(number, interrupt)
    try:
        assert processes(ask(lambda _: os.kill(os.getpid(), number))) == 2
    finally:
        signal.signal(number, before)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_signal_has_to_wait_for_what_must_not_be_left_half_done() -> None:
    done = []

    def work() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # other threads of the session do not block it
        done.append(1)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [1]


def test_a_signal_that_comes_while_signals_are_blocked_leaves_none_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    block = signal.pthread_sigmask

    def late(how: int, signals: Any) -> Any:
        before = block(how, signals)
        return interrupt() if how == signal.SIG_BLOCK and signals else before

    monkeypatch.setattr(signal, "pthread_sigmask", late)
    with pytest.raises(KeyboardInterrupt):
        undisturbed(lambda: None)


def test_processes_end_with_one_that_is_killed() -> None:
    code = (
        "import os, time; from promptguard.linting.pool import in_order\n"
        "def begin(): return lambda items: [os.write(1, b'%d\\n' % os.getpid()), time.sleep(600)]\n"
        "list(in_order(begin, [[1], [2], [3]], 3))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(3)]
    process.kill()
    process.wait()
    process.stdout.close()
    assert all(gone(worker, within=5) for worker in workers)


@pytest.mark.parametrize(
    "way", ["", "; from promptguard.linting import shares; shares.may_fork = lambda: False"], ids=["fork", "spawn"]
)
def test_ctrl_c_at_any_moment(tmp_path: Path, way: str) -> None:
    for number in range(400):
        (tmp_path / f"prompt_{number}.j2").write_text("You are a bot.\n{{ now() }}\n" + "Be brief.\n" * 20)
    code = (
        f"from promptguard.linting import run; from promptguard.cli.main import main{way}\n"
        "lint_files, run._PAYS_FROM, run._CHUNK = run.lint_files, 1, 500\n"
        "run.lint_files = lambda *args, **named: print(flush=True) or lint_files(*args, **named)\n"
        "main()"
    )
    draw = random.Random(0)
    ends = set()
    for delay in (0, 0.01, 0.02, *(draw.uniform(0.01, 0.4) for _ in range(9))):  # a quick machine is done in a tenth of a second
        command = [sys.executable, "-c", code, "lint", "--jobs", "4", "--no-cache", "--exit-zero", "-q"]
        process = interruptible(command, stdout=-1, stderr=-1, env=ENVIRONMENT, cwd=tmp_path, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        ends.add((process.returncode, err))
    assert ends <= {(130, b"promptguard: interrupted\n"), (0, b"")}
    assert (130, b"promptguard: interrupted\n") in ends
