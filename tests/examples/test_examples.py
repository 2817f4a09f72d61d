"""Every kernel of examples/, through both front-ends, against its reference.

Shapes that the tiles divide, ragged ones, tiny ones, one row, no row; each element type; parallel
turns in a random order. The tolerances are derived in near.py.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dslc

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FILES = sorted(path.stem for path in EXAMPLES.glob("*.tile"))


def import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # a decorated kernel looks for its module
    spec.loader.exec_module(module)
    return module


near = import_file(HERE / "near.py")
references = import_file(HERE / "references.py")


@pytest.fixture(autouse=True)
def siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decorated examples import one another, as they do when one is run as a script."""
    monkeypatch.syspath_prepend(EXAMPLES)


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    return dslc.compile(EXAMPLES / f"{file}.tile", target="interp", define=dict(define))


@functools.cache
def decorated(file: str) -> ModuleType:
    return import_file(EXAMPLES / f"{file}.py")


# file, kernel, dims of several calls, tuning choices, definitions
HALVES = ({"T": "f16"}, {"T": "bf16"})
FLOATS = (*HALVES, {"T": "f32"})
WEIGHTS = [
    *(f"u{bits}" for bits in range(1, 9)),
    *(f"i{bits}" for bits in range(2, 9)),
    *(
        f"f{bits}e{exponent}m{bits - 1 - exponent}"
        for bits in range(3, 9)
        for exponent in range(1, bits)
    ),
]
