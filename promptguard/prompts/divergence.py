"""Where two prompts first differ, in which block, why, and where in the user's files the text came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from promptguard.core.source import Place
from promptguard.prompts.request import Block, Prompt


@dataclass(frozen=True)
class Cause:
    """A cause of prefix-cache misses, as numbered in docs/causes.md.

    Attributes:
        code: ``K1`` … ``K15``, or ``WS`` for whitespace.
        name: ``clock``, ``random-id``, ``list-order``, ``schema-order``, ``tool-set``, ``memory``, ``environment``,
            ``history-rewritten``, ``chat-template``, ``reply-round-trip``, ``variable-before-static``, ``whitespace``,
            ``unknown`` (code ``K0``).
    """

    code: str
    name: str


@dataclass(frozen=True)
class Divergence:
    """The first difference between what was in the cache and the next prompt.

    Attributes:
        token: index of the first token that differs.
        char: code point in both texts where they first differ.
        block: the block of the new prompt that it lies in.
        before, after: what stood there and what stands there now, a few words of each, from a little before the difference.
        cause: the likely cause.
        explanation: one sentence in words, such as "the tools are listed in another order".
        remedy: one sentence that says what to do.
        tokens_lost: tokens behind the difference that were in the cache and cannot be used.
        place: where in the user's files the differing text came from, ``None`` where that is not known.
        related: further places, such as the place from which a tool was moved.
        expression: the template expression that printed the differing text.
    """

    token: int
    char: int
    block: Block
    before: str
    after: str
    cause: Cause
    explanation: str
    remedy: str
    tokens_lost: int
    place: Place | None = None
    related: Sequence[Place] = field(default_factory=tuple)
    expression: str | None = None


def first_divergence(before: Prompt, after: Prompt) -> Divergence | None:
    """Compare what is in the cache with the next prompt.

    Args:
        before: the previous prompt, followed by its reply.
        after: the next prompt.

    Returns:
        ``None`` where the tokens of ``before`` are a prefix of those of ``after``.
    """
    raise NotImplementedError


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Number of equal items at the head of two sequences."""
    raise NotImplementedError
