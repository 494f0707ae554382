"""Check one file: read it, run the detectors of its documents, and make records of what they find."""

# ruff: noqa: PTH100, PTH113, PTH118 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os

from promptguard.checks.base import MAX_HITS, PREFIX, TOKENS_BEHIND, Document, Hit, detectors, shown
from promptguard.checks.catalog import RULES
from promptguard.core.errors import ConfigError, InputError, PromptguardError
from promptguard.core.files import read_text
from promptguard.core.finding import Fix, Severity
from promptguard.core.light import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, Sequence, regex
from promptguard.core.source import Source, Span
from promptguard.linting.reading import is_declared, may_hold_prompt, read_documents
from promptguard.linting.result import FileResult, FixEdit, Record, RecordedFix, RecordedPlace
from promptguard.linting.select import ALWAYS, Exceptions, parts_below, selected_codes
from promptguard.linting.settings import DIRECTIVE, MAX_BYTES, UNUSED, PromptDeclaration, Settings
from promptguard.parse.template_nodes import Tag

if TYPE_CHECKING:
    from promptguard.linting.suppress import Suppressions

NOTHING = "holds no prompt, no tool schemas and no serving configuration"
_INCLUDING = frozenset({"include", "extends", "import", "from"})
_INCLUDE = regex(r"\{%[-+]?\s{0,20}(?:include|extends|import|from)\s")
_EXCERPT_LINES, _EXCERPT_WIDTH = 3, 400
_MUCH = 2_000  # tokens: what three to four steps of the four-tool task add to a prompt
_KEY_LENGTH = 2000  # code points of the lines of a finding that its fingerprint looks at, at either end


def check_file(path: str, text: str, settings: Settings, *, bom: bool = False, named: bool = False) -> FileResult:
    """Check the text of one file.

    Args:
        path: as shown, relative to the current folder or absolute.
        text: its content without a byte order mark.
        settings: what holds.
        bom: it begins with a byte order mark.
        named: the user named this very file, so that it is meant to be checked.

    Raises:
        ConfigError: a selector in the settings matches no rule, or the tokenizer cannot be loaded.
    """
    return Checker(settings).check(path, text, bom=bom, named=named)


class _Found(NamedTuple):
    """A hit with where it is in the file."""

    span: Span
    hit: Hit
    document: Document | None


