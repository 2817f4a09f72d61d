"""Kernels in several files: imports between them, run with the simulator's modules in place of `nki`.

A module of the package is looked for beside the entry's file and in the folders above it, as a tool
finds it that runs from one of these. Each is executed once for a run. While it lasts they are in
sys.modules under names of their own, since dataclasses look there.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dslc.runtime.nki_simulator.neuroncore import Core

Run = Callable[[str, str, dict[str, Any]], None]
_DEPTH = 8  # folders above the entry's file
_PREFIX = "dslc_kernel_files_"


class Imports:
    """`__import__` of a kernel's files: `nki` is `found`, modules of the package are run by `run`."""

    def __init__(self, core: Core, found: Mapping[str, types.ModuleType], run: Run) -> None:
        self._core, self._found, self._run = core, found, run
        self._loaded: dict[str, types.ModuleType] = {}
        self._roots: list[Path] = []
        self._entered: list[str] = []
        self.builtins = dict(vars(builtins)) | {"__import__": self}

    def __enter__(self) -> Imports:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._entered:
            sys.modules.pop(name, None)

    def begin(self, name: str, path: Path | None) -> types.ModuleType:
        """The module of a file, with the global names with which it begins."""
        module = types.ModuleType(f"{_PREFIX}{id(self)}.{len(self._entered)}.{name}")
        module.__dict__["__builtins__"] = self.builtins
        if path is not None:
            if not self._roots:
                self._roots = [path.parent, *path.parents[1:_DEPTH]]
            module.__file__ = str(path)
        self._entered.append(module.__name__)
        sys.modules[module.__name__] = module
        return module

    def __call__(self, name: str, *args: Any) -> Any:
        """As `__import__` with globals, locals, the names that are wanted, and how far up it begins."""
        where = (args[0] if args else None) or {}
        wanted = (args[2] if args[2:] else None) or ()
        if args[3:] and args[3]:
            return self._relative(name, where, wanted, args[3])
        root = name.partition(".")[0]
        if root == "nki":
            if name not in self._found:
                self._core.fail("subset", f"there is no module {name}")
            return self._found[name] if wanted else self._found["nki"]
        if root == "neuronxcc":
            self._core.fail(
                "subset", f"{name} cannot be used in a kernel since nki 0.4: import nki"
            )
        base = None if root in sys.stdlib_module_names else self._base(root)
        if base is None:
            return builtins.__import__(name, *args)
        module = self._module(name, base)
        for each in wanted:
            self._submodule(module, base, each)
        return module if wanted else self._loaded[str(base / root)]

    def _relative(self, name: str, where: Mapping[str, Any], wanted: Any, level: int) -> Any:
        here = where.get("__file__")
        if here is None:
            self._core.fail("subset", "a text that is no file has no modules beside it")
        base = Path(here).parents[level - 1]
        if name:
            module = self._module(name, base)
            for each in wanted:
                self._submodule(module, base, each)
            return module
        package = self._module(base.name, base.parent)
        for each in wanted:
            self._submodule(package, base.parent, each)
        return package

    def _base(self, root: str) -> Path | None:
        return next((r for r in self._roots if _file_of(r / root) or (r / root).is_dir()), None)

    def _module(self, name: str, base: Path) -> types.ModuleType:
        """A module by its dotted name under a folder, and all that it is part of."""
        path, outer = base, None
        for part in name.split("."):
            path /= part
            module = self._load(path)
            if module is None:
                self._core.fail("subset", f"there is no module {name} in {base}")
            if outer is not None:
                setattr(outer, part, module)
            outer = module
        assert outer is not None
        return outer

    def _submodule(self, module: types.ModuleType, base: Path, name: str) -> None:
        """What `from package import name` means where it is a file."""
        if hasattr(module, name) or not hasattr(module, "__path__"):
            return
        loaded = self._load(Path(module.__path__[0]) / name)
        if loaded is not None:
            setattr(module, name, loaded)

    def _load(self, path: Path) -> types.ModuleType | None:
        key = str(path)
        if key in self._loaded:
            return self._loaded[key]
        file = _file_of(path)
        if file is None and not path.is_dir():
            return None
        module = self._loaded[key] = self.begin(path.name, file)
        if path.is_dir():
            module.__path__ = [key]
        if file is not None:
            self._run(file.read_text(encoding="utf-8"), str(file), module.__dict__)
        return module


def _file_of(path: Path) -> Path | None:
    """The file of a module or package."""
    for file in (path.with_name(path.name + ".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None
