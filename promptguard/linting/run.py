"""Check many files: with several processes where that pays, from the cache where it can, in one order whatever happens."""

# ruff: noqa: PTH109, PTH119 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os

from promptguard.core.errors import InputError
from promptguard.core.files import decode_text, read_bytes, read_found, read_head
from promptguard.core.light import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, Sequence
from promptguard.linting.result import Counts, FileResult, LintResult, Record
from promptguard.linting.select import ALWAYS
from promptguard.linting.settings import MAX_BYTES, MODEL_SUFFIX, Settings

if TYPE_CHECKING:
    from collections.abc import Generator

    from promptguard.core.discover import Target
    from promptguard.linting.baseline import Baseline
    from promptguard.linting.cache import Cache
    from promptguard.linting.check import Checker
    from promptguard.linting.load import Plan

_HEAD = 1 << 16
_PAYS_FROM = 256 << 10  # bytes to check from which further processes save more time than they take to start
_MANY = 2_000  # files from which further processes look through a part of them,
_SAMPLE = 256  # and those by which is seen whether that pays
_CHUNK = 64 << 10  # bytes that a process is given at a time
_MODEL_COSTS = 256 << 10  # bytes of prompts that take as long to check as a chat template does
SUFFIXES = (
    *(".j2", ".jinja", ".jinja2", ".md", ".markdown", ".txt", ".prompt", ".prompty"),
    *(".mustache", ".hbs", ".handlebars"),
    *(".yaml", ".yml", ".json", ".jsonl", ".ndjson"),
    *(".gguf", ".sh", ".bash", ".zsh", ".ksh", ".service", ".mk", ".env", ".just"),
    *("dockerfile", "containerfile", "procfile", "makefile", "justfile"),
)
"""How the names of files end that are looked into, in lower case."""
BEGINNINGS = ("dockerfile.", "containerfile.", "procfile.")
"""How the names of further such files begin, in lower case."""


class _Job(NamedTuple):
    path: str
    named: bool
    size: int
    error: InputError | None


_new = tuple.__new__
_UNCHECKED = FileResult("", checked=False)[1:]
_Answer = tuple[FileResult, "str | None", int]  # what is found, the key to keep it under, and bytes that take as long to check


def lint_files(
    targets: Sequence[Target],
    settings: Settings,
    *,
    jobs: int | None = None,
    cache: Cache | None = None,
    baseline: Baseline | None = None,
    fingerprints: bool = True,
) -> Iterator[FileResult]:
    """Check files.

    Args:
        targets: the files.
        settings: what holds.
        jobs: most processes to work with, ``None`` for the number of CPUs.
        cache: results of earlier runs; what is new is added and saved.
        baseline: what is known, which is left out.
        fingerprints: findings need theirs, as the cache, a baseline and some reports do.

    Yields:
        The result of each file, in the order of ``targets``.

    Raises:
        ConfigError: the settings cannot be used.
        PromptguardError: a process ended unexpectedly.
    """
    keep = cache if all(item.name is None for item in settings.prompts) else None  # else a result may depend on other files
    done: list[tuple[Target, FileResult | None]] = []
    waiting: list[_Job] = []
    for target, result, size in _sift(targets, settings, keep, jobs):
        done.append((target, result))
        if result is None:
            waiting.append(_Job(target.path, target.named, size, target.error))
    fresh = _check(waiting, settings, jobs=jobs, keep=keep, fingerprints=fingerprints)
    try:
        for target, result in done:
            found = result if result is not None else next(fresh)
            yield found if baseline is None else baseline.without(found, _again(target, settings))
    finally:
        fresh.close()
    if keep is not None:
        keep.save()


def find_targets(paths: Sequence[str], plan: Plan, *, as_found: bool = False) -> list[Target]:
    """The files at and below some paths that are looked into; ``as_found`` as in ``find_files``."""
    from promptguard.core.discover import find_files

    def also(path: str) -> bool:
        if os.path.basename(path).lower().startswith(BEGINNINGS):
            return True
        return bool(plan.settings.prompts) and _is_declared(path, plan.settings)

    return find_files(paths or (".",), SUFFIXES, plan.excluded(), also=also, as_found=as_found)


def result_key(path: str, named: bool, data: bytes) -> str:
    """The key under which the result of a file is kept: ``path`` as it is shown, since the result says it."""
    from promptguard.core.digest import digest

    return digest(f"{path}\0{os.getcwd()}\0{named}\0".encode("utf-8", "surrogatepass") + data)


