"""What a replay is told: the flags, and for those not given what the configuration file says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptguard.core.config import load_config, origins
from promptguard.core.errors import ConfigError
from promptguard.core.option_tables import REPLAY_OPTIONS

# These choose what is measured; one of them as a flag replaces whichever the configuration file has.
ENGINE_CHOICES = ("server", "engine", "model", "model_from")
_PATHS = frozenset(option.name for option in REPLAY_OPTIONS if option.kind == "path")


def replay_settings(flags: Mapping[str, Any], config: Path | None) -> dict[str, Any]:
    """The settings by the names of flags, with underscores.

    Args:
        flags: ``None`` or an empty tuple where one is not given.
        config: the configuration file, ``None`` for the closest one.

    Raises:
        ConfigError: the file says something that it may not, or names a file that there is not.
        InputError: it cannot be read.
    """
    settings: dict[str, Any] = dict.fromkeys(flags)
    said = load_config(explicit=config).replay
    settings.update((name.replace("-", "_"), Path(str(value)) if name in _PATHS else value) for name, value in said.items())
    if any(flags.get(name) is not None for name in ENGINE_CHOICES):
        settings.update(dict.fromkeys(ENGINE_CHOICES))
    settings.update((name, value) for name, value in flags.items() if (value is not None and type(value) is not tuple) or value)
    for name in said.keys() & _PATHS:
        key = name.replace("-", "_")
        if flags.get(key) is None and settings[key] is not None and not os.path.exists(settings[key]):  # noqa: PTH110 - never fails
            place = origins(explicit=config)("replay", name)
            raise ConfigError(f"{name}: there is no file {settings[key]}", where=place, hint="correct the path")
    return settings
