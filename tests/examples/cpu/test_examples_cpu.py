"""Every kernel of examples/ as machine code of this CPU, against its reference."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import dslc
import pytest

from calls import EXAMPLES, MX_ELEMENTS, TABLE, WEIGHTS, hold, problem
from support.machines import packed, this_cpu


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    path = EXAMPLES / f"{file}.tile"
    return dslc.compile(path, target=this_cpu(), define=dict(define), cache=False)


CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel, (_, defines, _, calls) in TABLE.items()
    for number, define in enumerate(defines)
    for index in range(len(calls))
    if number == 0 or index == 1  # every call of one element type, one call of the others
]


def run(file: str, kernel: str, define: Mapping[str, str], posed: Any, config: Any) -> None:
    """The kernel over a problem, its weights packed, held against the reference."""
    found = library(file, tuple(define.items()))[kernel]
    found(**packed(found, posed.args, config), **config)
    hold(posed)


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
@pytest.mark.sampled(7)
def test_kernel(kernel: str, define: dict[str, str], index: int) -> None:
    file, _, config, calls = TABLE[kernel]
    run(file, kernel, define, problem(kernel, calls[index], define, seed=index), config)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.sampled(5)
def test_every_weight_type(weight: str) -> None:
    define = {"T": "bf16", "W": weight, "G": "32"}
    posed = problem("gemm_quantized", {"M": 3, "N": 40, "K": 96}, define, seed=4)
    run("gemm_quantized", "gemm_quantized", define, posed, {"BN": 64, "BK": 32})


@pytest.mark.parametrize("weight", MX_ELEMENTS)
@pytest.mark.sampled(2)
def test_every_mx_element(weight: str) -> None:
    define = {"T": "f16", "W": weight}
    posed = problem("gemm_mx", {"M": 3, "N": 40, "K": 96}, define, seed=8)
    run("gemm_mx", "gemm_mx", define, posed, {"BN": 64, "BK": 32})
