"""What finding the first difference of two prompts costs, and how the cost grows when the prompts double.

Run it as ``python benchmarks/divergence.py``; it prints one line for each kind of difference.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from promptguard.prompts.divergence import common_prefix, first_divergence
from promptguard.prompts.request import Prompt, Request

ROUNDS = 7
SIZES = (10, 20, 40, 80)  # messages; one is about 500 tokens
SENTENCE = "the tool found these rows for the question and the user wants a short answer with all of them "
VOCABULARY: dict[str, int] = {}


def request(messages: int, *, rules: str, tools: int = 4, first: int = 0) -> Request:
    made = [{"role": "system", "content": rules + SENTENCE * 40}]
    for number in range(first, messages):
        role = "user" if number % 2 == 0 else "assistant"
        made.append({"role": role, "content": f"Message {number}: " + SENTENCE * 26})
    schemas = [
        {
            "type": "function",
            "function": {"name": f"tool_{n}", "description": SENTENCE * 20, "parameters": {"type": "object"}},
        }
        for n in range(tools)
    ]
    return Request(tuple(made), tuple(schemas))


def render(made: Request, *, other: bool = False, shout: bool = False) -> Prompt:
    parts = [json.dumps(tool) for tool in made.tools]
    parts += [f"<{message['role']}>{message['content']}<end>" for message in made.messages]
    if other:
        parts[-1] = parts[-1].replace("rows", "lines")
    text = "\n".join(parts)
    if shout:
        text = text.upper()
    found = list(re.finditer(r"\w+|\s|[^\w\s]", text))
    tokens = [VOCABULARY.setdefault(match.group(), 1000 + len(VOCABULARY)) for match in found]
    return Prompt(made, text, tokens, [match.start() for match in found])


def pairs(messages: int) -> dict[str, tuple[Prompt, Prompt]]:
    base = request(messages, rules="Now: 10:00. ")
    return {
        "no difference": (render(base), render(request(messages + 2, rules="Now: 10:00. "))),
        "clock at the head": (render(base), render(request(messages, rules="Now: 10:01. "))),
        "oldest messages dropped": (render(base), render(request(messages, rules="Now: 10:00. ", first=2))),
        "last message printed otherwise": (render(base), render(base, other=True)),
        "no text of the request found": (render(base, shout=True), render(base, other=True, shout=True)),
    }


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    sizes = [pairs(size) for size in SIZES]
    lengths = [len(size["no difference"][0].tokens) for size in sizes]
    growth = ", ".join(f"{later / earlier:.2f}" for earlier, later in pairwise(lengths))
    print(f"{'':32}" + "".join(f"{length:>10,} tokens" for length in lengths) + f"   ratios (tokens: {growth})")
    for name in sizes[0]:
        times = [seconds(partial(first_divergence, *size[name])) for size in sizes]
        ratios = ", ".join(f"{later / earlier:.2f}" for earlier, later in pairwise(times))
        print(f"{name:32}" + "".join(f"{1000 * one:14.2f} ms" for one in times) + f"   {ratios}")
    before, after = (list(pair.tokens) * 8 for pair in sizes[-1]["no difference"])
    after = [*before[:-1], 0]
    fast = seconds(lambda: common_prefix(before, after))
    slow = seconds(lambda: next(i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b))
    print(f"common_prefix of {len(before):,} tokens: {1000 * fast:.2f} ms, item by item {1000 * slow:.2f} ms")


if __name__ == "__main__":
    main()
