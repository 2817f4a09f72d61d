"""The runtime: cache, packages, buffers and launch.

It is thin: it needs the standard library and NumPy alone and loads what was compiled elsewhere:

    package = dslc.runtime.load("kernels.dslc")
    package.softmax(x, y)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from dslc.runtime.package import Package as Package
    from dslc.runtime.package import load as load

__all__ = ["Package", "load"]

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "dslc.runtime.package"))


def __dir__() -> list[str]:
    return __all__
