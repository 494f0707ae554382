"""JSON and YAML files: tool schemas, and prompts in their strings."""

from __future__ import annotations

from promptguard.checks.base import Block, Document, Embedding, Region, Syntax
from promptguard.core import patterns as re
from promptguard.core.errors import InputError
from promptguard.core.light import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    Literal,
    NamedTuple,
    Sequence,
    bisect_left,
    lru_cache,
    regex,
)
from promptguard.core.source import Place, Source, Span
from promptguard.linting.reading.blocks import Switch, line_marks
from promptguard.linting.reading.names import FileKind, name_block, says_prompt
from promptguard.linting.reading.prompts import Origin, make_document
from promptguard.parse.tool_marks import is_json_lines, may_hold_tools, says_tools, seems_tools, should_parse

if TYPE_CHECKING:
    from promptguard.linting.reading.beside import Beside
    from promptguard.parse.json import JSONIndex
    from promptguard.parse.json import Node as JSONNode
    from promptguard.parse.yaml import Node as YAMLNode
    from promptguard.parse.yaml_edits import ScalarWriter

# Files of other programs, which are large or many.
_OF_OTHERS = frozenset(
    {"package.json", "package-lock.json", "composer.json", "composer.lock", "tsconfig.json", "jsconfig.json", "renovate.json"}
    | {"npm-shrinkwrap.json", "pnpm-lock.yaml", "deno.json", "lerna.json", "nx.json", "angular.json", "manifest.json"}
    | {"tokenizer.json", "tokenizer_config.json", "vocab.json", "docker-compose.yml", "docker-compose.yaml", "compose.yaml"}
    | {"mkdocs.yml", ".pre-commit-config.yaml", ".gitlab-ci.yml", "pubspec.yaml", "codecov.yml", "compose.yml"}
)
_HINTS = (b"prompt", b"template", b"instruction", b"message", b"backstory", b"system", b"developer", b"human")
_JSON_KEY = regex(rb"(?:%s)[a-z_]{0,40}\"\s{0,20}:" % b"|".join(_HINTS))
_YAML_KEY = regex(rb"(?:%s)[a-z_]{0,40}[\"']?[ \t]{0,20}:" % b"|".join(_HINTS))
_MARK = b"promptguard: block"
_TEMPLATE = regex(r"\{[{%]|\\u007[bB]")  # JSON itself has no such braces
_YAML_TEMPLATE = regex(r"\{[{%#]|\\[xuU\r\n]")  # or an escape of one
_BRACE = regex(r"[{<]|\\u")
# The first key of a file that is nothing of ours, at the margin.
_ORDINARY_YAML = regex(
    rb"^(?:apiVersion|jobs|services|openapi|swagger|stages|Resources|AWSTemplateFormatVersion)[ \t]*:", re.MULTILINE
)
_ORDINARY_JSON = regex(rb'\A\s*\{\s*"(?:openapi|swagger|lockfileVersion|nbformat)"\s*:')


ValueKind = Literal["mapping", "list", "text", "other"]


class Value:
    """A value of a JSON or YAML file.

    Attributes:
        kind: what it is; ``other`` is a number, a truth value or nothing.
        items: the members, by key or by the digits of the index.
        text: of a text, decoded.
        start: where it begins in the file.
        end: where it ends; equal to ``start`` where that is not known.
    """

    __slots__ = ("end", "items", "kind", "start", "text")

    def __init__(self, kind: ValueKind, start: int, end: int, text: str = "") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.text = text
        self.items: list[tuple[str, Value]] = []


class PromptString(NamedTuple):
    """A string that is a prompt, or a part of one.

    Attributes:
        value: the string.
        pointer: where it is, as a JSON pointer.
        group: the pointer of what holds all parts of its prompt.
        block: what its key or its role says.
        syntax: what stands beside it says of its placeholders.
    """

    value: Value
    pointer: str
    group: str
    block: Block | None = None
    syntax: Syntax | None = None


