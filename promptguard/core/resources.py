"""Files that come with the package."""

from __future__ import annotations

from pathlib import Path

from promptguard.core.errors import InputError

_PACKAGE = Path(__file__).resolve().parent.parent


def resource(name: str) -> Path:
    """The path of a file or folder that ships with promptguard.

    A wheel carries these below ``promptguard/_data``; a checkout or an editable install has them beside the package.

    Args:
        name: path from the root of the project, with forward slashes, such as ``fixtures/tasks/four_tool``.

    Raises:
        InputError: the installation does not hold it.
        ValueError: ``name`` leads out of the project.
    """
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "\\" in name or ":" in name:
        raise ValueError(f"not the name of a resource: {name!r}")
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise InputError("a file of promptguard itself is missing", where=name, hint="install promptguard again")
