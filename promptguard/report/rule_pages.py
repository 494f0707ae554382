"""The pages of rules, for ``promptguard rule``: as text for a terminal, as Markdown, as JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Sequence

from promptguard import __version__
from promptguard.checks.pages import parts, read_page
from promptguard.checks.rule import Rule, RuleOption

VERSION = 1
"""Of the JSON form, docs/schemas/rule-1.json; rises when a key is removed or changes its meaning."""

_CELLS = 88
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_BLOCKS = {"prefix": "the blocks tools and system", "any": "every block"}


def as_list(rules: Sequence[Rule]) -> str:
    """A line for each rule."""
    size = max((len(rule.name) for rule in rules), default=0)
    return "".join(f"{rule.code}  {rule.name:<{size}}  {rule.severity:<7}  {rule.summary}\n" for rule in rules)


def as_text(rules: Sequence[Rule]) -> str:
    """The pages for a terminal."""
    return "\n\n".join("\n".join(_text_lines(rule)) + "\n" for rule in rules)


def as_markdown(rules: Sequence[Rule]) -> str:
    """The pages as Markdown."""
    return "\n".join(markdown_page(rule) for rule in rules)


def as_json(rules: Sequence[Rule]) -> str:
    """The pages as one JSON object."""
    tool = {"name": "promptguard", "version": __version__}
    value = {"version": VERSION, "tool": tool, "rules": [_object(rule) for rule in rules]}
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def markdown_page(rule: Rule) -> str:
    """The page of a rule as Markdown: its file, with its front matter as a table, its options and the names of its cases."""
    facts = "".join(f"| {name} | {value} |\n" for name, value in _facts(rule))
    heading, _, body = _named_cases(read_page(rule.file).body, rule.file).partition("\n")
    text = f"{heading}\n\n{rule.summary[:1].upper()}{rule.summary[1:]}.\n\n| | |\n|---|---|\n{facts}{body}"
    if rule.options:
        options = "".join(f"- `{option.name}` (default: {_default(option)}): {option.help}\n" for option in rule.options)
        text = text.replace("\n## Examples\n", f"\n## Options\n\n{options}\n## Examples\n", 1)
    return text


def _named_cases(markdown: str, where: str) -> str:
    """A page on which each case says what it is, which its info string does not show to a reader."""
    lines: list[str] = []
    for part in parts(markdown, where):
        words = (part.info or "").split()
        if len(words) > 1:
            fence = part.lines[0][: len(part.lines[0]) - len(part.lines[0].lstrip("`~"))]
            lines += [f"{words[1].capitalize()}:", "", f"{fence}{words[0]}", *part.lines[1:]]
        else:
            lines += part.lines
    return "\n".join(lines)


def _object(rule: Rule) -> dict[str, object]:
    return {
        **rule._asdict(),
        "options": [option._asdict() for option in rule.options],
        "sections": [{"title": title, "markdown": text} for title, text in read_page(rule.file).sections.items()],
    }


def _facts(rule: Rule) -> list[tuple[str, str]]:
    return [
        ("severity", rule.severity),
        ("confidence", rule.confidence),
        ("cause", "none of docs/causes.md" if rule.cause == "-" else f"{rule.cause} of docs/causes.md"),
        ("looks at", f"{', '.join(rule.kinds)}; {_BLOCKS[rule.blocks]}"),
        ("fix", rule.fix),
        ("since", rule.since),
    ]


def _default(option: RuleOption) -> str:
    return json.dumps(option.default, ensure_ascii=False)


def _text_lines(rule: Rule) -> Iterator[str]:
    yield f"{rule.code} {rule.name}: {rule.summary}"
    yield ""
    for name, value in _facts(rule):
        yield f"  {name:<10}  {value}"
    for title, text in read_page(rule.file).sections.items():
        if title == "Examples" and rule.options:
            yield from ("", "Options", "")
            for option in rule.options:
                yield from _wrapped(f"{option.name} (default: {_default(option)}): {option.help}", "  ", "      ")
        yield from ("", title)
        yield from _section(text, rule.file)


def _section(markdown: str, where: str) -> Iterator[str]:
    """Markdown as text: paragraphs and items wrapped, what stands in fences as it is, markup that only a page needs removed."""
    for part in parts(markdown, where):
        if part.info is not None:
            yield from ("", f"  {_label(part.info)}:", "")
            yield from (f"    {line}".rstrip() for line in part.lines[1:-1])
            continue
        paragraph: list[str] = []
        for line in [*part.lines, ""]:
            if paragraph and (not line.strip() or _ITEM.match(line) or line.startswith("|")):
                yield from _paragraph(paragraph)
                paragraph = []
            if line.startswith("|"):
                yield f"  {line}"
            elif line.strip():
                paragraph.append(line.strip())


def _label(info: str) -> str:
    """What stands in a fenced block: ``bad``, ``good``, ``fixed``, ``config``, or the language of what is no case."""
    words = info.split()
    return words[1] if len(words) > 1 else info or "text"


def _paragraph(lines: list[str]) -> Iterator[str]:
    text = _LINK.sub(r"\1", " ".join(lines)).replace("**", "")
    if _ITEM.match(text):
        yield from _wrapped(text, "  ", "    ")
    else:
        yield ""
        yield from _wrapped(text, "  ", "  ")


def _wrapped(text: str, first: str, other: str) -> list[str]:
    return textwrap.wrap(
        text, _CELLS, initial_indent=first, subsequent_indent=other, break_long_words=False, break_on_hyphens=False
    )
