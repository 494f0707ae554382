from __future__ import annotations

import pytest

from promptguard.core.ignore import Patterns


def ignored(lines: str, path: str) -> bool | None:
    return Patterns(lines.split("\n")).check(path.rstrip("/").split("/"), folder=path.endswith("/"))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("a.json", "a.json"),
        ("a.json", "x/y/a.json"),
        ("/a.json", "a.json"),
        ("x/a.json", "x/a.json"),
        ("build/", "build/"),
        ("build/", "x/build/"),
        ("*.json", "x/a.json"),
        ("a?c", "abc"),
        ("a*c*e", "abcde"),
        ("[a-c]x", "bx"),
        ("[!a]x", "bx"),
        ("[^a]x", "bx"),
        ("[]a]x", "]x"),
        ("[a-]x", "-x"),
        (r"[\]]x", "]x"),
        ("[[:digit:]]x", "7x"),
        ("**/a", "a"),
        ("**/a", "x/y/a"),
        ("a/**", "a/b/c"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/***/b", "a/x/b"),
        (r"\#a", "#a"),
        (r"\!a", "!a"),
        (r"a\ ", "a "),
        ("a  ", "a"),
        ("a\r", "a"),
        (r"\*", "*"),
        (r"a\/b", "a/b"),
    ],
)
def test_ignored(line: str, path: str) -> None:
    assert ignored(line, path) is True


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("a.json", "b.json"),
        ("/a.json", "x/a.json"),
        ("x/a.json", "y/x/a.json"),
        ("build/", "build"),
        ("*.json", "a.jsonl"),
        ("a*c", "a/c"),
        ("a?c", "a/c"),
        ("[!a]x", "ax"),
        ("a/**", "a/"),
        ("#a", "#a"),
        ("", "a"),
        ("/", "a"),
        ("!", "a"),
        ("[a", "[a"),
        ("[[:word:]]", "w"),
        ("a\\", "a\\"),
        (r"\*", "a"),
        ("A", "a"),
    ],
)
def test_not_mentioned(line: str, path: str) -> None:
    assert ignored(line, path) is None


def test_the_last_line_that_matches_counts() -> None:
    assert ignored("*.json\n!a.json", "a.json") is False
    assert ignored("!a.json\n*.json", "a.json") is True


def test_a_pattern_made_to_be_slow_takes_few_steps() -> None:
    class Counted(str):
        steps = 0

        def __getitem__(self, key):
            Counted.steps += 1
            return super().__getitem__(key)

    assert Patterns(["*a" * 20 + "b"]).check([Counted("a" * 250)], folder=False) is None
    assert Counted.steps < 20 * 250


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("*.json", "a.json", True),
        ("*.json\n!a.json", "a.json", False),
        ("!a.json\n*.json", "a.json", True),
        ("gen/\n*.log\na", "gen/", True),
        ("gen/\n*.log\na", "gen", None),
        ("gen/\n*.log\na", "x/y.log", True),
        ("gen/\n*.log\na", "x/a", True),
        ("*.log/", "x.log/", True),
        ("*.log/", "x.log", None),
        ("*", "a/b", True),
        ("a\n\nb\n# c", "c", None),
    ],
)
def test_plain_lines_are_looked_up(lines: str, path: str, expected: bool | None) -> None:
    assert ignored(lines, path) is expected


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("gen/", "gen/a/b.j2", True),
        ("gen/", "x/gen/b.j2", True),
        ("/gen", "x/gen/b.j2", False),
        ("gen", "gen", True),
        ("gen/", "gen", False),
        ("a/*.j2", "a/b.j2", True),
        ("a/*.j2", "a/b/c.j2", False),
        ("a/**", "a/b/c.j2", True),
    ],
)
def test_what_covers_a_file(lines: str, path: str, expected: bool) -> None:
    assert Patterns(lines.split("\n")).covers(path.split("/")) is expected
