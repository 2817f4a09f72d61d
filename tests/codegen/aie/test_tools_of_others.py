"""Emitted modules through LLVM's own tools: both printers, all of a module, and the cores alone."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dslc.codegen.aie.printing.descriptors import print_descriptors
from dslc.codegen.aie.printing.earlier_release import respelled
from dslc.compiler.mlir import generic, parse
from dslc.runtime.aie_simulator import simulate

from support.npu.bodies import functions
from support.npu.kernels import EXAMPLES, Case, case

OPT = shutil.which("mlir-opt-22")
needs_opt = pytest.mark.skipif(OPT is None, reason="there is no mlir-opt-22")
_CASES: dict[str, Any] = {
    "norm": ("rmsnorm", "rmsnorm", {"T": "bf16", "M": 40, "H": 64}),
    "residual": ("mlp", "gemm_residual", {"T": "bf16", "M": 64, "N": 64, "K": 128, "BN": 64}),
    "integers": ("gemm", "gemm_i8", {"M": 32, "N": 64, "K": 64, "BN": 64, "BM": 16}),
    "attention": ("attention", "attention", {"T": "bf16", "S": 64, "D": 32, "H": 1}),
}
_DEEP = pytest.mark.deep
_NAMES = ["norm", "residual", pytest.param("integers", marks=_DEEP)]
_LOWER = """convert-vector-to-scf convert-scf-to-cf expand-strided-metadata lower-affine
    convert-vector-to-llvm=vector-contract-lowering=outerproduct convert-math-to-llvm
    convert-math-to-libm finalize-memref-to-llvm convert-arith-to-llvm convert-index-to-llvm
    convert-func-to-llvm convert-cf-to-llvm convert-ub-to-llvm reconcile-unrealized-casts"""


@functools.cache
def made(name: str) -> Case:
    file, kernel, sizes = _CASES[name]
    return case(EXAMPLES / f"{file}.tile", kernel, **sizes)


def _explicit(of: Case) -> str:
    return print_descriptors(of.planned, "npu2")


_PRINTERS: dict[str, Callable[[Case], str]] = {
    "fifos": lambda of: of.text,
    "descriptors": _explicit,
    "1.2": lambda of: respelled(_explicit(of)),
}


def opt(text: str, *options: str) -> str:
    assert OPT is not None
    done = subprocess.run(
        [OPT, *options, "-"], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@needs_opt
@pytest.mark.parametrize("printer", sorted(_PRINTERS))
@pytest.mark.parametrize("name", _NAMES)
def test_modules_verify_in_their_generic_form(name: str, printer: str) -> None:
    text = _PRINTERS[printer](made(name))
    opt(generic(parse(text)), "-allow-unregistered-dialect")


@needs_opt
@pytest.mark.parametrize("printer", ["fifos", "descriptors"])
@pytest.mark.parametrize("name", _NAMES)
def test_cores_lower_to_llvm(name: str, printer: str) -> None:
    bodies = functions(parse(_PRINTERS[printer](made(name))))
    lowered = opt(bodies, *(f"--{name}" for name in _LOWER.split()))
    words = set(re.findall(r"^\s*(?:%[\w:]+ = )?(\w+\.\w+)", lowered, re.M))
    assert words
    assert not [word for word in words if not word.startswith("llvm.")]


def test_a_fault_in_a_body_is_seen() -> None:
    if OPT is None:
        pytest.skip("there is no mlir-opt-22")
    bodies = functions(parse(made("norm").text))
    wrong = bodies.replace('"arith.addf"', '"arith.addi"', 1)
    with pytest.raises(AssertionError):
        opt(wrong)


@pytest.mark.parametrize("name", _NAMES)
def test_the_earlier_spelling_says_the_same(name: str) -> None:
    of = made(name)
    text = _explicit(of)
    earlier = respelled(text)
    assert "offset =" not in earlier
    assert not re.search(r"use_lock\([^)]*, %", earlier)
    first, second = of.padded, of.padded
    simulate(text, first)
    simulate(earlier, second)
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)
