"""What a slot of a llama-server does with chat requests, one character a token."""

from __future__ import annotations

from typing import Any

from promptguard.prompts.sequences import first_difference


class FakeSlot:
    """Answers of ``/v1/chat/completions``.

    Args:
        cache: whether it caches where the request does not say.
        numbers: the slots that answer, in turn; each holds its own prompt.
        reports: whether it says what it cached.
        backwards: whether it can go back: ``None`` to any token, else only to the end of what it held less so many tokens.
    """

    def __init__(
        self, *, cache: bool = True, numbers: tuple[int, ...] = (0,), reports: bool = True, backwards: int | None = None
    ) -> None:
        self.cache = cache
        self.numbers = numbers
        self.reports = reports
        self.backwards = backwards
        self.held = dict.fromkeys(numbers, "")
        self.count = 0
        self.tasks: dict[int, int] = {}

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = "".join(message["content"] for message in body["messages"])
        slot = self.numbers[self.count % len(self.numbers)]
        self.count += 1
        self.tasks[slot] = self.count
        cached = self._cached(self.held[slot], prompt) if body.get("cache_prompt", self.cache) else 0
        self.held[slot] = prompt
        timings = {"cache_n": cached, "prompt_n": len(prompt) - cached, "prompt_per_second": 500.0}
        return {"timings": timings if self.reports else {"prompt_n": len(prompt)}, "__verbose": {"id_slot": slot}}

    def _cached(self, held: str, prompt: str) -> int:
        common = min(first_difference(held, prompt), len(prompt) - 1)
        if self.backwards is None or common >= len(held):
            return common
        return common - self.backwards if common >= len(held) - 1 else 0
