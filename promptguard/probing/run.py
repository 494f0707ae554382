"""Whether a builder gives the same prompt in other surroundings."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from promptguard.core.config_values import check_arguments
from promptguard.core.errors import ConfigError, InputError, PromptguardError
from promptguard.core.option_tables import PROBE_OPTIONS
from promptguard.core.wording import named_type
from promptguard.probing.compare import Found, cause_of, compare, tokens_behind
from promptguard.probing.factors import (
    FIRST_CLOCK,
    OFTEN,
    SELDOM,
    VARIED,
    WORDS,
    Changes,
    Factor,
    Surroundings,
    other_locale,
    places,
)
from promptguard.probing.locate import Files
from promptguard.probing.parts import Part, parts, uncompared, written
from promptguard.probing.processes import INSIDE, Built, Failure, Launcher, Run, shown
from promptguard.probing.result import Difference, Location, ProbeResult, Uncompared, in_words
from promptguard.probing.targets import Target, target
from promptguard.prompts.counting import counter

RUNS = 6
"""Runs in changed surroundings. Two texts in a set stand in one order under half of all hash seeds, so that a run with another
seed finds them with a chance of a half, and six with 98 %.
"""

TIMEOUT = 60.0
"""Seconds that one run may take."""

_HIDDEN = "what else it changes with can be told when it gives the same prompt in each process"
_NATIVE_CLOCK = re.compile(r"datetime64\(\s*[\"'](?:now|today)\b")


def probe(
    build: Callable[..., Any] | str | Target,
    *,
    args: Mapping[str, Any] | None = None,
    whole: bool = False,
    runs: int = RUNS,
    timeout: float = TIMEOUT,
    python: str | os.PathLike[str] | None = None,
    tokenizer: str | None = None,
) -> ProbeResult:
    """Build a prompt in fresh processes, in the same surroundings and in others, and say what it changes with.

    Two runs in the same surroundings find what differs by chance and from call to call. The others change all at once: the clock,
    the hash seed, the random seed, the order of folder listings and environment variables, the time zone, the locale, the working
    directory, the folders for the home and for temporary files, and the names of user and host. Where that gives another prompt,
    each is changed alone.

    Args:
        build: what returns the prompt: a function at the top level of a module (with its arguments by ``functools.partial``), a
            method of an object that can be pickled, or its name as ``module:function`` or ``path/to/file.py:function``, relative
            to the current folder. It may be ``async``. It returns a text; a list of messages; a list of tools; or a request with
            some of these, in the shape of OpenAI, Anthropic or Gemini; of dicts and lists, dataclasses or pydantic models.
        args: keyword arguments for the builder, such as JSON can carry.
        whole: compare the last user message too, which may otherwise change.
        runs: processes in changed surroundings, 1 to 100.
        timeout: seconds that one process may take, 0.1 to 86,400.
        python: the interpreter of the user's project, where it is another one; with a builder that is named.
        tokenizer: what counts tokens, as ``--tokenizer`` of ``promptguard lint``.

    Returns:
        Where it changes, with what, and why.

    Raises:
        ConfigError: the builder cannot be found from another process, or an argument cannot be used.
        PromptguardError: the builder fails, does not end in time, or returns what is no prompt; or ``probe`` is called while
            a builder's module is imported for it.
    """
    begin = time.perf_counter()
    if INSIDE in os.environ:  # each of these processes would start as many again
        what = "probe was called while its builder was imported or run"
        raise PromptguardError(what, hint='put the call under if __name__ == "__main__":')
    for name, value in (("whole", whole), ("runs", runs), ("timeout", timeout)):
        if value is None:
            raise ConfigError("cannot be None", where=name, hint="leave it out for the default")
    python = os.fspath(python) if isinstance(python, os.PathLike) else python
    given = {"whole": whole, "runs": runs, "timeout": timeout, "python": python, "tokenizer": tokenizer}
    check_arguments(given, PROBE_OPTIONS)
    arguments = _arguments(args)
    if python is not None and not isinstance(build, str):
        raise ConfigError("another interpreter needs the name of a builder", where="python", hint="give it as module:function")
    found = build if isinstance(build, Target) else target(build)
    if python is not None:
        found = replace(found, path=())
    with places() as folders:
        launcher = Launcher(found, arguments, folders, python=python, timeout=timeout)
        return _Probe(found.name, launcher, whole=whole, tokenizer=tokenizer, root=folders.root).result(runs, begin)


def _arguments(args: object) -> dict[str, Any]:
    """The keyword arguments for a builder, which go to another process as JSON."""
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise ConfigError(f"must be a dict of keyword arguments, and is {named_type(args)}", where="args")
    if not all(isinstance(name, str) for name in args):
        raise ConfigError("must have texts as keys, the names of arguments", where="args")
    given = dict(args)
    try:
        json.dumps(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot be written as JSON ({error})", where="args", hint="use functools.partial") from None
    return given


class _Try(NamedTuple):
    factor: Factor
    changes: Changes | None
    surroundings: Surroundings


_Differing = tuple[Factor | None, Changes | None, Found]


class _Probe:
    def __init__(self, name: str, launcher: Launcher, *, whole: bool, tokenizer: str | None, root: str) -> None:
        self._name = name
        self._launcher = launcher
        self._whole = whole
        self._counter = counter(tokenizer)
        self._root = root
        self._first = Surroundings(FIRST_CLOCK.timestamp())
        self._since = time.monotonic()
        self._made = 0
        self._notes: list[str] = []

    def result(self, runs: int, begin: float) -> ProbeResult:
        varied = frozenset(VARIED)
        base, second, others = self._first_runs(varied, runs)
        self._files = Files(base.files, [self._root, *([os.path.dirname(base.place[0])] if base.place else [])])  # noqa: PTH120
        self._base = self._parts(base.prompts[0])
        varied, others = self._without_what_breaks(varied, others)
        found: list[_Differing] = []
        if len(base.prompts) > 1:
            found += self._differing("call", base.prompts[1])
        chance = self._differing("run", second.prompts[0])
        found += chance
        if not chance:
            found += self._alone(varied, others)
            found = self._without_drift(found)
        elif self._differs(others) is not None:
            self._notes.append(_HIDDEN)
        self._say_what_stayed(varied, base, stable=not found)
        prompts = [prompt for one in (base, second, *others) if isinstance(one, Built) for prompt in one.prompts]
        beside = _uncompared(prompts)
        return ProbeResult(
            builder=self._name,
            location=Location(shown(base.place[0]), base.place[1]) if base.place is not None else None,
            differences=tuple(self._merged(found)),
            varied=tuple(factor for factor in VARIED if factor in varied),
            notes=(*self._notes, *in_words(beside)),
            runs=self._made,
            tokens=self._counter.count("\n".join(map(written, self._base))),
            tokenizer=self._counter.name,
            seconds=time.perf_counter() - begin,
            uncompared=beside,
        )

    def _first_runs(self, varied: frozenset[Factor], runs: int) -> tuple[Built, Built, Sequence[Built | Failure]]:
        """Two runs as things are, and those in which all is changed."""

        def run() -> list[Built | Failure]:
            changed = [self._first.with_all(varied, number) for number in range(runs)]
            return self._run([Run(self._first, calls=2, watch=True), Run(self._first), *map(Run, changed)], needed=2)

        made = run()
        failure = made[0]
        if isinstance(failure, Failure) and failure.told:  # a token or a certificate may hold on no other day than today
            self._first = replace(self._first, clock=time.time())
            made = run()
            if isinstance(made[0], Failure):
                raise failure.error(self._name)
            self._notes.append(f"its clock starts now, since on {FIRST_CLOCK:%Y-%m-%d} the builder {failure.what}")
        base, second = (self._built(one) for one in made[:2])
        return base, second, made[2:]

    def _run(self, runs: Sequence[Run], *, needed: int = 0) -> list[Built | Failure]:
        self._made += len(runs)
        return self._launcher.run(runs, needed=needed)

    def _built(self, made: Built | Failure) -> Built:
        if isinstance(made, Failure):
            raise made.error(self._name)
        return made

    def _parts(self, prompt: str) -> list[Part]:
        try:
            return parts(json.loads(prompt), whole=self._whole)
        except InputError as error:
            raise InputError(error.what, where=self._name, hint=error.hint) from None

    def _differing(self, factor: Factor, prompt: str, changes: Changes | None = None) -> list[_Differing]:
        found = compare(self._base, self._parts(prompt), self._since)
        return [(factor, changes, found)] if found is not None else []

    def _differs(self, others: Sequence[Built | Failure]) -> int | None:
        """Position of the first run that gave another prompt."""
        for number, other in enumerate(others):
            if compare(self._base, self._parts(self._built(other).prompts[0])) is not None:
                return number
        return None

    def _without_what_breaks(
        self, varied: frozenset[Factor], others: Sequence[Built | Failure]
    ) -> tuple[frozenset[Factor], Sequence[Built | Failure]]:
        """Leave out the factors that the builder cannot bear: it may need its home folder, say."""
        while (failed := next((number for number, other in enumerate(others) if isinstance(other, Failure)), None)) is not None:
            like = self._first.with_all(varied, failed)
            order = [factor for factor in VARIED if factor in varied]
            alone = self._run([Run(self._first.with_one(factor, like)) for factor in order])
            broken = {factor: made for factor, made in zip(order, alone, strict=True) if isinstance(made, Failure)}
            if not broken:
                failure = others[failed]
                assert isinstance(failure, Failure)
                raise replace(failure, what=f"{failure.what}, where it is built in other surroundings").error(self._name)
            for factor, failure in broken.items():
                self._notes.append(f"it was not seen whether it changes {WORDS[factor]}: then the builder {failure.what}")
            varied -= broken.keys()
            others = self._run([Run(self._first.with_all(varied, number)) for number in range(len(others))])
        return varied, others

    def _alone(self, varied: frozenset[Factor], others: Sequence[Built | Failure]) -> list[_Differing]:
        """What it changes with, each alone."""
        number = self._differs(others)
        if number is None:
            return []
        like = self._first.with_all(varied, number)
        found = self._tried([_Try(factor, None, self._first.with_one(factor, like)) for factor in VARIED if factor in varied])
        if "clock" in varied and (not found or found.keys() & {"clock", "time-zone"}):  # an hour of theirs is one of both
            for steps in (OFTEN, SELDOM):
                stepped = self._tried([_Try("clock", every, self._first.later(seconds)) for every, seconds in steps])
                if stepped:
                    found = {**found, **stepped}
                    break
        if found:
            return [found[factor] for factor in VARIED if factor in found]
        together = compare(self._base, self._parts(self._built(others[number]).prompts[0]))
        assert together is not None
        return [(None, None, together)]

    def _tried(self, tries: Sequence[_Try]) -> dict[Factor, _Differing]:
        """The first difference that each factor makes. A builder that fails only then says nothing about it."""
        found: dict[Factor, _Differing] = {}
        for one, built in zip(tries, self._run([Run(one.surroundings) for one in tries]), strict=True):
            if one.factor not in found and isinstance(built, Built):
                for differing in self._differing(one.factor, built.prompts[0], one.changes):
                    found[one.factor] = differing
        return found

    def _without_drift(self, found: list[_Differing]) -> list[_Differing]:
        """What it changes with, but for what has changed on its own since the first run: by chance, or with the real clock."""
        if not found:
            return []
        (again,) = self._run([Run(self._first)])
        drift = self._differing("run", self._built(again).prompts[0])
        if not drift:
            return found
        self._notes.append(_HIDDEN)
        return [one for one in found if one[0] == "call" or one[2].position < drift[0][2].position] + drift

    def _say_what_stayed(self, varied: frozenset[Factor], base: Built, *, stable: bool) -> None:
        if base.unchanged is not None:
            self._notes.append(f"this Python does not let the clock of {base.unchanged} be moved")
        name, installed = other_locale()
        if "locale" in varied and not installed:
            self._notes.append(f"no other locale is installed: {name} was only set in the environment variables")
        if stable and base.started:
            self._notes.append(f"it starts other programs, which see the real clock: {', '.join(base.started)}")
        native = self._files.first_match(_NATIVE_CLOCK) if stable else None
        if native is not None:
            self._notes.append(f"numpy.datetime64 sees the real clock ({native.path}:{native.line})")

    def _merged(self, found: Sequence[_Differing]) -> list[Difference]:
        """One difference for all factors that change the same value, in the order of the prompt."""
        groups: list[list[_Differing]] = []
        for differing in found:
            same = next((group for group in groups if any(_of_one_value(differing[2], other[2]) for other in group)), None)
            if same is None:
                groups.append([differing])
            else:
                same.append(differing)
        ordered = sorted(groups, key=lambda group: min(differing[2].position for differing in group))
        return [self._difference(group) for group in ordered]

    def _difference(self, same: Sequence[_Differing]) -> Difference:
        _, changes, found = same[0]
        blame = found.blame
        factors = tuple(factor for factor, _, _ in same if factor is not None)
        factor = "run" if "run" in factors else next(iter(factors), None)
        cause, remedy = cause_of(factor, found) if factor is not None else (blame.cause, blame.remedy)
        return Difference(
            factors=factors,
            changes=changes,
            block=blame.block or found.part.block,
            what=found.part.what,
            pointer=found.pointer,
            character=found.character,
            before=found.before,
            after=found.after,
            cause=cause,
            explanation=blame.explanation,
            remedy=remedy,
            tokens_lost=tokens_behind(self._base, found, self._counter),
            location=self._files.place(found.text, found.character) if found.text is not None else None,
        )


def _uncompared(prompts: Sequence[str]) -> tuple[Uncompared, ...]:
    """What is not compared of the prompts of all runs, in the order in which it stands there."""
    texts: dict[str, set[str | None]] = {}
    each = [uncompared(json.loads(prompt)) for prompt in dict.fromkeys(prompts)]
    for keys in each:
        for key in keys:
            texts[key] = {json.dumps(other[key]) if key in other else None for other in each}
    return tuple(Uncompared(key, changes=len(values) > 1) for key, values in texts.items())


def _of_one_value(one: Found, other: Found) -> bool:
    """Whether two differences are in the same word or the same date."""
    if one.position[:2] != other.position[:2]:
        return False
    if one.blame.explanation.rpartition(" to ")[0] == other.blame.explanation.rpartition(" to ")[0]:
        return True
    between = (one.text or "")[slice(*sorted((one.character, other.character)))]
    return one.text is not None and not any(map(str.isspace, between))
