"""Annotations for GitHub Actions: a workflow command for each difference, each builder that cannot be judged, each key that is
not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptguard.probing.result import Probed, in_words
from promptguard.report.plain import visible
from promptguard.report.probes.words import error, headline, lost, title

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(probed: Sequence[Probed]) -> str:
    """The report, a line for each."""
    return "".join(line for one in probed for line in _lines(one))


def _lines(one: Probed) -> Iterator[str]:
    if one.result is None:
        yield _command({"title": f"{one.builder} cannot be judged"}, error(one))
        return
    for difference in one.result.differences:
        location = difference.location or one.result.location
        where = {"file": location.path, "line": location.line} if location is not None else {}
        message = "\n".join(
            [f"{title(one)} changes {difference.depends}", headline(difference), lost(difference), visible(difference.remedy)]
        )
        yield _command({**where, "title": f"{difference.cause.code} {difference.cause.name}"}, message)
    for note in in_words(one.result.uncompared):
        place = one.result.location
        where = {"file": place.path, "line": place.line} if place is not None else {}
        yield _command({**where, "title": "not compared"}, f"{title(one)}: {note}", level="notice")


def _command(properties: dict[str, object], message: str, *, level: str = "error") -> str:
    written = ",".join(f"{name}={visible(str(value)).translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{level} {written}::{message.translate(_DATA)}\n"
