"""Packages for many machines: what a specification asks for, compiled side by side and written.

build_package("kernels.toml", "build/kernels.dslc", jobs=8)
"""

from dslc.packaging.building import Outcome, build_package
from dslc.packaging.spec import Spec, read_spec

__all__ = ["Outcome", "Spec", "build_package", "read_spec"]
