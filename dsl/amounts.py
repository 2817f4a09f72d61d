"""Numbers with a unit, as options and environment variables have them: 500M of memory, 30d of time."""

from __future__ import annotations

import re

SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # bytes
SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}  # seconds


def amount(text: str, units: dict[str, int]) -> float | None:
    """The plain number, whatever the letter's case; None for a text that is none."""
    known = {**units, **{unit.lower(): factor for unit, factor in units.items()}}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]?)\s*", text)
    if match is None or match[2] not in known:
        return None
    return float(match[1]) * known[match[2]]
