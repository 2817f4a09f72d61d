"""The instruction set as tables: one file a family; table.py says how a line is read."""

from dslc.runtime.hip_emulator.instructions import (
    comparisons,
    conversions,
    cross_lane,
    dots,
    packed,
    scalar,
    vector_float,
    vector_integer,
)
from dslc.runtime.hip_emulator.instructions.table import Entry

LANEWISE: dict[str, Entry] = {
    **vector_integer.TABLE,
    **vector_float.TABLE,
    **comparisons.TABLE,
    **conversions.TABLE,
    **dots.TABLE,
}
SCALAR: dict[str, Entry] = scalar.TABLE
WHOLE: dict[str, Entry] = cross_lane.TABLE
IN_ALL_LANES = cross_lane.IN_ALL_LANES
PACKED: dict[str, Entry] = packed.TABLE
MIXED: dict[str, Entry] = dots.MIXED

__all__ = ["IN_ALL_LANES", "LANEWISE", "MIXED", "PACKED", "SCALAR", "WHOLE", "Entry"]
