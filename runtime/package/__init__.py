"""Packages of compiled kernels: read, checked and run with the standard library and NumPy alone.

    package = dslc.runtime.load("kernels.dslc")
    package.softmax(x, y)

Nothing in a package is executed before it was checked: the manifest is data, every file's bytes are
hashed as they are read, and the ones that were hashed are the ones that are loaded.
"""

from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import INDEX, Index, IndexedKernel, IndexedSpecialization
from dslc.runtime.package.loading import Package, PackagedKernel, load
from dslc.runtime.package.lock import check_lock, lock_text

__all__ = [
    "INDEX",
    "Index",
    "IndexedKernel",
    "IndexedSpecialization",
    "Package",
    "PackageFolder",
    "PackagedKernel",
    "check_lock",
    "load",
    "lock_text",
]
