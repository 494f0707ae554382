"""From settings to a result: choose, start and end the engine around a replay."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptguard.core.errors import ConfigError, EngineError, InputError, TemplateError, TemplateLimitError
from promptguard.engines.base import Engine
from promptguard.models.default import default_model
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import chat_template_source
from promptguard.replaying.gate import MIN_HIT_RATE, Gate
from promptguard.replaying.inject import parse_injection
from promptguard.replaying.inputs import load_inputs
from promptguard.replaying.result import Result
from promptguard.replaying.run import ContextError, Options, Replay

if TYPE_CHECKING:
    from promptguard.parse.gguf import GGUFHeader
    from promptguard.replaying.chat_template import Accepted
    from promptguard.replaying.engines import Engines

ProgressBar = Callable[[int, str], AbstractContextManager[Callable[[str], None]]]
START_TIMEOUT = 120.0
ANSWER_TIMEOUT = 600.0


def execute(
    settings: Mapping[str, Any],
    *,
    inject: str | None = None,
    progress: ProgressBar,
    accepted: Accepted | None = None,
    engines: Engines | None = None,
) -> Result:
    """Run a replay as the command line asks for it.

    Args:
        settings: the flags of ``promptguard replay``, with underscores; ``None`` or absent means the default.
        inject: a defect to plant.
        progress: shows how far it is.
        accepted: tells what the user accepts of what is found in the given chat template, ``None`` for nothing.
        engines: where embedded engines come from that outlive this replay.

    Raises:
        PromptguardError: nothing could be measured.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    _check_choice(given)
    options = Options(
        gate=Gate(
            min_hit_rate=given.get("min_hit_rate", MIN_HIT_RATE),
            prompt_loss=given.get("prompt_loss_tolerance", 0),
            engine_loss=given.get("engine_loss_tolerance", 0),
        ),
        live=given.get("live", False),
        max_turns=given.get("max_turns", Options.max_turns),
        max_tokens=given.get("max_tokens", Options.max_tokens),
        compare_uncached=given.get("compare_uncached", False),
        seed=given.get("seed", 0),
        inject=parse_injection(inject) if inject is not None else None,
        model_template=any(name in given for name in ("model", "model_from", "server")),
        accepted=accepted,
    )
    begin = time.perf_counter()
    with ExitStack() as stack:
        renderer = stack.enter_context(Renderer())
        renderer.start()
        files = {name: given.get(name) for name in ("task", "system", "context", "tools", "chat_template")}
        inputs = load_inputs(**files)
        starter = _Starter(given, stack, engines)
        replay = Replay(inputs, renderer, options)
        starter.begin(replay, inputs.chat_template.text if inputs.chat_template else None)
        bar = stack.enter_context(progress(replay.steps + 1, "replay"))
        engine = starter.connect()
        try:
            result = replay.run(engine, bar)
        except ContextError as error:
            if not starter.can_grow:
                raise
            engine.close()
            result = replay.run(starter.again(error.needed), bar)
        return replace(
            result,
            notes=starter.notes + result.notes,
            settings=as_told(given, inject),
            seconds_total=time.perf_counter() - begin,
            seconds_engine=result.seconds_engine + starter.seconds,
        )


def _check_choice(given: Mapping[str, Any]) -> None:
    if "server" in given:
        for name in ("model", "model_from", "engine", "ctx_size", "swa_full"):
            if name in given:
                raise ConfigError(
                    f"--{name.replace('_', '-')} says how to start an engine, and --server uses one that runs already",
                    hint="give one of the two",
                )
    elif "slot" in given:
        raise ConfigError("--slot goes with --server", hint="an engine that promptguard starts has one slot")
    if "model" in given and "model_from" in given:
        raise ConfigError("--model and --model-from exclude each other", hint="give one of the two")
    if given.get("live") and given.get("engine") == "llama-cpp-python":
        raise ConfigError("--live needs a llama-server, which can parse tool calls", hint="leave out --engine")
    if not given.get("live"):
        for name in ("max_turns", "max_tokens"):
            if name in given and "live" not in given:
                raise ConfigError(f"--{name.replace('_', '-')} goes with --live")


