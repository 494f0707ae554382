from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptguard.checks.base import Block, Document, Placeholder, Region
from promptguard.core.errors import ConfigError
from promptguard.core.resources import resource
from promptguard.core.source import Source
from promptguard.linting import cost
from promptguard.linting.cost import Coster
from promptguard.linting.reading import read_documents
from promptguard.linting.settings import Settings
from promptguard.models.default import default_model
from promptguard.parse.template import parse_template
from promptguard.prompts.counting import Counter, counter

BUNDLED = counter(None)
CORPUS = resource("fixtures/models/tiny/corpus.txt").read_text(encoding="utf-8")
TOOLS = resource("fixtures/tasks/four_tool/tools.json").read_text(encoding="utf-8")


def plain(text: str, *regions: Region, prompt: str | None = None) -> Document:
    return Document(Source("a.txt", text), "prompt", regions=regions or [Region(0, len(text), "system")], prompt=prompt)


def jinja(text: str) -> Document:
    regions = [Region(0, len(text), "system")]
    return Document(Source("a.j2", text, "jinja"), "prompt", syntax="jinja", regions=regions, template=parse_template(text))


def tools(text: str, kind: str = "json") -> Document:
    return Document(Source("tools", text, kind), "tools", regions=[Region(0, len(text), "tools")])


def behind(document: Document, mark: str, *others: Document) -> int:
    return Coster(None).tokens_behind([document, *others], document, document.text.index(mark))


def count(*texts: str) -> int:
    return sum(map(BUNDLED.count, texts))


def test_all_that_follows_in_the_document() -> None:
    assert behind(plain("one two three. four five"), "three") == count("three. four five") == 5


def test_nothing_follows_the_end() -> None:
    document = plain("one two")
    assert Coster(None).tokens_behind([document], document, 7) == 0


def test_tags_comments_and_values_are_not_counted() -> None:
    text = "{# a comment #}Hello {{ user.name }}.{% if x %} yes{% else %} no{% endif %}{% for a in b %}\n- {{ a }}{% endfor %}end"
    assert behind(jinja(text), "Hello") == count("Hello ", ".", " yes", " no", "\n- ", "end")


def test_text_ahead_of_the_place_is_not_counted() -> None:
    assert behind(jinja("Some rules.\n{{ now() }}\nMore rules."), "{{") == count("\nMore rules.")


def test_placeholders_of_another_syntax_are_not_counted() -> None:
    text = "Hi {name}, it is {day} today"
    document = plain(text)
    document.placeholders = [Placeholder(3, 9, None), Placeholder(17, 22, None)]
    assert behind(document, "Hi") == count("Hi ", ", it is ", " today")


def test_text_outside_of_the_regions_is_not_counted() -> None:
    text = "---\ntitle: x\n---\nRules here."
    assert behind(plain(text, Region(17, len(text), "system")), "Rules") == count("Rules here.")


def test_later_regions_of_the_document_count() -> None:
    text = "Rules. Question:"
    assert behind(plain(text, Region(0, 7, "system"), Region(7, len(text), "user")), "Rules") == count("Rules. ", "Question:")


PARTS: list[tuple[Block, str]] = [("user", "a question"), ("system", "some rules here"), ("tools", "tool"), ("system", "more")]
PROMPT = [plain(text, Region(0, len(text), block), prompt="agent") for block, text in PARTS]


@pytest.mark.parametrize(
    ("index", "following"),
    [
        (0, ["a question"]),
        (1, ["some rules here", "more", "a question"]),
        (2, [text for _, text in PARTS]),
        (3, ["more", "a question"]),
    ],
)
def test_documents_of_a_prompt_in_the_order_of_their_blocks(index: int, following: list[str]) -> None:
    documents = [*PROMPT, plain("another prompt", prompt="other"), plain("no prompt")]
    assert Coster(None).tokens_behind(documents, PROMPT[index], 0) == count(*following)


def test_a_document_without_a_prompt_is_alone() -> None:
    assert behind(plain("alone"), "alone", plain("other")) == count("alone")


def test_tools_are_counted_as_a_chat_template_prints_them() -> None:
    wire = json.dumps(json.loads(TOOLS), ensure_ascii=False)
    assert behind(tools(TOOLS), "[") == count(wire) < count(TOOLS)


def test_tools_behind_a_place() -> None:
    text = '[\n  {\n    "a": 1,\n    "b": [ "x, y: z", true ]\n  }\n]\n'
    assert behind(tools(text), '"b"') == count('"b": ["x, y: z", true]}]')


def test_yaml_tools_are_counted_without_their_indentation() -> None:
    text = "- name: x\n  description:   some text\n"
    assert behind(tools(text, "yaml"), "name") == count("name: x description: some text")


@pytest.mark.parametrize("text", ['["a', '["a\\', '"' + '\\"' * 5, '[1,, "x":', "]]{{"])
def test_tools_that_are_no_json(text: str) -> None:
    assert behind(tools(text), text[0]) > 0


def test_long_document_counts_as_in_one_piece() -> None:
    """It is counted in pieces that are cut where tokens end."""
    text = CORPUS[:30_000]
    assert behind(plain(text), text[:50]) == count(text)


COSTER = Coster(None)


@given(at=st.integers(0, 8_000))
def test_every_place_of_a_long_document(at: int) -> None:
    document = plain(CORPUS[:8_000])
    assert abs(COSTER.tokens_behind([document], document, at) - count(document.text[at:])) <= 1


