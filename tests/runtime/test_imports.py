"""The runtime is thin: the standard library, NumPy, and three modules of data."""

import json
import subprocess
import sys
from pathlib import Path

import dslc.runtime
import pytest

MODULES = sorted(f.stem for f in Path(dslc.runtime.__path__[0]).glob("*.py") if f.stem[0] != "_")
SHOW = """
import json, sys
for name in sys.argv[1:]:
    __import__(name)
print(json.dumps(sorted(sys.modules)))
"""


def loaded(*modules: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *modules], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_the_runtime_loads_no_compiler() -> None:
    assert "cache" in MODULES
    names = loaded(*(f"dslc.runtime.{m}" for m in MODULES))
    allowed = ("dslc.compiler.artifact", "dslc.compiler.diagnostics", "dslc.compiler.mlir")
    ours = {n for n in names if n.startswith("dslc.compiler.")}
    assert {n for n in ours if not n.startswith(allowed)} == set()
    assert not any(n.startswith("dslc.codegen") for n in names)
    foreign = ("lark", "click", "msgspec", "rich", "platformdirs", "filelock", "ml_dtypes", "xdsl")
    assert names.isdisjoint(foreign)


def test_the_cache_needs_no_numpy() -> None:
    assert "numpy" not in loaded("dslc.runtime.cache", "dslc.runtime.expression")


def test_a_package_is_loaded_without_emulators_and_thread_pools() -> None:
    """What only a machine that is not here needs, and what only packing needs, comes later."""
    places = (
        "from types import SimpleNamespace as N\nimport json, sys, dslc.runtime\n"
        "from dslc.runtime.package.places import present_places\n"
        "dslc.runtime.load\n"
        "index = N(targets=('cuda:sm_90a', 'hip:gfx950', 'aarch64:all', 'nki:trn2'))\n"
        "there = present_places(N(index=index), native=False)\n"
        "print(json.dumps([len(there), sorted(sys.modules)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", places], capture_output=True, text=True, check=True
    )
    places_here, names = json.loads(done.stdout)
    absent = ["concurrent", "logging", "dslc.runtime.hip_emulator", "dslc.runtime.hip.emulated"]
    absent += ["dslc.runtime.cuda.programs", "dslc.runtime.nki_simulator"]
    if not places_here:
        absent += ["dslc.runtime.cuda.kernel", "dslc.runtime.aarch64"]
    assert not set(absent) & set(names)


def test_names_that_come_later_are_there() -> None:
    from dslc.runtime import cuda, hip

    assert all(getattr(m, name) for m in (dslc.runtime, cuda, hip) for name in m.__all__)
    with pytest.raises(AttributeError, match=r"dslc\.runtime\.cuda.*no attribute 'Kernel'"):
        cuda.Kernel  # noqa: B018
