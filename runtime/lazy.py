"""Names of a package whose modules are imported when a name is first asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A package's `__getattr__` for names by their module: AttributeError for all others.

    What loads a package on a machine without GPUs pays for no launcher, and a GPU's for no emulator.
    """

    def found(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found
