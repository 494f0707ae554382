"""What a check of a chat template has found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from promptguard.core.errors import TemplateError, TemplateLimitError
from promptguard.core.source import Place
from promptguard.prompts.blame.base import Aspect
from promptguard.prompts.conversations import Conversation, Following

Kind = Literal["clock", "history", "tools", "generation-prompt", "arguments", "content"]
"""What breaks the prefix, see ``Defect``."""

Changes = Literal["request", "minute", "hour", "day"]
"""How often a clock in a chat template shows another time."""

Extent = Literal["all", "some", "none"]


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
        held: what an engine has computed: the prompt with its reply; of a clock, the prompt at an earlier time.
        prompt: what it gets then.
    """

    conversation: Conversation
    turn: int
    following: Following
    char: int
    before: str
    after: str
    tokens: int
    tokens_lost: int
    held: str
    prompt: str


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
    at_tools: Extent = "none"
    at_users: Extent = "none"
    switches: tuple[Switch, ...] = ()
    changes: Changes | None = None

    @property
    def worst(self) -> Break:
        """Where it costs most."""
        return max(self.breaks, key=lambda seen: seen.tokens_lost)

    @property
    def only_where(self) -> str:
        """What all conversations that show it have in common, in words behind a comma; ``""`` where a system message does not
        matter.
        """
        return "" if any(seen.conversation.system for seen in self.breaks) else ", where there is no system message"


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
        judged: whether a model can give this reply; none can without reasoning where the prompt has begun it.
    """

    prompt: str
    reply: str
    after: str
    following: Following
    defect: int | None = None
    tokens: int | None = None
    tokens_lost: int = 0
    judged: bool = True


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
        raw: whether it happens only where a template is handed requests as they are, with arguments that are strings.
    """

    what: str
    error: TemplateError
    refused: bool
    raw: bool

    @property
    def fails(self) -> bool:
        """Whether it is a defect: not where the template says that it refuses, or a client can send another form. To exceed a
        limit is one in any case.
        """
        return isinstance(self.error, TemplateLimitError) or not (self.refused or self.raw)


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
