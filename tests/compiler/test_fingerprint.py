"""The compiler's own hash, and hashes of named parts."""

import shutil
import subprocess
import sys
from pathlib import Path

import dslc
import dslc.compiler
from dslc.compiler.fingerprint import compiler_fingerprint, digest

SHOW = "from dslc.compiler.fingerprint import compiler_fingerprint as f; print(f(), end='')"


def test_parts_do_not_run_into_each_other() -> None:
    parts = [
        {"a": "bc"},
        {"ab": "c"},
        {"a": "b", "c": ""},
        {"a": "", "b": "c"},
        {"a": "b", "b": "a"},
        {"a": "1 b 1 c"},
        {},
    ]
    hashes = {digest(p) for p in parts}
    assert len(hashes) == len(parts)
    assert digest({"x": "1", "y": "2"}) == digest({"y": b"2", "x": b"1"})
    assert len(digest({})) == 64


def fingerprint_of(folder: Path) -> str:
    """The fingerprint that the package of a folder gives itself."""
    return subprocess.run(
        [sys.executable, "-c", SHOW],
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def copy_package(to: Path) -> Path:
    """The package as a wheel lays it out: the rooms within dslc."""
    ignore = shutil.ignore_patterns("__pycache__")
    package = to / "dslc"
    shutil.copytree(Path(dslc.__path__[0]), package, ignore=ignore, symlinks=False)
    root = Path(dslc.compiler.__path__[0]).resolve().parent
    for room in ("compiler", "codegen", "runtime"):
        shutil.rmtree(package / room, ignore_errors=True)
        shutil.copytree(root / room, package / room, ignore=ignore)
    return package


def test_every_source_counts_and_caches_do_not(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    first = fingerprint_of(tmp_path)
    assert first == compiler_fingerprint()  # wherever the same sources lie
    seen = {first}
    for name in ("__init__.py", "compiler/ir/expr.py", "codegen/__init__.py", "frontend/tree.py"):
        with (package / name).open("a") as file:
            file.write("\n")
        seen.add(fingerprint_of(tmp_path))
    (package / "compiler/new.py").write_text("")
    seen.add(fingerprint_of(tmp_path))
    assert len(seen) == 6
    (package / "compiler/__pycache__").mkdir()
    (package / "compiler/__pycache__/x.cpython-311.pyc").write_bytes(b"")
    assert fingerprint_of(tmp_path) in seen