def _again(target: Target, settings: Settings) -> Callable[[Counts], FileResult]:
    """What checks a file without findings that are known."""

    def check(known: Counts) -> FileResult:
        from promptguard.linting.check import Checker

        return _check_job(Checker(settings), _Job(target.path, target.named, 0, target.error), known)[0]

    return check


def collect(results: Iterable[FileResult], *, fixed: int = 0) -> LintResult:
    """A whole run from the results of its files. One that could not be judged does not count as checked."""
    records: list[Record] = []
    skipped: list[tuple[str, str]] = []
    files = looked_at = suppressed = including = more = 0
    for result in results:
        records += _with_rest(result) if result.rest else result.records
        more += sum(count for _, _, count in result.rest)
        files += result.checked and all(record.code not in ALWAYS for record in result.records)
        looked_at += 1
        suppressed += result.suppressed
        including += result.includes
        if result.reason is not None:
            skipped.append((result.path.replace(os.sep, "/"), result.reason))
    return LintResult(tuple(records), files, looked_at, suppressed, tuple(skipped), fixed, including, more)


def _with_rest(result: FileResult) -> list[Record]:
    """The records of a result; the last of a rule that has more findings says how many."""
    more: dict[str, int] = {}
    for code, _, count in result.rest:
        more[code] = more.get(code, 0) + count
    records = list(result.records)
    for at in range(len(records) - 1, -1, -1):
        count = more.pop(records[at].code, 0)
        if count:
            records[at] = records[at]._replace(message=f"{records[at].message} (and {count:,} more in this file)")
    return records


def exit_code(result: LintResult, *, paths_given: bool, exit_zero: bool = False) -> int:
    """2 where a file could not be judged, 1 where something was found, 3 where paths were given and none of them holds anything
    to check, else 0; ``exit_zero`` makes 0 of 1 and 3.
    """
    if any(record.code in ALWAYS for record in result.records):
        return 2
    if exit_zero:
        return 0
    if result.records:
        return 1
    return 3 if paths_given and not result.files else 0


def _sift(
    targets: Sequence[Target], settings: Settings, cache: Cache | None, jobs: int | None
) -> Iterator[tuple[Target, FileResult | None, int]]:
    """The files, each with its result and its size as ``_Sieve.result`` gives them."""
    sieve = _Sieve(settings, cache)
    alone = len(targets) if len(targets) < _MANY or jobs == 1 else _SAMPLE
    left_out = 0
    for target in targets[:alone]:
        result, size = sieve.result(target)
        left_out += result is not None and not result.checked
        yield target, result, size
    if 2 * left_out < alone:  # most are prompts: what other processes say saves nothing
        for target in targets[alone:]:
            yield target, *sieve.result(target)
    elif alone < len(targets):
        from promptguard.linting.shares import shared

        rest = targets[alone:]
        answers = shared(rest, sieve.leaves_out, jobs or os.cpu_count() or 1)
        try:
            for target, out in zip(rest, answers, strict=True):
                yield target, *((_unchecked(target.path), 0) if out else sieve.result(target))
        finally:
            answers.close()


def _unchecked(path: str) -> FileResult:
    return _new(FileResult, (path, *_UNCHECKED))  # there may be many thousands


class _Sieve:
    """Takes out the files that need not be checked, or not again."""

    def __init__(self, settings: Settings, cache: Cache | None) -> None:
        self._settings = settings
        self._cache = cache
        self._may_hold: Callable[[str, bytes], bool] | None = None

    def leaves_out(self, target: Target) -> bool:
        """Whether a file that was found holds nothing to check, for certain and without the cache; quick."""
        path, named, error = target
        if named or error is not None or path[-5:].lower() == MODEL_SUFFIX:
            return False
        try:
            return not self._holds(path, read_found(path, size=_HEAD))
        except InputError:
            return False

    def result(self, target: Target) -> tuple[FileResult | None, int]:
        """The result of a file that need not be checked; of another one ``None`` and its size, as far as it was read."""
        path, named, error = target
        if error is not None:
            return None, 0
        try:
            if path[-5:].lower() == MODEL_SUFFIX:
                from promptguard.linting.models import model_stamp

                stamp = model_stamp(path, named=named)
                if stamp is None:
                    return _unchecked(path), 0
                return self._kept(target, stamp, _MODEL_COSTS), _MODEL_COSTS
            data = read_head(path, size=_HEAD) if named else read_found(path, size=_HEAD)
            if not named and not self._holds(path, data):
                return _unchecked(path), 0
            if len(data) == _HEAD:
                data = read_bytes(path, limit=MAX_BYTES)
            found = self._kept(target, data, len(data))
        except InputError:
            return None, 0  # it is said where the file is checked
        return found, len(data)

    def _kept(self, target: Target, data: bytes, work: int) -> FileResult | None:
        if self._cache is None or not self._cache.entries:
            return None
        return self._cache.get(result_key(target.path, target.named, data), target.path, work)

    def _holds(self, path: str, head: bytes) -> bool:
        if self._may_hold is None:
            from promptguard.linting.reading import may_hold_prompt  # not needed where the user names the files

            self._may_hold = may_hold_prompt
        name = path if os.sep == "/" else path.replace(os.sep, "/")
        if self._may_hold(name, head) or (self._settings.prompts and _is_declared(path, self._settings)):
            return True
        # A prompt by its name that is binary, or UTF-16, is a prompt that cannot be read.
        return b"\0" in head and self._may_hold(name, b"")


