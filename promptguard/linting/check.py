"""Check one file: read it, run the detectors of its documents, and make records of what they find."""

from __future__ import annotations

import os

from promptguard.checks.base import PREFIX, TOKENS_BEHIND, Detector, Document, Hit, detectors, shown
from promptguard.checks.catalog import RULES
from promptguard.core.errors import ConfigError, InputError, PromptguardError
from promptguard.core.finding import Fix, Severity
from promptguard.core.light import TYPE_CHECKING, Callable, Iterator, NamedTuple, Sequence, regex
from promptguard.core.source import Source, Span
from promptguard.linting.reading import is_declared, may_hold_prompt, read_documents
from promptguard.linting.result import FileResult, Mend, Record, RecordedPlace, excerpt, recorded_fix
from promptguard.linting.select import ALWAYS, Exceptions, selected_codes
from promptguard.linting.settings import DIRECTIVE, UNUSED, Settings

if TYPE_CHECKING:
    from promptguard.linting.named_prompts import NamedPrompts
    from promptguard.linting.result import Counts
    from promptguard.linting.suppress import Suppressions

NOTHING = "holds no prompt, no tool schemas and no serving configuration"
_INCLUDING = frozenset({"include", "extends", "import", "from"})
_INCLUDE = regex(r"\{%[-+]?\s{0,20}(?:include|extends|import|from)\s")
MAX_RECORDS = 1_000
"""Findings of one rule in one file that are reported: nobody reads more, and no report has to carry them."""
MAX_MENDS = 500_000
"""Fixes of one file that are taken at a time, which bounds the memory: half a kilobyte each."""
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
        fingerprints: findings need theirs.

    Attributes:
        rendered: whether the last file held a chat template, which takes long to check.
        hurried: whether the time has a say in the last result, see ``Document``.
        exceptions: what the configuration takes out.

    Raises:
        ConfigError: a selector in the settings matches no rule.
    """

    def __init__(self, settings: Settings, *, fingerprints: bool = True) -> None:
        self.rendered = self.hurried = False
        self._settings = settings
        self._fingerprints = fingerprints
        self._selected = selected_codes(settings.select, settings.ignore)
        self.exceptions = Exceptions(settings)
        self._options = {
            code: {option.name: option.default for option in rule.options} | dict(settings.rule_options.get(code, {}))
            for code, rule in RULES.items()
        }
        self._options["tokenizer"] = {"name": settings.tokenizer}
        self._prompts: NamedPrompts | None = None
        if any(declaration.name is not None for declaration in settings.prompts):
            from promptguard.linting.named_prompts import NamedPrompts

            self._prompts = NamedPrompts(settings)

    def check(
        self,
        path: str,
        text: str,
        *,
        bom: bool = False,
        named: bool = False,
        known: Counts | None = None,
        mends: list[Mend] | None = None,
    ) -> FileResult:
        """Check the text of one file.

        Args:
            path: see ``check_file``, as for the next three.
            text: its content.
            bom: it begins with a byte order mark.
            named: the user named it.
            known: findings that are not to be reported; they count as suppressed.
            mends: takes the fixes of findings, also of notes that are not shown if they are safe, in any order; the result then
                has no more than what keeps promptguard from judging.
        """

        def read() -> list[Document]:
            return read_documents(path, text, self._settings, bom=bom, named=named)

        return self._check(path, read, text, named=named, known=known, mends=mends)

    def check_model(self, path: str, *, named: bool = False, known: Counts | None = None) -> FileResult:
        """Check the chat templates of a GGUF file; one that cannot be read is passed over where it is not ``named``."""
        from promptguard.linting.reading.chat_templates import for_chat, model_templates

        return self._check(path, lambda: for_chat(model_templates(path)), "", named=named, guessed=not named, known=known)

    def _check(
        self,
        path: str,
        read: Callable[[], list[Document]],
        text: str,
        *,
        named: bool,
        guessed: bool = False,
        known: Counts | None = None,
        mends: list[Mend] | None = None,
    ) -> FileResult:
        self.rendered = self.hurried = False
        try:
            documents = read()
        except InputError as error:
            return self.unreadable(path, error, text) if not guessed else FileResult(path, checked=False)
        except PromptguardError:
            raise
        except Exception as error:
            findings = _Findings(self, path, Source(path, text), (), known, mends)
            findings.add(_Found(Span(0, 0), _crash("the reader", error), None))
            return findings.result()
        if not documents:
            return FileResult(path, checked=False, reason=NOTHING if named else None)
        # What is taken out of a binary file is a file of its own.
        parts = [documents] if documents[0].file.parent is None else [[document] for document in documents]
        judged = []
        for part in parts:
            findings = _Findings(self, path, part[0].file, part, known, mends)
            for document in part:
                for item in self._broken(path, document):
                    findings.add(item)
                for item in self._run(document):
                    findings.add(item)
            judged.append(findings.result())
        self.hurried = any(document.hurried for document in documents)
        return judged[0] if len(judged) == 1 else _joined(path, judged)

    def is_prompt(self, path: str, head: bytes = b"") -> bool:
        """Whether a file is meant to be checked, as its name, its first bytes or the configuration says."""
        return may_hold_prompt(path.replace(os.sep, "/"), head) or is_declared(path, self._settings)

    def unreadable(self, path: str, error: InputError, text: str = "") -> FileResult:
        """The result for a file that cannot be read, at the place in its text that the error names."""
        file = Source(path, text)
        at = file.offset(error.where)
        findings = _Findings(self, path, file, ())
        message = f"{error.what}; {error.hint}" if error.hint else error.what
        findings.add(_Found(Span(at, at), Hit("PG901", at, at, message), None))
        return findings.result()._replace(checked=False)

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

    def _run(self, document: Document) -> Iterator[_Found]:
        """What the detectors find in a document."""
        if not any(document.kind in RULES[code].kinds for code in self._selected):
            return  # nobody asks, and to render a chat template takes long
        self.rendered |= document.kind == "chat-template"
        try:
            looking = detectors(document.kind)
        except Exception as error:  # a module of an installation that is broken
            yield _Found(Span(0, 0), _crash(f"the detectors of {document.kind}", error), None)
            return
        for name, detector in looking:
            yield from self._detected(document, name, detector)

    def _detected(self, document: Document, name: str, detector: Detector) -> Iterator[_Found]:
        try:
            for hit in detector(document, self._options):
                if not 0 <= hit.start <= hit.end <= len(document.text):
                    raise ValueError(f"a hit at {hit.start}..{hit.end} of {len(document.text)}")
                rule = RULES[hit.code]
                if rule.blocks == "any" or document.block_at(hit.start) in PREFIX:
                    yield _Found(document.place(hit.start, hit.end).span, hit, document)
        except ConfigError:
            raise
        except Exception as error:
            yield _Found(Span(0, 0), _crash(f"the detector `{name}`", error), None)

    def reports(self, hit: Hit) -> bool:
        """Whether a rule is selected and its finding is shown at this level."""
        severity = hit.severity or RULES[hit.code].severity
        return hit.code in self._selected and (severity != "note" or self._settings.pedantic)

    def mends(self, hit: Hit) -> bool:
        """Whether a rule is selected and the fix of its finding is safe: it is applied even if the finding is a note."""
        return hit.code in self._selected and hit.fix is not None and hit.fix.applicability == "safe"

    def records(
        self, path: str, file: Source, documents: Sequence[Document], found: Sequence[_Found], numbers: dict[str, int]
    ) -> Iterator[Record]:
        """What is reported; ``numbers`` says how many findings of a key there are that are not."""
        if not found:
            return
        from promptguard.linting.cost import Coster

        coster = Coster(self._settings.tokenizer)
        shown_path = path.replace(os.sep, "/")
        key_of = _Keys(file, documents)
        for span, hit, document in found:
            rule = RULES[hit.code]
            line, column = file.line_column(span.start)
            end_line, end_column = file.line_column(span.end)
            block = document.block_at(hit.start) if document is not None else None
            tokens = hit.tokens_lost
            measured = rule.area == "chat-templates" or hit.code in ALWAYS  # by rendering, or it costs nothing
            if tokens is None and not measured and document is not None and block in PREFIX and document.regions:
                whole = documents if self._prompts is None else self._prompts.documents(path, document, documents)
                tokens = coster.tokens_behind(whole, document, hit.start)
            message = hit.message.replace(TOKENS_BEHIND, "1 token" if tokens == 1 else f"{tokens or 0:,} tokens")
            fingerprint = ""
            if self._fingerprints:
                key = key_of(hit.code, span)
                numbers[key] = numbers.get(key, 0) + 1
                fingerprint = f"{key}:{numbers[key]}"
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
                excerpt=excerpt(file, line, column, end_line) if hit.code not in ALWAYS else (),
                fix=recorded_fix(file, hit.fix) if file.parent is None else None,
                related=tuple(_related(file, document, hit)),
                fingerprint=fingerprint,
            )


class _Findings:
    """The findings of a file, made of hits as they come: there may be a hit for every ten characters of it.

    Of those that are reported the first ``MAX_RECORDS`` of each rule are kept. Of the others nothing but the number is, by what a
    baseline knows them by.

    Args:
        checker: says what is reported.
        path: of the file.
        file: its text.
        documents: what was read from it.
        known: how many findings are not to be reported, by code and hash of their lines.
        mends: takes fixes, see ``Checker.check``.
    """

    def __init__(
        self,
        checker: Checker,
        path: str,
        file: Source,
        documents: Sequence[Document],
        known: Counts | None = None,
        mends: list[Mend] | None = None,
    ) -> None:
        self._checker = checker
        self._path = path
        self._file = file
        self._documents = documents
        self._taken = mends
        self._suppressions = _suppressions(file, documents)
        self._ignored, self._pointers = checker.exceptions.of(path)
        self._known = dict(known or {})
        self._matched: dict[str, int] = {}
        self._seen: set[tuple[str, int, int, str]] = set()
        self._kept: dict[str, list[_Found]] = {}
        self._rest: dict[tuple[str, str], int] = {}
        self._keys: _Keys | None = None
        self._suppressed = 0
        self._mends = False
        self._is_judged = True

    def add(self, item: _Found) -> None:
        """Take a hit; the same one again is none."""
        hit = item.hit
        key = (hit.code, item.span.start, item.span.end, hit.message)
        if key in self._seen:
            return
        self._seen.add(key)
        if hit.code in ALWAYS:
            self._is_judged = False
        reported = self._checker.reports(hit)
        if self._is_out(item):
            self._suppressed += reported
        elif not reported and not (self._taken is not None and self._checker.mends(hit)):
            self._mends = self._mends or self._checker.mends(hit)
        elif self._known and self._is_known(item):
            self._suppressed += reported
        elif self._taken is not None and hit.code not in ALWAYS:
            if hit.fix is not None and len(self._taken) < MAX_MENDS:
                self._taken.append(_mend(item, hit.fix))
        else:
            kept = self._kept.setdefault(hit.code, [])
            kept.append(item)
            if len(kept) == 2 * MAX_RECORDS:
                self._cut(kept)

    def result(self) -> FileResult:
        """What is found, once all hits have been taken."""
        # What stands behind the place where a file is broken may be what a suppression is for.
        if self._suppressions is not None and self._is_judged:
            for problem in self._suppressions.problems():
                hit = Hit(UNUSED, problem.start, problem.end, problem.message, fix=problem.fix)
                self.add(_Found(Span(problem.start, problem.end), hit, None))
        for kept in self._kept.values():
            self._cut(kept)
        found = sorted((item for kept in self._kept.values() for item in kept), key=_order)
        records = tuple(self._checker.records(self._path, self._file, self._documents, found, self._matched))
        rest = tuple((code, key, count) for (code, key), count in self._rest.items())
        includes = any(map(_includes, self._documents))
        return FileResult(self._path, True, records, self._suppressed, includes=includes, rest=rest, mends=self._mends)

    def _is_out(self, item: _Found) -> bool:
        """Whether a comment or the configuration takes a hit out; all comments that do are asked, so that they count as used."""
        code = item.hit.code
        by_comment = self._suppressions is not None and self._suppressions.cover(code, item.span.start)
        if code == "PG999":
            return False
        if by_comment or code in self._ignored:
            return True
        if not self._pointers:
            return False
        pointer = _pointer(item)
        return any(code in codes and _below(pointer, top) for top, codes in self._pointers)

    def _is_known(self, item: _Found) -> bool:
        key = self._key(item)
        if not self._known.get((item.hit.code, key), 0):
            return False
        self._known[item.hit.code, key] -= 1
        self._matched[key] = self._matched.get(key, 0) + 1
        return True

    def _cut(self, kept: list[_Found]) -> None:
        if len(kept) <= MAX_RECORDS:
            return
        kept.sort(key=_order)
        for item in kept[MAX_RECORDS:]:
            key = item.hit.code, self._key(item)
            self._rest[key] = self._rest.get(key, 0) + 1
            self._mends = self._mends or self._checker.mends(item.hit)
        del kept[MAX_RECORDS:]

    def _key(self, item: _Found) -> str:
        if self._keys is None:
            self._keys = _Keys(self._file, self._documents)
        return self._keys(item.hit.code, item.span)


class _Keys:
    """What findings are known by when their lines have moved: a hash of the code and the text of the lines."""

    def __init__(self, file: Source, documents: Sequence[Document]) -> None:
        self._file = file
        self._inside = documents[0].pointer or "" if file.parent is not None else ""
        self._last: tuple[tuple[str, int, int], str] | None = None

    def __call__(self, code: str, span: Span) -> str:
        from promptguard.core.digest import digest

        lines = code, self._file.line_column(span.start)[0], self._file.line_column(span.end)[0]
        if self._last is None or self._last[0] != lines:  # most stand in the order of their lines
            text = f"{self._inside}\0{code}\0{_lines_key(self._file, *lines[1:])}"
            self._last = lines, digest(text.encode("utf-8", "surrogatepass"), 16)
        return self._last[1]


def _joined(path: str, results: Sequence[FileResult]) -> FileResult:
    """The results of the parts of a file as one."""
    return FileResult(
        path,
        True,
        tuple(record for result in results for record in result.records),
        sum(result.suppressed for result in results),
        rest=tuple(more for result in results for more in result.rest),
        mends=any(result.mends for result in results),
    )


def _severity(severity: Severity, changes: str | None, tokens: int | None) -> Severity:
    """What every new conversation computes again is an error where it is much."""
    return "error" if severity == "warning" and changes == "conversation" and (tokens or 0) >= _MUCH else severity


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
    from promptguard.parse.template_nodes import Tag

    return any(isinstance(node, Tag) and node.name in _INCLUDING for node in document.template.walk())


def _crash(where: str, error: Exception) -> Hit:
    what = shown(str(error), 200)
    return Hit("PG999", 0, 0, f"{where} failed with {type(error).__name__}" + (f": {what}" if what else ""))


def _order(item: _Found) -> tuple[int, int, str, str]:
    return item.span.start, item.span.end, item.hit.code, item.hit.message


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


def _mend(item: _Found, fix: Fix) -> Mend:
    edits = tuple((edit.span.start, edit.span.end, edit.text) for edit in fix.edits)
    embedding = item.document.embedding if item.document is not None else None
    return Mend(item.span.start, item.span.end, item.hit.code, fix.title, fix.applicability, edits, embedding)


def _related(file: Source, document: Document | None, hit: Hit) -> Iterator[RecordedPlace]:
    if document is None:
        return
    for start, end, message in hit.related:
        span = document.place(start, end).span
        yield RecordedPlace(*file.line_column(span.start), *file.line_column(span.end), message)
