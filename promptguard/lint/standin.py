"""TEMPORARY stand-in until lint/reading is merged."""

from __future__ import annotations

from collections.abc import Iterator

from promptguard.checks.base import Document, Region
from promptguard.core.source import Source
from promptguard.lint.settings import Settings

SUFFIXES = (".j2", ".jinja", ".jinja2", ".md", ".txt", ".prompt")


def read_documents(path: str, text: str, settings: Settings, *, bom: bool, named: bool) -> Iterator[Document]:
    if not path.endswith(SUFFIXES):
        return
    template = None
    try:
        from promptguard.parse.template import parse_template  # type: ignore

        template = parse_template(text)
    except ImportError:
        pass
    yield Document(
        Source(path, text, "jinja"), "prompt", syntax="jinja", regions=[Region(0, len(text), "system")], template=template, bom=bom
    )


def present_detectors(kind):  # type: ignore
    """TEMPORARY: the detectors whose modules exist already."""
    import importlib

    from promptguard.checks import registry

    found = []
    for name in registry._MODULES[kind]:
        try:
            found.append((name, importlib.import_module(f"promptguard.checks.{name}").check))
        except ModuleNotFoundError:
            continue
    return found
