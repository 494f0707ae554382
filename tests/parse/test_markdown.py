import pytest

from promptguard.parse.markdown import code_ranges, front_matter


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a `b` c", ["`b`"]),
        ("``a ` b`` `c`", ["``a ` b``", "`c`"]),
        ("a ` b", []),
        ("a\n```py\nb `c`\n```\nd `e`", ["```py\nb `c`\n```", "`e`"]),
        ("~~~\n```\n~~~\n`a`", ["~~~\n```\n~~~", "`a`"]),
        ("````\n```\n````\nb", ["````\n```\n````"]),
        ("  > ```\n  > a\n  > ```\r\nb", ["  > ```\n  > a\n  > ```"]),
        ("a\n```\nb", ["```\nb"]),
        ("<!--\n```\n-->\n`a`", ["`a`"]),
        ("<!-- a --> b\n```\nc\n```\n  <!--\n~~~\n--> `d`\n~~~\ne", ["```\nc\n```", "`d`", "~~~\ne"]),
        ("```\n<!--\n```\na\n```\n-->\n```", ["```\n<!--\n```", "```\n-->\n```"]),
        ("<!-- a\n```\nb\n```", ["```\nb\n```"]),
        ("a <!--\n```\n-->\n```", ["```\n-->\n```"]),
    ],
)
def test_code(text: str, code: list[str]):
    assert [text[start:end] for start, end in code_ranges(text)] == code


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("---\na: b\n---\nc", ("a: b\n", "c")),
        ("---\r\na: b\r\n---\r\nc", ("a: b\r\n", "c")),
        ("---\n---\nc", ("", "c")),
        ("---\na\n---", ("a\n", "")),
        ("---\na\n----\n---\nc", ("a\n----\n", "c")),
        ("---\na\n", None),
        ("--- a\n---\n", None),
        ("a\n---\nb\n---\n", None),
    ],
)
def test_front_matter(text: str, parts: tuple[str, str] | None):
    found = front_matter(text)
    assert (found and (text[found[0] : found[1]], text[found[2] :])) == parts
