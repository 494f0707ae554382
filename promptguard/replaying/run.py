"""Replay the task on an engine, turn by turn."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptguard.core.errors import ConfigError, EngineError, InputError, PromptguardError, TemplateError
from promptguard.core.source import Source
from promptguard.engines.base import Completion, Engine, EngineInfo, Need
from promptguard.engines.timed import TimedEngine
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.rendering import Renderer
from promptguard.prompts.request import Prompt, Request, Traced, chat_template_source
from promptguard.prompts.sequences import common_prefix
from promptguard.prompts.tokens import token_starts
from promptguard.replaying.build import Builder
from promptguard.replaying.gate import Gate, judge
from promptguard.replaying.inject import Injection
from promptguard.replaying.inputs import Inputs
from promptguard.replaying.live import LiveConversation
from promptguard.replaying.result import Result, Subject, TemplateCheck, Turn
from promptguard.replaying.script import Script
from promptguard.replaying.task import History
from promptguard.replaying.texts import Texts

if TYPE_CHECKING:  # only a run that lost something needs it at run time
    from promptguard.prompts.divergence import Divergence
    from promptguard.prompts.preservation.result import Preservation
    from promptguard.replaying.chat_template import Accepted

Progress = Callable[[str], None]
# Any other first message will do: what both prompts share is the resident prefix.
CHARACTERS_A_TOKEN = 8  # on average no tokenizer makes longer tokens of prose or JSON: English has 4 to 5, schemas 2 to 4
_LARGEST_COUNTED = 1 << 18  # tokens; a task that takes more is not tokenized to say how much more
OTHER_MESSAGE = "0 \N{EM DASH} another question altogether"


@dataclass(frozen=True)
class Options:
    """How a replay runs.

    Attributes:
        gate: what the run must reach.
        live: let the model answer instead of replaying the scripted replies.
        max_turns: most requests of a live run.
        max_tokens: most tokens of one live reply.
        compare_uncached: run the task again with the cache off.
        seed: seed of the values that differ between turns.
        inject: a defect to plant.
        model_template: say in a note what is found in the chat template of the model, where the user gives none.
        accepted: what the user accepts of what is found in the given chat template, ``None`` for nothing.
    """

    gate: Gate = field(default_factory=Gate)
    live: bool = False
    max_turns: int = 32
    max_tokens: int = 256
    compare_uncached: bool = False
    seed: int = 0
    inject: Injection | None = None
    model_template: bool = False
    accepted: Accepted | None = None


class Replay:
    """One replay: requests first, then the engine.

    The requests of a scripted run are built before the engine is needed, so that it can start meanwhile.

    Args:
        inputs: the user's files.
        renderer: renders the templates; it stays open.
        options: how to run.
    """

    def __init__(self, inputs: Inputs, renderer: Renderer, options: Options | None = None) -> None:
        self.inputs = inputs
        self.options = options or Options()
        self._renderer = renderer
        tools, _ = self._first_tools()
        self.script = Script(inputs.task, tools)
        self._builder = self.make_builder(inject=self.options.inject)
        self.requests = [self._builder.request(0, self.script.turns[0].messages)]
        if inputs.chat_template is not None:  # a template that we cannot render is not shown to an engine
            self.try_template(inputs.chat_template)
        if not self.options.live:
            self.requests += self.scripted_requests()
            self._check_injection()

    def scripted_requests(self) -> list[Request]:
        """The request of each turn of the script."""
        return [self._builder.request(number, turn.messages) for number, turn in enumerate(self.script.turns, 1)]

    def _check_injection(self) -> None:
        """Refuse a defect that is none: a gate that lets it pass would look as if it had missed it."""
        inject = self.options.inject
        if inject is None or self._builder.injected:
            return
        turns = len(self.script.turns)
        if inject.turn is not None and inject.turn > turns:
            raise ConfigError(f"there is no turn {inject.turn}", where="--inject", hint=f"the task has {turns}")
        where = "this task" if inject.turn is None else f"turn {inject.turn}"
        raise ConfigError(f"{inject.name} changes nothing on {where}", where="--inject", hint="try another turn or defect")

    def try_template(self, template: Source) -> None:
        """Render the first request, and the conversations of ``promptguard template check``, within our limits, with a chat
        template that an engine would render without any.

        Raises:
            TemplateError: it does not render the first request.
            TemplateLimitError: it exceeds a limit.
        """
        from promptguard.replaying.chat_template import contain

        try:
            ChatTemplate(self._renderer, template).render(self.requests[0], clock=self._builder.clock(0), trace=False)
            contain(self._renderer, template)
        except TemplateError as error:
            raise _in_file(error) from error

    def _first_tools(self) -> tuple[Any, Traced]:
        return Builder(self.inputs, self._renderer, turns=1, seed=self.options.seed).tools(0)

    def make_builder(self, *, inject: Injection | None) -> Builder:
        """What builds the requests of this task, with or without a planted defect."""
        return Builder(self.inputs, self._renderer, turns=len(self.script.turns), seed=self.options.seed, inject=inject)

    @property
    def shortens_history(self) -> bool:
        """Whether the task sends less than its whole history, so that its own turns do not tell what was attainable."""
        inject = self.options.inject
        return self.inputs.task.history.keep_last is not None or (inject is not None and inject.name == "drop-history")

    @property
    def steps(self) -> int:
        """Number of engine requests that ``run`` will report to its progress callback, an estimate for a live run."""
        turns = len(self.script.turns)
        return turns * (2 if self.options.compare_uncached else 1) + (self.inputs.chat_template is not None)

    @cached_property
    def characters(self) -> int:
        """Code points of the longest conversation, to size a context by before anything can be tokenized."""
        longest = 0
        for request in self.requests:
            size = len(str(request.messages)) + len(str(request.tools))
            longest = max(longest, size)
        last = self.script.turns[-1]
        return longest + len(str(last.reply)) + (len(str(last.messages)) if self.options.live else 0)

    @property
    def least_tokens(self) -> int:
        """What the longest conversation takes beyond any doubt: known before it is tokenized, turn by turn."""
        return self.characters // CHARACTERS_A_TOKEN

    def need(self, engine: Engine) -> Need:
        """What a run takes of the context of an engine, as this one renders and tokenizes it; no prompt is sent to the model.

        Raises:
            PromptguardError: it cannot.
        """
        return _Run(self, TimedEngine(engine), [], lambda _: None).need()

    def run(self, engine: Engine, progress: Progress = lambda _: None) -> Result:
        """Measure every turn.

        An engine that dies in mid-run gives a result with ``error`` set and the turns measured so far.

        Raises:
            PromptguardError: nothing could be measured.
        """
        if self.least_tokens > max(engine.info.context, _LARGEST_COUNTED):
            raise ContextError(self.least_tokens, engine.info, least=True)
        begin = time.perf_counter()
        timed = TimedEngine(engine)
        turns: list[Turn] = []
        run = _Run(self, timed, turns, progress)
        error: str | None = None
        template: TemplateCheck | None = None
        try:
            run.measure()
            template = run.check_template()
        except PromptguardError as problem:
            told = _in_file(problem)
            if not turns:
                raise told from problem
            error = str(told)
        result = Result(
            subject=run.subject(),
            turns=tuple(turns),
            warm_up_tokens=run.warm_up_tokens,
            checks=(),
            stand_ins=self._builder.stand_ins,
            notes=run.notes(),
            seconds_total=time.perf_counter() - begin,
            seconds_engine=timed.seconds,
            append_only=run.append_only,
            template=template,
            error=error,
        )
        return result if error else replace(result, checks=judge(result, self.options.gate))


class _Run:
    """The state of one run on one engine."""

    def __init__(self, replay: Replay, engine: TimedEngine, turns: list[Turn], progress: Progress) -> None:
        self._replay = replay
        self._options = replay.options
        self._builder = replay._builder
        self._engine = engine
        self._turns = turns
        self._progress = progress
        info = engine.info
        own = replay.inputs.chat_template
        self._template = own or chat_template_source(info.chat_template, f"<chat template of {info.model}>")
        foreign = own is not None and own.text != info.chat_template
        if not self._template.text.strip():
            raise InputError("has no chat template", where=info.model, hint="give one with --chat-template")
        self._texts = Texts(engine, replay._renderer, self._template, own=foreign)
        if foreign and info.url is not None:
            self._texts.notes.append("the chat template of --chat-template is measured; the server itself holds another one")
        if (name := replay.inputs.chat_template_name) is not None:
            self._texts.notes.append(f"of the chat templates in {self._template.path} the one named {name} is measured")
        self.warm_up_tokens = 0
        self.append_only: tuple[tuple[int, int], ...] = ()

    # -- the run

    def measure(self) -> None:
        if self._options.live:
            self._live()
        else:
            self._scripted()

    def need(self) -> Need:
        """What the longest turn of the script takes; in a live run with the most that the model may say."""
        requests = self._replay.requests[1:] or self._replay.scripted_requests()
        _, *texts = self._texts.render_all([self._replay.requests[0], *requests], self._clocks(len(requests) + 1))
        prompts = [self._texts.prompt(request, text) for request, text in zip(requests, texts, strict=True)]
        if self._options.live:
            return Need(max(len(prompt.tokens) for prompt in prompts), self._options.max_tokens)
        return _longest(prompts, self._filled(prompts))

    def _clocks(self, number: int) -> list[datetime]:
        return [self._builder.clock(turn) for turn in range(number)]

    def _filled(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """The prompts of all turns with the replies of the script."""
        following = [*(prompt.text for prompt in prompts[1:]), ""]
        turns = self._replay.script.turns
        clocks = self._clocks(len(turns) + 1)[1:]
        return [
            self._texts.with_reply(prompt, turn.reply, clock, after)
            for prompt, turn, clock, after in zip(prompts, turns, clocks, following, strict=True)
        ]

    def _scripted(self) -> None:
        script, requests = self._replay.script, self._replay.requests
        clocks = self._clocks(len(requests))
        first = script.turns[0].messages
        other = self._builder.request(0, [*first[:-1], {**first[-1], "content": OTHER_MESSAGE}])
        rendered = self._texts.render_all([*requests, other], [*clocks, clocks[0]])
        prompts = [self._texts.prompt(request, text) for request, text in zip(requests, rendered, strict=False)]
        filled = self._filled(prompts[1:])
        self._check_context(_longest(prompts[1:], filled))
        held = self._resident(prompts[0], self._texts.prompt(other, rendered[-1]))
        if self._replay.shortens_history:
            self.append_only = self._whole_history(len(held.tokens))
        self._warm_up(held)
        for turn, prompt, whole in zip(script.turns, prompts[1:], filled, strict=True):
            self._progress(turn.label)
            completion = self._engine.complete(prompt.tokens)
            self._engine.place(whole.tokens)
            self._record(turn.label, held, prompt, completion)
            held = whole
        if self._options.compare_uncached:
            for index, prompt in enumerate(prompts[1:]):
                self._progress("without the cache")
                seconds = self._engine.complete(prompt.tokens, cache=False).seconds
                self._turns[index] = replace(self._turns[index], seconds_uncached=seconds)

    def _whole_history(self, resident: int) -> tuple[tuple[int, int], ...]:
        """Prompt and attainable tokens of each turn if the agent sent its whole history."""
        replay = self._replay
        script = Script(replace(replay.script.task, history=History()), replay.script.tools)
        builder = replay.make_builder(inject=None)
        numbers = range(1, len(script.turns) + 1)
        requests = [builder.request(number, turn.messages) for number, turn in zip(numbers, script.turns, strict=True)]
        clocks = [builder.clock(number) for number in numbers]
        texts = self._texts.render_all(requests, clocks)
        turns = []
        ideal = resident
        for turn, request, clock, text, after in zip(script.turns, requests, clocks, texts, [*texts[1:], ""], strict=True):
            prompt = self._texts.prompt(request, text)
            turns.append((len(prompt.tokens), min(ideal, len(prompt.tokens) - 1)))
            ideal = len(self._texts.with_reply(prompt, turn.reply, clock, after).tokens)
        return tuple(turns)

    def _live(self) -> None:
        conversation = LiveConversation(self._replay.script)
        first = self._replay.requests[0]
        clock = self._builder.clock(0)
        other = self._builder.request(0, [{"role": "user", "content": OTHER_MESSAGE}])
        held = self._resident(*(self._texts.prompt(each, self._texts.render_live(each, clock)) for each in (first, other)))
        self._check_context(Need(len(held.tokens), 0))
        self._warm_up(held)
        sent: list[Prompt] = []
        for number in range(1, self._options.max_turns + 1):
            if conversation.done:
                break
            label = conversation.label
            self._progress(label)
            request = self._builder.request(number, conversation.messages)
            prompt = self._texts.prompt(request, self._texts.render_live(request, self._builder.clock(number)))
            self._check_context(Need(len(prompt.tokens), self._options.max_tokens))
            answer = self._engine.chat(request, max_tokens=self._options.max_tokens)
            counted = answer.completion.cached + answer.completion.prefilled
            if counted != len(prompt.tokens):
                raise EngineError(
                    f"the engine counts {counted} prompt tokens where its own rendering has {len(prompt.tokens)}",
                    hint="without --live the prompts are sent as tokens, which avoids this",
                )
            self._record(label, held, prompt, answer.completion)
            sent.append(prompt)
            held = replace(
                prompt,
                text=prompt.text + answer.text,
                tokens=[*prompt.tokens, *answer.tokens],
                reply=answer.message,
                reply_start_token=len(prompt.tokens),
                reply_start=len(prompt.text),
            )
            conversation.answered(answer.message)
        if not conversation.done:
            self._texts.notes.append(
                f"the model had not finished the task after {self._options.max_turns} requests (--max-turns)"
            )
        if self._options.compare_uncached:
            for index, prompt in enumerate(sent):
                self._progress("without the cache")
                seconds = self._engine.complete(prompt.tokens, cache=False).seconds
                self._turns[index] = replace(self._turns[index], seconds_uncached=seconds)

    def _resident(self, first: Prompt, other: Prompt) -> Prompt:
        """The resident prefix: what two prompts share that differ in the user's first message alone."""
        length = common_prefix(first.tokens, other.tokens)
        length = min(length, len(first.tokens) - 1)
        starts = token_starts(first.text, self._engine.pieces(first.text))
        end = starts[length] if starts is not None and length < len(starts) else len(first.text)
        return replace(first, text=first.text[:end], tokens=first.tokens[:length], reply_start=end, reply_start_token=length)

    def _warm_up(self, resident: Prompt) -> None:
        self.warm_up_tokens = len(resident.tokens)
        if resident.tokens:
            self._progress("warm-up")
            self._engine.complete(resident.tokens)

    def _check_context(self, need: Need) -> None:
        """Say what the whole task takes where a part of it does not fit."""
        if need.tokens > self._engine.info.context:
            whole = self.need().tokens if self._options.live else 0  # what the model says may be longer than the script
            raise ContextError(max(need.tokens, whole), self._engine.info)

    def _record(self, label: str, held: Prompt, prompt: Prompt, completion: Completion) -> None:
        length = len(prompt.tokens)
        ideal = len(held.tokens)
        reusable = min(common_prefix(held.tokens, prompt.tokens), length - 1)
        turn = Turn(
            number=len(self._turns) + 1,
            label=label,
            prompt=length,
            cached=completion.cached,
            prefilled=completion.prefilled,
            ideal=ideal,
            reusable=reusable,
            seconds=completion.seconds,
            granularity=self._engine.info.granularity,
        )
        if turn.prompt_loss:
            turn = replace(turn, divergence=self._explain(held, prompt, turn))
        self._turns.append(turn)

    def _explain(self, held: Prompt, prompt: Prompt, turn: Turn) -> Divergence | None:
        from promptguard.prompts.divergence import first_divergence
        from promptguard.replaying.template_file import divergence_in_file

        clock = self._builder.clock
        found = first_divergence(
            self._texts.located(held, clock(turn.number - 1)), self._texts.located(prompt, clock(turn.number))
        )
        if found is None:
            return None
        remedy = found.remedy
        for stand_in in self._builder.stand_ins:
            # A value in the context cannot take the place of a function or a filter.
            if stand_in.varies and found.expression and re.search(rf"\b{re.escape(stand_in.name)}\b(?! *\()", found.expression):
                remedy += f"; or, if {stand_in.name} stays the same within a conversation, give its value with --context"
                break
        if found.aspect == "reasoning" and self._found_in_template is not None:
            from promptguard.prompts.preservation.explain import switch_of_reasoning

            remedy += switch_of_reasoning(self._found_in_template.defects)
        if found.aspect == "clock" and self._found_in_template is not None:
            from promptguard.prompts.preservation.clocks import pin_of_clock

            remedy += pin_of_clock(self._found_in_template.defects, found.place)
        return replace(divergence_in_file(found), tokens_lost=turn.prompt_loss, remedy=remedy)

    # -- the chat template

    @cached_property
    def _found_in_template(self) -> Preservation | None:
        """What the conversations of ``promptguard template check`` show; ``None`` where the template is the bundled one."""
        if self._replay.inputs.chat_template is None and not self._options.model_template:
            return None
        from promptguard.replaying.chat_template import try_conversations

        return try_conversations(self._engine, self._replay._renderer, self._template)

    def check_template(self) -> TemplateCheck | None:
        """What is found in the user's own chat template, played on the engine; of the model's own one a note is made."""
        if self._found_in_template is None:
            return None
        from promptguard.replaying import chat_template

        found = list(chat_template.template_findings(self._found_in_template))
        if self._replay.inputs.chat_template is None:
            self._texts.notes += chat_template.notes([finding for finding, _ in found])
            return None
        self._progress("chat template")
        accepted = self._options.accepted or (lambda *_: False)
        taken = [accepted(self._template, finding.code, finding.place) for finding, _ in found]
        return TemplateCheck(
            tuple(
                chat_template.located(chat_template.measured(self._engine, *each))
                for each, out in zip(found, taken, strict=True)
                if not out
            ),
            tuple(dict.fromkeys(finding.code for (finding, _), out in zip(found, taken, strict=True) if out)),
        )

    # -- what it was

    def subject(self) -> Subject:
        info, inputs = self._engine.info, self._replay.inputs
        return Subject(
            engine=info.kind,
            model=info.model,
            build=info.build,
            context=info.context,
            slots=info.slots,
            slot=info.slot,
            url=info.url,
            chat_template=self._template.path,
            chat_template_sha256=hashlib.sha256(self._template.text.encode("utf-8", "surrogatepass")).hexdigest(),
            task=inputs.task.name,
            system=inputs.system.path,
            tools=inputs.tools_source.path,
            rendered_by=self._texts.rendered_by,
            live=self._options.live,
        )

    def notes(self) -> tuple[str, ...]:
        notes = [*self._engine.info.notes, *self._texts.notes]
        foreign = sum(turn.foreign for turn in self._turns)
        if foreign:
            notes.append(
                f"{foreign:,} cached tokens are not from this run (another run's cache, --cache-ram or --cache-reuse) and are "
                "not counted"
            )
        names = Counter(str(tool["function"]["name"]) for tool in self._replay.requests[0].tools)
        if self._replay.requests[0].system is None:
            notes.append("the system prompt is empty: none is sent")
        if not self._replay.requests[0].tools:
            notes.append("there are no tools: none are sent")
        notes.extend(f"{count} tools have the name {name}" for name, count in names.items() if count > 1)
        if self._options.inject is not None:
            notes.append(f"the defect {self._options.inject.name} was planted (--inject): this run is meant to fail")
        return tuple(dict.fromkeys(notes))


def _longest(prompts: Sequence[Prompt], filled: Sequence[Prompt]) -> Need:
    """What the turn takes that is the longest with its reply."""
    needs = (
        Need(len(prompt.tokens), len(whole.tokens) - len(prompt.tokens)) for prompt, whole in zip(prompts, filled, strict=True)
    )
    return max(needs, key=lambda need: need.tokens)


def _in_file(error: PromptguardError) -> PromptguardError:
    """An error that says where in the file of the chat template it is, where it is about that."""
    if not isinstance(error, TemplateError):
        return error
    from promptguard.replaying.template_file import error_in_file

    return error_in_file(error)


class ContextError(EngineError):
    """The task takes more than the context of the engine; ``least``: how much more was not counted."""

    def __init__(self, needed: int, engine: EngineInfo, *, least: bool = False) -> None:
        url = engine.url
        super().__init__(
            f"the task needs a context of {'at least ' if least else ''}{needed:,} tokens and the engine has {engine.context:,}",
            where=url,
            hint=("start the server with a larger -c / --ctx-size (it is divided among the slots)" if url else "raise --ctx-size")
            + ", or shorten the prompt or the task",
        )
        self.needed = needed
