"""The quick reader gives what the library gives, or leaves the text to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from promptguard.core.errors import InputError
from promptguard.core.source import Source
from promptguard.parse.yaml import MAX_DEPTH, MAX_NODES, Node, Stream, read_yaml
from promptguard.parse.yaml_events import read_events
from promptguard.parse.yaml_simple import MAX_OPEN, MAX_TEXT, read_simple

PROMPTS = """\
# Prompts of the support agent
---
name: support
version: 1.2
tags: [support, "one two", 3]
none: []
extra: {}
limits: {day: 3, "per user":  'a b'}  # in all
model:
  name: small  # the least that does it
  temperature: 0.5
  seed: 7
  stream: yes

messages:
  - role: system
    content: |
      You are {{ name }}.

        - Use tools.
      # no comment
  - role: user
    content: "{{ question }}\\n\\"quoted\\" \\\\ \\t."
  -   role: 'user'
      content: 'it''s'   # a comment
      empty:
shots:
- plain words: a
- >-
  folded
  text

  new line
    kept
  folded
- |+
    kept


- é 中文 😀
last: >

  a
  b
end:
"""


def tree(node: Node) -> tuple[Any, ...]:
    keys, children = [tree(key) for key in node.keys], [tree(child) for child in node.children]
    return node.kind, node.start, node.text, node.plain, node.type, keys, children


def said(stream: Stream) -> tuple[Any, ...]:
    return [tree(document) for document in stream.documents], stream.comments, stream.anchor, stream.tag


def simple(text: str) -> Stream | None:
    return read_simple(Source("t.yaml", text, "yaml"))


def by_library(text: str) -> Stream:
    return read_events(Source("t.yaml", text, "yaml"))


@pytest.mark.parametrize(
    "text",
    [
        PROMPTS,
        PROMPTS.rstrip("\n"),
        "a: b",
        "\n\na: b\n \n",
        "- a\n- b: c\n  d: e\n",
        "a:\n- b\n- c: |\n   d\ne: f\n",
        "a:\n  b:\n    c:\n  d:\n",
        "a: |\n  b",
        "a: |-\n  b\n\n\n",
        "a: |+\n  b\n\n\nc: d\n",
        "a: |\n\n\n  b\n   \n  c\n \n",
        "a: >\n  b\n   c\n  d\n\n  e\n",
        "a: '# b'\nc: \"d: e\"\n",
        "a: b#c\nd: e:f\ng: http://h\n",
        "a: 2024-01-01\nb: 0\nc: 10\nd: 0.50\n",
        PROMPTS.replace("\n", "\r\n"),
        "a: # b\n  c:   # d\n    e:  f\n  g:   \n",
        "a: b\n  c d\n    e\nf:\n- g\n  h\n- j\n",
        "'a b': c\n\"d\": e\nf:\n- 'g': h\n- \"i j\" # k\n",
        "a: -1\nb: -0.5\nc: -0\nd: ON\ne: NULL\nf: <<\ng: =\n",
        "a: [[b, [c]], {d: {e: f}}, 'g, h']\ni: { j: [], k: {} }\n",
        "a: | # b\n  c\nd: >-  # e\n  f\n",
        "- --model\n- -x y\n- 8080:8080\n",
        'a: "b\\\\"\nc: "\\"d\\""\n',
        "a: \u200d\xa0b\n",
        "a: |\n \n   b\n",
        "a: 10.0.0.1\nb: 3 items\nc: v1.0\n",
        "",
        "# a\n",
        " \n  # a\n\n# b",
        "a: ?b\nc: :d\ne: -f\n",
        "'a''b': c\n\"d\\n\": e\n'f: g' : h\n\"\": i\n'': j\n",
        '-a: b\n😀: c\n“d”: e\n^f: g\n+h: i\n=: j\nk?: l\nm"n: o\n',
        "a: b\tc\t\nd: e\t# f\ng: h \t\n  i\tj\t\n",
        "a: 'b'\t# c\nd: [e]\t\n",
        "a: b\n  c # d\ne: f\n\n  g\t#h\n# i\nj: k\n",
        "a: b\n...\n",
        "a: |\n  b\n...\n\n   ",
        "a: |\nb: >-\n\nc: |1\nd: |\n\n\ne: f",
        "a: |",
        "a: >\n\n",
        'a: "b\\/c"\n',
        "a: [b #c\n, d\t# e\n]\n",
        "a: [\tb,\tc\t]\nd: {\n\t\"e\":\t1,\n\t'f' : 'g'\n\t}\n",
        "a: [openai:gpt-4, 8080:80, http://x.y/z?q#r, 10:30, 2026-01-02 03:04:05, a::b]\n",
        "a: {b: c:d, e: https://x.y, f: Is it on?, g: h, i:j}\n",
        "a: [it's, hi!, x*, a > b, a&b, <x>, ^a$, a\\b, a#b, ~, ~/x, =, 1.5, -1, +1, .5, “x”, é 😀, a|b]\n",
        "a: [&b c, !d e, &f !g h, !i &j k, *b, &l [*j], &m-1 {n: *f}, !o [p], !q/r.s 't']\nu: [*l, *m-1]\n",
        "a: {b: &c d, e: &f  # g\n  h, i: *c, &j k, !l m}\nn: *j\n",
        "- !a [&b c]\n- [!d e]\n",
        "a: [hello\n  world\n\n  again, b\n # c\n]\n",
        "a: {b: c\n d \n\n\n e, f: g\r\n  h}\n",
        "a" * 1000 + ": b\n'" + "c" * 998 + "': {" + "d" * 1000 + ": e}\n",
        "a",
        "'a'  # b",
        "a\n  b\n",
        "[a,\n b]\n# c",
        '{"a": 1,\n  "b":[true, null,-2],\n\n  # c\n  "d" : "e\\u00e9"\n}\n',
        "a : b\n'c' : d\n",
        "1: a\n2024-01-01: b\n~: c\n<<: d\n$e: f\n/g: h\n.i: j\n(k): l\n<m>: n\n_o: p\n",
        "a: {{ b }}\nc: {d, 'e', {f}, [g]}\nh: {{ i | j }}  # k\n",
        "a: &b c\nd: *b\ne: [*b, *b]  # f\n",
        "a: &b\nc: *b   # d\n---\na: &b c\nd: *b",
        "a: &b-1_c\n  d: e\nf:\n  <<: *b-1_c\n  g: h\n",
        "- &a\n  b: c\n- *a\n- &d\n- &e |\n  f\n- &g 'h'\n- &i\n  - j\n",
        "a: &b\n- c\nd: &e # f\n  g: h\ni: &j [k]\nl: &m {n: o}\n",
        "a: !b c\nd: !!str 1\ne: !f/g.h {i: j}\nk: !l\nm: !n\n  o: p\nq: !r 's'\n",
        "a: &b !c d\ne: !f &g h\ni: !reset []\n",
        "a: 01\nb: 1e3\nc: 2024-1-1\nd: 2024-01-01 10:00:00\ne: 2024-01-01T10:00:00Z\nf: 2024-01-01-\ng: 0x1F\nh: .inf\n",
        "a: 1_000\nb: +1\nc: 1:30\nd: -01\ne: 1.5e+3\nf: .nan\ng: 190:20:30.5\nh: 2024-1-1 1:00:00\n",
        "a: b\n  - c\n  'd'\n\n\n  *e\n  f\n\ng: h\n",
        "a:\n  b\nc:\n\n  'd'\ne:\n  [f]\ng:\n  |\n  h\n",
        'a: "b\n  c\n\n  d\n"\ne: "\n f"\ng: " h \\\n   i \\\n\n\n   j \t\n k\\ \n l"\n',
        "a: 'b\n  it''s\n\n\n  d '\ne: ' \n '\n",
        "a: ' b \n \t\n --c \n..d\n--e'\nf: ' \n\n g\n h'\n",
        'a: "b\r\n  c\\\r\n  d"\r\n',
        'a: "\\ud7ff\\ue000\\U0010ffff"\n',
        'a: "b\\\n\t\n  \n\n c\\\n --- d\\\n\\x41"\n',
        'a: "\\x41\\u00e9\\U0001F600\\0\\a\\b\\v\\f\\r\\e\\ \\N\\_\\L\\P\\\\\\""\n',
        "a: 'b\tc'  # d\te\nf: \"\tg\"\n",
        "a: |2\n   b\n  c\nd: >1-\n  e\n f\ng: |+1\n  h\n\nj: k",
        "- |2\n   a\n- b: |1\n    c\n",
        "a: |\n  b\tc\n  \td\n   \n  e\t\nf: >\n  g\n  \th\n  i\n",
        "a: >\n  b\n\n  \tc\n\n  d\n",
        "- - a\n  - b\n-   - c: d\n      e: f\n    - g\n",
        "-\n  a: b\n-\n- # c\n  d: e\n-\n  - f\n-",
        "a:\n-\n- b\nc:\n-\n",
        "a: b\n---\nc: d\n--- # e\n- f\n---   \n\ng\n",
        "a: b\r\nc: 'd\r\n  e'\nf: |\r\n  g\n  h\r\ni: [j,\r\n k]\n",
        "a: '\t\u200e !~\xa0\u2027\u202a\ud7ff\ue000\ufefe\uff00\ufffd\U00010000\U000e0041\U0010ffff'\r\n",
        "a: ---\nb: ...\nc: d\n --- e\n",
        "- a # b: c\n",
        "a: b\n  c\n# d\ne: f\n",
        "a: \"b' #\" # c\nd: 'e\" #'\n",
        "a: [b c, d/e.f-g, $h, (i), --j, -k, 1.5, <<, l%m, {n: o/p},]\n",
        "a: []\nb: {}\nc: [ # d\n  ]\n",
        "a: [b\n  ,_c,\n# c\n .d, /e, ..f\n  ]\ng: {h:\n  i, 'j':k, l\n  }\n",
        "a: &b c\nd: [*b\n  , *b ]\r\ne: [f\r\n ,*b\r\n ]\r\ng: {h:\r\n  i}\r\n",
        "'a':\n  'b' :\n    '1': c\n",
        "a: &b   c\nd: !e   f\ng: ''\nh: \"\"\n",
        "a: b\n\n  c  \n  d#e\n",
        "a\n--b\n..c\n",
        "---# a",
        "---- a",
        "- a#b: c\n  d#e: f\n- \"g\": h\n- 'i': \n",
        "a: 'b'''\nc: ''''\nd: \"e''f\"\ng: 'h'  # i  \nj: &k # l \nm: &_ n\no: &- p\n",
        "a: !/ b\nc: !. d\n",
        "--a b",
        "..a: b\nc:\n  ...\n",
        "---  # a \nb.c:   d\n",
        "-  a  \n- [{b: c}]\n- # d: e\n  f\n- !g {h: i}\n- &j {k: l}\n",
        "a: |-\n  b  \n  c\nd: |\n  \n  e\n",
        "".join(f"- |{digit}\n{' ' * digit}a\n" for digit in range(1, 10)),
        "- " * MAX_OPEN + "a",
        "[" * MAX_OPEN + "]" * MAX_OPEN,
        "k" * 128 + ": a\n'" + "k" * 126 + "': {" + "k" * 128 + ": a, '" + "k" * 126 + "': b}",
        "a: " + "b" * (MAX_TEXT - 3),
    ],
)
def test_simple_texts_are_read_as_by_the_library(text: str) -> None:
    stream = simple(text)
    assert stream is not None
    assert said(stream) == said(by_library(text))
    assert said(read_yaml(stream.source)) == said(stream)


@pytest.mark.parametrize(
    "text",
    [
        "---\n",
        "? a\n: b",
        "a: b\n...\nc: d",
        "...",
        "---\n...",
        "a: b\n---\n...",
        "a: b\n... # c",
        "a: b\n...c",
        "---\t# a\nb: c",
        "a: - b",
        "a: -\tb",
        "a: ?\tb",
        "a: : b",
        "a: b:\tc",
        "a: \tb",
        "a: b\n \tc",
        "a: |+",
        "a: |+\n\n",
        "'a\n': b",
        "'a'b: c",
        "a: [-]",
        "a: [-\tb]",
        "a: [?b]",
        "a: [:b]",
        "a: [b:]",
        "a: [b:,c]",
        "a: [b:?c]",
        "a: [b\n--- c]",
        "a: [b\n...]",
        "a: [b\n\tc]",
        "a: [b\n\t]",
        "a: [b\tc]",
        "a: [b\n'c']x",
        "a" * 1001 + ": b",
        "'" + "a" * 999 + "': b",
        "a: {" + "b" * 1001 + ": c}",
        "a: b: c",
        "a: b:",
        "a: *b",
        "a: & b",
        "a: &é b",
        "a: &b &c d",
        "a: &b *b",
        "a: &b\n  - *b",
        "a: &b [*b]",
        "a: &b c\nd: &b e",
        "a: &b c\n---\na: *b",
        "a: &b c\nd: *b e",
        "a: &b c\n*b : d",
        "a: &b c\nd: {*b : e}",
        "a: &b c\nd: [*b: e]",
        "a: &b\n  c",
        "a:\n  &b\n  c: d",
        "- &a b: c",
        "- &a - b",
        "&a b: c",
        "a: [&b *c]",
        "a: [&b [*b]]",
        "a: [&b c, &b d]",
        "a: [&b &c d]",
        "a: [!b !c d]",
        "a: [&b, c]",
        "a: [&b]",
        "a: [& b]",
        "a: [!b!c d]",
        "a: {&b c: d}",
        "a: {!b c: d}",
        "a: ! b",
        "a: !! b",
        "a: !b! c",
        "a: !b!c d",
        "a: !<b> c",
        "a: !b !c d",
        "a: -",
        "a: %b",
        "a: `b",
        "a: ]b",
        "a: }b",
        "a: ,b",
        "a: @b",
        "'a':b",
        "'a\n  b': c",
        "a: b\n  c # d\n  e",
        "a: b\n  c: d",
        "a: b\n  : c",
        "a: b\n  # c\n  d",
        "a: 'b",
        '- "',
        "a: '",
        "a: 'b' c",
        "a: 'b'# c",
        "a: 'b\n---\n'",
        "a: 'b\n---'",
        'a: "b\n...\n"',
        'a: "b\\\n...\n"',
        'a: "\\q"',
        'a: "\\x4"',
        'a: "\\x4g"',
        'a: "\\u+041"',
        'a: "\\x\uff14\uff11"',
        'a: "\\ud800"',
        'a: "\\udfff"',
        'a: "\\U00110000"',
        "a: [b",
        "a: [b\n# c",
        "a: [b]]",
        "a: [b]# c",
        "a: [b,# c\n]",
        "a: [']",
        "a: ['b'c']",
        "a: ['b]",
        "a: [b: c]",
        "a: [,]",
        "a: [b,,]",
        "a: [---]",
        "a: [\n---\n]",
        "a: [\n...\n]",
        "a: [b[c]]",
        "a: &b c\nd: [*b# e\n]",
        "a: &b c\nd: {e: *b: f}",
        "a: [- b]",
        "a: {b: c: d}",
        "a: {b: c}}",
        "a: {b: }",
        "a: {b\n: c}",
        "a: {'b\n': c}",
        "a: {{b: c}: d}",
        "a: {b c\n d: e}",
        "a:\n    b: c\n  d: e",
        "a:\n  - b\n c: d",
        "a: |0\n b",
        "a: |--\n b",
        "a: |12\n b",
        "a: |-a\n b",
        "a: |# c\n b",
        "|\n b",
        "a: |\n   \n  b\n",
        "a: |\n    \n \n  b\n",
        "a:\n  b: |\n  c\n",
        "a: |\n  b\n   ",
        "a: |\n  \tb",
        "a: |\n  b\n \tc",
        "- a\nb: c",
        "a: b\n- c",
        "--- a",
        "--- a\n- b",
        "- &a b\n-\n  *a",
        "a\n---b",
        "... a",
        "---\n---\na: b",
        "a: b\n---\n",
        " ---\na: b",
        "%YAML 1.1\n---\na: b",
        "a:\tb",
        "\ta: b",
        "a: b\n\t\nc: d",
        "a: b\rc",
        "a: b\r",
        *(f"a: b{character}" for character in "\0\x08\x0b\x1f\x7f\x85\x9f\u2028\u2029\ud800\udfff\ufeff\ufffe\uffff"),
        "\ufeffa: b",
        "...a: b",
        "a: b\nc # d: e",
        "a:\tb: c",
        "a: b\n: c",
        "a: b\nc d",
        "'': ': a",
        'a: " # \\b',
        "a: &b c\nd: &e *b",
        "a: b # c\n  d",
        "'a",
        'a: "b\\c',
        " # a\nb: 'c",
        "- " * (MAX_OPEN + 1) + "a",
        "[" * (MAX_OPEN + 1) + "]" * (MAX_OPEN + 1),
        ": a",
        "\n".join(" " * depth + "a:" for depth in range(MAX_DEPTH)),
        "a: " + "b" * (MAX_TEXT - 2),
    ],
)
def test_other_texts_are_left_to_the_library(text: str) -> None:
    assert simple(text) is None


def test_an_alias_is_the_value_that_its_anchor_names() -> None:
    stream = simple("a: &b\n  c: &d [e]\nf: *b\ng: {<<: *b, h: *d}\n")
    assert stream is not None
    first, second, third = stream.documents[0].children
    assert second is first is third.children[0]
    assert third.children[1] is first.children[0]
    assert stream.anchor == 3


def test_aliases_that_unfold_into_too_much_are_left_to_the_library() -> None:
    def doubled(times: int) -> str:
        return "\n".join(["a0: &a0 b", *(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]" for n in range(times))])

    text = doubled(16) + "\n#"  # its aliases stand for 262,108 values
    room = MAX_NODES - 1 - 262_108 - len(text)
    assert simple(text + "#" * room) is not None
    assert simple(text + "#" * (room + 1)) is None
    chain = ["a1: &a1 b", *(f"a{n + 1}: &a{n + 1} [*a{n}, c]" for n in range(1, MAX_OPEN + 2))]
    assert simple("\n".join(chain[:-1])) is not None
    assert simple("\n".join(chain)) is None


_SPELLED = ["text", "two words", "a:b", "'it''s'", "'# no'", '"q \\\\ \\"\\n"', '""', "1", "-1", "0.25", "007", "true", "No", "~"]
_SPELLED += ["2024-01-01", "[]", "{}", "[a, 'b c', 3]", "{a: b, 'c': [d, {e: f}]}", "{{ x }}", "é 中", "8080:80", "x  ", "x # c"]
_SPELLED += ["| # c", "!t", "&n x", "*n", "&m [a]", "[*n, *m]", "!t x", "{{ y }}", "0x1F", "1:30", "x\n      y", "'x\n\n   y'"]
_SPELLED += ['"x \\\n   y"', "[a,\n  b]", '{"k":1, # c\n "l": [*n]}', "&n", '"\\x41"', "2024-01-01 10:00:00"]
_KEYS = ["a", "two words", "a.b/c-d_e", "'q'", '"q r"', "é", "yes", "k$"]
_TEXTS = ["text", "a: b", "- c", "# d", "  more", "{{ e }}", "", " ", "|"]


@st.composite
def files(draw: st.DrawFn, indent: int = 0, depth: int = 0) -> list[str]:
    """The lines of a file as people write it; nearly all are simple."""
    lines: list[str] = []
    is_list = draw(st.booleans())
    for _ in range(draw(st.integers(1, 3))):
        head = " " * indent + ("-" if is_list else draw(st.sampled_from(_KEYS)) + ":")
        kind = draw(st.sampled_from(["text", "text", "block", "nested", "none"]))
        if kind == "text":
            lines.append(f"{head} {draw(st.sampled_from(_SPELLED))}")
        elif kind == "block":
            lines.append(f"{head} {draw(st.sampled_from(['|', '|-', '|+', '>', '>-', '>+']))}")
            inner = " " * (indent + draw(st.integers(1, 3)))
            lines += [inner + text for text in draw(st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=4))]
        elif kind == "nested" and depth < 3:
            below = draw(files(indent + 2, depth + 1))
            lines += [f"{head} {below[0].lstrip()}", *below[1:]] if is_list else [head, *below]
        elif not is_list:
            lines.append(head)
        lines += draw(st.sampled_from([[], [], [], [""], [" " * indent + "# comment"], ["   "]]))
    return lines or ["a: b"]


@given(files(), st.sampled_from(["", "\n", "\n\n"]), st.sampled_from(["\n", "\n", "\r\n"]))
def test_files_are_read_as_by_the_library(lines: list[str], end: str, newline: str) -> None:
    text = ("\n".join(lines) + end).replace("\n", newline)
    stream = simple(text)
    event("read" if stream is not None else "left to the library")
    if stream is not None:
        assert said(stream) == said(by_library(text))


_INSERTED = [
    *(" ", "  ", "\n", "\n ", "\n  ", "\n\n", "#", " #", ":", ": ", "-", "- ", "|", ">", "'", '"', "\\", "+"),
    *("1", ".", "~", "="),
    *(
        "<<",
        "---",
        "\n---\n",
        "...",
        "&",
        "*",
        "!",
        "{",
        "}",
        "[",
        "]",
        ",",
        "?",
        "%",
        "é",
        "\t",
        "\r",
        "x:",
        "\n# c",
        "- a: b",
        "|\n ",
    ),
]
_LINES = PROMPTS.split("\n")


@st.composite
def edited_prompts(draw: st.DrawFn) -> str:
    """Some lines of a prompt file, with a few insertions and deletions."""
    first = draw(st.integers(0, len(_LINES) - 1))
    text = "\n".join(_LINES[first : first + draw(st.integers(1, 12))])
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(_INSERTED)) + text[at:]
        at = draw(st.integers(0, len(text)))
        text = text[:at] + text[at + draw(st.integers(0, 2)) :]
    return text


@given(edited_prompts())
def test_what_is_read_is_what_the_library_reads(text: str) -> None:
    stream = simple(text)
    if stream is not None:
        assert said(stream) == said(by_library(text))


def test_errors_come_from_the_library() -> None:
    with pytest.raises(InputError, match=r"t\.yaml:1:5: not YAML"):
        read_yaml(Source("t.yaml", "a: b: c", "yaml"))
