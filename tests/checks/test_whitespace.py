from __future__ import annotations

import re
import unicodedata
from itertools import product

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptguard.checks.base import Document, Embedding, Hit, Region
from promptguard.checks.whitespace import check
from promptguard.core.finding import Edit, Fix
from promptguard.core.source import Source, Span
from promptguard.parse.template import parse_template


def document(text: str, path: str = "system.txt", **given: object) -> Document:
    regions = [Region(0, len(text), "system")]
    if path.endswith(".j2"):
        given = {"syntax": "jinja", "template": parse_template(text), **given}
    return Document(Source(path, text), "prompt", **{"regions": regions, **given})


def hits(code: str, text: str, path: str = "system.txt", **given: object) -> list[Hit]:
    return [hit for hit in check(document(text, path, **given), {}) if hit.code == code]


def spans(code: str, text: str, path: str = "system.txt", **given: object) -> list[str]:
    return [text[hit.start : hit.end] for hit in hits(code, text, path, **given)]


def fixed(text: str, path: str = "system.txt") -> str:
    """The text after all safe fixes, and after it has come to rest."""
    for _ in range(10):
        before, end = text, len(text) + 1
        for hit in sorted(check(document(text, path), {}), key=lambda hit: hit.start, reverse=True):
            fix = hit.fix
            if fix is not None and fix.applicability == "safe" and fix.edits[-1].span.end <= end:
                end = fix.edits[0].span.start
                for edit in reversed(fix.edits):
                    text = text[: edit.span.start] + edit.text + text[edit.span.end :]
        if text == before:
            return text
    raise AssertionError("the fixes do not come to rest")


PIECES = st.sampled_from(
    ["a", "é", "e\u0301", "漢\u3000", "5\xa0km", "👩\u200d💻", " ", "  ", "\t", "\n", "\r\n", "\r", "\u2028"]
) | st.sampled_from(
    [
        "\u200b",
        "\xa0",
        "\ufeff",
        "\x00",
        "\U000e0041",
        "{{ x }}",
        "{{- x }}",
        "{% if x %}",
        "{% else %}",
        "{% endif -%}",
        "{# c #}",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, st.sampled_from(["system.txt", "system.md", "system.j2"]))
def test_safe_fixes_leave_nothing_that_they_could_fix(text: str, path: str) -> None:
    after = fixed(text, path)
    assert not [hit for hit in check(document(after, path), {}) if hit.fix is not None and hit.fix.applicability == "safe"]


@given(TEXTS)
def test_safe_fixes_keep_every_word(text: str) -> None:
    def words(text: str) -> str:
        return re.sub(r"[\s\u200b\ufeff\x00\U000e0041]", "", text)

    assert words(fixed(text)) == words(text)


SETUPS = [jinja2.Environment(trim_blocks=trim, lstrip_blocks=lstrip) for trim, lstrip in product((False, True), repeat=2)]
TAGS = [f"{{{kind}{ahead}{inner}{behind}{kind if kind != '{' else '}'}}}" for kind, inner, ahead, behind in [
    *product("{", (" x ",), ("", "-"), ("", "-")),
    *product("%", (" if a ", " endif ", " set y = 1 "), ("", "-", "+"), ("", "-", "+")),
    *product("#", (" c ",), ("", "-", "+"), ("", "-", "+")),
]]  # fmt: skip


def template_of(pieces: list[str]) -> str:
    """Every ``if`` has its ``endif``, and every ``endif`` its ``if``."""
    taken, depth = [], 0
    for piece in pieces:
        depth += (" if " in piece) - (" endif " in piece)
        if depth < 0:
            depth = 0
        else:
            taken.append(piece)
    return "".join(taken) + "{% endif %}" * depth


def read(text: str) -> str:
    """What a reader sees of a prompt."""
    text = re.sub("[\u200b\ufeff\x1f]", "", text.replace("\xa0", " ").replace("\u2028", "\n"))
    return re.sub(r"[ \t]+(?=\n|\Z)", "", text).rstrip("\n")


PARTS = st.one_of(
    st.sampled_from(["a", "b"]),
    st.sampled_from([" ", "\t", "\n", "\r\n", "\r"]),
    st.sampled_from(["\u200b", "\u200b", "\xa0", "\u2028", "\ufeff", "\x1f"]),
    st.sampled_from(TAGS),
)


@settings(max_examples=500)
@given(st.lists(PARTS, max_size=9).map(template_of), st.booleans())
def test_safe_fixes_leave_what_a_template_says(text: str, a: bool) -> None:
    after = fixed(text, "system.j2")
    for setup in SETUPS:
        before, now = (read(setup.from_string(each).render(x="X", a=a)) for each in (text, after))
        assert now == before


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("{{ x -}}\u200b\na\n", ["unsafe"]),
        ("{% if x -%}\u200b a{% endif %}\n", ["unsafe"]),
        ("{#c-#}\u200b\xa0a\n", ["unsafe"]),
        ("a\n\u200b{{- x }}\n", ["unsafe"]),
        ("a \u200b{%- if x %}b{% endif %}\n", ["unsafe"]),
        ("a \u200b{#-c#}\n", ["unsafe"]),
        ("{% if x %}a{% endif %} \nb\n", ["unsafe"]),
        ("{#c#} \nb\n", ["unsafe"]),
        ("{#c#}\u200b\nb\n", ["unsafe"]),
        ("{#c#}\u2028b\n", ["unsafe"]),
        ("a\n \u200b{#c#}b\n", ["unsafe"]),
        ("a\n \u200b{{ x }}b\n", ["safe"]),
        ("{#c+#} \nb\n", ["safe"]),
        ("{#c#}\n \nb\n", ["safe"]),
        ("{{ x }} \nb\n", ["safe"]),
        ("{{ x -}}\u200ba\n", ["safe"]),
        ("a\u200b{{- x }}\n", ["safe"]),
        ("a\n\u200b{#c#}b\n", ["safe"]),
        ("{% if x %}a{% endif %} \n", ["safe"]),
        ("{{ x -}}\u200b \na\n", ["safe", "unsafe"]),
    ],
)
def test_a_fix_that_lets_a_tag_take_more_is_not_safe(text: str, kinds: list[str]) -> None:
    assert [hit.fix.applicability for hit in check(document(text, "system.j2"), {}) if hit.fix is not None] == kinds


