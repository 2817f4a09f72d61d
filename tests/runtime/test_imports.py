"""The runtime is thin: the standard library, NumPy, and two modules of data."""

import json
import subprocess
import sys
from pathlib import Path

import dslc.runtime

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
    allowed = ("dslc.compiler.artifact", "dslc.compiler.diagnostics")
    ours = {n for n in names if n.startswith("dslc.compiler.")}
    assert {n for n in ours if not n.startswith(allowed)} == set()
    assert not any(n.startswith("dslc.codegen") for n in names)
    foreign = ("lark", "click", "msgspec", "rich", "platformdirs", "filelock", "ml_dtypes", "xdsl")
    assert names.isdisjoint(foreign)


def test_the_cache_needs_no_numpy() -> None:
    assert "numpy" not in loaded("dslc.runtime.cache", "dslc.runtime.expression")
