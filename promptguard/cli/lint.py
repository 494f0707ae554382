"""``promptguard lint``."""

from __future__ import annotations

import os
import sys

from promptguard.cli.arguments import Flag, click_command, flag, read_plain
from promptguard.cli.output import write_output
from promptguard.core.errors import ConfigError, InputError
from promptguard.core.light import TYPE_CHECKING, Any, Iterable, Mapping, Sequence
from promptguard.core.options import AS_FOUND_HELP, LINT_OPTIONS

if TYPE_CHECKING:
    import click

    from promptguard.core.discover import Target
    from promptguard.linting.baseline import Baseline
    from promptguard.linting.contents import Change
    from promptguard.linting.load import Plan
    from promptguard.linting.result import FileResult, LintResult

_METAVARS = {
    "select": "RULES",
    "ignore": "RULES",
    "extend-select": "RULES",
    "per-file-ignores": "PATTERN:RULES",
    "exclude": "PATTERN",
    "tokenizer": "FILE",
    "baseline": "FILE",
    "report": "FORMAT=FILE",
    "cache-dir": "FOLDER",
    "jobs": "N",
}
FLAGS = (
    *(flag(option, _METAVARS.get(option.name, "")) for option in LINT_OPTIONS if option.kind != "tables"),
    Flag("fix", "switch", "Apply the fixes that leave a model's reading as it is."),
    Flag("diff", "switch", "Write nothing; print what the fixes would change."),
    Flag("statistics", "switch", "Say how often each rule reports."),
    Flag("as-found", "switch", AS_FOUND_HELP),
    Flag("exit-zero", "switch", "Exit with 0 even when something is found or there is nothing to check."),
    Flag("stdin-filename", "value", "Check standard input as if it were this file.", "NAME"),
    Flag("show-settings", "switch", "Print the settings that hold, and check nothing."),
    Flag("no-cache", "switch", "Neither use nor keep results of other runs."),
    Flag("config", "value", "Configuration file.  [default: closest promptguard.toml or pyproject.toml]", "FILE"),
    Flag("color", "value", "When to use colours.  [default: auto]", choices=("auto", "always", "never")),
    Flag("quiet", "switch", "Print nothing but errors.", short="q"),
)
_SMALL = 32 << 10  # bytes; the results of files that say so little are not kept
_MAY_TAKE_LONG = (".jinja", ".json", ".gguf")  # a chat template in them is rendered, which is worth keeping
_HELP = """Find what breaks the prefix cache in prompt templates, tool schemas and serving configurations.

PATHS are files and folders (default: the current folder); - is standard input, with --stdin-filename. Below a folder the files
are checked that hold prompts, tool schemas or the start of a model server, by their names and what is in them.

RULES are codes (PG101), prefixes of codes (PG1) or names (clock), joined by commas.

Exit codes: 0 clean, 1 something was found, 2 a file could not be judged, or usage or configuration are wrong, 3 paths were given
and none of them holds anything to check.
"""


