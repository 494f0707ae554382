"""Command lines and environment variables in scripts, Dockerfiles and unit files, every word with its place.

This is no shell: it finds the words of a command as they are written, in time linear in the text, and never fails.
"""

from __future__ import annotations

from promptguard.core import patterns as re
from promptguard.core.light import Callable, Iterator, NamedTuple, Sequence, regex

Wanted = Callable[[str], object]
"""Asked for a stretch of text whether it is worth reading: a quick search for a word that matters."""

MAX_COMMANDS = 100_000
"""Commands of one file that are read; nobody starts more servers in one."""
_TALK = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "logger"})
_BEFORE_COMMAND = frozenset({"sudo", "exec", "time", "if", "then", "else", "do", "!", "{"})
_HERE = regex(
    r"(?:^|[;&|(]|\s)cat[ \t]{1,20}<<(?P<dash>-?)[ \t]{0,20}(?P<quote>['\"]?)(?P<end>\w{1,60})(?P=quote)"
    r"[ \t]{0,99}(?:1?>&2[ \t]{0,99})?\r?\Z"
)
_LONGEST_LINE = 1 << 16  # a longer line is no command that somebody wrote

_WORD = regex(
    r"""(?P<blank>(?:[ \t\r\n\f\v]|\\\r?\n)+)
      | (?P<comment>\#[^\n]*)
      | (?P<end>[;&|()<>]+)
      | (?P<word>(?:[^\s;&|()<>'"`\\$] | \\[^\r\n] | '[^'\n]*' | "(?:[^"\\]|\\.)*"
        | \$\([^)\n]{0,500}\) | \$\{[^}\n]{0,500}\} | `[^`\n]{0,500}` | ['"`\\$]){1,4096})""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = regex(r"""'[^'\n]*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_SUBSTITUTION = regex(r"[$`]")
_UNIT_KEY = regex(r"(?:Exec(?:Start|StartPre|StartPost)=[-@:+!]*|Environment=)")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
_INSTRUCTION = regex(r"[ \t]*(FROM|ENV|RUN|CMD|ENTRYPOINT)[ \t]", re.IGNORECASE)
_JSON_STRING = regex(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)


class Word(NamedTuple):
    """A word of a command line.

    Attributes:
        start, end: where it stands, without quotes around all of it; a half-open range of code points.
        text: what the program is given, quotes and escapes resolved.
        literal: nothing in it is substituted when the command runs.
    """

    start: int
    end: int
    text: str
    literal: bool = True


class Setting(NamedTuple):
    """An environment variable that is given a value; ``start`` and ``end``: the assignment."""

    name: str
    value: str
    start: int
    end: int
    literal: bool = True


class Launch(NamedTuple):
    """What belongs together: the commands of a script, the command of a container, and the environment of both.

    Attributes:
        commands: their words, at most ``MAX_COMMANDS`` commands.
        settings: what the environment is given outside of the commands, by name; the last of each.
        image: of the container, empty where none is named.
    """

    commands: list[list[Word]]
    settings: dict[str, Setting]
    image: str = ""


def read_script(text: str, wanted: Wanted) -> Launch:
    """The commands of a shell script, a Makefile, a Procfile, a unit file or a file of variables.

    Args:
        text: the file.
        wanted: asked for each line (with those that continue it); only lines for which it gives something true are read.
    """
    launch = Launch([], {})
    shown = 0  # where a text ends that is only printed
    for start, end in logical_lines(text):
        if start < shown:
            continue
        if "<<" in text[start:end]:
            shown = _here_end(text, start, end)
        if wanted(text[start:end]):
            launch.commands.extend(commands_in(text, start, end, wanted))
            if len(launch.commands) >= MAX_COMMANDS:
                break
    return launch


def _here_end(text: str, start: int, end: int) -> int:
    """Where the lines end that ``cat <<END`` prints behind a line, nothing else being done with them; 0 where there are none."""
    found = _HERE.search(text, max(0, start - 1, end - 200), end)
    if found is None or "#" in text[start : found.start()]:  # it may stand in a comment
        return 0
    at = end + 1
    while at < len(text):
        newline = text.find("\n", at)
        newline = newline if newline >= 0 else len(text)
        line = text[at : min(newline, at + 100)].rstrip("\r")
        if (line.lstrip("\t") if found["dash"] else line) == found["end"]:
            return newline
        at = newline + 1
    return 0  # nothing ends it