class Checker:
    """Checks files under the same settings.

    Args:
        settings: what holds.

    Attributes:
        rendered: whether the last file held a chat template, which takes long to check.
        hurried: whether the time has a say in the last result, see ``Document``.

    Raises:
        ConfigError: a selector in the settings matches no rule.
    """

    def __init__(self, settings: Settings) -> None:
        self.rendered = self.hurried = False
        self._settings = settings
        self._selected = selected_codes(settings.select, settings.ignore)
        self._exceptions = Exceptions(settings)
        self._options = {
            code: {option.name: option.default for option in rule.options} | dict(settings.rule_options.get(code, {}))
            for code, rule in RULES.items()
        }
        self._options["tokenizer"] = {"name": settings.tokenizer}
        self._prompts = _Prompts(settings)

    def check(self, path: str, text: str, *, bom: bool = False, named: bool = False) -> FileResult:
        """Check the text of one file; see ``check_file``."""
        return self._check(path, lambda: read_documents(path, text, self._settings, bom=bom, named=named), text, named=named)

    def check_model(self, path: str, *, named: bool = False) -> FileResult:
        """Check the chat templates of a GGUF file; one that cannot be read is passed over where it is not ``named``."""
        from promptguard.linting.reading.chat_templates import for_chat, model_templates

        return self._check(path, lambda: for_chat(model_templates(path)), "", named=named, guessed=not named)

    def _check(
        self, path: str, read: Callable[[], list[Document]], text: str, *, named: bool, guessed: bool = False
    ) -> FileResult:
        problems: list[Hit] = []
        self.rendered = self.hurried = False
        try:
            documents = read()
        except InputError as error:
            return self.unreadable(path, error, text) if not guessed else FileResult(path, checked=False)
        except PromptguardError:
            raise
        except Exception as error:
            documents = []
            problems.append(_crash("the reader", error))
        if not documents and not problems:
            return FileResult(path, checked=False, reason=NOTHING if named else None)
        if not documents:
            return self._judge(path, Source(path, text), documents, [_Found(Span(0, 0), hit, None) for hit in problems])
        # What is taken out of a binary file is a file of its own.
        parts = [documents] if documents[0].file.parent is None else [[document] for document in documents]
        judged = []
        for part in parts:
            cut: set[str] = set()
            found = [item for document in part for item in (*self._broken(path, document), *self._run(document, cut))]
            judged.append(self._judge(path, part[0].file, part, found, cut))
        self.hurried = any(document.hurried for document in documents)
        if len(judged) == 1:
            return judged[0]
        records = tuple(record for result in judged for record in result.records)
        return FileResult(path, True, records, sum(result.suppressed for result in judged))

    def is_prompt(self, path: str) -> bool:
        """Whether a file is meant to be checked, as its name or the configuration says."""
        return may_hold_prompt(path.replace(os.sep, "/"), b"") or is_declared(path, self._settings)

    def unreadable(self, path: str, error: InputError, text: str = "") -> FileResult:
        """The result for a file that cannot be read, at the place in its text that the error names."""
        file = Source(path, text)
        at = file.offset(error.where)
        return self._judge(path, file, [], [_Found(Span(at, at), Hit("PG901", at, at, error.what), None)])._replace(checked=False)

    def _broken(self, path: str, document: Document) -> Iterator[_Found]:
        """What keeps a file that is surely a Jinja template from being one; tags that extensions may add do not."""
        template = document.template
        if template is None or not template.errors or document.embedding is not None or document.file.parent is not None:
            return
        if document.file.kind == "text":
            from promptguard.linting.reading.declared import find_declaration

            declaration = find_declaration(path, self._settings)
            if declaration is None or declaration.syntax != "jinja":
                return
        for at, problem in template.errors:
            if not problem.startswith("unknown tag"):
                yield _Found(Span(at, at), Hit("PG901", at, at, f"the template is broken: {problem}"), document)
                return  # what follows may come of it

    def _run(self, document: Document, cut: set[str]) -> Iterator[_Found]:
        """What the detectors find in a document; ``cut`` gets the rules of which one has given as many hits as it may, so that
        nobody knows what else there is.
        """
        if not any(document.kind in RULES[code].kinds for code in self._selected):
            return  # nobody asks, and to render a chat template takes long
        self.rendered |= document.kind == "chat-template"
        try:
            looking = detectors(document.kind)
        except Exception as error:  # a module of an installation that is broken
            yield _Found(Span(0, 0), _crash(f"the detectors of {document.kind}", error), None)
            return
        for name, detector in looking:
            counts: dict[str, int] = {}
            try:
                for hit in detector(document, self._options):
                    if not 0 <= hit.start <= hit.end <= len(document.text):
                        raise ValueError(f"a hit at {hit.start}..{hit.end} of {len(document.text)}")
                    counts[hit.code] = counts.get(hit.code, 0) + 1
                    if counts[hit.code] == MAX_HITS:
                        cut.add(hit.code)
                    rule = RULES[hit.code]
                    if rule.blocks == "any" or document.block_at(hit.start) in PREFIX:
                        yield _Found(document.place(hit.start, hit.end).span, hit, document)
            except ConfigError:
                raise
            except Exception as error:
                yield _Found(Span(0, 0), _crash(f"the detector `{name}`", error), None)

    def _judge(
        self, path: str, file: Source, documents: Sequence[Document], found: list[_Found], cut: Iterable[str] = ()
    ) -> FileResult:
        suppressions = _suppressions(file, documents)
        ignored, pointers = self._exceptions.of(path)
        seen: set[tuple[str, int, int, str]] = set()
        kept: list[_Found] = []
        suppressed = 0
        for item in sorted(found, key=_order):
            hit = item.hit
            key = (hit.code, item.span.start, item.span.end, hit.message)
            if key in seen:
                continue
            seen.add(key)
            pointer = _pointer(item)
            out = suppressions is not None and suppressions.cover(hit.code, file.line_column(item.span.start)[0])
            out = out or hit.code in ignored or any(hit.code in codes and _below(pointer, top) for top, codes in pointers)
            if out and hit.code != "PG999":
                suppressed += self._reports(hit)
            else:
                kept.append(item)
        if suppressions is not None:
            suppressions.count_as_used(cut)
            for problem in suppressions.problems():
                hit = Hit(UNUSED, problem.start, problem.end, problem.message, fix=problem.fix)
                if hit.code in ignored or suppressions.cover(hit.code, file.line_column(problem.start)[0]):
                    suppressed += self._reports(hit)
                else:
                    kept.append(_Found(Span(problem.start, problem.end), hit, None))
        kept = [item for item in kept if self._reports(item.hit)]
        kept.sort(key=_order)
        records = tuple(self._records(path, file, documents, _bounded(kept)))
        return FileResult(path, True, records, suppressed, includes=any(map(_includes, documents)))

    def _reports(self, hit: Hit) -> bool:
        """Whether a rule is selected and its finding is shown at this level."""
        severity = hit.severity or RULES[hit.code].severity
        return hit.code in self._selected and (severity != "note" or self._settings.pedantic)

    def _records(self, path: str, file: Source, documents: Sequence[Document], found: Sequence[_Found]) -> Iterator[Record]:
        if not found:
            return
        from promptguard.core.digest import digest
        from promptguard.linting.cost import Coster

        coster = Coster(self._settings.tokenizer)
        inside = documents[0].pointer or "" if file.parent is not None else ""
        shown_path = path.replace(os.sep, "/")
        numbers: dict[str, int] = {}
        keys: dict[tuple[int, int], str] = {}
        for span, hit, document in found:
            rule = RULES[hit.code]
            line, column = file.line_column(span.start)
            end_line, end_column = file.line_column(span.end)
            block = document.block_at(hit.start) if document is not None else None
            tokens = hit.tokens_lost
            measured = rule.area == "chat-templates"  # by rendering, or it costs nothing
            if tokens is None and not measured and document is not None and block in PREFIX and document.regions:
                tokens = coster.tokens_behind(self._prompts.documents(path, document, documents), document, hit.start)
            message = hit.message.replace(TOKENS_BEHIND, "1 token" if tokens == 1 else f"{tokens or 0:,} tokens")
            if (line, end_line) not in keys:
                keys[line, end_line] = _lines_key(file, line, end_line)
            key = digest(f"{inside}\0{hit.code}\0{keys[line, end_line]}".encode("utf-8", "surrogatepass"), 16)
            numbers[key] = numbers.get(key, 0) + 1
            yield Record(
                path=shown_path,
                line=line,
                column=column,
                end_line=end_line,
                end_column=end_column,
                code=hit.code,
                name=rule.name,
                severity=_severity(hit.severity or rule.severity, hit.changes, tokens),
                confidence=hit.confidence or rule.confidence,
                message=message if file.parent is None else f"{message} (in `{(documents[0].pointer or '')[1:]}`)",
                block=block,
                tokens_lost=tokens,
                tokenizer=coster.name if tokens is not None else None,
                changes=hit.changes,
                pointer=_pointer(_Found(span, hit, document)),
                excerpt=_excerpt(file, line, column, end_line) if hit.code not in ALWAYS else (),
                fix=_recorded_fix(file, hit.fix) if file.parent is None else None,
                related=tuple(_related(file, document, hit)),
                fingerprint=f"{key}:{numbers[key]}",
            )


