"""The tests of the short way in C again, built with sanitizers of addresses and undefined behaviour.

They run wherever there is a C compiler, whether the extension was installed or not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "runtime" / "cuda" / "short.c"
_FLAGS = (
    "-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type",
    "-Wno-missing-field-initializers", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
_RUN = """
import importlib.util, sys, pytest
name = "dslc.runtime.cuda._short"
spec = importlib.util.spec_from_file_location(name, sys.argv[1])
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", sys.argv[2]]))
"""


def libraries() -> list[str]:
    """The sanitizers' libraries of gcc, which have to be loaded before Python."""
    found = []
    for name in ("libasan.so", "libubsan.so"):
        command = ["gcc", f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not Path(path).is_file():
            pytest.skip(f"gcc has no {name}")
        found.append(path)
    return found


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_no_access_is_wrong_and_nothing_undefined(tmp_path: Path) -> None:
    preloaded = " ".join(libraries())
    built = tmp_path / "_short.so"
    headers = sysconfig.get_paths()["include"]
    if not Path(headers, "Python.h").is_file():
        pytest.skip("needs Python's headers")
    subprocess.run(["gcc", *_FLAGS, f"-I{headers}", str(SOURCE), "-o", str(built)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(built), str(HERE / "test_native_path.py")],
        cwd=HERE.parents[2],
        env={**os.environ, "LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " passed" in done.stdout