def read_dockerfile(text: str, wanted: Wanted) -> list[Launch]:
    """The build stages of a Dockerfile: what each runs, with the words of ENTRYPOINT ahead of those of CMD."""
    stages = [Launch([], {})]
    parts: dict[str, list[Word]] = {}
    for start, end in logical_lines(text, skip_comments=True):
        found = _INSTRUCTION.match(text, start, end)
        if found is None:
            continue
        name = found[1].upper()
        if name == "FROM":
            _close(stages[-1], parts)
            if len(stages) >= MAX_COMMANDS:
                break
            images = [word.text for word in _arguments(text, found.end(), end) if not word.text.startswith("--")]
            stages.append(Launch([], {}, images[0] if images else ""))
        elif name == "ENV":
            _set(stages[-1], _arguments(text, found.end(), end))
        elif name == "RUN":
            if wanted(text[start:end]) and len(stages[-1].commands) < MAX_COMMANDS:
                stages[-1].commands.extend(commands_in(text, found.end(), end, wanted))
        else:
            parts[name] = _exec_form(text, found.end(), end) or _arguments(text, found.end(), end)
            for word in parts[name]:
                stages[-1].commands.extend(inner_commands(text, word, wanted))
    _close(stages[-1], parts)
    return stages


def _arguments(text: str, start: int, end: int) -> list[Word]:
    return [word for command in commands_in(text, start, end) for word in command]


def _close(stage: Launch, parts: dict[str, list[Word]]) -> None:
    words = parts.pop("ENTRYPOINT", []) + parts.pop("CMD", [])
    if words:
        stage.commands.append(words)


def _set(stage: Launch, words: list[Word]) -> None:
    """``ENV NAME=value …``, or the older ``ENV NAME value``."""
    if len(words) == 2 and "=" not in words[0].text:
        name, value = words
        stage.settings[name.text] = Setting(name.text, value.text, name.start, value.end, value.literal)
    stage.settings.update((made.name, made) for made in map(assignment, words) if made is not None)


def assignment(word: Word) -> Setting | None:
    """The variable that a word like ``NAME=value`` sets, ``None`` for another word."""
    name, equals, value = word.text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        return None
    return Setting(name, value, word.start, word.end, word.literal)


def logical_lines(text: str, *, skip_comments: bool = False) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends, with the lines that continue it behind a backslash; very long ones are left out.

    ``skip_comments``: a line of comment does not end a continued line, as in a Dockerfile.
    """
    start = at = 0
    while start < len(text):
        found = text.find("\n", at)
        end = found if found >= 0 else len(text)
        last = text[max(at, end - 2) : end].removesuffix("\r")
        open_end = last.endswith("\\") or (skip_comments and at > start and text[at : at + 100].lstrip(" \t").startswith("#"))
        at = end + 1
        if open_end and end < len(text):
            continue
        if end - start <= _LONGEST_LINE:
            yield start, end
        start = at


def commands_in(text: str, start: int, end: int, wanted: Wanted | None = None) -> Iterator[list[Word]]:
    """The commands of a line, and those in its quoted words for which ``wanted`` gives something true."""
    command: list[Word] = []
    for found in _WORD.finditer(text, start, end):
        if found.lastgroup == "word":
            word = _word(found.start(), found[0])
            if wanted is not None and not only_talks(command):
                yield from inner_commands(text, word, wanted)
            command.append(word)
        elif found.lastgroup == "end" and command:
            yield command
            command = []
    if command:
        yield command


def only_talks(command: Sequence[Word]) -> bool:
    """Whether a command prints its words or looks for them, as ``echo "llama-server -c 4096"`` does."""
    for word in command:
        name = word.text.lstrip("@-+")
        if name not in _BEFORE_COMMAND and assignment(word) is None:
            return name.rsplit("/", 1)[-1] in _TALK
    return False


def inner_commands(text: str, word: Word, wanted: Wanted) -> Iterator[list[Word]]:
    """The commands in a quoted word such as that of ``sh -c 'llama-server -c 4096'``."""
    if text[word.start - 1 : word.start] in {"'", '"'} and len(word.text.split(None, 1)) == 2 and wanted(word.text):
        yield from commands_in(text, word.start, word.end)


def _word(start: int, raw: str) -> Word:
    end = start + len(raw)
    if (key := _UNIT_KEY.match(raw)) is not None:
        start, raw = start + key.end(), raw[key.end() :]
    plain = raw
    if any(sign in raw for sign in "'\"\\"):
        plain = _QUOTED.sub(lambda part: part[0][1:] if part[0][0] == "\\" else part[0][1:-1].replace('\\"', '"'), raw)
    quote = raw[0] if raw and _QUOTED.fullmatch(raw) and raw[0] != "\\" else ""
    if quote:
        start, end = start + 1, end - 1
    return Word(start, end, plain, quote == "'" or _SUBSTITUTION.search(raw) is None)


def _exec_form(text: str, start: int, end: int) -> list[Word]:
    """The words of ``["program", "argument"]``, none where it is no list."""
    if not text[start:end].lstrip(" \t\\\r\n").startswith("["):
        return []
    return [
        Word(found.start(1), found.end(1), found[1].replace('\\"', '"'), "$" not in found[1])
        for found in _JSON_STRING.finditer(text, start, end)
    ]
