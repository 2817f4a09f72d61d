"""The sources of dslc-runtime: what loads packages of compiled kernels, with NumPy alone.

    python .ci/runtime_sources.py build/dslc-runtime
    python -m pip wheel --no-deps -w dist build/dslc-runtime

It has the modules that `dslc.runtime.load` can reach, under the name dslc_runtime, so that dslc may be
installed beside it or not. Compiler, emulators and simulators stay with dslc.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENTRY = "dslc.runtime.package.loading"
LEFT = re.compile(r"_emulator|_simulator|\.emulated")
NAMES = re.compile(r'\bdslc(?=\.(?:runtime|compiler)\b)|(?<=__module__ = ")dslc(?=")')
QUOTED = re.compile(r'"(dslc\.runtime\.[\w.]+)"')
EXTENSIONS = {
    "cuda/_short": ("cuda/short.c",),
    "native/_calls": ("native/calls.c", "native/turns.c"),
}

INIT = '''"""Packages of kernels that dslc has compiled, loaded and run; NumPy is all that it needs.

    kernels = dslc_runtime.load("kernels.dslc")
    kernels.softmax(x, y)

The pages of dslc say what packages are (docs/packages.md).
"""

from dslc_runtime.compiler.diagnostics import DiagnosticError
from dslc_runtime.runtime.package import Package, load

__version__ = "{version}"
__all__ = ["DiagnosticError", "Package", "load"]
'''
PROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "dslc-runtime"
version = "{version}"
description = "Loads packages of kernels that dslc has compiled"
requires-python = ">=3.11"
license = "Apache-2.0"
license-files = ["LICENSE"]
dependencies = ["numpy>=1.26"]

[tool.setuptools]
packages = {packages}
include-package-data = false
"""
EXTENSION = """
[[tool.setuptools.ext-modules]]
name = "dslc_runtime.runtime.{name}"
sources = {sources}
extra-compile-args = ["-O2", "-pthread"]
extra-link-args = ["-pthread"]
optional = true  # without a C compiler the same goes in Python
"""


def main() -> None:
    """Write the folder that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="written anew")
    write(parser.parse_args().folder)


def write(folder: Path) -> None:
    """The project's folder, ready to be built."""
    shutil.rmtree(folder, ignore_errors=True)
    version = _version()
    packages = {"dslc_runtime", "dslc_runtime.compiler"}
    for module, path in sorted(reached().items()):
        inside = path.relative_to(ROOT)
        text = NAMES.sub("dslc_runtime", path.read_text(encoding="utf-8"))
        _put(folder / "dslc_runtime" / inside, text)
        if inside.name == "__init__.py":
            packages.add(NAMES.sub("dslc_runtime", module))
    _put(folder / "dslc_runtime" / "__init__.py", INIT.format(version=version))
    _put(folder / "dslc_runtime" / "compiler" / "__init__.py", "")
    project = PROJECT.format(version=version, packages=sorted(packages))
    for name, sources in EXTENSIONS.items():
        listed = [f"dslc_runtime/runtime/{source}" for source in sources]
        project += EXTENSION.format(name=name.replace("/", "."), sources=listed)
        for source in (ROOT / "runtime" / name).parent.glob("*.[ch]"):
            text = NAMES.sub("dslc_runtime", source.read_text(encoding="utf-8"))
            _put(folder / "dslc_runtime" / source.relative_to(ROOT), text)
    _put(folder / "pyproject.toml", project)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")


def reached() -> dict[str, Path]:
    """The modules that loading and running a package imports, at once or later, by name."""
    found: dict[str, Path] = {}
    waiting = [ENTRY]
    while waiting:
        module = waiting.pop()
        path = _path(module)
        if module in found or path is None or LEFT.search(module) or module == "dslc.compiler":
            continue
        if not module.startswith(("dslc.runtime", "dslc.compiler")):
            raise SystemExit(f"{module} is no part of the runtime, and is imported there")
        found[module] = path
        text = path.read_text(encoding="utf-8")
        waiting += [*_imported(ast.parse(text)), *QUOTED.findall(text), module.rpartition(".")[0]]
    return found


def _imported(tree: ast.AST) -> Iterator[str]:
    """What a module imports when it runs: not what type checkers alone see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dslc."):
            for alias in node.names:
                yield node.module
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("dslc"))
        yield from _imported(node)


def _path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split(".")[1:])
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if module != "dslc" and path.exists():
            return path
    return None


def _version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "dsl/__init__.py").read_text())
    assert found is not None
    return found[1]


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
