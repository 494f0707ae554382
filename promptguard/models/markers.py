"""The markers that a chat template prints, to be made tokens of a tiny model.

In the model that a chat template was written for, its markers (``<|eot_id|>``, ``[INST]``) are tokens of their own. In another
vocabulary they are ordinary text, whose ends merge with what stands beside them: that would show as losses which the real model
does not have.
"""

from __future__ import annotations

import re

MAX_MARKERS = 256
_MARKER = re.compile(r"<[|｜][^|｜<>\s]{1,48}[|｜]>|</?[A-Za-z][\w:.\-]{0,40}>|\[/?[A-Z][A-Z_]{1,30}\]")


def markers(template: str) -> list[str]:
    """The markers that a chat template prints, in the order of their first place, at most ``MAX_MARKERS``."""
    return list(dict.fromkeys(_MARKER.findall(template)))[:MAX_MARKERS]
