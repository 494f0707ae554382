"""The Python interface: what the commands ``lint``, ``replay`` and ``probe`` do, as functions that return what they find.

Keyword arguments are the flags of the commands. What is not given comes from the configuration file, as it does there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from promptguard.core.config_values import check_arguments
from promptguard.core.errors import ConfigError, PromptguardError
from promptguard.core.option_tables import REPLAY_OPTIONS
from promptguard.core.options import LINT_OPTIONS
from promptguard.core.wording import named_type, say_of_arguments
from promptguard.probing import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptguard.linting.result import LintResult
    from promptguard.replaying.engines import Engines
    from promptguard.replaying.result import Result

PathLike = str | os.PathLike[str]


@contextmanager
def _speaking_of_arguments() -> Iterator[None]:
    try:
        yield
    except PromptguardError as error:
        say_of_arguments(error)
        raise


probe = _speaking_of_arguments()(run.probe)


@_speaking_of_arguments()
def lint(
    paths: PathLike | Sequence[PathLike] = (),
    *,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    extend_select: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    pedantic: bool | None = None,
    tokenizer: str | None = None,
    baseline: PathLike | None = None,
    jobs: int = 1,
    config: PathLike | None = None,
) -> LintResult:
    """Find what breaks the prefix cache in prompts, tool schemas and serving configurations. No file is written.

    Args:
        paths: files and folders; none is the current folder.
        select: rules that report, as codes (``PG101``), prefixes of codes (``PG1``) or names (``clock``); here and below one
            text stands for a list of one, and rules in it may be joined by commas.
        ignore: rules that do not report.
        extend_select: further rules that report.
        exclude: files and folders to leave out, in the words of .gitignore.
        pedantic: report notes too.
        tokenizer: what counts tokens: a ``tokenizer.json``, a GGUF file or ``tiktoken:ENCODING``.
        baseline: file of known findings, which are not reported.
        jobs: most processes to work with.
        config: configuration file, ``None`` for the closest one.

    Returns:
        The findings with their places (lines and columns from 1, in code points) and what each costs in tokens. A file that
        cannot be judged is a finding of its own (PG901, PG999).

    Raises:
        ConfigError: an argument or the configuration file says what it may not.
        InputError: the configuration file, the baseline or a path cannot be read.
    """
    from promptguard.linting.baseline import read_baseline
    from promptguard.linting.load import make_plan
    from promptguard.linting.run import collect, find_targets, lint_files

    flags = {
        "select": _texts("select", select),
        "ignore": _texts("ignore", ignore),
        "extend_select": _texts("extend_select", extend_select),
        "exclude": _texts("exclude", exclude),
        "pedantic": pedantic,
        "tokenizer": tokenizer,
        "baseline": _path("baseline", baseline),
        "jobs": jobs,
        "config": _path("config", config),
    }
    check_arguments(flags, LINT_OPTIONS)
    given = _paths(paths)
    plan = make_plan(flags)
    known = read_baseline(plan.baseline) if plan.baseline is not None else None
    return collect(lint_files(find_targets(given, plan), plan.settings, jobs=plan.jobs, baseline=known))


@_speaking_of_arguments()
def replay(
    *,
    task: PathLike | None = None,
    system: PathLike | None = None,
    context: PathLike | None = None,
    tools: PathLike | None = None,
    chat_template: PathLike | None = None,
    server: str | None = None,
    engine: Literal["llama-server", "llama-cpp-python"] | None = None,
    model: PathLike | None = None,
    model_from: PathLike | None = None,
    slot: int | None = None,
    ctx_size: int | None = None,
    swa_full: bool | None = None,
    timeout: float | None = None,
    min_hit_rate: float | None = None,
    prompt_loss_tolerance: int | None = None,
    engine_loss_tolerance: int | None = None,
    live: bool | None = None,
    max_turns: int | None = None,
    max_tokens: int | None = None,
    compare_uncached: bool | None = None,
    seed: int | None = None,
    inject: str | None = None,
    config: PathLike | None = None,
    engines: Engines | None = None,
) -> Result:
    """Replay an agent task on a real llama.cpp, and measure on every turn what came from its prefix cache.

    Args:
        task: folder or file of the task, instead of the built-in four-tool task.
        system: system prompt: plain text, or a Jinja template that is rendered anew on each turn.
        context: JSON or YAML file with values for the variables of the templates.
        tools: tool schemas: JSON, or a Jinja template that gives it.
        chat_template: chat template to use instead of the model's own.
        server: address of a llama-server to measure; its API key is read from ``PROMPTGUARD_API_KEY``.
        engine: the engine to start where no server is given.
        model: GGUF file to run it on; the built-in tiny model by default.
        model_from: GGUF file, or ``tokenizer.json``, to run a tiny-random twin of.
        slot: slot of the server.
        ctx_size: context of the started engine, in tokens.
        swa_full: keep the whole cache of sliding-window layers.
        timeout: seconds to wait for the engine to start, and for each of its answers.
        min_hit_rate: least hit rate that passes, between 0 and 1; 0.8 by default.
        prompt_loss_tolerance: tokens of prompt loss that a turn may have; 0 by default.
        engine_loss_tolerance: tokens of engine loss that a turn may have; 0 by default.
        live: let the model itself answer; only the tools are scripted.
        max_turns: most requests of a live run.
        max_tokens: most tokens of one reply in a live run.
        compare_uncached: run the task again with the cache off, for both times.
        seed: of the values that differ between turns.
        inject: a defect to plant, such as ``clock-head`` or ``extra-space@3``.
        config: configuration file, ``None`` for the closest one.
        engines: embedded engines to share with other replays, ``promptguard.replaying.engines.Engines()``.

    Returns:
        Counts in tokens, rates between 0 and 1, times in seconds; ``passed`` says whether the gate passed. Where the engine died
        on the way, ``error`` says so and ``turns`` are those measured until then.

    Raises:
        ConfigError: an argument or the configuration file says what it may not.
        InputError: a file cannot be read or is not what it should be.
        EngineError: the engine cannot be started or reached, or does not say what it took from its cache.
    """
    from promptguard.linting.accepted import acceptance
    from promptguard.replaying.command import execute
    from promptguard.replaying.settings import replay_settings

    files = {"task": task, "system": system, "context": context, "tools": tools, "chat_template": chat_template}
    files |= {"model": model, "model_from": model_from}
    flags: dict[str, Any] = {name: _path(name, file) for name, file in files.items()}
    flags |= {"server": server, "engine": engine, "slot": slot, "ctx_size": ctx_size, "swa_full": swa_full, "timeout": timeout}
    flags |= {"min_hit_rate": min_hit_rate, "prompt_loss_tolerance": prompt_loss_tolerance}
    flags |= {"engine_loss_tolerance": engine_loss_tolerance, "live": live, "max_turns": max_turns, "max_tokens": max_tokens}
    flags |= {"compare_uncached": compare_uncached, "seed": seed}
    check_arguments(flags, REPLAY_OPTIONS)
    _check_further(inject, engines)
    flags.update((name, Path(flags[name])) for name in files if flags[name] is not None)
    configuration = _path("config", config)
    settings = replay_settings(flags, Path(configuration) if configuration is not None else None)
    for name in ("report", "output_format"):  # what a command prints
        settings.pop(name, None)
    accepted = acceptance(configuration) if settings.get("chat_template") is not None else None
    return execute(settings, inject=inject, progress=_silent, accepted=accepted, engines=engines)


def _path(name: str, path: object) -> str | None:
    if path is None:
        return None
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise ConfigError(f"must be a path, and is {named_type(path)}", where=name)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not text or not possible:
        raise ConfigError(f"{text!r} can be no path", where=name)
    return text


def _paths(paths: object) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable):
        paths = [paths]
    found = [_path("paths", path) for path in paths]
    if None in found:
        raise ConfigError(
            "must be a path or a list of paths, and is None", where="paths", hint="leave it out for the current folder"
        )
    return [path for path in found if path is not None]


def _texts(name: str, given: object) -> tuple[str, ...]:
    """A list of texts, or one; whether they are texts is checked as in the configuration file."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise ConfigError(f"must be a text or a list of texts, and is {named_type(given)}", where=name)
    return tuple(given)


def _check_further(inject: object, engines: object) -> None:
    """Check what no option of the configuration file is."""
    from promptguard.replaying.engines import Engines

    if not isinstance(inject, (str, type(None))):
        raise ConfigError(f"must be the name of a defect, and is {named_type(inject)}", where="inject")
    if not isinstance(engines, (Engines, type(None))):
        what = f"must be promptguard.replaying.engines.Engines(), and is {named_type(engines)}"
        raise ConfigError(what, where="engines")


@contextmanager
def _silent(_total: int, _description: str) -> Iterator[Callable[[str], None]]:
    yield lambda _label: None
