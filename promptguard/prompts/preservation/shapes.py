"""What shapes of conversations a chat template does not render."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from promptguard.core.errors import TemplateError, TemplateRefusal
from promptguard.prompts.conversations import Conversation
from promptguard.prompts.preservation.result import Unrendered

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


def unrendered(told: Sequence[Conversation], errors: Mapping[int, TemplateError]) -> Iterator[Unrendered]:
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
