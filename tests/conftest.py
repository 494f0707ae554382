from __future__ import annotations

import os
import tempfile

from hypothesis import settings

# A gate gives the same answer twice: examples come from the test itself, not from a seed of the hour.
settings.register_profile("gate", derandomize=True, deadline=None)
settings.load_profile("gate")

# Compiled patterns are kept there: neither does the user's folder change, nor does a test depend on what is in it.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="promptguard-tests-")
