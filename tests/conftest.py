from __future__ import annotations

from hypothesis import settings

# A gate gives the same answer twice: examples come from the test itself, not from a seed of the hour.
settings.register_profile("gate", derandomize=True, deadline=None)
settings.load_profile("gate")