def _severity(severity: Severity, changes: str | None, tokens: int | None) -> Severity:
    """What every new conversation computes again is an error where it is much."""
    return "error" if severity == "warning" and changes == "conversation" and (tokens or 0) >= _MUCH else severity


class _Prompts:
    """The prompts that the configuration makes of several files; their documents are read when a cost asks for them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._declared: dict[str, list[PromptDeclaration]] = {}
        for declaration in settings.prompts:
            if declaration.name is not None:
                self._declared.setdefault(declaration.name, []).append(declaration)
        self._read: dict[str, list[Document]] = {}

    def documents(self, path: str, document: Document, own: Sequence[Document]) -> Sequence[Document]:
        """All documents of the prompt that a document of a file belongs to, in the order of their files."""
        name = document.prompt
        if name is None or name not in self._declared:
            return own
        if name not in self._read:
            self._read[name] = list(self._load(name))
        place = os.path.abspath(path)
        others = [other for other in self._read[name] if other.prompt == name and os.path.abspath(other.file.path) != place]
        before = [other for other in others if os.path.abspath(other.file.path) < place]
        return [*before, *own, *others[len(before) :]]

    def _load(self, name: str) -> Iterator[Document]:
        for path in sorted(self._files(name)):
            try:
                text = read_text(path, limit=MAX_BYTES)
                documents = read_documents(path, text, self._settings, bom=False, named=True)
            except InputError:
                continue  # it is said where the file itself is checked
            yield from documents

    def _files(self, name: str) -> set[str]:
        from promptguard.core.discover import find_files

        root = self._settings.root
        found: set[str] = set()
        for declaration in self._declared[name]:
            plain = os.path.join(root, declaration.path.lstrip("/"))
            if os.path.isfile(plain):
                found.add(plain)
                continue
            from promptguard.core.ignore import Patterns

            patterns = Patterns([declaration.path])
            targets = find_files([root], (), also=lambda path, patterns=patterns: patterns.covers(parts_below(path, root)))  # type: ignore[misc]
            found.update(target.path for target in targets if target.error is None)
        return found


def _suppressions(file: Source, documents: Sequence[Document]) -> Suppressions | None:
    """The suppressions of a file; most have none."""
    if DIRECTIVE not in file.text:
        return None
    from promptguard.linting.suppress import Suppressions

    return Suppressions(file, documents)


def _includes(document: Document) -> bool:
    """Whether a template takes in other files."""
    if document.template is None or not _INCLUDE.search(document.text):
        return False
    return any(isinstance(node, Tag) and node.name in _INCLUDING for node in document.template.walk())


def _crash(where: str, error: Exception) -> Hit:
    what = shown(str(error), 200)
    return Hit("PG999", 0, 0, f"{where} failed with {type(error).__name__}" + (f": {what}" if what else ""))


def _order(item: _Found) -> tuple[int, int, str, str]:
    return item.span.start, item.span.end, item.hit.code, item.hit.message


def _bounded(found: Sequence[_Found]) -> list[_Found]:
    """At most so many findings of a rule; the last one that is kept says how many there are more."""
    counts: dict[str, int] = {}
    for item in found:
        counts[item.hit.code] = counts.get(item.hit.code, 0) + 1
    if not any(count > MAX_HITS for count in counts.values()):
        return list(found)
    kept: list[_Found] = []
    numbers: dict[str, int] = {}
    for item in found:
        code = item.hit.code
        numbers[code] = numbers.get(code, 0) + 1
        if numbers[code] < MAX_HITS:
            kept.append(item)
        elif numbers[code] == MAX_HITS:
            more = counts[code] - MAX_HITS
            message = item.hit.message + (f" (and {more:,} more in this file)" if more else "")
            kept.append(item._replace(hit=item.hit._replace(message=message)))
    return kept


def _pointer(item: _Found) -> str | None:
    document = item.document
    if document is None or (document.pointer is None and not item.hit.pointer):
        return None
    return (document.pointer or "") + item.hit.pointer


def _below(pointer: str | None, top: str) -> bool:
    return pointer is not None and (pointer == top or pointer.startswith(top + "/"))


def _lines_key(file: Source, line: int, end_line: int) -> str:
    """The text of some lines without the blanks around it; of long ones both ends."""
    starts = file.line_starts
    first = starts[line - 1]
    last = starts[end_line] if end_line < len(starts) else len(file.text)
    if last - first <= 2 * _KEY_LENGTH:
        return file.text[first:last].strip()
    return file.text[first : first + _KEY_LENGTH] + file.text[last - _KEY_LENGTH : last]


def _excerpt(file: Source, line: int, column: int, end_line: int) -> tuple[tuple[int, int, str], ...]:
    """The first lines of a place; of long ones a window, on the first line around the column."""
    starts = file.line_starts
    lines = []
    for number in range(line, min(end_line, line + _EXCERPT_LINES - 1) + 1):
        first = starts[number - 1]
        last = starts[number] if number < len(starts) else len(file.text)
        cut = max(0, column - 1 - _EXCERPT_WIDTH // 2) if number == line and last - first > _EXCERPT_WIDTH else 0
        text = file.text[first + cut : min(last, first + cut + _EXCERPT_WIDTH)]
        lines.append((number, cut + 1, text.rstrip("\r\n")))
    return tuple(lines)


def _recorded_fix(file: Source, fix: Fix | None) -> RecordedFix | None:
    if fix is None:
        return None
    edits = []
    for span, text in fix.edits:
        edits.append(FixEdit(span.start, span.end, *file.line_column(span.start), *file.line_column(span.end), text))
    return RecordedFix(fix.title, fix.applicability, tuple(edits))


def _related(file: Source, document: Document | None, hit: Hit) -> Iterator[RecordedPlace]:
    if document is None:
        return
    for start, end, message in hit.related:
        span = document.place(start, end).span
        yield RecordedPlace(*file.line_column(span.start), *file.line_column(span.end), message)