class Counting:
    """A counter that notes how much it was given."""

    name = "counting"
    seen = 0

    def count(self, text: str) -> int:
        self.seen += len(text)
        return len(text)


class InCharacters:
    """A counter whose tokens are characters, so that sums are exact."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


def in_characters() -> Coster:
    coster = Coster(None)
    coster._counter = InCharacters()
    return coster


PRINTS = "{{now()}}"
SAID = st.lists(st.sampled_from(["look up", ' an "order"', " größe", " a\nline", PRINTS]), max_size=5).map("".join)
PARAMETERS = {"type": "object", "properties": {"id": {"type": "string", "description": PRINTS}}}


def written(said: list[str], how: str) -> str:
    """A file of tools with these descriptions, alone or beside a prompt."""
    tools = [{"name": "a", "description": text, "parameters": PARAMETERS} for text in said]
    value = {"tools": tools, "system_prompt": f"You see {PRINTS} and answer."} if "agent" in how else tools
    if "yaml" in how:
        return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=40))
    return json.dumps(value, indent=2 if "indented" in how else None)


@pytest.mark.parametrize("how", ["json", "json indented", "json agent", "yaml", "yaml agent"])
@given(said=st.lists(SAID, min_size=1, max_size=4))
def test_costs_fall_along_the_tools(how: str, said: list[str]) -> None:
    """What a place costs is what the tools cost there when nothing in them is a template, less the placeholders."""
    text = written([*said, PRINTS], how)
    documents = read_documents(f"a.{how[:4]}", text, Settings(root=""))
    whole = tools(text, how[:4])
    whole.regions = documents[0].regions
    end = whole.regions[0].end
    system = len("You see  and answer.") if "agent" in how else 0
    coster, plainly = in_characters(), in_characters()
    costs: list[tuple[int, int]] = []
    for document in documents:
        for found in document.placeholders:
            at = document.place(found.start, found.end).span.start
            if document.block_at(found.start) == "tools":
                expected = plainly.tokens_behind([whole], whole, at) - len(PRINTS) * text.count(PRINTS, at, end) + system
                costs.append((at, coster.tokens_behind(documents, document, found.start)))
                assert costs[-1][1] == expected
                assert coster.tokens_behind(documents, documents[0], at) == expected
    assert len(costs) == sum(each.count(PRINTS) for each in said) + len(said) + 2
    assert [cost for _, cost in sorted(costs)] == sorted((cost for _, cost in costs), reverse=True)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    made = Counting()
    loaded: list[Counter] = [made]
    monkeypatch.setattr(cost, "_loaded", lambda tokenizer: loaded[0])
    return made


def test_a_document_is_counted_once(counting: Counting) -> None:
    text = "some words in a line\n" * 20_000
    document = plain(text)
    coster = Coster(None)
    places = range(0, len(text), len(text) // 100)
    assert [coster.tokens_behind([document], document, at) for at in places] == [len(text) - at for at in places]
    assert counting.seen < len(text) + 100 * 1024


def test_a_line_without_end_is_counted_once(counting: Counting) -> None:
    text = "x" * 1_000_000
    document = plain(text)
    coster = Coster(None)
    assert [coster.tokens_behind([document], document, at) for at in range(0, 1_000_000, 10_000)] == list(
        range(1_000_000, 0, -10_000)
    )
    assert counting.seen < len(text) + 100 * 8192


def test_kept_counts_are_bounded(counting: Counting) -> None:
    coster = Coster(None)
    documents = [plain("x" * (1 << 20)) for _ in range(40)]
    for document in documents:
        coster.tokens_behind([document], document, 0)
    assert len(coster._counted) <= 17


def test_the_tokenizer_is_named_and_not_loaded_before_it_is_needed() -> None:
    assert [Coster(None).name, Coster("no/such/file").name] == ["promptguard-tiny", "no/such/file"]
    with pytest.raises(ConfigError, match="does not exist"):
        Coster("no/such/file").tokens_behind([PROMPT[0]], PROMPT[0], 0)


def test_configured_tokenizer(tmp_path: Path) -> None:
    document = plain("It is 2026-01-31 today")
    assert Coster(str(default_model())).tokens_behind([document], document, 6) == count("2026-01-31 today")


def test_loads_nothing_heavy() -> None:
    heavy = {"dataclasses", "pathlib", "jinja2", "orjson", "yaml", "click", "logging", "tokenizers", "inspect", "json"}
    program = (
        "import sys\nfrom promptguard.linting.cost import Coster\nfrom promptguard.checks.base import Document, Region\n"
        "from promptguard.core.source import Source\n"
        "d = Document(Source('a', 'text'), 'prompt', regions=[Region(0, 4, 'system')])\n"
        "assert Coster(None).tokens_behind([d], d, 0) == 1\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.parametrize("word", ["some ", "endless"])
def test_a_place_in_a_long_string_takes_the_count_of_a_short_part(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([{"name": "a", "description": word * 4_000 + "here " + word * 4_000, "input_schema": {"type": "object"}}])
    sizes: list[int] = []
    asked = Coster(None)
    document = tools(text)
    asked.tokens_behind([document], document, 0)
    assert asked._counter is not None
    inner = asked._counter.count
    monkeypatch.setattr(asked._counter, "count", lambda part: sizes.append(len(part)) or inner(part))
    found = asked.tokens_behind([document], document, text.index("here"))
    assert sum(sizes) <= 2 * cost._LONGEST
    assert found == pytest.approx(count(text[text.index("here") :]), rel=0.01)
