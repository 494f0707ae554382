"""What the formats say in the same words."""

from __future__ import annotations

from promptguard.checks.catalog import RULES
from promptguard.linting.templates import Story, Verdict
from promptguard.prompts.features import Features
from promptguard.prompts.preservation.result import Defect

VERDICTS: dict[Verdict, str] = {
    "preserving": "keeps the prefix",
    "breaking": "breaks the prefix",
    "failing": "keeps the prefix, but fails on some conversations",
    "unjudged": "cannot be judged",
    "missing": "no chat template",
}
MODES = {"reasoning": "reasoning", "plain": "no reasoning", "thinking off": "thinking off"}
_CLOCK = {"request": "on every request", "minute": "every minute", "hour": "every hour", "day": "every day"}
_OFTEN = {"all": "every", "some": "some"}


def when(defect: Defect) -> str:
    """When a defect costs something: at every tool call costs very much more than only at a new user message."""
    if defect.changes is not None:
        return _CLOCK[defect.changes] + defect.only_where
    if defect.kind == "arguments":
        return "at every tool call where an engine hands over the string (llama-cpp-python)"
    if defect.kind == "content":
        return "behind a reply with such blanks"
    if defect.at_tools == defect.at_users == "all":
        return "behind every reply"
    parts = []
    if defect.at_tools != "none":
        parts.append(f"at {_OFTEN[defect.at_tools]} tool call" + ("s" if defect.at_tools == "some" else ""))
    if defect.at_users != "none":
        parts.append(f"at {_OFTEN[defect.at_users]} new user message" + ("s" if defect.at_users == "some" else ""))
    if defect.at_tools == "none":
        return f"only {parts[0]}; tool calls keep the prefix" if parts else "never in these conversations"
    return " and ".join(parts) if len(parts) > 1 else f"{parts[0]}; new user messages keep the prefix"


def title(story: Story) -> str:
    """The path, and the name where the template has one."""
    return story.path + (f" ({story.name})" if story.name is not None else "")


def name(code: str) -> str:
    """The name of a rule."""
    return RULES[code].name


def features(found: Features) -> str:
    """What a template prints, and what it takes."""
    printed = [
        words
        for words, does in (
            ("system messages", found.system),
            ("tools", found.tools),
            ("tool calls", found.tool_calls),
            ("reasoning", found.reasoning),
        )
        if does
    ]
    forms = {"object": "an object", "string": "a string"}
    text = "prints " + (", ".join(printed) or "nothing but messages of users and replies")
    if found.arguments:
        text += "; takes arguments as " + " or ".join(forms[form] for form in found.arguments)
    return text