class _Starter:
    """Start the engine that the settings name, again with a larger context if need be."""

    def __init__(self, given: Mapping[str, Any], stack: ExitStack, engines: Engines | None) -> None:
        self._given = given
        self._engines = engines
        self._stack = stack
        self._engine: Any = None
        self._template: str | None = None
        self._model: Path | None = None
        self._made_model = False
        self.notes: tuple[str, ...] = ()
        self.seconds = 0.0  # spent waiting for it to start
        self.can_grow = "server" not in given and "ctx_size" not in given

    def begin(self, replay: Replay, chat_template: str | None) -> None:
        """Start the engine without waiting for it."""
        self._template = chat_template
        if "server" in self._given:
            return
        self._model = self._choose_model(replay)
        self._check_size(self._model, replay)
        # A token is rarely shorter than three characters; where it is, the engine is started once more.
        live = self._given.get("max_turns", Options.max_turns) * self._given.get("max_tokens", Options.max_tokens)
        estimate = replay.characters // 3 + 1024 + (live if self._given.get("live") else 0)
        self._start(self._given.get("ctx_size") or _round_up(estimate))

    def connect(self) -> Engine:
        """The engine, ready."""
        begin = time.perf_counter()
        try:
            engine: Engine = self._connect_to_server() if "server" in self._given else self._engine.connect()
        finally:
            self.seconds += time.perf_counter() - begin
        return engine

    def again(self, context: int) -> Engine:
        self._start(_round_up(context))
        engine = self.connect()
        if engine.info.context < context:
            raise EngineError(
                f"the task needs a context of {context:,} tokens and this model has at most {engine.info.context:,}",
                where=str(self._model),
                hint="shorten the prompt or the task, or use a model with a larger context",
            )
        return engine

    def _choose_model(self, replay: Replay) -> Path:
        if "model" in self._given:
            path = Path(self._given["model"])
            self._check(path, replay, weights=True)
            return path
        if "model_from" in self._given:
            from promptguard.models.make import make_tiny

            model = self._folder() / f"tiny-{Path(self._given['model_from']).stem}.gguf"
            report = make_tiny(Path(self._given["model_from"]), model)
            self.notes = tuple(f"the model is a tiny-random twin: {note}" for note in report.notes)
            self._check(model, replay, named=Path(self._given["model_from"]))
        else:
            model = default_model()
        return model if self._template is None else self._with_markers(model, self._template)

    def _with_markers(self, model: Path, template: str) -> Path:
        """A tiny model in whose vocabulary the markers of a chat template are tokens."""
        from promptguard.models.markers import markers
        from promptguard.models.twin import make_twin

        target = self._folder() / model.name
        report = make_twin(model, target, added=markers(template))
        self.notes += tuple(f"the model is a tiny-random one: {note}" for note in report.notes)
        return target

    def _folder(self) -> Path:
        """A new folder that goes with the run."""
        self._made_model = True
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="promptguard-")))

    def _check(self, model: Path, replay: Replay, *, named: Path | None = None, weights: bool = False) -> None:
        """Refuse what no engine could use; an engine would say it in its log, at length."""
        from promptguard.parse.gguf import chat_template, read_header

        header = read_header(model)
        if weights:
            header.require_weights()
        if self._template is not None:
            if weights:
                self._compare_markers(header, self._template)
            return
        text = chat_template(header)
        if text is None:
            raise InputError("the model has no chat template", where=str(named or model), hint="give one with --chat-template")
        for each in (text, chat_template(header, "tool_use")):
            try:
                if each is not None:
                    replay.try_template(chat_template_source(each, f"<chat template of {(named or model).name}>"))
            except TemplateLimitError:  # noqa: PERF203 - the engine would render it all the same, as far as it takes
                raise
            except TemplateError:
                pass  # the engine may know more

    def _check_size(self, model: Path, replay: Replay) -> None:
        """Refuse what no context of this model can hold: to start an engine and to find out there takes minutes."""
        from promptguard.parse.gguf import read_header

        header = read_header(model)
        most = header.integer(f"{header.architecture}.context_length")
        if most is not None and replay.least_tokens > most:
            largest = max(replay.inputs.tools_source, replay.inputs.system, key=lambda source: len(source.text))
            raise InputError(
                f"the longest prompt has {replay.characters:,} characters, at least {replay.least_tokens:,} tokens, and the "
                f"model has a context of at most {most:,}",
                where=largest.path,
                hint="shorten the prompt or the task, or use a model with a larger context",
            )

    def _compare_markers(self, header: GGUFHeader, template: str) -> None:
        """Say when a chat template seems to be written for another model."""
        from promptguard.models.markers import markers
        from promptguard.models.twin import missing_tokens

        missing = [marker for marker in missing_tokens(header, markers(template)) if marker.startswith(("<|", "<\uff5c"))]
        if missing:
            more = f" and {len(missing) - 1} more markers" if len(missing) > 1 else ""
            note = f"{missing[0]}{more} of the chat template are no tokens of this model: is it the template of another one?"
            self.notes += (note,)

    def _start(self, context: int) -> None:
        assert self._model is not None
        timeout = self._given.get("timeout", START_TIMEOUT)
        if self._given.get("engine") == "llama-cpp-python":
            from promptguard.engines.llama_cpp_python import LlamaCppPython

            self._engine = LlamaCppPython(
                self._model, context=context, swa_full=self._given.get("swa_full", True), timeout=timeout
            )
        else:
            from promptguard.engines.embedded import EmbeddedServer

            start = EmbeddedServer if self._engines is None or self._made_model else self._engines.embedded
            self._engine = start(
                self._model,
                context=context,
                chat_template=self._template,
                swa_full=self._given.get("swa_full", False),
                timeout=timeout,
            )
        self._stack.callback(self._engine.close)

    def _connect_to_server(self) -> Engine:
        try:
            from promptguard.engines.http import JSONClient, api_key_from_environment, check_url
        except ModuleNotFoundError as error:
            raise ConfigError(f"--server needs the package {error.name}", hint="pip install 'promptguard-ci[replay]'") from None
        from promptguard.engines.llama_server import LlamaServer

        timeout = self._given.get("timeout", ANSWER_TIMEOUT)
        client = JSONClient(
            check_url(self._given["server"]), api_key=api_key_from_environment(), timeout=timeout, loading=min(timeout, 300.0)
        )
        self._stack.callback(client.close)
        return LlamaServer(client, slot=self._given.get("slot"))


def as_told(given: Mapping[str, Any], inject: str | None) -> dict[str, object]:
    """The options that were set, by the names of their flags."""
    told = {name.replace("_", "-"): str(value) if isinstance(value, Path) else value for name, value in given.items()}
    return told | ({"inject": inject} if inject is not None else {})


def _round_up(tokens: int) -> int:
    return max(4096, -(-tokens // 1024) * 1024)
