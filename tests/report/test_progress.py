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


def test_nothing_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with progress(1, "replay", stream) as advance:
        advance("a")
    assert stream.getvalue() == ""


def test_nothing_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with progress(1, "replay", terminal) as advance:
        advance("a")
    assert terminal.getvalue() == ""
