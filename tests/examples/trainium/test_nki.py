"""Every example as nki source in the simulator of its machine: right numbers, and no rule broken."""

from __future__ import annotations

import functools
from typing import Any

import dslc
import pytest

from calls import EXAMPLES, MX_ELEMENTS, TABLE, WEIGHTS, hold, problem

CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel in TABLE
    for define in TABLE[kernel][1]
    for index in range(len(TABLE[kernel][3]))
]


@functools.cache
def library(file: str, define: tuple[tuple[str, Any], ...], target: str = "nki:trn2") -> Any:
    return dslc.compile(EXAMPLES / f"{file}.tile", target=target, define=dict(define), cache=False)


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
@pytest.mark.sampled(4)
def test_kernel(kernel: str, define: dict[str, str], index: int) -> None:
    file, _, config, calls = TABLE[kernel]
    posed = problem(kernel, calls[index], define, seed=index)
    library(file, tuple(define.items()))[kernel](*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn3"])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(4)
def test_other_generations(kernel: str, target: str) -> None:
    file, _, config, calls = TABLE[kernel]
    posed = problem(kernel, calls[1], {}, seed=7)
    library(file, (), target)[kernel](*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("kernel", ["gemm_quantized", "gemm_quantized_zeros"])
@pytest.mark.sampled(4)
def test_every_weight_type(kernel: str, weight: str) -> None:
    define = {"T": "bf16", "W": weight, "G": "32"}
    posed = problem(kernel, {"M": 3, "N": 40, "K": 96}, define, seed=4)
    found = library("gemm_quantized", tuple(define.items()))[kernel]
    found(*posed.args.values(), BN=64, BK=32)
    hold(posed)


@pytest.mark.parametrize("weight", MX_ELEMENTS)
def test_every_mx_element(weight: str) -> None:
    define = {"W": weight}
    posed = problem("gemm_mx", {"M": 3, "N": 40, "K": 96}, define, seed=5)
    library("gemm_mx", tuple(define.items())).gemm_mx(*posed.args.values(), BN=64, BK=32)
    hold(posed)
