from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace

import pytest

from promptguard.replaying.result import Result
from promptguard.report.files import show
from promptguard.report.text import render


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_clean_run(clean: Result) -> None:
    assert (
        render(clean)
        == """\
engine               llama-server (embedded), build b11549
model                tiny.gguf, 16,384 tokens of context per slot, slot 0 of 1
chat template        <chat template of tiny.gguf>, sha256 0123456789ab, rendered by llama-server
task                 four_tool
system               prompts/system.j2
tools                tools.json
stand-ins that vary  now (clock)
fixed stand-ins      team (text)

                                                                    prompt  engine    hit
#  turn                   prompt  cached  prefill  ideal  reusable    loss    loss   rate   TTFT
1  user 1                    120     100       20    100       100       0       0  83.3%  20 ms
2  result of get_weather     180     140       40    140       140       0       0  77.7%  40 ms

hit rate         80.0%; ceiling 80.0%; without a warm-up 46.6%
prompt loss      0 tokens
engine loss      0 tokens
repetition rate  46.6%
tokens saved     240 of 300 prompt tokens
TTFT, all turns  60 ms

note: the server was busy

hit-rate     passed  80.0% of the prompt tokens came from the cache, at least 80.0% are asked for
prompt-loss  passed  no reusable token was lost to the prompt
engine-loss  passed  no reusable token was lost to the engine
PASSED
"""
    )


def test_a_repeated_cause_is_told_once_and_stands_in_the_last_lines(clock: Result) -> None:
    report = render(clock)
    assert report.count("  --> ") == 1
    assert (
        """\
turn 1, system block: K1 clock: the text is a time that moves on
  --> prompts/system.j2:2:7
  2 | Time: {{ now }}.
    |       ^^^^^^^^^
  before  "Time: 12:00:01."
  after   "Time: 12:00:02."
  lost    91 tokens, from token 9 (character 16) on
  fix     move it into the last user message
  also on turns 2-3
"""
        in report
    )
    assert report.endswith("FAILED: hit-rate, prompt-loss\n  K1 clock, prompts/system.j2:2:7, turns 1-3\n")


def test_each_cause_is_told(clock: Result) -> None:
    first, second, third = clock.turns
    assert second.divergence is not None
    other = replace(second, divergence=replace(second.divergence, place=None, block="history"))
    report = render(replace(clock, turns=(first, other, third)))
    assert report.endswith("  K1 clock, prompts/system.j2:2:7, turns 1, 3\n  K1 clock, in the history block, turn 2\n")


def test_many_causes_leave_the_verdict_in_sight(clock: Result) -> None:
    turn = clock.turns[0]
    assert turn.divergence is not None
    turns = [
        replace(turn, number=number, divergence=replace(turn.divergence, cause=replace(turn.divergence.cause, name=f"c{number}")))
        for number in range(1, 10)
    ]
    last = render(replace(clock, turns=tuple(turns))).splitlines()[-7:]
    assert last[0] == "FAILED: hit-rate, prompt-loss"
    assert last[-1] == "  and 4 more, described above"


def test_a_run_that_broke_off(broken_off: Result) -> None:
    lines = render(broken_off).splitlines()
    assert "1  user 1     120       9      111    100         9      91       0  7.5%  100 ms" in lines
    assert lines[-3:] == [
        "ERROR after 1 measured turn: the engine died (exit code -6)",
        "  last log line",
        "  K1 clock, prompts/system.j2:2:7, turn 1",
    ]


def test_times_with_the_cache_off(clean: Result) -> None:
    turns = tuple(replace(turn, seconds_uncached=0.3) for turn in clean.turns)
    report = render(replace(clean, turns=turns))
    assert "TTFT, all turns  60 ms; 600 ms with the cache off, 10.0 times as long\n" in report
    assert "20 ms    300 ms\n" in report


def test_control_characters_and_markup_are_shown_not_obeyed(clean: Result) -> None:
    turns = (replace(clean.turns[0], label="\x1b[2J[bold]x[/bold]\n日本"), clean.turns[1])
    report = render(replace(clean, turns=turns))
    row = next(line for line in report.splitlines() if line.startswith("1  "))
    assert row.startswith(r"1  \x1b[2J[bold]x[/bold]\n日本     120")


def test_a_terminal_gets_the_same_words_in_its_width(clock: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    show(replace(clock, notes=("[bold]not markup[/bold] :smile:",)), "text", terminal)
    printed = terminal.getvalue()
    assert "\x1b[3" not in printed
    assert max(map(len, printed.splitlines())) <= 80 + len("\x1b[1m\x1b[0m") * 4
    assert "[bold]not markup[/bold] :smile:" in printed
    assert "result of get.." in printed


def test_a_terminal_gets_colours(clock: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    show(clock, "text", terminal)
    assert "\x1b[1;31mFAILED" in terminal.getvalue()


def test_what_the_encoding_lacks_is_escaped(clean: Result) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(replace(clean, notes=("caf\xe9",)), "text", stream)
    stream.seek(0)
    assert r"note: caf\xe9" in stream.read()


def test_rich_is_imported_for_terminals_only() -> None:
    program = "import sys, promptguard.report.files, promptguard.cli.progress; print('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
