"""Names for contents: the hash that fingerprints, caches and baselines share."""

from __future__ import annotations

import sys

try:  # hashlib loads OpenSSL, which takes a third of the time that Python takes to start
    if sys.version_info >= (3, 12):
        from _sha2 import sha256 as _sha256
    else:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from hashlib import sha256 as _sha256

LENGTH = 32


def digest(data: bytes, length: int = LENGTH) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of some bytes."""
    text: str = _sha256(data).hexdigest()
    return text[:length]
