"""What a run is told: the configuration file and the flags, made into settings."""

# ruff: noqa: PTH109, PTH113, PTH118 - pathlib takes longer to import than a small file takes to check
from __future__ import annotations

import os

from promptguard.checks.catalog import RULES
from promptguard.checks.rule import RuleOption
from promptguard.checks.selectors import resolve
from promptguard.core.config import Config, load_config, origins
from promptguard.core.errors import ConfigError
from promptguard.core.light import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence
from promptguard.core.options import Option
from promptguard.linting.select import check_selectors
from promptguard.linting.settings import PromptDeclaration, Settings

if TYPE_CHECKING:
    from promptguard.core.discover import Rule as Excluded
    from promptguard.core.options import Kind

CACHE = ".promptguard_cache"


class Plan(NamedTuple):
    """What a run is told.

    Attributes:
        settings: what has a say in the findings of a file.
        config: what the configuration file says.
        exclude: patterns of what is left out, and the folder that they are relative to.
        baseline: file of known findings.
        unsafe_fixes: whether a fix may change what a model reads.
        output_format: of what is printed.
        reports: further reports, as ``FORMAT=FILE``.
        cache_dir: folder of the cache.
        jobs: most processes to work with, ``None`` for the number of CPUs.
    """

    settings: Settings
    config: Config
    exclude: tuple[tuple[str, ...], str]
    baseline: str | None
    unsafe_fixes: bool
    output_format: str
    reports: tuple[str, ...]
    cache_dir: str
    jobs: int | None

    def excluded(self) -> list[Excluded]:
        """What is left out, for ``find_files``."""
        from promptguard.core.discover import exclude_rule

        patterns, base = self.exclude
        return [exclude_rule(patterns, base)] if patterns else []


def make_plan(flags: Mapping[str, Any]) -> Plan:
    """Join the flags and the configuration; a flag comes before the file.

    A ``select`` flag sets aside what the file selects and ignores: who names a rule wants to see it.

    Args:
        flags: by the names of options with underscores; ``None``, an empty tuple or nothing where it is not given.

    Raises:
        InputError: the configuration file cannot be read.
        ConfigError: the file or a flag says something that it may not.
    """
    config = load_config(explicit=flags.get("config") or None, rules=rule_options)
    said: dict[str, Any] = {name.replace("-", "_"): value for name, value in config.lint.items()}
    if flags.get("select"):
        for name in ("select", "ignore", "extend_select"):
            said.pop(name, None)
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    root = config.folder
    baseline = given.get("baseline", said.get("baseline"))
    settings = Settings(
        root,
        select=(*(_selectors(given, said, "select") or ("PG",)), *_selectors(given, said, "extend_select")),
        ignore=_selectors(given, said, "ignore"),
        per_file_ignores=_per_file_ignores(given.get("per_file_ignores", ()), said.get("per_file_ignores", {})),
        pointer_ignores=tuple((item["path"], item["pointer"], tuple(item["rules"])) for item in said.get("ignore_at", ())),
        pedantic=bool(given.get("pedantic", said.get("pedantic"))),
        tokenizer=_tokenizer(given.get("tokenizer"), said.get("tokenizer"), root),
        prompts=tuple(_declaration(item, config.path) for item in config.prompts),
        rule_options={code: _values(values) for code, values in sorted(config.rules.items())},
    )
    try:
        check_selectors(settings)
    except ConfigError:
        for selector, where in _places_of_selectors(given, said, flags.get("config") or None):
            resolve(selector, where=where)
        raise
    return Plan(
        settings,
        config,
        exclude=(tuple(given["exclude"]), os.getcwd()) if "exclude" in given else (tuple(said.get("exclude", ())), root),
        baseline=os.fspath(baseline) if baseline is not None else None,
        unsafe_fixes=bool(given.get("unsafe_fixes", said.get("unsafe_fixes"))),
        output_format=given.get("output_format") or said.get("output_format") or "full",
        reports=tuple(given.get("report", said.get("report", ()))),
        cache_dir=given.get("cache_dir") or said.get("cache_dir") or os.path.join(root, CACHE),
        jobs=given.get("jobs", said.get("jobs")),
    )


def rule_options() -> dict[str, tuple[Option, ...]]:
    """The options of all rules, as the configuration file may set them."""
    return {code: tuple(_option(option) for option in rule.options) for code, rule in RULES.items()}


def _option(option: RuleOption) -> Option:
    kind: Kind = "list"
    if isinstance(option.default, bool):
        kind = "boolean"
    elif isinstance(option.default, int):
        kind = "integer"
    elif isinstance(option.default, str):
        kind = "text"
    return Option(option.name, kind, option.help)


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in sorted(values.items())}


def _selectors(given: Mapping[str, Any], said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Selectors; in a flag they may be joined by commas."""
    if name in given:
        selectors = tuple(part.strip() for item in given[name] for part in item.split(",") if part.strip())
        if not selectors and name:
            raise ConfigError("names no rule", where=f"--{name.replace('_', '-')}", hint="write PG101, PG1, PG or a name")
        return selectors
    return tuple(said.get(name, ()))


def _places_of_selectors(given: Mapping[str, Any], said: Mapping[str, Any], config: str | None) -> Iterator[tuple[str, str]]:
    """All selectors, each with the flag, or the file and line, that names it."""
    place = origins(explicit=config)
    for name in ("select", "extend_select", "ignore"):
        option = name.replace("_", "-")
        where = f"--{option}" if name in given else place("lint", option)
        yield from ((selector, where) for selector in _selectors(given, said, name))
    for flag in given.get("per_file_ignores", ()):
        yield from ((selector, f"--per-file-ignores {flag}") for _, codes in _per_file_ignores((flag,), {}) for selector in codes)
    for pattern, codes in said.get("per_file_ignores", {}).items():
        yield from ((selector, place("lint.per-file-ignores", pattern)) for selector in codes)
    for item in said.get("ignore_at", ()):
        yield from ((selector, place("lint", "ignore-at")) for selector in item["rules"])


def _per_file_ignores(flags: Sequence[str], said: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = [(pattern, tuple(codes)) for pattern, codes in sorted(said.items())]
    for flag in flags:
        pattern, colon, codes = flag.rpartition(":")
        if not colon or not pattern or not codes.strip(" ,"):
            where = f"--per-file-ignores {flag}"
            raise ConfigError("a pattern or the rules are missing", where=where, hint="write it as PATTERN:CODES")
        found.append((pattern, _selectors({"": (codes,)}, {}, "")))
    return tuple(found)


def _tokenizer(flag: str | None, said: str | None, root: str) -> str | None:
    name = flag or said
    if name is None or name.startswith("tiktoken:"):
        return name
    path = name if flag else os.path.join(root, name)
    if not os.path.isfile(path):
        where = "--tokenizer" if flag else "tokenizer"
        raise ConfigError(f"there is no file {path}", where=where, hint="name a tokenizer.json, a GGUF file or tiktoken:ENCODING")
    return path


def _declaration(item: Mapping[str, Any], file: str | None) -> PromptDeclaration:
    both = sorted({*item.get("stable", ())} & {*item.get("dynamic", ())})
    if both:
        hint = "leave it in one of the two"
        raise ConfigError(f"{both[0]} is both stable and dynamic in the prompt {item['path']}", where=file, hint=hint)
    lists = {name: tuple(item[name]) for name in ("stable", "dynamic") if name in item}
    return PromptDeclaration(**{**item, **lists})
