"""Whether a chat template keeps the prefix: each prompt with its reply against the next prompt, in the fixed conversations."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Literal

from promptguard.core.errors import TemplateError, TemplateLimitError, TemplateRefusal
from promptguard.core.source import Place, Span
from promptguard.prompts.blame.base import Aspect, differing_origin, origin
from promptguard.prompts.chat import ChatTemplate
from promptguard.prompts.conversations import BLANKS, SWITCHES_OF_THINKING, Conversation, Following, conversations
from promptguard.prompts.divergence import Divergence, excerpt, first_divergence
from promptguard.prompts.rendering import ChatCall
from promptguard.prompts.replies import Own, as_written, reply_start, with_objects, without_end
from promptguard.prompts.request import Message, Piece, Prompt, Request, Traced
from promptguard.prompts.segments import text_of
from promptguard.prompts.sequences import common_prefix, first_difference

Encode = Callable[[str], Sequence[int]]
"""Gives the token ids of a text."""

Kind = Literal["clock", "history", "tools", "generation-prompt", "arguments", "content"]
"""What breaks the prefix, see ``Defect``."""

Changes = Literal["request", "minute", "day"]
"""How often a clock in a chat template shows another time."""

CLOCK = datetime(2026, 3, 11, 9, 30, tzinfo=timezone.utc)
"""The time that templates see, where none is given."""

_LATER = timedelta(days=400, hours=1, minutes=1, seconds=1)  # year, month, day, hour, minute and second are other ones
_RATES: tuple[tuple[Changes, timedelta], ...] = (
    ("request", timedelta(seconds=1)),
    ("minute", timedelta(minutes=1)),
    ("day", timedelta(days=1)),
)
_CLOCKS = frozenset({"strftime_now", "date_string", "datetime"})  # under these names a chat template gets the time
_CLOCK_WORDS = re.compile(r"date|time|today|now|day|year|month")
_FIXED_DATE = "01 Jan 2026"
_GIVEN = _CLOCKS | {
    *("messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "raise_exception"),
    *SWITCHES_OF_THINKING,
}
_MOST_SWITCHES = 12  # variables of one template that are tried
_MOST_TRIED = 4  # places of a defect at which a switch must help
_AROUND = 6  # code points from a difference on by which two of them are told apart
_THINK_MARK = re.compile(r"[<\[]\|?(/|END_)?(?:START_)?[\w:]{0,12}?think(?:ing)?\b[^<>\[\]\s]{0,20}[>\]]", re.IGNORECASE)
_END_DIFFERS = "the chat template ends the last message with other text than it prints behind the same message in the history"
_REASONING_DROPPED = "the reasoning of earlier turns is dropped"
_HEADER = 100  # code points at the end of a prompt that hold the header of the reply, where the text ahead of it is not found
_FAR = 256  # code points behind a difference that a tokenizer is shown


@dataclass(frozen=True)
class Switch:
    """A variable of the template that mends a defect: tried, not guessed."""

    name: str
    value: bool | str

    def __str__(self) -> str:
        return json.dumps({self.name: self.value})


@dataclass(frozen=True)
class Break:
    """One place at which a prompt does not go on as the last one and its reply ended.

    Attributes:
        conversation: in which it was seen.
        turn: the reply behind which it was seen, from 0.
        following: what was sent next.
        char: code point at which the texts first differ.
        before, after: what was there and what is there now, a few words of each.
        tokens: length of the prompt with its reply.
        tokens_lost: how many of them cannot be used again.
    """

    conversation: Conversation
    turn: int
    following: Following
    char: int
    before: str
    after: str
    tokens: int
    tokens_lost: int


@dataclass(frozen=True)
class Defect:
    """Something in a chat template that breaks the prefix, with every place at which it was seen.

    Attributes:
        kind: what breaks it: a ``clock``; the ``history`` that is printed in another way later; ``tools`` that are printed in or
            behind the history; a ``generation-prompt`` that differs from the history; ``arguments`` that are serialized again;
            ``content`` that loses its blanks.
        aspect: what is printed in another way, where the kind alone does not tell.
        explanation, remedy: as in ``Divergence``.
        place: what printed the differing text, ``None`` where that is not known.
        expression: the expression that did, ``None`` for literal text.
        breaks: where it was seen; the first is the one that is explained.
        at_tools: whether it was seen behind all replies that call tools, behind some of them, or behind none.
        at_users: the same for replies that a user message follows.
        switches: variables of the template that mend it.
        changes: how often a clock shows another time.
    """

    kind: Kind
    aspect: Aspect | None
    explanation: str
    remedy: str
    place: Place | None
    expression: str | None
    breaks: tuple[Break, ...]
    at_tools: Literal["all", "some", "none"] = "none"
    at_users: Literal["all", "some", "none"] = "none"
    switches: tuple[Switch, ...] = ()
    changes: Changes | None = None

    @property
    def worst(self) -> Break:
        """Where it costs most."""
        return max(self.breaks, key=lambda seen: seen.tokens_lost)


@dataclass(frozen=True)
class Turn:
    """What became of a prompt and its reply when the next message came.

    Attributes:
        prompt: what the template printed.
        reply: what the model emits behind it.
        after: the next prompt.
        following: what was sent next.
        defect: position in ``Preservation.defects`` of what broke it, ``None`` where all of it can be used again.
        tokens, tokens_lost: as in ``Break``; ``tokens`` is ``None`` where nothing broke, since nothing had to be counted.
    """

    prompt: str
    reply: str
    after: str
    following: Following
    defect: int | None = None
    tokens: int | None = None
    tokens_lost: int = 0


@dataclass(frozen=True)
class Told:
    """A conversation as the template told it.

    Attributes:
        conversation: what was told.
        turns: what became of each reply; as many as could be told.
        error: why the template did not go on, ``None`` where it told all.
    """

    conversation: Conversation
    turns: tuple[Turn, ...]
    error: TemplateError | None = None


@dataclass(frozen=True)
class Unrendered:
    """A shape of conversation that the template does not render.

    Attributes:
        what: the shape in words, such as "a system message".
        error: what the template says.
        refused: whether it said so by ``raise_exception``, which is no defect; otherwise it failed.
        arguments: ``raw`` where it happens only with arguments that are strings: a client can send objects.
    """

    what: str
    error: TemplateError
    refused: bool
    raw: bool


@dataclass(frozen=True)
class Preservation:
    """What a chat template does to the prefix.

    Attributes:
        conversations: each conversation, turn by turn.
        defects: what breaks the prefix, the worst first; none where the template is prefix-preserving.
        unrendered: the shapes that it does not render.
        error: why it renders nothing at all; then there is nothing else.
    """

    conversations: tuple[Told, ...] = ()
    defects: tuple[Defect, ...] = ()
    unrendered: tuple[Unrendered, ...] = ()
    error: TemplateError | None = None


def check_template(
    template: ChatTemplate,
    encode: Encode,
    *,
    clock: datetime = CLOCK,
    told: Sequence[Conversation] | None = None,
    seconds: float | None = None,
) -> Preservation:
    """Render the conversations at every turn boundary, and say what of each prompt and its reply cannot be used again.

    A reply counts as the model emits it: with its own blanks, and with arguments as it spelled them.

    Args:
        template: the template, fed as a llama-server does.
        encode: gives token ids, by which prompts are compared.
        clock: the time that the template sees.
        told: the conversations, where they are not to be the fixed set.
        seconds: wall time for all of it; what makes defects clearer is left out when it is used up.

    Returns:
        What was found. A template that does not parse, or exceeds a limit, gives the ``error`` alone.
    """
    check = _Check(template, encode, clock, None if seconds is None else time.monotonic() + seconds)
    try:
        return check.run(conversations() if told is None else told)
    except TemplateError as error:
        return Preservation(error=error)


@dataclass(frozen=True)
class Losses:
    """What a template loses, without the reasons: enough to tell whether a change of it is for the better.

    Attributes:
        tokens: tokens lost, by conversation and turn, where any are.
        errors: how many conversations it does not tell to their end.
        tells_time: whether what it prints changes with the clock.
    """

    tokens: Mapping[tuple[str, int], int]
    errors: int
    tells_time: bool


def measure_losses(template: ChatTemplate, encode: Encode, *, clock: datetime = CLOCK, seconds: float | None = None) -> Losses:
    """Render the conversations, and count.

    Raises:
        TemplateError: the template does not parse, or exceeds a limit.
    """
    return _Check(template, encode, clock, None if seconds is None else time.monotonic() + seconds).losses(conversations())


# -- one boundary


@dataclass(frozen=True)
class _Boundary:
    """Behind a reply of a conversation; with further variables for the template."""

    conversation: Conversation
    turn: int
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> Message:
        return self.conversation.reply(self.turn)

    def request(self, ahead: int = 0) -> Request:
        request = self.conversation.request(self.turn + ahead)
        return replace(request, template_kwargs={**request.template_kwargs, **self.kwargs}) if self.kwargs else request

    @property
    def answered(self) -> Request:
        request = self.request()
        return replace(request, messages=(*request.messages, self.reply))


@dataclass(frozen=True)
class _Outcome:
    """What a boundary looks like.

    Attributes:
        prompt: the prompt.
        reply: what the model emits behind it.
        after: the next prompt.
        rendered: how far the reply is as the template itself renders it, from its start.
        start: where the reply starts in the render of the whole conversation.
        own: what was put into the reply as the model wrote it, where the template renders it in another way.
    """

    boundary: _Boundary
    prompt: str
    reply: str
    after: str
    rendered: int
    start: int
    own: Own | None = None

    @property
    def held(self) -> str:
        return self.prompt + self.reply

    @property
    def natural(self) -> bool:
        """Whether a model can give this reply: none is without reasoning where the prompt has begun it."""
        if text_of(self.boundary.reply, "reasoning_content"):
            return True
        marks = list(_THINK_MARK.finditer(self.prompt, self.header))
        return not marks or marks[-1][1] is not None

    @property
    def header(self) -> int:
        """Where the header of the reply starts: behind the text of the last message, as far as that can be found."""
        last = text_of(self.boundary.request().messages[-1]).strip()
        at = self.prompt.rfind(last)
        return at + len(last) if at >= 0 else max(0, len(self.prompt) - _HEADER)


class _Check:
    def __init__(self, template: ChatTemplate, encode: Encode, clock: datetime, deadline: float | None) -> None:
        self._source = template.source
        self._renderer = template.renderer
        self._fed = {
            arguments: ChatTemplate(
                template.renderer,
                template.source,
                arguments=arguments,
                bos_token=template.bos_token,
                eos_token=template.eos_token,
                eog_tokens=template.eog_tokens,
            )
            for arguments in ("parsed", "raw")
        }
        self._ends = [token for token in (template.eos_token, *template.eog_tokens) if token]
        self._encode = lru_cache(maxsize=256)(encode)  # a prompt is compared with the one in front of it and the one behind it
        self._clock = clock
        self._deadline = deadline

    def run(self, told: Sequence[Conversation]) -> Preservation:
        names = self._renderer.names(self._source)
        boundaries = [_Boundary(each, turn) for each in told for turn in range(len(each.replies))]
        outcomes = self._measure(boundaries)
        errors: dict[int, TemplateError] = {}  # of the conversation at a position
        for boundary, outcome in zip(boundaries, outcomes, strict=True):
            if isinstance(outcome, TemplateError):
                errors.setdefault(id(boundary.conversation), outcome)
        if told and all(id(each) in errors for each in told) and not any(isinstance(each, _Outcome) for each in outcomes):
            return Preservation(error=errors[id(told[0])])
        broken = [
            (at, *lost)
            for at, outcome in enumerate(outcomes)
            if isinstance(outcome, _Outcome) and outcome.natural and (lost := self._lost(outcome)) is not None
        ]
        groups = self._explain([(outcomes[at], tokens, lost) for at, tokens, lost in broken])
        defects = [self._with_extent(each, boundaries, outcomes) for each in groups]
        defects = [self._with_switches(each, names) for each in defects]
        if names & _CLOCKS:
            defects += self._clocks(told, names)
        defects.sort(key=_weight)
        where = {
            (id(seen.conversation), seen.turn): number
            for number, defect in enumerate(defects)
            if defect.kind != "clock"
            for seen in defect.breaks
        }
        counted = {at: (tokens, lost) for at, tokens, lost in broken}
        turns: dict[int, list[Turn]] = {id(each): [] for each in told}
        for at, (boundary, outcome) in enumerate(zip(boundaries, outcomes, strict=True)):
            if isinstance(outcome, _Outcome):
                key = id(boundary.conversation)
                following = boundary.conversation.following(boundary.turn)
                texts = outcome.prompt, outcome.reply, outcome.after
                turns[key].append(Turn(*texts, following, where.get((key, boundary.turn)), *counted.get(at, (None, 0))))
        return Preservation(
            tuple(Told(each, tuple(turns[id(each)]), errors.get(id(each))) for each in told),
            tuple(defects),
            tuple(_unrendered(told, errors)),
        )

    def losses(self, told: Sequence[Conversation]) -> Losses:
        boundaries = [_Boundary(each, turn) for each in told for turn in range(len(each.replies))]
        outcomes = self._measure(boundaries)
        found = [(each, self._lost(each)) for each in outcomes if isinstance(each, _Outcome) and each.natural]
        tokens = {(str(each.boundary.conversation), each.boundary.turn): lost[1] for each, lost in found if lost is not None}
        failed = {
            id(boundary.conversation)
            for boundary, each in zip(boundaries, outcomes, strict=True)
            if not isinstance(each, _Outcome)
        }
        return Losses(tokens, len(failed), bool(self._changed(told)))

    # -- rendering

    def _render(self, calls: Sequence[ChatCall], *, trace: bool = False) -> list[Traced | TemplateError]:
        seconds = None
        if self._deadline is not None:
            seconds = self._deadline - time.monotonic()
            if seconds <= 0:
                raise TemplateLimitError("takes too long to render", where=self._source.path, hint="look for a huge loop")
        return self._renderer.render_chats(self._source, calls, trace=trace, seconds=seconds)

    def _call(self, boundary: _Boundary, request: Request, *, header: bool = True, clock: datetime | None = None) -> ChatCall:
        template = self._fed[boundary.conversation.arguments]
        return template.call(request, clock=clock or self._clock, add_generation_prompt=header)

    def _measure(self, boundaries: Sequence[_Boundary]) -> list[_Outcome | TemplateError]:
        """Render what stands in front of each boundary and behind it."""
        calls = []
        for boundary in boundaries:
            calls += [
                self._call(boundary, boundary.request()),
                self._call(boundary, boundary.answered, header=False),
                self._call(boundary, boundary.request(1)),
            ]
        made = self._render(calls)
        triples = [made[at : at + 3] for at in range(0, len(made), 3)]
        again = [
            (at, which)
            for at, (boundary, triple) in enumerate(zip(boundaries, triples, strict=True))
            for which in self._more(boundary, triple)
        ]
        more = dict(zip(again, self._render([self._again(boundaries[at], which) for at, which in again]), strict=True))
        return [
            self._outcome(boundary, *triple, *(more.get((at, which)) for which in ("bare", "parsed")))
            for at, (boundary, triple) in enumerate(zip(boundaries, triples, strict=True))
        ]

    def _more(self, boundary: _Boundary, triple: Sequence[Traced | TemplateError]) -> Iterator[Literal["bare", "parsed"]]:
        """What else must be rendered to tell the reply."""
        prompt, whole, _ = triple
        if isinstance(prompt, Traced) and isinstance(whole, Traced):
            if not whole.text.startswith(prompt.text):
                yield "bare"
            if boundary.conversation.arguments == "raw" and with_objects(boundary.reply, whole.text) is not None:
                yield "parsed"

    def _again(self, boundary: _Boundary, which: Literal["bare", "parsed"]) -> ChatCall:
        if which == "bare":
            return self._call(boundary, boundary.request(), header=False)
        answered = boundary.answered
        reply = with_objects(boundary.reply, "") or boundary.reply
        return self._call(boundary, replace(answered, messages=(*answered.messages[:-1], reply)), header=False)

    def _outcome(
        self,
        boundary: _Boundary,
        prompt: Traced | TemplateError,
        whole: Traced | TemplateError,
        after: Traced | TemplateError,
        bare: Traced | TemplateError | None,
        parsed: Traced | TemplateError | None,
    ) -> _Outcome | TemplateError:
        if isinstance(prompt, TemplateError):
            return prompt
        if isinstance(after, TemplateError):
            return after
        if isinstance(whole, TemplateError):  # it wants something behind a reply: the reply can be told from what follows
            if not after.text.startswith(prompt.text):
                return whole
            text = after.text[len(prompt.text) :]
            end = min((text.find(token) for token in self._ends if token in text), default=0)
            return _Outcome(boundary, prompt.text, text[:end], after.text, end, len(prompt.text))
        if isinstance(bare, TemplateError):
            return bare
        start = len(prompt.text) if bare is None else reply_start(prompt.text, bare.text, whole.text)
        rendered = without_end(whole.text[start:], prompt.text, self._ends)
        objects = None
        if isinstance(parsed, Traced) and parsed.text.startswith(whole.text[:start]):
            objects = without_end(parsed.text[start:], prompt.text, self._ends)
        reply, own = as_written(boundary.reply, rendered, objects)
        return _Outcome(boundary, prompt.text, reply, after.text, first_difference(reply, rendered), start, own)

    # -- comparing

    def _lost(self, outcome: _Outcome) -> tuple[int, int] | None:
        """Tokens of the prompt with its reply, and how many of them are lost; ``None`` where none is."""
        held, after = outcome.held, outcome.after
        char = first_difference(held, after)
        if char == len(held) and any(after.startswith(end, char) for end in self._ends):
            return None  # no tokenizer joins a text with the special token behind it
        tokens = self._encode(held)
        kept = common_prefix(tokens, self._encode(after[: char + _FAR]))
        return (len(tokens), len(tokens) - kept) if kept < len(tokens) else None

    # -- explaining

    def _explain(self, broken: Sequence[tuple[Any, int, int]]) -> list[Defect]:
        """The defects behind all breaks. Breaks that look the same are explained once."""
        alike: dict[tuple[object, ...], list[tuple[_Outcome, int, int]]] = {}
        for outcome, tokens, lost in broken:
            alike.setdefault(_signature(outcome), []).append((outcome, tokens, lost))
        shown = [group[0][0] for group in alike.values()]
        found: dict[tuple[object, ...], Defect] = {}
        for outcome, (before, after, header), group in zip(shown, self._trace(shown), alike.values(), strict=True):
            defect = self._defect(outcome, before, after, header)
            seen = tuple(_break(*each) for each in group)
            key = (defect.kind, defect.place or defect.explanation, bool(_dropped(outcome)))
            known = found.get(key, defect)
            found[key] = replace(known, breaks=(*known.breaks, *seen))
        return list(found.values())

    def _trace(self, outcomes: Sequence[_Outcome]) -> Iterator[tuple[Traced, Traced, int]]:
        """The origin of each held text and of each next prompt, and where the header of the reply starts."""
        calls = []
        for outcome in outcomes:
            boundary = outcome.boundary
            calls += [
                self._call(boundary, boundary.request()),
                self._call(boundary, boundary.answered, header=False),
                self._call(boundary, boundary.request(1)),
                self._call(boundary, boundary.request(), header=False),
            ]
        made = [each if isinstance(each, Traced) else Traced("") for each in self._render(calls, trace=True)]
        for outcome, prompt, whole, after, bare in zip(outcomes, *(made[which::4] for which in range(4)), strict=True):
            reply = _moved(whole.pieces, outcome.start, outcome.start + outcome.rendered, len(outcome.prompt))
            plain = prompt.text.startswith(bare.text) and 0 < len(bare.text) < len(prompt.text)
            yield Traced(outcome.held, (*prompt.pieces, *reply)), after, len(bare.text) if plain else outcome.header

    def _defect(self, outcome: _Outcome, before: Traced, after: Traced, header: int) -> Defect:
        char = first_difference(outcome.held, outcome.after)
        at_own = outcome.own is not None and char >= len(outcome.prompt) + outcome.rendered
        if at_own and outcome.own == "arguments":
            found = origin(after, char)
            explanation = "arguments that are handed over as the string that the model wrote are serialized again"
            return _plain("arguments", explanation, "print arguments that are a string as they are", found)
        if at_own:
            found = origin(after, char - 1 if outcome.held[char:].isspace() else char)
            explanation = "blanks at the ends of a reply are removed"
            return _plain("content", explanation, "print the content of replies as it is", found)
        prompt, following = self._prompts(outcome, before, after)
        divergence = first_divergence(prompt, following)
        if divergence is None:  # the tokenizer was shown less of the text
            return _plain("history", "the text of the history splits into other tokens", "", origin(after, char))
        place, expression = divergence.place, divergence.expression
        lost = _dropped(outcome) if divergence.aspect == "reasoning" else ""
        printed = origin(before, outcome.held.find(lost)) if lost else None
        if printed is not None:  # the header of the reply may have printed its first words
            place, expression = printed.place, printed.expression
        if place is not None and expression is None:
            place = _literal(place, before, after)
        kind = _kind(divergence, outcome, header, dropped=bool(_dropped(outcome)))
        explanation = _REASONING_DROPPED if lost else divergence.explanation
        if kind == "history" and divergence.aspect == "header":
            explanation = _END_DIFFERS
        return Defect(kind, divergence.aspect, explanation, divergence.remedy, place, expression, ())

    def _prompts(self, outcome: _Outcome, before: Traced, after: Traced) -> tuple[Prompt, Prompt]:
        boundary = outcome.boundary
        head = self._encode(outcome.prompt)
        held = Prompt(
            request=boundary.request(),
            text=outcome.held,
            tokens=self._encode(outcome.held),
            trace=before,
            reply=boundary.reply,
            reply_start=len(outcome.prompt),
            reply_start_token=len(head),
        )
        return held, Prompt(boundary.request(1), outcome.after, self._encode(outcome.after), trace=after)

    def _with_extent(
        self, defect: Defect, boundaries: Sequence[_Boundary], outcomes: Sequence[_Outcome | TemplateError]
    ) -> Defect:
        """Whether it was seen behind all replies of its conversations, or behind some."""
        seen = {(id(each.conversation), each.turn) for each in defect.breaks}
        told = {each[0] for each in seen}
        extent: dict[Following, set[bool]] = {"tool": set(), "user": set()}
        for boundary, outcome in zip(boundaries, outcomes, strict=True):
            if id(boundary.conversation) in told and isinstance(outcome, _Outcome) and outcome.natural:
                following = boundary.conversation.following(boundary.turn)
                extent[following].add((id(boundary.conversation), boundary.turn) in seen)
        at_tools, at_users = _extent(extent["tool"]), _extent(extent["user"])
        explanation = defect.explanation
        if explanation == _REASONING_DROPPED:
            comes = "the next message" if at_tools != "none" else "a new user message"
            explanation += f" when {comes} arrives"
        return replace(defect, explanation=explanation, at_tools=at_tools, at_users=at_users)

    # -- switches

    def _with_switches(self, defect: Defect, names: Iterable[str]) -> Defect:
        """The variables of the template that mend a defect, found by trying each of them."""
        candidates = [Switch(name, value) for name in sorted(set(names) - _GIVEN)[:_MOST_SWITCHES] for value in (True, False)]
        if not candidates:
            return defect
        # one of each mode first; blanks at the ends of replies are a defect of their own
        seen = [each for each in defect.breaks if each.conversation.name != BLANKS] or list(defect.breaks)
        tried = list({each.conversation.mode: each for each in seen}.values())
        tried += [each for each in seen if each not in tried]
        places = [_Boundary(each.conversation, each.turn) for each in tried[:_MOST_TRIED]]
        try:
            plain = self._measure(places)
            switched = [replace(place, kwargs={each.name: each.value}) for each in candidates for place in places]
            outcomes = self._measure(switched)
        except TemplateLimitError:
            return defect
        helpful = []
        for number, switch in enumerate(candidates):
            made = outcomes[number * len(places) : (number + 1) * len(places)]
            if all(self._mended(old, new) for old, new in zip(plain, made, strict=True)):
                helpful.append(switch)
        return replace(defect, switches=tuple(helpful))

    def _mended(self, old: _Outcome | TemplateError, new: _Outcome | TemplateError) -> bool:
        """Whether the prefix is preserved now, and the prompt and the reply still say all that they said."""
        if isinstance(old, TemplateError) or isinstance(new, TemplateError):
            return False
        answered = old.boundary.answered
        said = [text_of(message, name).strip() for message in answered.messages for name in ("content", "reasoning_content")]
        said += [str(tool["function"]["name"]) for tool in answered.tools]
        keeps = all(text not in old.held or text in new.held for text in said)
        return keeps and self._lost(new) is None

    # -- the clock

    def _clocks(self, told: Sequence[Conversation], names: frozenset[str]) -> list[Defect]:
        """What of the prompts changes with the time."""
        changed = self._changed(told)
        alike: dict[str, list[tuple[_Boundary, str, str]]] = {}
        for each in changed:
            char = first_difference(each[1], each[2])
            alike.setdefault(each[1][max(0, char - _AROUND) : char], []).append(each)
        defects: dict[object, Defect] = {}
        for group in alike.values():
            defect = self._clock_defect(*group[0], names)
            seen = tuple(self._clock_break(*each) for each in group)
            key = defect.place or defect.explanation
            known = defects.get(key, defect)
            defects[key] = replace(known, breaks=(*known.breaks, *seen))
        return list(defects.values())

    def _changed(self, told: Sequence[Conversation]) -> list[tuple[_Boundary, str, str]]:
        """The last prompts that are other ones at another time."""
        last = [_Boundary(each, len(each.replies) - 1) for each in told if each.replies]
        calls = [self._call(each, each.request(1), clock=clock) for each in last for clock in (self._clock, self._clock + _LATER)]
        made = self._render(calls)
        return [
            (boundary, before.text, after.text)
            for boundary, before, after in zip(last, made[::2], made[1::2], strict=True)
            if isinstance(before, Traced) and isinstance(after, Traced) and before.text != after.text
        ]

    def _clock_break(self, boundary: _Boundary, before: str, after: str) -> Break:
        char = first_difference(before, after)
        tokens = self._encode(before)
        kept = common_prefix(tokens, self._encode(after[: char + _FAR]))
        conversation = boundary.conversation
        return Break(
            conversation,
            boundary.turn,
            conversation.following(boundary.turn),
            char,
            excerpt(before, char),
            excerpt(after, char),
            len(tokens),
            len(tokens) - kept,
        )

    def _clock_defect(self, boundary: _Boundary, before: str, after: str, names: frozenset[str]) -> Defect:
        request = boundary.request(1)
        later = self._clock + _LATER
        pins = sorted((names - _GIVEN | {"date_string", "datetime"}) & {name for name in names if _CLOCK_WORDS.search(name)})
        rates = [self._call(boundary, request, clock=self._clock + step) for _, step in _RATES]
        pinned = [
            self._call(boundary, replace(request, template_kwargs={**request.template_kwargs, name: _FIXED_DATE}), clock=clock)
            for name in pins
            for clock in (self._clock, later)
        ]
        plain = self._render([*rates, *pinned])
        changes: Changes = next((rate for (rate, _), made in zip(_RATES, plain, strict=False) if _text(made) != before), "day")
        tried = plain[len(rates) :]
        switches = [
            Switch(name, _FIXED_DATE)
            for name, one, other in zip(pins, tried[::2], tried[1::2], strict=True)
            if isinstance(one, Traced) and isinstance(other, Traced) and one.text == other.text
        ]
        traces = [
            each if isinstance(each, Traced) else None
            for each in self._render([self._call(boundary, request, clock=clock) for clock in (self._clock, later)], trace=True)
        ]
        char = first_difference(before, after)
        found = differing_origin(traces[0], traces[1], char, char)[0]
        how = {"request": "every second", "minute": "every minute", "day": "every day"}[changes]
        return Defect(
            "clock",
            "clock",
            f"a date or time that the chat template prints is another one {how}",
            "give the template a fixed date" if switches else "use a chat template that prints no date",
            found.place if found is not None else None,
            found.expression if found is not None else None,
            (),
            switches=tuple(switches),
            changes=changes,
        )


# -- breaks and defects


def _signature(outcome: _Outcome) -> tuple[object, ...]:
    """By what breaks are told apart ahead of an explanation."""
    held, after = outcome.held, outcome.after
    char = first_difference(held, after)
    return (
        outcome.own,
        outcome.boundary.conversation.mode,
        (char > len(outcome.prompt)) - (char < len(outcome.prompt)),
        held[char : char + _AROUND],
        after[char : char + _AROUND],
    )


def _break(outcome: _Outcome, tokens: int, lost: int) -> Break:
    conversation, turn = outcome.boundary.conversation, outcome.boundary.turn
    char = first_difference(outcome.held, outcome.after)
    before, after = excerpt(outcome.held, char), excerpt(outcome.after, char)
    return Break(conversation, turn, conversation.following(turn), char, before, after, tokens, lost)


def _kind(divergence: Divergence, outcome: _Outcome, header: int, *, dropped: bool) -> Kind:
    """The kind of a divergence; ``header``: where the header of the reply starts; ``dropped``: reasoning is lost."""
    if divergence.aspect == "tools":
        return "tools"
    marks = divergence.aspect == "reasoning" and header <= divergence.char < len(outcome.prompt) and not dropped
    return "generation-prompt" if marks or (divergence.aspect == "header" and header <= divergence.char) else "history"


def _dropped(outcome: _Outcome) -> str:
    """The reasoning of a reply that was printed and no longer is; ``""`` where none is lost."""
    said = (text_of(message, "reasoning_content") for message in outcome.boundary.answered.messages)
    return next((text for text in said if text and text in outcome.held and text not in outcome.after), "")


def _plain(kind: Kind, explanation: str, remedy: str, found: Any) -> Defect:
    place, expression = (found.place, found.expression) if found is not None else (None, None)
    return Defect(kind, None, explanation, remedy, place, expression, ())


def _literal(place: Place, *traces: Traced) -> Place:
    """The literal text that a character stands in: its first line that is not blank."""
    for trace in traces:
        for piece in trace.pieces:
            span = piece.place.span
            if piece.expression is None and span.start <= place.span.start < span.end and piece.place.text.strip():
                text = piece.place.text.rstrip()
                start = span.start + len(text) - len(text.lstrip())
                return Place(place.source, Span(start, start + len(text.lstrip().split("\n")[0].rstrip())))
    return place


def _moved(pieces: Sequence[Piece], start: int, end: int, to: int) -> Iterator[Piece]:
    """The pieces of a stretch of a text that is put at another place."""
    for piece in pieces:
        low, high = max(piece.start, start), min(piece.end, end)
        if low < high and (piece.expression is not None or low == piece.start):
            yield Piece(low - start + to, high - start + to, piece.place, piece.expression)


def _text(made: Traced | TemplateError) -> str | None:
    return made.text if isinstance(made, Traced) else None


def _extent(seen: set[bool]) -> Literal["all", "some", "none"]:
    if True not in seen:
        return "none"
    return "some" if False in seen else "all"


def _weight(defect: Defect) -> tuple[int, int]:
    """The worst first: what is lost at tool calls before what is lost only at user messages, then the most tokens."""
    return (0 if defect.at_tools != "none" or defect.changes in ("request", "minute") else 1, -defect.worst.tokens_lost)


# -- what is not rendered

_SHAPES: tuple[tuple[str, Callable[[Conversation], bool]], ...] = (
    ("a system message", lambda told: told.system and told.arguments == "raw"),  # a server puts it into the user's message
    ("a system message", lambda told: told.system),
    ("a conversation without a system message", lambda told: not told.system),
    ("a reply whose content is null", lambda told: any(each.get("content", "") is None for each in told.messages)),
    ("arguments of tool calls that are a string", lambda told: told.calls_tools and told.arguments == "raw"),
    ("arguments of tool calls that are an object", lambda told: told.calls_tools and told.arguments == "parsed"),
    ("several tool calls in one reply", lambda told: any(len(each.get("tool_calls", ())) > 1 for each in told.messages)),
    ("tool calls", lambda told: told.calls_tools),
    ("reasoning", lambda told: told.mode == "reasoning"),
    ("thinking that is switched off", lambda told: told.mode == "thinking off"),
)


def _unrendered(told: Sequence[Conversation], errors: Mapping[int, TemplateError]) -> Iterator[Unrendered]:
    """The shapes behind the errors: for each error the first shape that all its conversations have and no other one has."""
    groups: dict[str, list[Conversation]] = {}
    for each in told:
        if id(each) in errors:
            groups.setdefault(errors[id(each)].what, []).append(each)
    fine = [each for each in told if id(each) not in errors]
    seen = set()
    for failed in groups.values():
        error = errors[id(failed[0])]
        shapes = [(words, has) for words, has in _SHAPES if all(map(has, failed))]
        what = next((words for words, has in shapes if not any(map(has, fine))), shapes[0][0] if shapes else "some conversations")
        if what not in seen:
            seen.add(what)
            yield Unrendered(what, error, isinstance(error, TemplateRefusal), all(each.arguments == "raw" for each in failed))
