"""The pytest plugin: the fixture ``promptguard``, with which a test holds a prompt to what keeps the prefix cache.

Importing it imports nothing but pytest; what a method needs is imported when it is called.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from promptguard.probing.result import ProbeResult
    from promptguard.replaying.engines import Engines
    from promptguard.replaying.result import Result

_PROPERTY = "promptguard"
_OPTIONS: tuple[tuple[str, str, type[Any], str], ...] = (
    ("server", "URL", str, "llama-server that assert_hit_rate measures, instead of an embedded engine"),
    ("model-from", "FILE", str, "GGUF or tokenizer.json that assert_hit_rate runs a tiny-random twin of"),
    ("min-hit-rate", "X", float, "least hit rate that passes, where a test does not say (0.8)"),
    ("runs", "N", int, "processes in which assert_stable builds a prompt in other surroundings (6)"),
    ("timeout", "X", float, "seconds that one process of assert_stable, or one answer of an engine, may take"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("promptguard", "the prefix cache of LLM prompts")
    for name, metavar, kind, text in _OPTIONS:
        group.addoption(f"--promptguard-{name}", metavar=metavar, type=kind, default=None, help=text)
        parser.addini(f"promptguard_{name.replace('-', '_')}", f"default of --promptguard-{name}", default=None)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "promptguard: uses the fixture promptguard (every test that does has this mark)")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "promptguard" in getattr(item, "fixturenames", ()):
            item.add_marker("promptguard")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line for each thing that was asserted; the reports bring them here from the workers of pytest-xdist too."""
    lines = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                lines += [f"{report.nodeid}: {text}" for name, text in report.user_properties if name == _PROPERTY]
    if lines:
        terminalreporter.section("promptguard")
        for line in sorted(dict.fromkeys(lines)):
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def _promptguard_engines() -> Iterator[Engines]:
    from promptguard.replaying.engines import Engines

    with Engines() as engines:
        yield engines


@pytest.fixture
def promptguard(request: pytest.FixtureRequest) -> Promptguard:
    """Holds prompts to what keeps the prefix cache: ``assert_stable`` and its like."""
    return Promptguard(request)