@pytest.mark.parametrize("text", ["{\u200b{ x }}", "{\u200b% if x %}", "$\u200bx", "<\u200b%= x %>", "{x}\u200b}", "{\u200bx}"])
def test_a_fix_that_makes_a_tag_is_not_safe(text: str) -> None:
    assert [hit.fix.applicability for hit in hits("PG303", text + "\n") if hit.fix is not None] == ["unsafe"]


@pytest.mark.parametrize(
    "text", ["a\r\u2028b\n", "a\r\u200b\u2028b\n", "\n\u2028a\r\r", "a\r\u200b\nb\n", "a\r \nb\n", "a\r\u200b \u200b\nb\n"]
)
def test_a_fix_that_makes_one_line_end_of_two_is_not_safe(text: str) -> None:
    found = [hit.fix.applicability for code in ("PG301", "PG303") for hit in hits(code, text) if hit.fix is not None]
    assert set(found) == {"unsafe"}


@given(TEXTS)
def test_tags_are_never_edited(text: str) -> None:
    tags = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)
    assert tags.findall(fixed(text, "system.j2")) == tags.findall(text)


@given(st.text(alphabet="ae\u0301\u030a\u1161\u1112\u11ab漢か\u3099\u212b ", max_size=20))
def test_what_is_not_nfc_becomes_nfc(text: str) -> None:
    for hit in reversed(hits("PG306", text)):
        assert hit.fix is not None
        assert hit.fix.applicability == "unsafe"
        text = text[: hit.start] + hit.fix.edits[0].text + text[hit.end :]
    assert unicodedata.is_normalized("NFC", text)


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("a \nb\t\r\n  \nc", "system.txt", [" ", "\t", "  "]),
        ("a  \nb   \n  \nc\t\n", "system.md", ["   ", "  ", "\t"]),
        ("a  \n", "system.md.jinja", []),
        ("a  \n", "readme.txt", ["  "]),
        ("{{ x }} \n", "system.j2", [" "]),
        ("{% if x %}  \na{% endif %}\n", "system.j2", ["  "]),
        ("a \n{%- if x %} \n{%- endif %} \nb", "system.j2", [" "]),
        ("{% if x -%} \n a{% endif %}", "system.j2", []),
        ("  {% if x %}\na{% endif %}", "system.j2", []),
        ("{% raw %}a \n{% endraw %}", "system.j2", [" "]),
        ("{{ x \n}}{# a \n#}", "system.j2", []),
        ("A: ", "system.txt", [" "]),
    ],
)
def test_trailing_whitespace(text: str, path: str, found: list[str]) -> None:
    assert spans("PG301", text, path) == found


def test_only_the_regions_are_looked_at() -> None:
    text = "--- \nkey: 1 \r\n---\nYou help. \n"
    assert [hit.start for hit in check(document(text, regions=[Region(18, len(text), "system")]), {})] == [27]


def test_a_value_may_end_in_a_space_and_without_a_line_end() -> None:
    text = "Answer: "
    embedding = Embedding(Source("a.json", text), range(8), range(1, 9), lambda start, end, text: text)
    assert list(check(document(text, embedding=embedding), {})) == []


def test_the_rarer_line_ends_become_the_usual_one() -> None:
    text = "a\r\nb\nc\r\nd\re\r\n"
    (hit,) = hits("PG302", text)
    assert (hit.start, hit.end, hit.message) == (4, 5, "a line that ends in LF among lines that end in CRLF")
    assert fixed(text) == "a\r\nb\r\nc\r\nd\r\ne\r\n"
    assert fixed("a\r\nb\n") == "a\nb\n"


