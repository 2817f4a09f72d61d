"""Every kernel of examples/ on a GPU, through the public API, against its reference.

The same calls and derived bounds as on the interpreter. NumPy arrays: the runtime copies them there and
back.
"""

from __future__ import annotations

import functools
from typing import Any

import dslc
import pytest

from calls import EXAMPLES, MX_ELEMENTS, TABLE, WEIGHTS, hold, problem

pytestmark = pytest.mark.gpu

CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel, (_, defines, _, calls) in TABLE.items()
    for define in defines
    for index in range(len(calls))
]


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    return dslc.compile(EXAMPLES / f"{file}.tile", target="cuda", define=dict(define))


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
def test_kernel(kernel: str, define: dict[str, str], index: int) -> None:
    file, _, config, calls = TABLE[kernel]
    posed = problem(kernel, calls[index], define, seed=index)
    library(file, tuple(define.items()))[kernel](*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_every_weight_type(weight: str) -> None:
    wide = weight[0] == "f" and int(weight[3]) > 4 and weight != "f8e5m2"  # beyond the range of f16
    define = {"W": weight, "T": "bf16" if wide else "f16"}
    posed = problem("gemm_quantized", {"M": 16, "N": 128, "K": 256}, define, seed=7)
    lib = library("gemm_quantized", tuple(define.items()))
    lib.gemm_quantized(*posed.args.values(), BN=64, BK=64)
    hold(posed)


@pytest.mark.parametrize("weight", MX_ELEMENTS)
def test_every_mx_element(weight: str) -> None:
    define = {"W": weight}
    posed = problem("gemm_mx", {"M": 16, "N": 128, "K": 256}, define, seed=8)
    library("gemm_mx", tuple(define.items())).gemm_mx(*posed.args.values(), BN=64, BK=64)
    hold(posed)
