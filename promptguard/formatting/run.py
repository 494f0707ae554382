"""Format files, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import BinaryIO

from promptguard.core.discover import Target
from promptguard.core.errors import InputError, PromptguardError
from promptguard.core.files import decode_text, read_head, rewrite_file
from promptguard.formatting.documents import format_document, kind_of, reason_to_pass
from promptguard.formatting.result import NO_TOOLS, Options, Outcome, Status
from promptguard.parse.tool_marks import may_hold_tools, says_tools, seems_tools

_HEAD = 1 << 16


def format_files(targets: Iterable[Target], options: Options, *, write: bool) -> Iterator[Outcome]:
    """Bring files into canonical form, each at once and whole; one that is refused does not keep the others from it.

    Args:
        targets: the files.
        options: how.
        write: replace the files that change. Links stay, permissions stay, a file that does not change is not touched.
    """
    for target in targets:
        yield _outcome(target.path, target.named, partial(_format_file, target, options, write=write))


def format_stream(stream: BinaryIO, path: str, options: Options) -> Outcome:
    """Bring what a stream gives into canonical form; a text that is refused is an outcome too."""
    return _outcome(path, True, lambda: format_data(stream.read(options.max_bytes + 1), path, options))


def exit_code(outcomes: Sequence[Outcome], *, judge: bool, paths_given: bool, exit_zero: bool = False) -> int:
    """2 where a file was refused, 1 where one is not canonical and ``judge`` asks for that, 3 where paths were given and none of
    them holds tool schemas, else 0; ``exit_zero`` makes 0 of 1 and 3.
    """
    statuses = {outcome.status for outcome in outcomes}
    if "refused" in statuses:
        return 2
    if exit_zero:
        return 0
    if judge and statuses & {"reformatted", "kept"}:
        return 1
    return 3 if paths_given and statuses <= {"no-tools"} else 0


def format_data(data: bytes, path: str, options: Options, *, named: bool = True) -> Outcome:
    """Bring the content of a file into canonical form.

    Raises:
        InputError: it is refused.
        BrokenPromiseError: as ``format_document``.
    """
    meant = named or says_tools(path)
    if not meant and not may_hold_tools(data):
        return Outcome(path, "no-tools", named)
    if len(data) > options.max_bytes:
        if not named and not seems_tools(data[:_HEAD].decode("utf-8", "replace"), kind_of(path)):
            return Outcome(path, "no-tools", named)
        raise InputError(f"the file is larger than {options.max_bytes:,} bytes", where=path)
    try:
        text = decode_text(data, where=path)
    except InputError:
        if not meant and not seems_tools(data.decode("utf-8", "replace"), kind_of(path)):
            return Outcome(path, "no-tools", named)
        raise
    document = format_document(text, path, options, named=named)
    if document is None:
        reason = reason_to_pass(text, path) if named else NO_TOOLS
        return Outcome(path, "no-tools", named, text, text, reason=reason)
    status: Status = "kept" if document.kept else "unchanged" if document.text == text else "reformatted"
    if status == "reformatted" and len(document.text.encode()) > options.max_bytes:
        raise InputError(
            f"the file would become larger than {options.max_bytes:,} bytes", where=path, hint="split it; nothing is written"
        )
    return Outcome(path, status, named, text, document.text, document.note, document.warnings, document.normalized)


def _outcome(path: str, named: bool, work: Callable[[], Outcome]) -> Outcome:
    try:
        return work()
    except PromptguardError as error:
        return Outcome(path, "refused", named, error=error)
    except Exception as error:  # a fault of ours in one file is no reason to leave out the others
        what = f"internal error: {type(error).__name__}: {error}"
        return Outcome(
            path, "refused", named, error=PromptguardError(what, where=path, hint="please report it; nothing is written")
        )


def _format_file(target: Target, options: Options, *, write: bool) -> Outcome:
    if target.error is not None:
        raise target.error
    data = read_head(target.path, size=options.max_bytes + 1)
    outcome = format_data(data, target.path, options, named=target.named)
    if write and outcome.status == "reformatted":
        rewrite_file(target.path, data, outcome.after.encode(), doing="formatted")
    return outcome
