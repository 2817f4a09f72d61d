"""How large the caches of this machine are, as the operating system tells it."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

from dslc.runtime.native.features import sysctl_number

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNKNOWN = 32 << 20
_SIZE = re.compile(r"(\d+)([KM])")
_UNITS = {"K": 10, "M": 20}


@functools.cache
def last_cache() -> int:
    """The bytes of the largest cache that a core has a part of; 32 MiB where no system tells it."""
    if sys.platform == "darwin":
        names = ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize")
        return max(map(sysctl_number, names)) or _UNKNOWN
    return largest(_CACHES) or _UNKNOWN


def largest(folder: Path) -> int:
    """The bytes of the largest cache that Linux lists in a folder; 0 for none."""
    sizes = [_SIZE.match(p.read_text(encoding="utf-8")) for p in folder.glob("index*/size")]
    return max((int(m[1]) << _UNITS[m[2]] for m in sizes if m), default=0)