def may_hold_data(path: str, kind: FileKind, head: bytes) -> bool:
    """Whether a JSON or YAML file may hold tool schemas or prompts; quick."""
    if path[path.rfind("/") + 1 :] in _OF_OTHERS:
        return False
    if says_tools(path):
        return True
    if kind == "jsonl":
        return may_hold_tools(head)
    if says_prompt(path):
        return True
    if not (may_hold_tools(head) or _has_prompt_key(kind, head) or _MARK in head or (b"role" in head and b"{{" in head)):
        return False
    return not (_ORDINARY_YAML if kind == "yaml" else _ORDINARY_JSON).search(head)


def _has_prompt_key(kind: FileKind, head: bytes) -> bool:
    lower = head.lower()
    for word in _HINTS:
        if word in lower:
            return (_YAML_KEY if kind == "yaml" else _JSON_KEY).search(lower) is not None
    return False


def data_documents(path: str, text: str, kind: FileKind, origin: Origin, *, declared: bool, named: bool) -> list[Document]:
    """What a JSON or YAML file holds; see ``read_documents``."""
    meant = should_parse(path, text)
    named = named or meant
    if kind == "yaml":
        return _yaml(Source(path, text, "yaml"), origin, declared=declared, named=named)
    source = Source(path, text, "json")
    if kind == "jsonl" or (not declared and is_json_lines(text)):
        return _jsonl(source, origin, meant=meant)
    return _json(source, origin, declared=declared, named=named)


def _jsonl(source: Source, origin: Origin, *, meant: bool) -> list[Document]:
    lines = source.text.split("\n")
    if meant:
        from promptguard.parse.strict import parse

        start = 0
        for line in lines:
            if line.strip() and not _is_json(line):
                parse(source, span=Span(start, start + len(line)))  # says what is wrong, and where
            start += len(line) + 1
    if not any(map(_is_tools, lines)):
        return []
    made = _Maker(source, origin, _json_embedding)
    templates = _templates_in_lines(lines, _TEMPLATE if origin.syntax is None else _BRACE)
    return [_tools(source, origin), *(document for root in templates for document in made.tool_texts(root))]


def _templates_in_lines(lines: Sequence[str], sign: re.Pattern[str]) -> Iterator[Value]:
    """The lines that hold tools and the sign of a template."""
    from promptguard.parse.json import index

    start = 0
    for line in lines:
        if sign.search(line) and _is_tools(line):
            places = index(line)
            if places.root is not None:
                yield _json_value(places, start)
        start += len(line) + 1


def _json(source: Source, origin: Origin, *, declared: bool, named: bool) -> list[Document]:
    from promptguard.parse.json import index

    text = source.text
    tools = _is_tools(text)
    if tools and origin.syntax is None and not _TEMPLATE.search(text):
        return [_tools(source, origin)]  # without a look at each of its texts
    sure = says_prompt(source.path)
    places = index(text)
    if places.error is not None and not tools:
        if named or declared or sure:
            from promptguard.parse.strict import parse

            parse(source)  # says what is wrong, and where
        return []
    if places.root is None:
        return [_tools(source, origin)] if tools else []
    root = _json_value(places)
    made = _Maker(source, origin, _json_embedding)
    if tools:
        return [_tools(source, origin), *made.tool_texts(root)]
    from promptguard.linting.reading.strings import prompt_strings  # tools do without

    parts = [prompt_strings(root, sure=sure, lenient=False, declared=declared)]
    beside: list[tuple[Beside, int]] = []
    if _may_be_beside(text):
        from promptguard.linting.reading.beside import tools_in_json

        beside = tools_in_json(root, parts)
    return made.agents(parts, beside)


