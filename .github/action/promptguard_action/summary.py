"""The report of the whole action as Markdown, for the summary of the step and for a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from promptguard_action.commands import Ran
from promptguard_action.compare import comparison, percent
from promptguard_action.verdict import Verdict

_SPECIAL = re.compile(r"[&<>|`*_~\[\]\\@#:]")
_LEFT_OUT = "\nThe rest is left out for its size.\n"
_LINES = 50
_MARK = {"passed": "✅", "failed": "❌", "error": "⚠️"}


class Base(NamedTuple):
    """The base of a pull request.

    Attributes:
        ran: its replay, ``None`` where it was not run.
        commit: what was replayed.
        obstacle: why it cannot be compared with the head, ``None`` where it can.
    """

    ran: Ran | None
    commit: str
    obstacle: str | None


def sections(verdict: Verdict, runs: Sequence[Ran], base: Base | None, note: str) -> list[str]:
    """The parts of the report, the most important one first.

    Args:
        verdict: what the runs come to.
        runs: the commands that have run.
        base: the replay of the base, ``None`` where there was none.
        note: why there is no comparison.
    """
    return [*_head(verdict, note), *_compared(runs, base), *(section for run in runs if (section := _section(run)))]


def fitting(parts: Sequence[str], limit: int) -> str:
    """As much of the parts as there is room for, in at most ``limit`` bytes; what is left out is said."""
    whole = "\n".join(parts) + "\n"
    if _size(whole) <= limit:
        return whole
    room = limit - _size(_LEFT_OUT)
    text = ""
    for part in parts:
        if _size(text + part) < room:
            text += part + "\n"
            continue
        if "```" not in part and "<details>" not in part:  # paragraphs and tables, which can end at any line
            for line in part.splitlines(keepends=True):
                if _size(text + line) > room:
                    break
                text += line
        break
    return text + _LEFT_OUT


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def escape(text: str) -> str:
    """Untrusted text in a paragraph: no markup, no HTML, nobody is mentioned."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};" + ("&#8203;" if match[0] in "@#" else ""), " ".join(text.split()))


def _head(verdict: Verdict, note: str) -> Iterator[str]:
    lines = [f"## {_MARK[verdict.word]} promptguard: {verdict.word}", ""]
    lines += [f"- {escape(reason)}" for reason in verdict.reasons]
    if verdict.word == "failed" and verdict.exit_code == 0:
        lines.append("- <code>fail-on</code> lets this pass")
    if note:
        lines.append(f"- {escape(note)}")
    yield "\n".join([*lines, ""])


def _compared(runs: Sequence[Ran], base: Base | None) -> Iterator[str]:
    head = next((run.report for run in runs if run.name == "replay"), None)
    if base is None or head is None:
        return
    title = f"### Compared with the base, {base.commit[:12]}\n\n"
    if base.obstacle is not None:
        yield f"{title}Not compared: {escape(base.obstacle)}.\n"
    elif base.ran is None or base.ran.error is not None or base.ran.report is None:
        yield f"{title}The base cannot be replayed: {escape((base.ran and base.ran.error) or '')}\n"
    else:
        yield f"{title}{comparison(base.ran.report, head)}"


def _section(run: Ran) -> str:
    if run.name == "format":
        return _formatting(run)
    if run.markdown:
        return run.markdown
    return f"### promptguard {run.name}: error\n\n{escape(run.error or '')}\n"


def _formatting(run: Ran) -> str:
    word = "error" if run.error is not None else "failed" if run.code == 1 else "passed"
    lines = (run.output + run.messages).strip().splitlines()
    more = [f"and {len(lines) - _LINES:,} lines more"] if len(lines) > _LINES else []
    return f"### promptguard format: {word}\n\n{_fenced([*lines[:_LINES], *more])}\n"


def _fenced(lines: Sequence[str]) -> str:
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def short(runs: Sequence[Ran]) -> str:
    """One line for the log: the hit rate, where there is one."""
    report = next((run.report for run in runs if run.name == "replay"), None)
    return "" if report is None or not report["turns"] else f"hit rate {percent(report['totals']['hit_rate'])}"
