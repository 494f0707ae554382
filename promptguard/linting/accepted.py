"""Which findings in a chat template a user has accepted, for commands that find them in another way than ``promptguard lint``."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING
from promptguard.core.source import Place, Source, Span
from promptguard.linting.load import make_plan
from promptguard.linting.reading.chat_templates import embedded_template, json_templates, model_templates
from promptguard.linting.reading.prompts import Origin
from promptguard.linting.select import Exceptions, selected_codes
from promptguard.linting.suppress import Suppressions

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptguard.checks.base import Document
    from promptguard.core.files import StrPath


def acceptance(config: StrPath | None = None) -> Callable[[Source, str, Place | None], bool]:
    """What tells whether ``promptguard lint`` would pass over a finding in a chat template.

    It does where the rule is not selected or is ignored, for all files, for this one or for this place in it, and where a comment
    in the file says so.

    Args:
        config: the configuration file, ``None`` for the closest one.

    Returns:
        A function of the template, the code of a rule and the place of the finding.

    Raises:
        InputError: the configuration file cannot be read.
        ConfigError: it says something that it may not.
    """
    settings = make_plan({"config": config}).settings
    selected = selected_codes(settings.select, settings.ignore)
    exceptions = Exceptions(settings)

    def accepted(template: Source, code: str, place: Place | None) -> bool:
        ignored, pointers = exceptions.of(template.path)
        if code not in selected or code in ignored:
            return True
        documents = _documents(template)
        own = next(each for each in documents if each.source == template)
        if any(code in codes and f"{own.pointer}/".startswith(f"{top}/") for top, codes in pointers):
            return True
        span = place.span if place is not None else Span(0, 0)
        return Suppressions(own.file, documents).cover(code, own.place(span.start, span.end).span.start)

    return accepted


def _documents(template: Source) -> list[Document]:
    """What ``promptguard lint`` makes of the file of a chat template."""
    if template.parent is None:
        return [embedded_template(template, None, None, None, {}).document]
    if template.parent.source.kind == "json":
        found = json_templates(template.path, template.parent.source.text, Origin(template.path))
        return [each.document for each in found]
    return [each.document for each in model_templates(template.path) if each.document.source == template]
