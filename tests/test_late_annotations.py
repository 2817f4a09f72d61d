"""Annotations of decorated kernels are read from the source and never evaluated (PEP 563, PEP 649)."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import dslc
import numpy as np
import pytest

LATE = """\
import dslc
from dslc.lang import *

@dslc.kernel(BM=[4, 8])
def twice(x: f32[M, N], y: out[f32[M, N]]):
    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * 2.0
"""


def module_of(path: Path, text: str) -> types.ModuleType:
    path.write_text(text)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


def runs(kernel: dslc.Kernel) -> None:
    x, y = np.ones((6, 5), np.float32), np.zeros((6, 5), np.float32)
    kernel(x, y)
    assert (y == 2).all()


def test_nothing_evaluates_annotations(tmp_path: Path) -> None:
    """A function whose annotations are gone is the same kernel: they are in the source."""
    text = LATE.replace("@dslc.kernel(BM=[4, 8])\n", "")
    module = module_of(tmp_path / "bare.py", f"from __future__ import annotations\n{text}")
    module.twice.__annotations__ = {}
    runs(dslc.kernel(BM=[4, 8])(module.twice))


def test_annotations_are_texts(tmp_path: Path) -> None:
    future = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
    kernel = module_of(tmp_path / "late.py", future + LATE).twice
    assert kernel.__annotations__ == {"x": "f32[M, N]", "y": "out[f32[M, N]]"}
    runs(kernel)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python evaluates annotations at once")
def test_no_import_is_needed(tmp_path: Path) -> None:
    runs(module_of(tmp_path / "plain.py", LATE).twice)
