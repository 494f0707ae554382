"""``promptguard format``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptguard.core.config import load_config
from promptguard.core.errors import ConfigError, InputError
from promptguard.core.option_tables import FORMAT_OPTIONS
from promptguard.core.options import AS_FOUND_HELP

if TYPE_CHECKING:
    from promptguard.formatting.result import Options, Outcome
    from promptguard.report.formatted import Mode

FILE = click.Path(path_type=Path, readable=False)  # what cannot be read is refused with the others done
_HELP = {option.name: option.help for option in FORMAT_OPTIONS}


@click.command("format", short_help="Rewrite tool schemas in canonical form.")
@click.argument("paths", nargs=-1, type=click.Path(readable=False))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit with 1 when something would.")
@click.option("--wire", is_flag=True, help="Print the compact form of one file, as it goes to a model; write nothing.")
@click.option("--stdin-filename", metavar="NAME", help="Format standard input as if it were this file, to standard output.")
@click.option("--sort-properties/--no-sort-properties", default=None, help=_HELP["sort-properties"])
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help=_HELP["unsafe-fixes"])
@click.option("--exclude", multiple=True, metavar="PATTERN", help=f"{_HELP['exclude']}  [repeatable]")
@click.option("--as-found", is_flag=True, help=AS_FOUND_HELP)
@click.option(
    "--config", type=FILE, metavar="FILE", help="Configuration file.  [default: closest promptguard.toml or pyproject.toml]"
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when a file would change or none holds tool schemas.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
def format_command(
    paths: tuple[str, ...],
    check: bool,
    diff: bool,
    wire: bool,
    stdin_filename: str | None,
    as_found: bool,
    config: Path | None,
    exit_zero: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Rewrite tool schemas in canonical form: the same tools are the same bytes, whoever wrote them.

    PATHS are files and folders (default: the current folder); - is standard input. Below a folder, .json, .jsonl, .ndjson, .yaml
    and .yml files that hold tool schemas are rewritten, every other file is left alone.

    Exit codes: 0 done or nothing to change, 1 something would change (--check, --diff), 2 a file was refused, 3 paths were given
    and none of them holds tool schemas.
    """
    from promptguard.formatting.run import exit_code, format_files
    from promptguard.report.formatted import Printer

    loaded = load_config(explicit=config)
    settings: dict[str, Any] = {name.replace("-", "_"): value for name, value in loaded.format.items()}
    settings.update((name, value) for name, value in flags.items() if value not in (None, ()))
    options = _options(settings, wire=wire, written=not (wire or diff or check))
    _check_usage(paths, check=check, diff=diff, wire=wire, stdin_filename=stdin_filename)
    mode: Mode = "wire" if wire else "diff" if diff else "check" if check else "write"
    printer = Printer(mode, sys.stdout, sys.stderr, quiet=quiet)
    outcomes: list[Outcome] = []
    if stdin_filename is not None or paths == ("-",):
        outcome = _standard_input(stdin_filename, options)
        outcomes.append(outcome)
        printer.show_stream(outcome)
    else:
        base = str(Path.cwd()) if flags["exclude"] else loaded.folder
        for outcome in format_files(
            _find(paths, settings.get("exclude", ()), base, as_found=as_found), options, write=mode == "write"
        ):
            outcomes.append(outcome.without_text())
            printer.show(outcome)
        printer.summary(outcomes)
    if printer.failure is not None:
        raise InputError(f"standard output cannot be written ({printer.failure})")
    asked = (bool(paths) and not as_found) or stdin_filename is not None
    return exit_code(outcomes, judge=mode in ("check", "diff"), paths_given=asked, exit_zero=exit_zero)


def _options(settings: dict[str, Any], *, wire: bool, written: bool) -> Options:
    from promptguard.formatting.result import Options

    return Options(
        sort_properties=bool(settings.get("sort_properties")),
        unsafe_fixes=bool(settings.get("unsafe_fixes")),
        wire=wire,
        written=written,
    )


def _check_usage(paths: tuple[str, ...], *, check: bool, diff: bool, wire: bool, stdin_filename: str | None) -> None:
    if "-" in paths and len(paths) > 1:
        raise ConfigError("- stands for standard input and cannot be combined with other paths", where="PATHS")
    if stdin_filename is not None and paths not in ((), ("-",)):
        raise ConfigError("formats standard input alone", where="--stdin-filename", hint="leave the paths out")
    if wire and (check or diff):
        raise ConfigError("prints a file and compares nothing", where="--wire", hint="leave --check and --diff out")
    if wire and stdin_filename is None and (len(paths) != 1 or os.path.isdir(paths[0])):  # noqa: PTH112 - they are texts
        raise ConfigError("takes one file", where="--wire", hint="name it")


def _find(paths: tuple[str, ...], exclude: list[str], base: str, *, as_found: bool) -> list[Any]:
    from promptguard.core.discover import exclude_rule, find_files
    from promptguard.formatting.documents import SUFFIXES

    return find_files(paths or (".",), SUFFIXES, [exclude_rule(exclude, base)] if exclude else [], as_found=as_found)


def _standard_input(name: str | None, options: Options) -> Outcome:
    from promptguard.formatting.run import format_stream

    if sys.stdin is None:
        raise InputError("standard input is closed", hint="name a file")
    return format_stream(sys.stdin.buffer, name or "<stdin>", options)
