"""The dtypes by name, each of which can be subscripted with dims; elements.pyi lists them.

`bool` is here but not in `__all__`, so that a star import leaves Python's own `bool` alone; write
`from dslc.lang import bool` or `dslc.bool` where a parameter holds bools.
"""

from __future__ import annotations

from dataclasses import astuple

from dslc.compiler.dtypes import all_dtypes
from dslc.lang.annotations import ElementType

_ELEMENTS = {dtype.name: ElementType(*astuple(dtype)) for dtype in all_dtypes()}
globals().update(_ELEMENTS)

__all__ = [name for name in _ELEMENTS if name != "bool"]
