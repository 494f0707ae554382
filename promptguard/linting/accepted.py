"""Which findings in a chat template a user has accepted, for commands that find them in another way than ``promptguard lint``."""

from __future__ import annotations

from promptguard.core.light import TYPE_CHECKING
from promptguard.core.source import Place, Source, Span
from promptguard.linting.load import make_plan
from promptguard.linting.reading.chat_templates import embedded_template
from promptguard.linting.select import Exceptions, selected_codes
from promptguard.linting.suppress import Suppressions

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptguard.core.files import StrPath


def acceptance(config: StrPath | None = None) -> Callable[[Source, str, Place | None], bool]:
    """What tells whether ``promptguard lint`` would pass over a finding in a chat template that is a file of its own.

    It does where the rule is not selected or is ignored, for all files or for this one, and where a comment in the file says so.

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
        if code not in selected or code in exceptions.of(template.path)[0]:
            return True
        document = embedded_template(template, None, None, None, {}).document
        line = template.line_column((place.span if place is not None else Span(0, 0)).start)[0]
        return Suppressions(template, [document]).cover(code, line)

    return accepted