class Promptguard:
    """The assertions. Each raises ``AssertionError`` with the report, and returns what it measured."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request

    def assert_stable(
        self,
        build: Callable[..., Any] | str,
        *,
        args: Mapping[str, Any] | None = None,
        whole: bool = False,
        runs: int | None = None,
        timeout: float | None = None,
        tokenizer: str | None = None,
    ) -> ProbeResult:
        """A builder gives the same prompt in other processes, at other times, in other surroundings.

        Args: as ``promptguard.probe``. ``build`` may be a function at the top level of the test module.
        """
        __tracebackhide__ = True
        from promptguard.interface import probe
        from promptguard.probing.result import Probed, in_words
        from promptguard.probing.run import RUNS, TIMEOUT
        from promptguard.probing.targets import target_of_this_process
        from promptguard.report.probes import render

        settings: dict[str, Any] = {"runs": runs, "timeout": timeout}
        for name, usual in (("runs", RUNS), ("timeout", TIMEOUT)):
            if settings[name] is None:
                option = self._option(name)
                settings[name] = option if option is not None else usual
        result: ProbeResult = _do(
            lambda: probe(target_of_this_process(build), args=args, whole=whole, tokenizer=tokenizer, **settings)
        )
        verdict = "is stable" if result.stable else "changes"
        self._note("; ".join([f"{result.builder} {verdict} ({result.tokens:,} tokens)", *in_words(result.uncompared)]))
        if not result.stable:
            raise AssertionError(render([Probed(result.builder, result)], "text").rstrip())
        return result

    def assert_prefix_preserving(
        self,
        messages: Sequence[Any],
        tools: object = None,
        chat_template: str | os.PathLike[str] | None = None,
        *,
        template_name: str | None = None,
    ) -> None:
        """Each prompt of a conversation, with its reply, is the beginning of the next prompt.

        Args:
            messages: the whole conversation in the shape of OpenAI chat.
            tools: what is offered, in any dialect.
            chat_template: the template itself, or a file that holds one; ``None`` for ChatML.
            template_name: which one, where a file holds several; without it ``tool_use`` where there is one and tools
                are offered, else the default one.
        """
        __tracebackhide__ = True
        from promptguard.linting.turns import tell_turns
        from promptguard.report.templates import render
        from promptguard.report.templates.words import VERDICTS, title

        given: Any = os.fspath(chat_template) if isinstance(chat_template, os.PathLike) else chat_template
        story = _do(lambda: tell_turns(messages, tools, given, template_name))
        self._note(f"{title(story)} {VERDICTS[story.verdict]}")
        if story.verdict != "preserving":
            raise AssertionError(render([story], "text").rstrip())

    def assert_canonical(self, tools: object) -> None:
        """Tools are in canonical order, as ``promptguard.canonical_tools`` gives them.

        Args:
            tools: tools in any dialect, or what holds them.
        """
        __tracebackhide__ = True
        from promptguard.probing.canonical import first_disorder

        what = _do(lambda: first_disorder(tools))
        self._note(f"tools are {'not ' if what else ''}canonical")
        if what:
            raise AssertionError(what)

    def assert_hit_rate(
        self,
        task: str | os.PathLike[str] | None = None,
        *,
        min: float | None = None,  # noqa: A002 - it reads as what it is
        **options: Any,
    ) -> Result:
        """A task reaches a hit rate on a real engine, and loses no token that it could keep.

        The embedded engine is started once in a session.

        Args:
            task: folder or file of the task; ``None`` for the built-in four-tool task.
            min: least hit rate, between 0 and 1.
            options: as ``promptguard.replay``.
        """
        __tracebackhide__ = True
        from promptguard.core.numbers import percent
        from promptguard.core.wording import arguments_for_flags
        from promptguard.interface import replay
        from promptguard.report.text import render

        chosen = {name: self._option(name) for name in ("server", "model_from", "timeout")}
        if any(name in options for name in ("server", "engine", "model", "model_from")):
            chosen = {"timeout": chosen["timeout"]}
        given = {name: value for name, value in chosen.items() if value is not None} | options
        least = min if min is not None else self._option("min_hit_rate")
        engines = None if "server" in given else self._request.getfixturevalue("_promptguard_engines")
        result: Result = _do(lambda: replay(task=task, min_hit_rate=least, engines=engines, **given))
        rates = f"hit rate {percent(result.hit_rate)} of a possible {percent(result.ceiling)}"
        self._note(f"{rates}, prompt loss {result.prompt_loss:,} tokens")
        if not result.passed:
            raise AssertionError(_say_of_options(arguments_for_flags(render(result).rstrip())))
        return result

    def _option(self, name: str) -> Any:
        """An option of the command line, or else of the configuration file of pytest."""
        config = self._request.config
        value = config.getoption(f"promptguard_{name}")
        if value is not None:
            return value
        written = config.getini(f"promptguard_{name}")
        if not written:
            return None
        kind = next(kind for option, _, kind, _ in _OPTIONS if option.replace("-", "_") == name)
        try:
            return kind(written)
        except ValueError:
            raise pytest.UsageError(f"promptguard_{name}: {written!r} is no number") from None

    def _note(self, text: str) -> None:
        """Leave a line for the summary, and for reports that print the properties of tests."""
        self._request.node.user_properties.append((_PROPERTY, text))


def _do(action: Callable[[], Any]) -> Any:
    """Do it, and let what cannot be judged fail the test in one sentence."""
    __tracebackhide__ = True
    from promptguard.core.errors import PromptguardError

    try:
        return action()
    except PromptguardError as error:
        error.where = "min" if error.where == "min_hit_rate" else error.where
        error.hint = _say_of_options(error.hint) if error.hint is not None else None
        problem = str(error)
    raise AssertionError(f"cannot be judged: {problem}")


def _say_of_options(text: str) -> str:
    """Name the options of the plugin beside the arguments."""
    text = re.sub(r"(?<![\w-])min_hit_rate=", "min=", text)
    names = {"min": "min-hit-rate"} | {name.replace("-", "_"): name for name, *_ in _OPTIONS}
    return re.sub(rf"(?<![\w-])({'|'.join(names)})=", lambda found: f"{found[0]} or --promptguard-{names[found[1]]}", text)