def _yaml(source: Source, origin: Origin, *, declared: bool, named: bool) -> list[Document]:
    from promptguard.parse.yaml import merged, read_yaml

    try:
        stream = read_yaml(source)
    except InputError:
        if seems_tools(source.text, "yaml"):
            return [_tools(source, origin)]
        if named or declared or says_prompt(source.path) or line_marks(source):
            raise
        return []
    marks = line_marks(source, comments=stream.comments)
    sure = says_prompt(source.path) or bool(marks)
    made = _Maker(source, origin, _yaml_embedding, marks)
    wholes = [merged(root) for root in stream.documents]
    # An escape may hide what every tools file has in it.
    tools = ("\\" in source.text or _may_hold_tools(source.text)) and any(map(_holds_tools, wholes))
    if tools and origin.syntax is None and not _YAML_TEMPLATE.search(source.text):
        return [_tools(source, origin)]  # without a look at each of its texts
    roots = [_yaml_value(root) for root in wholes]
    if tools:
        return [_tools(source, origin), *(document for root in roots for document in made.tool_texts(root))]
    from promptguard.linting.reading.strings import prompt_strings  # tools do without

    parts = [prompt_strings(root, sure=sure, lenient=True, declared=declared) for root in roots]
    beside: list[tuple[Beside, int]] = []
    if _may_be_beside(source.text):
        from promptguard.linting.reading.beside import tools_in_yaml

        beside = tools_in_yaml(stream, roots, parts)
    return made.agents(parts, beside)


def _may_be_beside(text: str) -> bool:
    return ("tools" in text or "functions" in text) and _may_hold_tools(text)


def _may_hold_tools(text: str) -> bool:
    return may_hold_tools(text.encode("utf-8", "replace"))


def _tools(source: Source, origin: Origin) -> Document:
    """The document of a file of tool schemas."""
    region = Region(0, len(source.text), "tools")
    return Document(source, "tools", regions=(region,), prompt=origin.prompt, bom=origin.bom)


class _Maker:
    """Makes documents of the strings of one file."""

    def __init__(
        self,
        source: Source,
        origin: Origin,
        embed: Callable[[Source, Value], Embedding | None],
        marks: Sequence[Switch] = (),
    ) -> None:
        self._source = source
        self._origin = origin
        self._embed = embed
        self._marks = marks  # what comments between the strings say

    def agents(self, parts: Sequence[Sequence[PromptString]], beside: Sequence[tuple[Beside, int]]) -> list[Document]:
        """The prompts of each part of the file (YAML has several where ``---`` divides it), behind the tools that lie beside
        them, with where those end.
        """
        several = len({(number, item.group) for number, part in enumerate(parts) for item in part}) > 1
        several = several and self._origin.prompt == self._source.path
        made: list[Document] = []
        for (number, holder, key, tools), end in beside:
            prompt = self._prompt(number, holder, several=several)
            pointer, region = child_pointer(holder, key), Region(tools.start, end, "tools")
            made.append(Document(self._source, "tools", regions=(region,), pointer=pointer, prompt=prompt, bom=self._origin.bom))
            made += self.tool_texts(tools, pointer, prompt)
        return made + self._prompts(parts, several=several)

    def _prompt(self, number: int, group: str, *, several: bool) -> str:
        """The name of a prompt of the file: each has its own where there are several."""
        return f"{self._origin.prompt}#{number}{group}" if several else self._origin.prompt

    def tool_texts(self, root: Value, at: str = "", prompt: str | None = None) -> list[Document]:
        """The texts of tools that are templates; ``at``: their JSON pointer; ``prompt``: by default that of the file."""
        from promptguard.linting.reading.syntax import guess_syntax

        found: list[Document] = []
        for inner, value in texts(root):
            pointer = at + inner
            syntax = self._origin.syntax or (guess_syntax(value.text) if "{" in value.text else None)
            if syntax in ("jinja", "mustache"):
                found += self._document(PromptString(value, pointer, "", "tools", syntax), "tools", prompt or self._origin.prompt)
        return found

    def _prompts(self, parts: Sequence[Sequence[PromptString]], *, several: bool) -> list[Document]:
        found = [(number, item) for number, part in enumerate(parts) for item in part]
        offsets = [offset for offset, _ in self._marks]
        default: Block = self._origin.block or name_block(self._source.path) or "system"
        made: list[Document] = []
        for number, item in found:
            mark = bisect_left(offsets, item.value.start) - 1
            base = self._marks[mark][1] if mark >= 0 else item.block or default
            made += self._document(item, base, self._prompt(number, item.group, several=several))
        return made

    def _document(self, item: PromptString, base: Block, prompt: str) -> list[Document]:
        embedding = self._embed(self._source, item.value)
        if embedding is None:
            return []
        from promptguard.linting.reading.syntax import guess_syntax

        text = item.value.text
        place = Place(self._source, embedding.span(0, len(text)))
        syntax = self._origin.syntax or (item.syntax if item.syntax and "{" in text else guess_syntax(text))
        origin = self._origin._replace(prompt=prompt)
        inner = Source(self._source.path, text, "text", place)
        return [make_document(inner, origin, base, syntax, embedding=embedding, pointer=item.pointer)]


