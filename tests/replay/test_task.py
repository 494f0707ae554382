from pathlib import Path

import pytest

from promptguard.core.errors import InputError
from promptguard.replaying.task import Call, History, Reply, Step, UserTurn, load_task

HEAD = "version: 1\nname: tiny\nsystem: system.md\ntools: tools.json\n"
KEYS = "version, name, system, tools, history, conversation"
ALIAS_HINT = "write the text out, or keep it in a file"
TALK = """conversation:
  - user: Hi
    steps:
      - reasoning: Look it up.
        calls:
          - name: find
            arguments: { q: 12:30, n: 3, x: 0.5, ok: true, no: no, none: null, s: "7", day: 2026-10-14 }
            result_file: found.md
    answer: { content: Done. }
"""


@pytest.fixture
def write(tmp_path: Path):
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "system.md").write_text("Be brief.\n")
    (folder / "tools.json").write_text("[]")
    (folder / "found.md").write_text("one\ntwo\n\n")

    def write_task(text: str) -> Path:
        (folder / "task.yaml").write_bytes(text.encode())
        return folder / "task.yaml"

    return write_task


def error_of(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load_task(path)
    return str(error.value).removeprefix(str(path))


def test_a_task_is_read(write) -> None:
    path = write(HEAD + TALK)
    task = load_task(path)
    arguments = {"q": "12:30", "n": 3, "x": 0.5, "ok": True, "no": "no", "none": None, "s": "7", "day": "2026-10-14"}
    call = Call("find", arguments, "one\ntwo\n")
    assert task.conversation == (UserTurn("Hi", (Step(Reply("", "Look it up."), (call,)),), Reply("Done.")),)
    assert (task.name, task.system, task.tools, task.path) == (
        "tiny",
        path.parent / "system.md",
        path.parent / "tools.json",
        path,
    )
    assert (task.requests, task.user_messages, task.tool_names, task.history) == (2, ("Hi",), ("find",), History(None))
    assert task.results_by_name == {"find": ("one\ntwo\n",)}


def test_history_may_be_limited(write) -> None:
    assert load_task(write(HEAD + "history: { keep_last: 4 }\n" + TALK)).history == History(4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ":1:1: is empty"),
        ("- a\n", f":1:1: a task must be a mapping; its keys are {KEYS}"),
        (HEAD + TALK + "---\n" + HEAD, ":14:1: holds more than one document"),
        (HEAD + TALK.replace("steps", "step"), ":7:5: a user turn has no key 'step'; did you mean steps?"),
        (HEAD + TALK.replace("result_file", "resultfile"), ":12:13: a call has no key 'resultfile'; did you mean result_file?"),
        (HEAD + TALK + "colour: red\n", f":14:1: a task has no key 'colour'; its keys are {KEYS}"),
        (HEAD + TALK.replace("{ content: Done. }", "Done."), ":13:13: answer must be a mapping; its keys are reasoning, content"),
        (HEAD + TALK.replace("{ content: Done. }", "{ content: [] }"), ":13:24: content must be a text; put it in quotes"),
        (HEAD + TALK.replace("{ content: Done. }", "{ content: 7 }"), ":13:24: content must be a text; put it in quotes"),
        (HEAD + TALK.replace("{ content: Done. }", "{ content: '' }"), ":13:24: content is empty"),
        (HEAD + TALK.replace("    answer: { content: Done. }\n", ""), ":6:5: a user turn needs the key answer"),
        (HEAD + TALK.replace("user: Hi", "user: Hi\n    user_file: found.md"), ":6:5: give either user or user_file"),
        (HEAD + TALK.replace("            result_file: found.md\n", ""), ":10:13: give either result or result_file"),
        (HEAD + TALK.replace("arguments: {", "arguments: 1 #"), ":11:24: arguments must be a mapping"),
        (HEAD + "name: x\n" + TALK, ":5:1: the key 'name' stands twice in one mapping; remove one of them"),
        (HEAD + TALK.replace("n: 3", "n: 1e999"), ":11:39: a number is out of range; put it in quotes if it is a text"),
        (HEAD + TALK.replace("n: 3", "n: " + "9" * 5000), ":11:39: a number is out of range; put it in quotes if it is a text"),
        (HEAD + "history: { keep_last: 0 }\n" + TALK, ":5:23: keep_last must be a whole number from 1"),
        (HEAD + "history: { keep_last: true }\n" + TALK, ":5:23: keep_last must be a whole number from 1"),
        (HEAD.replace("1", "2") + TALK, ":1:10: version 2 is not known; this promptguard reads version 1"),
        (HEAD.replace("1", "true") + TALK, ":1:10: version True is not known; this promptguard reads version 1"),
        (HEAD + "conversation: []\n", ":5:15: conversation is empty"),
        (HEAD + TALK.replace("Hi", "*hi"), f":6:11: aliases (*name) cannot be used in a task; {ALIAS_HINT}"),
        (HEAD + TALK.replace("Hi", "!!python/name:os.system x"), ":6:11: tags (!name) cannot be used in a task; remove the tag"),
        (HEAD + "x: " + "[" * 61 + "]" * 61 + "\n", ":5:64: nested deeper than 60 levels"),
        (HEAD + "x: [" + "1," * 100_000 + "]\n", ":5:199993: holds more than 100,000 values"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_task(write, text: str, expected: str) -> None:
    assert error_of(write(text)) == expected


def test_what_is_not_yaml(write) -> None:
    assert error_of(write("a: [1\nb: 2")).startswith(":2:2: not YAML: ")
    assert error_of(write("a: \x07")).startswith(": not YAML: ")


@pytest.mark.parametrize("key", ["content", "reasoning"])
def test_a_reply_has_no_whitespace_around_it(write, key: str) -> None:
    text = HEAD + TALK.replace(
        "{ content: Done. }", f'{{ content: "x", {key}: "x\\n" }}'.replace('content: "x", content', "content")
    )
    assert f"{key} begins or ends with whitespace, which chat templates take away" in error_of(write(text))


def test_one_request_proves_nothing(write) -> None:
    text = HEAD + "conversation:\n  - user: Hi\n    answer: { content: Hello. }\n"
    assert error_of(write(text)) == (
        ":6:3: a task needs at least two requests, because a run with one measured turn proves nothing; "
        "add a step with a call, or another user message"
    )


def test_more_than_a_thousand_requests_and_calls_are_refused(write) -> None:
    talk = HEAD + "conversation:\n  - { user: a, steps: [{ calls: [{ name: f, result: r }] }], answer: { content: b } }\n"
    assert load_task(write(talk + "  - { user: a, answer: { content: b } }\n" * 997)).requests == 999
    text = talk + "  - { user: a, answer: { content: b } }\n" * 998
    assert error_of(write(text)) == ":6:3: holds more than 1,000 requests and calls; shorten the conversation"


@pytest.mark.parametrize(
    "name", ["../secret.md", "/etc/passwd", "C:\\secret.md", "a/../../secret.md", "..\\secret.md", "link.md", '"a\\0b"']
)
def test_no_file_outside_the_folder_is_read(write, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.md").write_text("secret")
    path = write(HEAD + TALK.replace("found.md", name))
    (path.parent / "link.md").symlink_to(tmp_path / "secret.md")
    assert error_of(path) == ":12:26: result_file leads out of the task's folder; keep the files of a task beside it"


def test_a_link_within_the_folder_is_followed(write) -> None:
    path = write(HEAD + TALK.replace("found.md", "link.md"))
    (path.parent / "link.md").symlink_to("found.md")
    assert load_task(path).calls[0].result == "one\ntwo\n"


@pytest.mark.parametrize("name", ["lost.md", "loop.md"])
def test_a_file_that_is_not_there(write, name: str) -> None:
    path = write(HEAD + TALK.replace("found.md", name))
    (path.parent / "loop.md").symlink_to("loop.md")
    assert error_of(path).startswith(":12:26: result_file ")


def test_a_file_that_is_empty_or_not_utf8(write) -> None:
    path = write(HEAD + TALK)
    (path.parent / "found.md").write_bytes(b"\n")
    assert error_of(path) == ":12:26: found.md is empty"
    (path.parent / "found.md").write_bytes(b"a\nb\xff")
    with pytest.raises(InputError, match=r"found\.md:2:2: .*not UTF-8"):
        load_task(path)


def test_the_last_line_end_of_a_file_is_left_out_in_windows_files_too(write) -> None:
    path = write(HEAD + TALK)
    (path.parent / "found.md").write_bytes(b"one\r\ntwo\r\n")
    assert load_task(path).calls[0].result == "one\r\ntwo"


def test_a_task_that_is_too_large(write) -> None:
    with pytest.raises(InputError, match="larger than 4,194,304 bytes"):
        load_task(write("#" * (4 * 1024 * 1024 + 1)))
