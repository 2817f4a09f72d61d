"""Tile IR: structured control flow, block-level instructions, tiles and scalars.

Instructions live in `dslc.compiler.ir.instructions` and scalar expressions in
`dslc.compiler.ir.expr`: import the modules, since both have a `Unary` and a `Binary`.
"""

from dslc.compiler.ir.program import (
    Call,
    GridAxis,
    Kernel,
    PackedParam,
    Param,
    Program,
    Requirement,
    TileProgram,
    View,
)
from dslc.compiler.ir.values import (
    AxisSlice,
    Memory,
    Place,
    Region,
    Role,
    TileType,
    Value,
    alignment,
)

__all__ = [
    "AxisSlice", "Call", "GridAxis", "Kernel", "Memory", "PackedParam", "Param", "Place", "Program",
    "Region", "Requirement", "Role", "TileProgram", "TileType", "Value", "View", "alignment",
]  # fmt: skip
