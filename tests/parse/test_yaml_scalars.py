"""Properties: the places of a scalar put together give its value, and an edit of the value that is written reads as that edit."""

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from promptguard.core.source import Source
from promptguard.parse.yaml import read_yaml
from promptguard.parse.yaml_edits import ScalarWriter
from promptguard.parse.yaml_scalars import written_scalar

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LINE = st.text(st.sampled_from("ab \t'\"\\#:-é😀\u2028,{}"), max_size=8)
BREAK = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def scalars(draw: st.DrawFn) -> str:
    """A YAML text whose mapping has a scalar of any style under ``k``, further keys in front of and behind it."""
    style = draw(st.sampled_from(["|", ">", '"', "'", ""]))
    end = draw(BREAK)
    lines = draw(st.lists(LINE, min_size=1, max_size=6))
    if style in ("|", ">"):
        depth = draw(st.integers(1, 4))
        marks = draw(st.sampled_from(["", "-", "+", f"{depth}", f"-{depth}", f"{depth}+"]))
        head = f"{style}{marks}{draw(st.sampled_from(['', ' # note']))}{end}"
        body = "".join(" " * (depth if line else draw(st.integers(0, depth))) + line + end for line in lines)
    else:
        head = style
        pads = [" " * draw(st.integers(1, 3)) for _ in lines]
        text = end.join(pad + line for pad, line in zip(pads, lines, strict=True))
        escapes = draw(st.sampled_from(["", "\\n", "\\u00e9", f"\\{end}  ", "\\U0001F600"])) if style == '"' else ""
        body = text.lstrip().replace("'", "''" if style == "'" else "'") + escapes + style + end
    anchor = draw(st.sampled_from(["", "&a ", "!!str "]))
    tail = draw(st.sampled_from(["", f"z: 1{end}", f"# end{end}z: 1{end}"]))
    return f"a: 😀{end}k: {anchor}{head}{body}{tail}"


def load(text: str):
    return yaml.load(text, Loader=LOADER)


def parsed(text: str):
    """The node under ``k``."""
    try:
        root = read_yaml(Source("a.yaml", text, "yaml")).documents[0]
        assume(root.kind == "mapping" and [key.text for key in root.keys[:2]] == ["a", "k"])
        node = root.children[1]
        load(text)
    except Exception:
        assume(False)
    assume(node.kind == "scalar")
    return node


@given(scalars())
@example("a: 😀\nk: |+\n  b\n\n \n")
@example('a: 😀\nk: "b  \\\n   c\n\n  d"\n')
@example("a: 😀\nk: >\n  b\n   c\n\n  d\n  e\n")
def test_the_places_of_a_scalar_give_its_value(text: str):
    node = parsed(text)
    written = written_scalar(text, node.start, node.text)
    assert written is not None
    starts, ends = written.places.starts, written.places.ends
    assert len(starts) == len(ends) == len(node.text)
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    for character, start, end in zip(node.text, starts, ends, strict=True):
        piece = text[start:end]
        assert character == piece or "\\" in piece or piece == "''" or (character in " \n\u2028" and not piece.strip())


@given(scalars(), st.data())
def test_an_edit_that_is_written_reads_as_that_edit(text: str, data: st.DataObject):
    node = parsed(text)
    start = data.draw(st.integers(0, len(node.text)))
    end = data.draw(st.integers(start, len(node.text)))
    new = data.draw(st.text(st.sampled_from("ab \n'\":#é"), max_size=5))
    written = written_scalar(text, node.start, node.text)
    assert written is not None
    made = ScalarWriter(text, written).escape(start, end, new)
    if made is None:
        return
    places = written.places
    begin = places.starts[start] if start < len(node.text) else places.ends[-1]
    upto = places.ends[end - 1] if start < end else begin
    value = load(text)
    value["k"] = node.text[:start] + new + node.text[end:]
    assert load(text[:begin] + made + text[upto:]) == value


@settings(max_examples=300)
@given(scalars(), st.data())
def test_edits_that_agree_read_as_all_of_them(text: str, data: st.DataObject):
    node = parsed(text)
    written = written_scalar(text, node.start, node.text)
    assert written is not None
    writer, places = ScalarWriter(text, written), written.places
    cuts = sorted(data.draw(st.lists(st.integers(0, len(node.text)), max_size=8)))
    value, host, edits = node.text, text, []
    for start, end in reversed(list(zip(cuts[::2], cuts[1::2], strict=False))):
        new = data.draw(st.sampled_from(["", " ", "b"]))
        made = writer.escape(start, end, new) if start < end else None
        if made is not None:
            low, high = places.span(start, end)
            edits.insert(0, (low, high, made))
            value = value[:start] + new + value[end:]
            host = host[:low] + made + host[high:]
    if edits and writer.agree(edits):
        assert load(host)["k"] == value


@pytest.mark.parametrize(
    "text",
    [
        "k: >\n  a\n  --\n  b\n",
        "k: 'a\n  --\n  b'\n",
        "k: |\n  a\n  --\n",
        "k: 1.--\n",
    ],
)
def test_edits_that_empty_a_line_together_do_not_agree(text: str):
    written = written_scalar(text, 3, load(text)["k"])
    assert written is not None
    writer = ScalarWriter(text, written)
    edits = [(*written.places.span(*cut), str(writer.escape(*cut, ""))) for cut in ((2, 3), (3, 4))]
    assert [writer.agree(some) for some in (edits[:1], edits[1:], edits)] == [True, True, False]


def test_a_line_of_blanks_in_a_folded_block_stays():
    text = "k: >\n  a\n    \n     \n  b\n"
    written = written_scalar(text, 3, load(text)["k"])
    assert written is not None
    assert ScalarWriter(text, written).escape(2, 4, "") is None


@pytest.mark.parametrize(
    ("text", "value", "part", "host"),
    [
        ("k: You are {{ x }}.", "You are {{ x }}.", "{{ x }}", "{{ x }}"),
        ("k: |\n    a\n    b {{ x }}\n", "a\nb {{ x }}\n", "b {{ x }}", "b {{ x }}"),
        ("k: |\r\n    a\r\n    b\r\n", "a\nb\n", "a\nb", "a\r\n    b"),
        ("k: >-\n  a\n  b\n\n  c\n", "a b\nc", "b\nc", "b\n\n  c"),
        ("k: 'it''s {{ x }}'", "it's {{ x }}", "'s {{", "''s {{"),
        ('k: "a\\n\\u00e9\\\n   {{ x }}"', "a\né{{ x }}", "é{{ x", "\\u00e9\\\n   {{ x"),
        ("k: &a !!str\n  one\n  two", "one two", "e t", "e\n  t"),
    ],
)
def test_a_part_of_a_value_lies_there(text: str, value: str, part: str, host: str):
    written = written_scalar(text, 3, value)
    assert written is not None
    at = value.index(part)
    assert text[written.places.starts[at] : written.places.ends[at + len(part) - 1]] == host


def test_lines_are_added_to_the_end_of_a_literal_block():
    text = "k: |\n  a\n  b\nz: 1\n"
    written = written_scalar(text, 3, "a\nb\n")
    assert written is not None
    assert ScalarWriter(text, written).escape(4, 4, "\nc\n") == "\n  c\n"


def test_another_value_is_not_placed():
    assert written_scalar("k: abc", 3, "abd") is None
