"""Products by units of matrices: the code in the interpreter of Vector IR, and on the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.checker import check_module
from dslc.codegen.cpu.lowering import generated
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.cpu import cpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.compiler.vector.function import Function, Module
from dslc.compiler.vector.interpreter import Memory, interpret
from dslc.compiler.vector.matrix_instructions import TileDot
from dslc.compiler.vector.traverse import walk
from dslc.compiler.vector.verifying import verify
from dslc.frontend.tile_parser import parse_tile

from strategies.product_kernels import Product, check
from support.machines import kinds_here

CASES = [
    Product("i8", "i8", (32, 64, 64), (32, 64, 128)),
    Product("u8", "u8", (16, 64, 64), (16, 64, 192)),
    Product("i8", "u8", (64, 32, 32), (64, 32, 64)),
    Product("u8", "i8", (48, 16, 64), (48, 16, 128), transposed=True),
    Product("i8", "i8", (32, 64, 64), (33, 70, 128), scaled=True),
    Product("i8", "u8", (32, 32, 32), (40, 64, 64), scaled=True),
    Product("bf16", "bf16", (64, 64, 32), (65, 70, 64)),
    Product("bf16", "bf16", (16, 64, 64), (50, 64, 128), transposed=True),
]
ELSEWHERE = [
    Product("i8", "i8", (8, 64, 64), (8, 64, 64)),  # few rows
    Product("i8", "i8", (32, 64, 20), (32, 64, 40)),  # words do not divide k
    Product("f32", "f32", (32, 64, 64), (32, 64, 64)),
]
TARGET = "cpu:sapphirerapids"


def function_of(product: Product, target: str = TARGET) -> Any:
    (template,) = check_module(parse_tile(product.source, "<test>")).templates.values()
    m, n, k = product.size
    program = template.elaborate({"M": m, "N": n, "K": k}, {})
    kernel = run_passes(program, cpu_passes())
    assert isinstance(kernel, Kernel)
    return generated(kernel, find_target(target))


def has_tiles(function: Function) -> bool:
    return any(isinstance(stmt, TileDot) for stmt in walk(function.body))


@pytest.mark.parametrize("product", CASES, ids=lambda p: f"{p.a}-{p.b}-{p.tile}")
def test_the_code_is_of_tiles_where_there_are_any(product: Product) -> None:
    verify(Module((function_of(product).function,)))
    assert has_tiles(function_of(product).function)
    assert not has_tiles(function_of(product, "cpu:znver4").function)


@pytest.mark.parametrize("product", ELSEWHERE, ids=lambda p: f"{p.a}-{p.b}-{p.tile}")
def test_what_has_no_tiles(product: Product) -> None:
    assert not has_tiles(function_of(product).function)


@pytest.mark.parametrize(
    "product", [CASES[0], CASES[4], CASES[5]], ids=lambda p: f"{p.a}-{p.b}-{p.tile}"
)
def test_its_meaning_is_the_product(product: Product) -> None:
    """Vector IR's interpreter runs all turns; no AMX is needed for that."""
    made = function_of(product)
    rng = np.random.default_rng(3)
    m, n, k = product.size
    ranges = {"i8": (-128, 128, np.int8), "u8": (0, 256, np.uint8)}
    (low, high, kind), (below, above, other) = ranges[product.a], ranges[product.b]
    a = rng.integers(low, high, (m, k)).astype(kind)
    b = rng.integers(below, above, (k, n)).astype(other)
    groups = -(-k // product.tile[2])
    s = rng.uniform(0.5, 1, (groups, n)).astype(np.float32)
    c = np.zeros((m, n), np.float32 if product.scaled else np.int32)
    memory = Memory()
    tensors = [a, b, s, c] if product.scaled else [a, b, c]
    places = [memory.add(x.reshape(-1).view(np.uint8)) for x in tensors]
    dims = [m, k, n, groups] if product.scaled else [m, k, n]
    words = np.array([*places, *dims, *[0] * 8], np.int64)
    turns = -(-m // product.tile[0]) * -(-n // product.tile[1])
    scratch = np.zeros(made.scratch, np.uint8)
    module = Module((made.function,))
    assert interpret(module, made.function.name, words, 0, turns, scratch, memory=memory) == 0
    parts = range(0, k, product.tile[2])
    each = [
        a[:, i : i + product.tile[2]].astype(np.int64) @ b[i : i + product.tile[2]].astype(np.int64)
        for i in parts
    ]
    wanted = sum(x * s[g] for g, x in enumerate(each)) if product.scaled else sum(each)
    assert np.abs(c - wanted).max() <= 1e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("product", CASES, ids=lambda p: f"{p.a}-{p.b}-{p.tile}")
def test_on_the_machine(product: Product) -> None:
    if TARGET not in kinds_here():
        pytest.skip("this CPU has no AMX")
    check(product, TARGET)
