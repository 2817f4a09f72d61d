"""The runtime: cache, packages, buffers and launch.

It is thin: it needs the standard library and NumPy alone and loads what was compiled elsewhere:

    package = dslc.runtime.load("kernels.dslc")
    package.softmax(x, y)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.runtime.package import Package as Package
    from dslc.runtime.package import load as load

__all__ = ["Package", "load"]


def __getattr__(name: str) -> object:
    """`load` and `Package`, imported when they are first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'dslc.runtime' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("dslc.runtime.package"), name)