def _is_declared(path: str, settings: Settings) -> bool:
    from promptguard.linting.reading import is_declared

    return is_declared(path, settings)


def _unreadable(checker: Checker, job: _Job, error: InputError) -> FileResult:
    """A finding where the file was meant to be checked, as the user or its name says; where its first bytes say so, the reason
    why it was not; else it is none of ours.
    """
    if job.named or job.error is not None or checker.is_prompt(job.path):
        return checker.unreadable(job.path, error)
    try:
        seems_prompt = checker.is_prompt(job.path, read_head(job.path, size=_HEAD))
    except InputError:
        seems_prompt = False
    return FileResult(job.path, checked=False, reason=error.what if seems_prompt else None)


def decode(data: bytes, path: str) -> tuple[str, bool]:
    """The text of a file, and whether a byte order mark stands in front of it.

    Raises:
        InputError: it is no text, or too large.
    """
    if len(data) > MAX_BYTES:
        raise InputError(f"the file is larger than {MAX_BYTES:,} bytes", where=path)
    if b"\0" in data:
        raise InputError("the file holds null characters, so it is no text", where=path)
    text = decode_text(data, where=path)
    return text.removeprefix("\ufeff"), text.startswith("\ufeff")


def _check_job(checker: Checker, job: _Job, known: Counts | None = None, keep: bool = False) -> _Answer:
    """Check a file anew, without findings that are known: it may be another one by now, so its key is made anew too.

    ``keep``: the result is to be kept, so it needs a key.
    """
    try:
        if job.error is not None:
            raise job.error
        if job.path.lower().endswith(MODEL_SUFFIX):
            from promptguard.linting.models import model_stamp

            stamp = model_stamp(job.path, named=job.named)
            result = checker.check_model(job.path, named=job.named, known=known)
            return result, _key(checker, job, stamp or b"") if keep else None, _MODEL_COSTS
        data = read_bytes(job.path, limit=MAX_BYTES)
        text, bom = decode(data, job.path)
    except InputError as error:
        return _unreadable(checker, job, error), None, 0
    result = checker.check(job.path, text, bom=bom, named=job.named, known=known)
    work = _MODEL_COSTS if checker.rendered else len(data)
    return result, _key(checker, job, data) if keep else None, work


def _key(checker: Checker, job: _Job, data: bytes) -> str | None:
    """The key to keep the result of a job under; ``None`` where the next one may be another."""
    return result_key(job.path, job.named, data) if not checker.hurried else None


def _check(
    waiting: Sequence[_Job], settings: Settings, *, jobs: int | None, keep: Cache | None, fingerprints: bool
) -> Generator[FileResult]:
    if not waiting:
        return
    pays = jobs != 1 and len(waiting) > 1 and sum(job.size for job in waiting) >= _PAYS_FROM
    workers = (jobs or os.cpu_count() or 1) if pays else 1
    answers: Generator[_Answer]
    if workers > 1:
        from functools import partial

        from promptguard.linting.pool import in_order

        answers = in_order(partial(_begin, settings, keep is not None), list(_chunks(waiting)), workers)
    else:
        from promptguard.linting.check import Checker

        checker = Checker(settings, fingerprints=fingerprints)
        answers = (_check_job(checker, job, None, keep is not None) for job in waiting)
    try:
        for result, key, work in answers:
            if keep is not None and key is not None:
                keep.put(key, result, work)
            yield result
    finally:
        answers.close()


def _chunks(waiting: Sequence[_Job]) -> Iterator[list[_Job]]:
    chunk: list[_Job] = []
    size = 0
    for job in waiting:
        chunk.append(job)
        size += job.size
        if size >= _CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _begin(settings: Settings, keep: bool) -> Callable[[Sequence[_Job]], list[_Answer]]:
    """What checks files in a process of its own."""
    from promptguard.linting.check import Checker

    checker = Checker(settings)
    return lambda jobs: [_check_job(checker, job, None, keep) for job in jobs]
