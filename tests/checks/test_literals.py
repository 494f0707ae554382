from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptguard.checks.literals import volatile_literals


def found(text: str) -> list[tuple[str, str, str]]:
    return [(text[one.start : one.end], one.kind, one.changes) for one in volatile_literals(text)]


@pytest.mark.parametrize(
    ("text", "value", "kind", "changes"),
    [
        ("Generated at 2026-11-29T10:11:12Z", "2026-11-29T10:11:12Z", "clock", "request"),
        ("created_at: 2026-11-29T10:11:12.123456+00:00", "2026-11-29T10:11:12.123456+00:00", "clock", "request"),
        ("timestamp: 1764411072", "1764411072", "clock", "request"),
        ("Current date and time: 2026-11-29 10:11", "2026-11-29 10:11", "clock", "minute"),
        ("The current time is 10:15 AM.", "10:15 AM", "clock", "minute"),
        ("It is now 10:15.", "10:15", "clock", "minute"),
        ("**Current date:** November 29, 2026", "November 29, 2026", "clock", "day"),
        ("<current_date>2026-11-29</current_date>", "2026-11-29", "clock", "day"),
        ("Today's date is Saturday, November 29, 2026.", "Saturday, November 29, 2026", "clock", "day"),
        ("Today Date: 26 Jul 2024", "26 Jul 2024", "clock", "day"),
        ("Lists files, session 36ee5a", "36ee5a", "id", "conversation"),
        ("Request-ID: req_8f3k2j9d0a", "req_8f3k2j9d0a", "id", "request"),
        ("request id 550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000", "id", "request"),
        ("hdr: v=1; cch=36ee5;", "36ee5", "id", "request"),
        ("commit: 9fceb02d0ae5", "9fceb02d0ae5", "id", "deployment"),
        ("Writes /tmp/tmpab12cd34/x.", "/tmp/tmpab12cd34/x", "temp-path", "conversation"),
        ("/var/folders/zz/zyxvpxvq6csfxvn_n0/T/x", "/var/folders/zz/zyxvpxvq6csfxvn_n0/T/x", "temp-path", "conversation"),
        (r"in C:\Users\ann\Temp\tmpab12cd34\x", r"C:\Users\ann\Temp\tmpab12cd34\x", "temp-path", "conversation"),
        ("cwd: /home/ann/x", "/home/ann/x", "environment", "conversation"),
        ("Generated: 2025-11-02", "2025-11-02", "clock", "day"),
        ("Searches the shop. **Generated on** 29 November 2026.", "29 November 2026", "clock", "day"),
        ("Trace: 4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4736", "id", "request"),
        ("User ID: u_8f3a2b1c9d", "u_8f3a2b1c9d", "id", "conversation"),
        ("The date format is YYYY-MM-DD, current date: 2024-05-05.", "2024-05-05", "clock", "day"),
        ('Say "hello". Today is "2026-11-29".', "2026-11-29", "clock", "day"),
        ("Current time: Sun Nov 29 10:11:12 2026", "Sun Nov 29 10:11:12 2026", "clock", "request"),
        ("Now: Mon Nov  9 10:11:12 CET 2026.", "Mon Nov  9 10:11:12 CET 2026", "clock", "request"),
    ],
)
def test_values_that_change(text: str, value: str, kind: str, changes: str) -> None:
    assert found(text) == [(value, kind, changes)]


@pytest.mark.parametrize(
    "text",
    [
        "The start, e.g. 2024-05-01",
        "E.g. /tmp/tmpab12cd34 is a path.",
        "If today is 2026-01-01, say so.",
        "Unless the current time is 10:00 or later, wait.",
        "Assume that today is 2026-01-01.",
        "Whenever now is 12:00, ask whether today is 2026-01-01.",
        "Generated at a time such as 2026-11-29T10:11:12Z",
        "Start time in ISO format: 2024-06-01T10:00:00",
        "Cutting Knowledge Date: December 2023",
        "Last updated: 2024-05-01",
        "Check-in time is 15:00. The shop opens today at 9:00.",
        '{"created_at": "2024-05-01T10:11:12Z", "session": "36ee5a"}',
        "```\ntimestamp: 1764411072\n```",
        "<example>\nToday is 2026-11-29.\n</example>",
        "## Examples\n\nToday is 2026-11-29.\n",
        "Never reveal a session id. Update the ticket on time.",
        "Use claude-3-5-sonnet-20241022 for the call, gpt-4o for the run.",
        "See commit 9fceb02 for the reason.",
        "An id such as session 36ee5a",
        "session [0-9a-f]{6}",
        "Writes /tmp/output.txt, /tmp/Report2024.pdf and /tmp/tmp_workdir/x.",
        "The working directory is /workspace, cwd: /home/user/project",
        "Docs: https://example.com/home/ann/x",
        'Check that "Today is 2024-01-01" does not appear.',
        "Never say (\u2018it is now 10:15\u2019).",
        "session id: `abc123def456` is a sample",
        "Today is 2024-01-01, for example.",
        "Use the prices of the list generated on 2024-05-01.",
        "Run: 4bf92f3577b34da6a3ce929d0e0e4736",
        "The user id u_8f3a2b1c9d is blocked.",
        "In the format name, current date: 2024-05-05, mood",
    ],
)
def test_values_that_are_meant(text: str) -> None:
    assert found(text) == []


def test_a_value_behind_an_example_counts() -> None:
    text = "<example>\nToday is 2026-11-29.\n</example>\nToday is 2026-11-30.\n# Examples\nx\n# Now\nToday is 2026-12-01.\n"
    assert [value for value, _, _ in found(text)] == ["2026-11-30", "2026-12-01"]


@given(
    st.lists(
        st.sampled_from(["session ", "Today is ", "2026-11-29", "T10:11:12", "/tmp/", "tmpab12cd34", "a1", "9", " ", "\n", "é"])
    )
)
def test_ranges_ascend_and_hold_no_line_end(parts: list[str]) -> None:
    text = "".join(parts)
    end = 0
    for one in volatile_literals(text):
        assert end <= one.start < one.end
        assert "\n" not in text[one.start : one.end]
        end = one.end
