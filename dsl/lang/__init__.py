"""The names of the Tile language for decorated kernels: `from dslc.lang import *`.

They let editors complete and explain, and linters resolve, what a kernel's body says: __init__.pyi
lists them. The body is compiled from its source: calling `zeros` in plain Python is an error that says
so. Layouts do work in plain Python, and so do Python's own builtins (`sum`, `range`, ...) of which the
language has namesakes. `bool` and `slice` are here but not in a star import, which would take Python's
own away.
"""

from __future__ import annotations

from math import inf, nan
from types import ModuleType

from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.lang import (
    arithmetic,
    control,
    elements,
    explicit,
    layouts,
    memory,
    reductions,
    sorting,
    tiles,
)
from dslc.lang.annotations import Tile, dims, inout, out, packed, strides, tensor


def _functions(module: ModuleType) -> dict[str, object]:
    """What a module of the language defines: its public names that come from nowhere else."""
    own = {n: x for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__}
    return {name: x for name, x in own.items() if not name.startswith("_")}


# `range` is Python's own, which no module of the language defines.
_NAMES: dict[str, object] = {**LAYOUT_FUNCTIONS, "range": control.range}
# `reshape` and its like are of tiles and of layouts: those of the language's modules know both.
for _module in (arithmetic, control, explicit, layouts, memory, reductions, sorting, tiles):
    _NAMES |= _functions(_module)
globals().update(_NAMES, bool=vars(elements)["bool"])
globals().update({name: vars(elements)[name] for name in elements.__all__})

__all__ = ["Tile", "dims", "inf", "inout", "nan", "out", "packed", "strides", "tensor"]
__all__ += [name for name in _NAMES if name != "slice"]
__all__ += elements.__all__
