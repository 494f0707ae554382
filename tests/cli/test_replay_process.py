"""``python -m promptguard replay`` as a process: signals, closed pipes, terminals."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import psutil
import pytest
from command_line import listing
from processes import interruptible, without_progress

from promptguard.models.default import default_model

COMMAND = [sys.executable, "-m", "promptguard", "replay"]


def engine_of(process: subprocess.Popen[bytes]) -> psutil.Process:
    """The engine that a replay has started, waited for."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for child in psutil.Process(process.pid).children():
            if "promptguard.engines._embedded_child" in child.cmdline():
                return child
        time.sleep(0.01)
    raise AssertionError("no engine was started")


def settled(process: psutil.Process) -> bool:
    """Whether a process comes to rest, which one that waits for an engine that is stopped does however slow the machine is."""
    end = time.monotonic() + 60
    before = None
    while time.monotonic() < end:
        now = process.cpu_times()[:2]
        if now == before and process.status() == psutil.STATUS_SLEEPING:
            return True
        before = now
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 130, b"\npromptguard: interrupted\n"),
        (signal.SIGTERM, 143, b""),
        (signal.SIGHUP, 129, b""),
    ],
)
def test_a_signal_ends_the_run_and_its_engine_and_leaves_nothing(
    folder: Path, number: signal.Signals, code: int, said: bytes
) -> None:
    (folder / "tmp").mkdir()
    before = listing(folder)
    process = interruptible(
        [*COMMAND, "--model-from", str(default_model()), "--report", "json=r.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        start_new_session=True,
    )
    engine = engine_of(process)
    engine.suspend()  # so that the run cannot end before the signal comes
    assert settled(psutil.Process(process.pid))
    os.killpg(process.pid, number)  # as a terminal does: to every process of the group
    engine.resume()
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, b"", said)
    assert psutil.wait_procs([engine], timeout=10)[1] == []
    assert listing(folder) == before


def test_ctrl_c_while_a_server_lets_us_wait(folder: Path) -> None:
    before = listing(folder)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [*COMMAND, "--task", "task", "--report", "json=r.json", "--server"]
        process = interruptible([*command, f"http://127.0.0.1:{silent.getsockname()[1]}"], stderr=subprocess.PIPE)
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            connection.recv(65536)
            time.sleep(0.2)  # until it waits for the answer
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"\npromptguard: interrupted\n")
    assert listing(folder) == before


def test_two_runs_at_once_do_not_meet(folder: Path) -> None:
    runs = [subprocess.Popen([*COMMAND, "--task", "task", "--output-format", "json"], stdout=subprocess.PIPE) for _ in range(2)]
    found = [json.loads(run.communicate(timeout=60)[0])["turns"] for run in runs]
    counts = [[(turn["prompt"], turn["cached"], turn["foreign"]) for turn in turns] for turns in found]
    assert counts[0] == counts[1]
    assert [run.returncode for run in runs] == [0, 0]


def test_an_ignored_hangup_stays_ignored(folder: Path) -> None:
    process = subprocess.Popen(["nohup", *COMMAND, "--task", "task", "-q"], start_new_session=True)
    engine_of(process)
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(("defect", "code"), [([], 0), (["--inject", "clock-head"], 1)], ids=["clean", "defect"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_verdict_stands_when_the_reader_goes_away(folder: Path, form: str, defect: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*COMMAND, "--task", "task", "--output-format", form, *defect]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=30)
    os.close(writer)
    assert (done.returncode, without_progress(done.stderr.decode())) == (code, "")


def test_a_full_disk_behind_standard_output_is_an_error(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "--task", "task"], stdout=full, stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == 2
    said = "promptguard: error: standard output: cannot be written: No space left on device\n"
    assert without_progress(done.stderr.decode()) == said


def test_the_progress_bar_is_gone_when_the_run_ends(folder: Path) -> None:
    parent, child = os.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    done = subprocess.run(
        [*COMMAND, "--task", "task", "-q"], stdout=subprocess.PIPE, stderr=child, timeout=30, env={**os.environ, "TERM": "xterm"}
    )
    os.close(child)
    shown = b""
    while chunk := _read(parent):
        shown += chunk
    os.close(parent)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"result of get_weather" in shown
    assert shown.endswith(b" \r")
    assert shown.split(b"\r")[-2].strip() == b""


def test_a_closed_standard_error_changes_nothing(folder: Path) -> None:
    command = " ".join([*map(shlex.quote, COMMAND), "--task task --output-format json 2>&-"])
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, timeout=30)
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "passed")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when nobody holds the other end
        return b""


def test_an_unknown_command_is_refused_with_a_suggestion() -> None:
    done = subprocess.run([*COMMAND[:-1], "repaly"], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.endswith(b"promptguard: error: there is no command 'repaly'; did you mean 'replay'?\n")
