"""For programs; docs/schemas/template-1.json is its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

from promptguard import __version__
from promptguard.checks.base import Document
from promptguard.checks.chat_template import CODES
from promptguard.core.errors import TemplateRefusal
from promptguard.core.source import Place
from promptguard.linting.templates import Story, Verdict
from promptguard.prompts.conversations import Conversation
from promptguard.prompts.preservation.result import Break, Defect, Told, Unrendered
from promptguard.report.templates.words import name, when

VERSION = 1
"""Rises when a key is removed or changes its meaning. A new key only has to stand in the schema."""


def render(stories: Sequence[Story]) -> str:
    """One JSON object, keys always in the same order, a line feed at its end."""
    verdicts = [story.verdict for story in stories]
    report = {
        "version": VERSION,
        "tool": {"name": "promptguard", "version": __version__},
        "templates": [template(story) for story in stories],
        "summary": {verdict: verdicts.count(verdict) for verdict in get_args(Verdict)},
    }
    # A path may hold a lone surrogate, which UTF-8 cannot.
    return json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1).encode("utf-8", "replace").decode() + "\n"


def template(story: Story) -> dict[str, Any]:
    """The story of one template; lines, columns and turns from 1, in code points, ends exclusive."""
    document, found = story.document, story.preservation
    error = story.error or (found.error if found is not None else None)
    return {
        "path": story.path,
        "name": story.name,
        "pointer": document.pointer if document is not None else None,
        "verdict": story.verdict,
        "error": error.what if error is not None else None,
        "characters": len(document.text) if document is not None else None,
        "special_tokens": dict(document.tokens) if document is not None else {},
        "tokenizer": story.tokenizer,
        "features": None
        if story.features is None
        else {
            "system": story.features.system,
            "tools": story.features.tools,
            "tool_calls": story.features.tool_calls,
            "reasoning": story.features.reasoning,
            "arguments": list(story.features.arguments),
        },
        "conversations": [_told(told) for told in found.conversations] if found is not None else [],
        "defects": [
            {**_defect(defect, document), "correction": correction}
            for defect, correction in zip(found.defects, story.corrections, strict=True)
        ]
        if found is not None and document is not None
        else [],
        "unrendered": [_unrendered(shape, document) for shape in found.unrendered]
        if found is not None and document is not None
        else [],
    }


def _told(told: Told) -> dict[str, Any]:
    return {
        **_conversation(told.conversation),
        "turns": [
            {
                "turn": number,
                "following": turn.following,
                "tokens": turn.tokens,
                "tokens_lost": turn.tokens_lost,
                "judged": turn.judged,
                "defect": turn.defect,
            }
            for number, turn in enumerate(told.turns, 1)
        ],
        "error": told.error.what if told.error is not None else None,
        "refused": isinstance(told.error, TemplateRefusal),
    }


def _conversation(conversation: Conversation) -> dict[str, Any]:
    return {
        "conversation": conversation.name,
        "mode": conversation.mode,
        "system": conversation.system,
        "arguments": ("string" if conversation.arguments == "raw" else "object") if conversation.calls_tools else None,
    }


def _defect(defect: Defect, document: Document) -> dict[str, Any]:
    return {
        "code": CODES[defect.kind],
        "name": name(CODES[defect.kind]),
        "aspect": defect.aspect,
        "message": defect.explanation,
        "remedy": defect.remedy,
        "switches": [{"name": switch.name, "value": switch.value} for switch in defect.switches],
        "when": when(defect),
        "at_tool_calls": defect.at_tools,
        "at_user_messages": defect.at_users,
        "changes": defect.changes,
        "place": _place(defect.place, document) if defect.place is not None else None,
        "expression": defect.expression,
        "example": _break(defect.breaks[0]),
        "worst": _break(defect.worst),
        "seen": len(defect.breaks),
    }


def _break(seen: Break) -> dict[str, Any]:
    return {
        **_conversation(seen.conversation),
        "turn": seen.turn + 1,
        "following": seen.following,
        "character": seen.char,
        "before": seen.before,
        "after": seen.after,
        "tokens": seen.tokens,
        "tokens_lost": seen.tokens_lost,
    }


def _place(place: Place, document: Document) -> dict[str, Any]:
    """Where it is in the file, and where in the template."""
    outer = document.place(place.span.start, place.span.end)
    end_line, end_column = outer.source.line_column(outer.span.end)
    return {
        "path": outer.source.path,
        "line": outer.line,
        "column": outer.column,
        "end_line": end_line,
        "end_column": end_column,
        "template_line": place.line,
        "template_column": place.column,
        "text": place.text,
    }


def _unrendered(shape: Unrendered, document: Document) -> dict[str, Any]:
    return {
        "what": shape.what,
        "error": shape.error.what,
        "place": _place(shape.error.place, document) if shape.error.place is not None else None,
        "refused": shape.refused,
        "string_arguments_only": shape.raw,
    }
