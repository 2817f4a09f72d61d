"""Every kernel of examples/ as AArch64 code, run in the emulator against its reference."""

from __future__ import annotations

import functools
from typing import Any

import dslc
import pytest

from calls import EXAMPLES, MX_ELEMENTS, TABLE, WEIGHTS, hold, problem
from support.aarch64 import needs_emulator

TARGETS = ("aarch64:base", "aarch64:dotprod", "aarch64:i8mm", "aarch64:bf16")
USUAL = TARGETS[2]


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@functools.cache
def library(file: str, target: str, define: tuple[tuple[str, Any], ...] = ()) -> Any:
    path = EXAMPLES / f"{file}.tile"
    return dslc.compile(path, target=target, define=dict(define), cache=False)


CASES = [
    pytest.param(kernel, define, index, id="-".join([kernel, *define.values(), str(index)]))
    for kernel, (_, defines, _, calls) in TABLE.items()
    for number, define in enumerate(defines)
    for index in range(len(calls))
    if number == 0 or index == 1  # every call of one element type, one call of the others
]


@pytest.mark.parametrize(("kernel", "define", "index"), CASES)
@pytest.mark.sampled(7)
def test_kernel(kernel: str, define: dict[str, str], index: int) -> None:
    file, _, config, calls = TABLE[kernel]
    posed = problem(kernel, calls[index], define, seed=index)
    library(file, USUAL, tuple(define.items()))[kernel](*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize("target", [t for t in TARGETS if t != USUAL])
@pytest.mark.parametrize("kernel", sorted(TABLE))
@pytest.mark.sampled(11)
def test_every_other_target(kernel: str, target: str) -> None:
    file, defines, config, calls = TABLE[kernel]
    define = defines[-1] if target == "aarch64:bf16" and len(defines) < 3 else defines[0]
    define = (
        next((d for d in defines if d.get("T") == "bf16"), define) if "bf16" in target else define
    )
    posed = problem(kernel, calls[1], define, seed=7)
    library(file, target, tuple(define.items()))[kernel](*posed.args.values(), **config)
    hold(posed)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.sampled(5)
def test_every_weight_type(weight: str) -> None:
    kernel, define = "gemm_quantized", {"T": "bf16", "W": weight, "G": "32"}
    found = library("gemm_quantized", USUAL, tuple(define.items()))[kernel]
    posed = problem(kernel, {"M": 3, "N": 40, "K": 96}, define, seed=4)
    found(*posed.args.values(), BN=64, BK=32)
    hold(posed)


@pytest.mark.parametrize("weight", MX_ELEMENTS)
@pytest.mark.sampled(2)
def test_every_mx_element(weight: str) -> None:
    define = {"T": "f16", "W": weight}
    found = library("gemm_mx", USUAL, tuple(define.items()))["gemm_mx"]
    posed = problem("gemm_mx", {"M": 3, "N": 40, "K": 96}, define, seed=8)
    found(*posed.args.values(), BN=64, BK=32)
    hold(posed)