def test_many_line_ends_are_changed_at_once() -> None:
    text = "a\r\n" * 1001 + "a\n" * 1002
    assert len(hits("PG302", text)[0].fix.edits) == 1
    assert fixed(text) == text.replace("\r", "")


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 👍🏽 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 \xa9\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "क्\u200dष, ক্\u200cষ",
        "അവന്\u200d, क्\u200c",
        "« Ça va\xa0? Oui\u202f! »",
        "«\xa0Oui\xa0»",
        "20\xa0km, 5\xa0%, 10\u202f000\xa0€",
        "第一\u3000第二",
        "\u3000第一段",
        "שלום\u200f!",
        "葛\U000e0100",
        "ภาษา\u200bไทย",
        "a\tb\n",
    ],
)
def test_characters_that_belong_to_the_writing(text: str) -> None:
    assert hits("PG303", text) == []


@pytest.mark.parametrize(
    ("text", "found", "after"),
    [
        ("a\u200bb", ["\u200b"], "ab"),
        ("a\xa0b", ["\xa0"], "a b"),
        ("a\ufeff\u2060\xa0b", ["\ufeff\u2060\xa0"], "a b"),
        ("a\u200db", ["\u200d"], "ab"),
        ("a\ufe0fb", ["\ufe0f"], "ab"),
        ("👩\u200d", ["\u200d"], "👩"),
        ("a\U000e0041\U000e0042b", ["\U000e0041\U000e0042"], "ab"),
        ("שלום \u202eabc", ["\u202e"], "שלום abc"),
        ("a\u2028b", ["\u2028"], "a\nb"),
        ("a\x1b[0m", ["\x1b"], "a[0m"),
        ("x\u3000y", ["\u3000"], "x y"),
        ("co\xadop", ["\xad"], "coop"),
    ],
)
def test_characters_that_cannot_be_seen(text: str, found: list[str], after: str) -> None:
    assert spans("PG303", text) == found
    assert fixed(text + "\n") == after + "\n"


def test_an_escape_in_a_tag_is_no_character() -> None:
    assert hits("PG303", "{{ '\\u200b' }}{{ '\u200b' }}\n", "system.j2") == []


def test_a_byte_order_mark_is_told_once() -> None:
    (hit,) = hits("PG303", "You help.\n", bom=True)
    assert (hit.start, hit.end) == (0, 1)
    assert hit.fix == Fix("Remove the byte order mark", (Edit(Span(0, 0), ""),), "safe")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{% if a %}x y{% else %}x  y{% endif %}", ["x  y"]),
        ("{% if a %}Hi {{ n }}{% elif b %}Hi{{ n }}{% endif %}", ["Hi{{ n }}"]),
        ("{% if a %}Hi {{ n }}{% else %}Hi {{ m }}{% endif %}", []),
        ("{% if a %}x{% else %}x{% endif %}", []),
        ("{% if a %}\nx\n{% else %}\nx{% endif %}", ["\nx"]),
        ("{% if a %}\nx{% else %}x{% endif %}", []),
        ("{% if a %} {%- else %}{% endif %}", []),
        ("{% if a %}  {% else %} {% endif %}", ["  "]),
        ("{% if a %}\n\n{% endif %}", ["\n\n"]),
        ("{% if a %}\n{% endif %}", []),
        ("{% if a %}\n  {# c #}\n{% endif %}", []),
        ("{% if a %} {% set b = 1 %}{% endif %}", []),
        ("{% if a %}x{% else %} {% endif %}", []),
        ("{% for a in b %}{% if not loop.last %}\n\n{% endif %}{% endfor %}", []),
        ("{% for a in b %}{% if a %} {% endif %}{% endfor %}", [" "]),
        ("{% if true %} {% endif %}", []),
    ],
)
def test_branches(text: str, found: list[str]) -> None:
    assert spans("PG304", text, "system.j2") == found


def test_a_stable_test_is_no_finding() -> None:
    assert hits("PG304", "{% if a %} {% endif %}", "system.j2", stable=frozenset({"a"})) == []
    assert hits("PG304", "{% if a %} {% endif %}", "system.j2", known={"a": True}) == []


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("a", "system.txt", "a\n"),
        ("a\r\nb", "system.txt", "a\r\nb\r\n"),
        ("a\n\n\n", "system.txt", "a\n"),
        ("a\r\n\r\n", "system.txt", "a\r\n"),
        ("{% if a %}b{% endif %}", "system.j2", "{% if a %}b{% endif %}\n"),
        ("{% if a %}b{% endif -%}\n\n", "system.j2", "{% if a %}b{% endif -%}\n\n"),
        ("", "system.txt", ""),
        ("\n\n", "system.txt", "\n\n"),
    ],
)
def test_final_newline(text: str, path: str, after: str) -> None:
    assert fixed(text, path) == after


def test_characters_that_nfc_takes_apart_stay() -> None:
    assert hits("PG306", "\u0958 \ufb2a") == []


def test_however_many_there_are_each_is_a_hit() -> None:
    text = "a\u200be\u0301 \n" * 1005
    assert [len(hits(code, text)) for code in ("PG301", "PG303", "PG306")] == [1005] * 3