def read_arguments(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The values of plain arguments; see ``read_plain``."""
    return read_plain(arguments, FLAGS)


def command() -> click.Command:
    """The command for click."""
    from promptguard.cli.commands import COMMANDS

    return click_command("lint", FLAGS, run, short=COMMANDS["lint"][2], text=_HELP)


def run(flags: Mapping[str, Any]) -> int:
    """Lint, print and say the exit code.

    Args:
        flags: as ``read_plain`` gives them.

    Raises:
        PromptguardError: what is asked for cannot be done.
    """
    from promptguard.linting.load import make_plan
    from promptguard.linting.run import exit_code

    if flags["show_settings"]:
        from promptguard.cli.config import print_settings

        return print_settings(flags)
    plan = make_plan(flags)
    paths = flags["paths"]
    _check_usage(flags, paths)
    reports = _reports(plan)
    baseline = _baseline(plan)
    if flags["stdin_filename"] is not None:
        result, changes = _standard_input(flags, plan, baseline)
    else:
        result, changes = _files(flags, plan, baseline, paths, reports)
    if reports:
        from promptguard.report.findings import write_report_files

        write_report_files(result, reports)
    if not flags["quiet"]:
        _show(result, changes, flags, plan)
        stale = baseline.stale() if baseline is not None else 0
        if stale:
            known = "1 known finding is" if stale == 1 else f"{stale} known findings are"
            from promptguard.cli.complain import say

            say(f"promptguard: note: {known} no longer there; update the baseline with promptguard baseline")
    asked = (bool(paths) and not flags["as_found"]) or flags["stdin_filename"] is not None
    code = exit_code(result, paths_given=asked, exit_zero=flags["exit_zero"])
    return 1 if code == 0 and flags["diff"] and changes and not flags["exit_zero"] else code


def _check_usage(flags: Mapping[str, Any], paths: Sequence[str]) -> None:
    if "-" in paths and len(paths) > 1:
        raise ConfigError("- stands for standard input and cannot be combined with other paths", where="PATHS")
    name = flags["stdin_filename"]
    if "-" in paths and name is None:
        raise ConfigError("nothing says what standard input is", where="-", hint="add --stdin-filename prompt.j2")
    if name is not None and list(paths) not in ([], ["-"]):
        raise ConfigError("checks standard input alone", where="--stdin-filename", hint="leave the paths out")
    if name is not None and (not name or "\0" in name):
        raise ConfigError("is no file name", where="--stdin-filename")


def _reports(plan: Plan) -> list[tuple[str, Any]]:
    if not plan.reports:
        return []
    from promptguard.report.files import check_target, parse_report_options
    from promptguard.report.findings import FORMATS

    reports = parse_report_options(plan.reports, FORMATS)
    for _, path in reports:  # now, rather than after the run
        check_target(path)
    return reports


def _baseline(plan: Plan) -> Baseline | None:
    if plan.baseline is None:
        return None
    from promptguard.linting.baseline import read_baseline

    return read_baseline(plan.baseline)


def _files(
    flags: Mapping[str, Any],
    plan: Plan,
    baseline: Baseline | None,
    paths: Sequence[str],
    reports: Sequence[tuple[str, Any]],
) -> tuple[LintResult, list[Change]]:
    from promptguard.linting.run import collect, find_targets, lint_files

    targets = find_targets(paths, plan, as_found=flags["as_found"])
    cache = None
    if not (flags["no_cache"] or _keeps_nothing(plan, targets)):
        from promptguard.linting.cache import Cache

        cache = Cache(plan.cache_dir, plan.settings)
    wanted = bool(reports) or flags["output_format"] in ("json", "sarif")
    fingerprints = wanted or cache is not None or baseline is not None
    if flags["fix"] or len(targets) > 1:  # what is half written must not stay, nor the processes that help
        from promptguard.core.signals import unwind_on_signals

        unwind_on_signals()
    results = lint_files(targets, plan.settings, jobs=plan.jobs, cache=cache, baseline=baseline, fingerprints=fingerprints)
    found, changes = _fix(results, flags, plan, baseline) if flags["fix"] or flags["diff"] else (list(results), [])
    _refuse_to_overwrite([result.path for result in found if result.checked] if reports else (), reports)
    return collect(found, fixed=0 if flags["diff"] else sum(change.fixes for change in changes)), changes


def _keeps_nothing(plan: Plan, targets: Sequence[Target]) -> bool:
    """Whether there are no results of other runs, and the run is too small to keep its own: one prompt, as in an editor."""
    if len(targets) != 1 or os.path.lexists(plan.cache_dir) or targets[0].path.endswith(_MAY_TAKE_LONG):
        return False
    try:
        return os.path.getsize(targets[0].path) < _SMALL  # noqa: PTH202 - pathlib takes longer to import
    except OSError:  # it is said where the file is read
        return False


def _fix(
    results: Iterable[FileResult], flags: Mapping[str, Any], plan: Plan, baseline: Baseline | None
) -> tuple[list[FileResult], list[Change]]:
    from promptguard.linting.check import Checker
    from promptguard.linting.contents import fix_file

    checker = Checker(plan.settings)
    changes: list[Change] = []
    found: list[FileResult] = []
    for result in results:
        after, change = fix_file(
            result, checker, unsafe=plan.unsafe_fixes, baseline=baseline, write=flags["fix"] and not flags["diff"]
        )
        found.append(result if flags["diff"] else after)
        changes += [change] if change is not None else []
    return found, changes


def _refuse_to_overwrite(checked: Sequence[str], reports: Sequence[tuple[str, Any]]) -> None:
    files = {os.path.realpath(path) for path in checked}
    for form, path in reports:
        if os.path.realpath(path) in files:
            raise ConfigError("is one of the files that are checked", where=f"--report {form}={path}", hint="name another file")


def _standard_input(flags: Mapping[str, Any], plan: Plan, baseline: Baseline | None) -> tuple[LintResult, list[Change]]:
    from promptguard.linting.check import Checker
    from promptguard.linting.contents import fix_data, lint_text
    from promptguard.linting.run import collect
    from promptguard.linting.settings import MAX_BYTES

    if sys.stdin is None:
        raise InputError("standard input is closed", hint="name a file")
    name = flags["stdin_filename"]
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    checker = Checker(plan.settings)
    result = lint_text(name, data, checker, baseline=baseline)
    if not (flags["fix"] or flags["diff"]):
        return collect([result]), []
    try:
        after, change = fix_data(name, data, checker, unsafe=plan.unsafe_fixes, baseline=baseline)
    except InputError:
        return collect([result]), []
    if flags["diff"]:
        return collect([result]), [change] if change.fixes else []
    write_output(lambda write: write(change.after), "utf-8")
    return collect([after], fixed=change.fixes), []


def _show(result: LintResult, changes: Sequence[Change], flags: Mapping[str, Any], plan: Plan) -> None:
    from promptguard.report.findings import TEXT_FORMATS, write_findings

    if flags["diff"]:
        _show_changes(result, changes)
        return
    # Standard output is the fixed text where standard input is fixed.
    to_errors = flags["fix"] and flags["stdin_filename"] is not None
    stream = sys.stderr if to_errors else sys.stdout
    textual = plan.output_format in TEXT_FORMATS
    encoding = (getattr(stream, "encoding", None) or "utf-8") if textual else "utf-8"
    write_findings_to = {
        "color": colored(flags["color"] or "auto", stream) if textual else False,
        "statistics": flags["statistics"],
        "encoding": encoding,
    }
    write_output(lambda write: write_findings(result, plan.output_format, write, **write_findings_to), encoding, errors=to_errors)


def _show_changes(result: LintResult, changes: Sequence[Change]) -> None:
    from promptguard.report.formatted import unified_diff

    write_output(lambda write: [write(unified_diff(change.path, change.before, change.after)) for change in changes], "utf-8")
    fixes = sum(change.fixes for change in changes)
    files = f"{len(changes)} file{'' if len(changes) == 1 else 's'}"
    from promptguard.cli.complain import say

    say(
        f"{len(result.records)} finding{'' if len(result.records) == 1 else 's'}; "
        + (f"{fixes} fix{'' if fixes == 1 else 'es'} would change {files}" if changes else "nothing to fix")
    )


def colored(when: str, stream: Any) -> bool:
    """Whether to use colours on a stream: as the user says, else on a terminal that wants them."""
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream is not None and stream.isatty())
