from __future__ import annotations

import io

import pytest

from promptguard.cli.progress import progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> list[str]:
        """What stood on the line after each write."""
        return [part.rstrip() for part in self.getvalue().split("\r")[1::2]]


@pytest.fixture(autouse=True)
def terminal_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_the_line_moves_and_is_gone_at_the_end() -> None:
    terminal = Terminal()
    with progress(2, "replay", terminal) as advance:
        advance("user 1")
        advance("user 2")
    assert terminal.screen == ["replay [....................] 1/2 user 1", "replay [##########..........] 2/2 user 2", ""]


def test_it_is_gone_after_an_error() -> None:
    terminal = Terminal()

    def interrupted() -> None:
        with progress(2, "replay", terminal) as advance:
            advance("user 1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.screen[-1] == ""


def test_more_steps_than_foreseen() -> None:
    terminal = Terminal()
    with progress(1, "replay", terminal) as advance:
        advance("a")
        advance("b")
    assert terminal.screen[1] == "replay [####################] 1/1 b"


def test_labels_cannot_move_the_cursor_or_break_the_line() -> None:
    terminal = Terminal()
    with progress(1, "replay", terminal) as advance:
        advance("\x1b[2J\n" + "x" * 200)
    assert r"1/1 \x1b[2J\nxxx" in terminal.screen[0]
    assert len(terminal.screen[0]) == 79


def log(stream: io.StringIO, seconds: list[float], *, lines: bool = True) -> None:
    """Advance step by step, the first time read from the clock being that of the beginning."""
    clock = iter(seconds)
    with progress(len(seconds) - 1, "replay", stream, lines=lines, clock=lambda: next(clock)) as advance:
        for number in range(1, len(seconds)):
            advance(f"user {number}")


def test_a_line_now_and_then_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    log(stream, [0.0, 4.0, 12.0, 21.9, 22.0, 60.0])
    assert stream.getvalue().splitlines() == [f"promptguard: replay {number}/5 user {number}" for number in (2, 4, 5)]


def test_a_quick_run_says_nothing_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    log(stream, [0.0, 1.0, 9.9])
    log(stream, [0.0, 60.0], lines=False)
    assert stream.getvalue() == ""


def test_a_label_cannot_break_the_line_of_a_log() -> None:
    stream, clock = io.StringIO(), iter([0.0, 10.0])
    with progress(1, "replay", stream, clock=lambda: next(clock)) as advance:
        advance("a\n::error::b")
    assert stream.getvalue() == "promptguard: replay 1/1 a\\n::error::b\n"


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    class Full(io.StringIO):
        tried = 0

        def write(self, _text: str) -> int:
            self.tried += 1
            raise OSError(28, "No space left on device")

    stream = Full()
    log(stream, [0.0, 10.0, 20.0])
    assert stream.tried == 2


def test_nothing_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with progress(1, "replay", terminal) as advance:
        advance("a")
    assert terminal.getvalue() == ""
