"""For a person: what a template is, what it does to each conversation, and each defect with its place and its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptguard.checks.base import Document
from promptguard.checks.chat_template import CODES
from promptguard.core.errors import TemplateError
from promptguard.core.source import Place
from promptguard.linting.templates import Story, Verdict
from promptguard.prompts.preservation.result import Break, Defect, Preservation, Turn, Unrendered
from promptguard.report.findings.words import plural
from promptguard.report.plain import BOLD, CYAN, DIM, SEVERITY, Paint, encodable, fit, marked, painter, visible, width
from promptguard.report.templates.words import MODES, VERDICTS, features, name, title, when

_CELLS = 100
_REFUSAL = 60
_OF_SEVERAL: dict[Verdict, str] = {
    "preserving": "keep the prefix",
    "breaking": "break the prefix",
    "failing": "keep the prefix, but fail on some conversations",
}


def render(stories: Sequence[Story], *, color: bool, encoding: str) -> str:
    """The report, with a line feed at its end."""
    paint = painter(color)
    lines: list[str] = []
    for story in stories:
        lines += [*_story(story, paint, encoding), ""]
    if len(stories) > 1:
        verdicts = [story.verdict for story in stories]
        counts = [_count(verdicts.count(verdict), verdict) for verdict in VERDICTS if verdict in verdicts]
        lines.append(f"{plural(len(stories), 'template')}: {', '.join(counts)}")
    else:
        lines.pop()
    return "".join(encodable(line.rstrip(), encoding) + "\n" for line in lines)


def _count(number: int, verdict: Verdict) -> str:
    words = VERDICTS[verdict]
    return f"{number} {words if number == 1 else _OF_SEVERAL.get(verdict, words)}"


def _story(story: Story, paint: Paint, encoding: str) -> Iterator[str]:
    style = SEVERITY["error" if story.verdict in ("breaking", "failing", "unjudged") else "note"]
    yield f"{paint(visible(title(story)), BOLD)}: {paint(VERDICTS[story.verdict], style)}"
    found = story.preservation
    error = story.error or (found.error if found is not None else None)
    if error is not None:
        yield f"  {visible(error.what)}" + (f"; {visible(error.hint)}" if error.hint else "")
        if isinstance(error, TemplateError) and story.document is not None:
            yield from _located(error.place, story.document, paint, encoding)
    if found is None or story.document is None or story.features is None or found.error is not None:
        return
    text = story.document.text
    lines = plural(text.count("\n") + (not text.endswith("\n")), "line")
    yield f"  {plural(len(text), 'character')} in {lines}; {features(story.features)}"
    for token, value in story.document.tokens.items():
        yield f"  {token} {visible(value)}"
    yield f"  tokens are counted with {visible(story.tokenizer)}"
    yield ""
    yield from _table(found, paint)
    for defect, correction in zip(found.defects, story.corrections, strict=True):
        yield ""
        yield from _defect(defect, correction, found, story.document, paint, encoding)
    for shape in found.unrendered:
        yield ""
        yield from _unrendered(shape, story.document, paint, encoding)


def _table(found: Preservation, paint: Paint) -> Iterator[str]:
    """A row for each conversation: what became of the prompt and the reply behind each reply."""
    rows = [
        (
            told.conversation.name,
            MODES[told.conversation.mode],
            [_cell(turn) for turn in told.turns],
            "" if told.error is None else fit(visible(told.error.what), _REFUSAL),
        )
        for told in found.conversations
    ]
    first = max(len(row[0]) for row in rows)
    second = max(len(row[1]) for row in rows)
    columns = max(len(row[2]) for row in rows)
    cells = max(4, *(len(cell) for row in rows for cell in row[2])) if columns else 4
    numbers = "  ".join(str(number).ljust(cells) for number in range(1, columns + 1))
    yield paint(f"  {'behind reply'.ljust(first)}  {''.ljust(second)}  {numbers}".rstrip(), DIM)
    previous = None
    for conversation, mode, turns, error in rows:
        shown = "" if conversation == previous else conversation
        previous = conversation
        yield f"  {shown.ljust(first)}  {mode.ljust(second)}  " + "  ".join([*(cell.ljust(cells) for cell in turns), error])


def _cell(turn: Turn) -> str:
    if not turn.judged:
        return "-"
    return f"lost {turn.tokens_lost:,}" if turn.tokens_lost else "kept"


def _unrendered(shape: Unrendered, document: Document, paint: Paint, encoding: str) -> Iterator[str]:
    """A shape that is refused is no defect, and neither is one that a client can send in another form."""
    if shape.refused:
        head = f"refuses {shape.what}"
    elif shape.raw:
        head = f"fails on {shape.what}, where arguments are a string"
    else:
        head = f"{paint('PG507 cannot-render', SEVERITY['warning'])}: fails on {shape.what}"
    yield f"{head}: {visible(shape.error.what)}"
    yield from _located(shape.error.place, document, paint, encoding)


def _located(place: Place | None, document: Document, paint: Paint, encoding: str) -> Iterator[str]:
    if place is not None:
        yield f"  {paint('-->', DIM)} {_where(place, document)}"
        yield from _excerpt(place, paint, encoding)


def _defect(
    defect: Defect, correction: str | None, found: Preservation, document: Document, paint: Paint, encoding: str
) -> Iterator[str]:
    yield f"{paint(f'{CODES[defect.kind]} {name(CODES[defect.kind])}', SEVERITY['error'])}: {visible(defect.explanation)}"
    yield from _located(defect.place, document, paint, encoding)
    replies = sum(turn.judged for told in found.conversations for turn in told.turns)
    labelled = [("when", f"{when(defect)} (behind {len(defect.breaks)} of {replies} replies)")]
    seen, worst = defect.breaks[0], defect.worst
    labelled += [("seen", _seen(seen)), ("before", f'"{seen.before}"'), ("after", f'"{seen.after}"')]
    lost = f"{seen.tokens_lost:,} of {plural(seen.tokens, 'token')}"
    if worst.tokens_lost > seen.tokens_lost:
        lost += f"; {worst.tokens_lost:,} of {worst.tokens:,} in {_seen(worst)}"
    labelled.append(("lost", lost))
    if defect.remedy:
        labelled.append(("to do", defect.remedy))
    labelled += [("", f"tried: chat_template_kwargs {switch} keeps the prefix") for switch in defect.switches]
    if correction is not None:
        labelled.append(("fix", f"{correction} (promptguard lint --select {CODES[defect.kind]} --fix --unsafe-fixes)"))
    labelled.append(("help", f"promptguard rule {CODES[defect.kind]}"))
    for label, text in labelled:
        yield f"  {paint(label.ljust(7), CYAN)} {visible(text)}"


def _seen(seen: Break) -> str:
    return f"{seen.conversation}, behind reply {seen.turn + 1}"


def _where(place: Place, document: Document) -> str:
    outer = document.place(place.span.start, place.span.end)
    text = visible(str(outer))
    if document.pointer is None:
        return text
    inner = f", line {place.line}, column {place.column} of it" if outer.source is not place.source else ""
    return f"{text} ({visible(document.pointer)}{inner})"


def _excerpt(place: Place, paint: Paint, encoding: str) -> Iterator[str]:
    """The first line of a place in the template, and what of it belongs to the place."""
    source, line = place.source, place.line
    starts = source.line_starts
    first, last = starts[line - 1], starts[line] if line < len(starts) else len(source.text)
    text = source.text[first:last].rstrip("\r\n")
    start = place.span.start - first
    end = min(place.span.end - first, len(text))
    cut = max(0, start - 2 * _CELLS)
    shown = text[cut : start + 2 * _CELLS]
    behind = len(text) > cut + len(shown)
    row, marker = marked(shown, start - cut, end - cut, _CELLS, before=cut > 0, behind=behind, encoding=encoding)
    gutter = width(str(line))
    yield f"  {paint(f'{line} |', DIM)} {row}"
    yield f"  {paint(' ' * gutter + ' |', DIM)} {paint(marker, SEVERITY['error'])}"