def _json_embedding(source: Source, value: Value) -> Embedding | None:
    from promptguard.parse.json_strings import escape_string, written_string

    places = written_string(source.text, value.start, value.end)
    return Embedding(source, places.starts, places.ends, lambda _start, _end, text: escape_string(text))


def _yaml_embedding(source: Source, value: Value) -> Embedding | None:
    from promptguard.parse.yaml_scalars import written_scalar

    written = written_scalar(source.text, value.start, value.text)
    if written is None:
        return None

    @lru_cache(maxsize=1)
    def writer() -> ScalarWriter:
        from promptguard.parse.yaml_edits import ScalarWriter

        return ScalarWriter(source.text, written)

    places = written.places
    return Embedding(
        source, places.starts, places.ends, lambda *edit: writer().escape(*edit), lambda edits: writer().agree(edits)
    )


def _json_value(places: JSONIndex, at: int = 0) -> Value:
    """The tree of a JSON text that begins at a place in its file."""
    kinds: dict[str, ValueKind] = {"object": "mapping", "array": "list", "string": "text", "scalar": "other"}

    def made(node: JSONNode) -> Value:
        return Value(kinds[node.kind], at + node.start, at + node.end, places.string(node) or "")

    assert places.root is not None
    root = made(places.root)
    stack = [(places.root, root)]
    while stack:
        node, value = stack.pop()
        for child in node.children:
            value.items.append((str(child.name), made(child)))
            stack.append((child, value.items[-1][1]))
    return root


def _yaml_value(root: YAMLNode) -> Value:
    """The tree of a YAML document; an alias is the value of its anchor once more."""
    known: dict[int, Value] = {}

    def made(node: YAMLNode) -> Value:
        if node.kind == "scalar":
            return Value(
                "text" if node.type == "str" else "other", node.start, node.start, node.text if node.type == "str" else ""
            )
        return Value("mapping" if node.kind == "mapping" else "list", node.start, node.start)

    known[id(root)] = made(root)
    stack = [root]
    while stack:
        node = stack.pop()
        value = known[id(node)]
        names = [key.text for key in node.keys] if node.kind == "mapping" else map(str, range(len(node.children)))
        for name, child in zip(names, node.children, strict=True):
            if id(child) not in known:
                known[id(child)] = made(child)
                stack.append(child)
            value.items.append((name, known[id(child)]))
    return known[id(root)]


def texts(root: Value) -> Iterator[tuple[str, Value]]:
    """All texts, with their JSON pointers, in order."""
    stack = [("", root)]
    while stack:
        pointer, value = stack.pop()
        if value.kind == "text":
            yield pointer, value
        stack.extend((child_pointer(pointer, name), child) for name, child in reversed(value.items))


def child_pointer(pointer: str, name: str) -> str:
    """The JSON pointer of a member of what lies at one."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def _is_tools(text: str) -> bool:
    """Whether a JSON text holds tool schemas, or would if it were not broken."""
    if not _may_hold_tools(text) and "\\u" not in text:
        return False
    from promptguard.toolschema.dialects import text_looks_like_tools

    return text_looks_like_tools(text) or (seems_tools(text, "json") and not _is_json(text))


def _holds_tools(root: YAMLNode) -> bool:
    from promptguard.toolschema.dialects import looks_like_tools

    return looks_like_tools(_python_value(root))


def _python_value(root: YAMLNode) -> Any:
    from promptguard.parse.yaml import python_value

    try:
        return python_value(root)
    except (ValueError, OverflowError):  # a number that Python does not take
        return None


def _is_json(text: str) -> bool:
    from promptguard.core import json_text

    try:
        json_text.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
