"""The examples laid out for a GPU: the meaning is kept, and conversions are as few as they were."""

from __future__ import annotations

from collections import Counter

import pytest
from dslc.compiler import interpreter
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.layout import Conversion, conversion
from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from dslc.compiler.targets import find_target
from dslc.runtime import packing
from elaboration import elaborated

from calls import TABLE, hold, problem

TARGET = find_target("cuda:sm_90a")
LARGE = {"BM": 128, "BN": 128, "BK": 64}
DECODE = {"BM": 16, "BN": 64, "BK": 128}
HEAD = {"BS": 64, "BL": 64}


def laid_out(
    kernel: str, dims: dict[str, int], config: dict[str, int] | None = None
) -> TileProgram:
    passes = (Simplify(), SplitReduction(), Simplify(), AssignLayouts(TARGET))
    return run_passes(elaborated(kernel, dims, config), passes)


def conversions(program: TileProgram) -> dict[str, int]:
    """How many conversions of each kind the program has; `placed` are operands that a unit reads
    in shared memory (compiler/passes/products/placed_operands.py).
    """
    kinds: Counter[str] = Counter()
    for kernel in kernels(program):
        for stmt in walk(kernel.body):
            if isinstance(stmt, ins.ConvertLayout):
                have, want = stmt.x.type.layout, stmt.out.type.layout
                assert have is not None
                kinds["placed" if want is None else conversion(have, want).value] += 1
    return dict(kinds)


def atoms(program: TileProgram) -> list[str | None]:
    found = [s for k in kernels(program) for s in walk(k.body) if isinstance(s, ins.Dot)]
    return [dot.atom for dot in found]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("kernel", TABLE)
@pytest.mark.sampled(2)
def test_the_pass_keeps_the_meaning(kernel: str, index: int) -> None:
    dims = TABLE[kernel][3][index]
    posed = problem(kernel, dims, {}, seed=index)
    program = laid_out(kernel, dims)
    interpreter.run(program, dict(posed.args), interpreter.Options(shuffle=index))
    hold(posed)


# What each example needs: a growing number is a regression, a smaller one good news to write down.
CONVERSIONS: list[tuple[str, dict[str, int], dict[str, int], dict[str, int]]] = [
    ("softmax", {}, {}, {}),
    ("rmsnorm", {}, {"H": 4096}, {}),
    ("layernorm", {}, {"H": 4096}, {}),
    ("rope", {}, {"D": 128}, {}),
    ("rope_interleaved", {}, {"D": 128}, {}),
    ("swiglu", {}, {}, {}),
    ("vector_add", {}, {}, {}),
    ("gemm", {}, {}, {"placed": 1, "shared": 1}),
    ("gemm", LARGE, {}, {"placed": 1, "shared": 1}),
    ("gemm", {"BM": 16}, {}, {}),
    ("gemm_i8", {}, {}, {"placed": 1}),
    ("gemm_residual", {}, {}, {"placed": 1, "shared": 1}),
    ("gemm_quantized", DECODE, {}, {}),
    ("gemm_quantized", LARGE, {}, {"shared": 1}),
    ("gemm_quantized_zeros", {**DECODE, "BK": 64}, {}, {}),
    ("gemm_quantized_zeros", LARGE, {}, {"shared": 1}),
    ("splitk_bias", {}, {}, {}),
    ("attention", HEAD, {"D": 128}, {}),
    ("attention", {"BS": 16, "BL": 64}, {"D": 128}, {"shuffle": 1}),
    ("attention", {"BS": 128, "BL": 128}, {"D": 128}, {}),
    ("lowrank", {}, {"R": 64}, {"placed": 1, "shared": 1}),
    ("quantize_rows", {}, {}, {}),
    ("gemm_w4a8_channel", {}, {}, {}),
    ("gemm_w4a8_group", {}, {}, {}),
    ("tilus_plain", {}, {}, {}),
    ("tilus_pipelined", {}, {}, {}),
]


@pytest.mark.parametrize(("kernel", "config", "dims", "expected"), CONVERSIONS)
def test_conversions(
    kernel: str, config: dict[str, int], dims: dict[str, int], expected: dict[str, int]
) -> None:
    assert conversions(laid_out(kernel, dims, config)) == expected


@pytest.mark.parametrize("rows", [16, 64, 128])
def test_attention_multiplies_the_weights_where_they_are(rows: int) -> None:
    """The scores' layout is that of the second product's operand up to registers."""
    program = laid_out("attention", {"D": 128}, {"BS": rows, "BL": 64})
    dots = [s for k in kernels(program) for s in walk(k.body) if isinstance(s, ins.Dot)]
    scores, weighted = dots
    have, want = scores.out.type.layout, weighted.a.type.layout
    assert have is not None
    assert want is not None
    assert conversion(have, want) in (Conversion.NONE, Conversion.REGISTERS)
    inside = [s for k in kernels(program) for loop in k.body for s in walk((loop,))
              if isinstance(loop, ins.For) and isinstance(s, ins.ConvertLayout)]  # fmt: skip
    assert not inside


@pytest.mark.parametrize("kernel", ["gemm", "gemm_i8", "gemm_quantized", "gemm_w4a8_channel"])
@pytest.mark.parametrize("rows", [16, 64, 128])
def test_products_are_on_the_matrix_unit(kernel: str, rows: int) -> None:
    program = laid_out(kernel, {}, {"BM": rows})
    assert all(atoms(program))


@pytest.mark.parametrize("config", [DECODE, LARGE, {"BM": 16, "BN": 128, "BK": 32}])
def test_weights_are_stored_as_the_matrix_unit_wants_them(config: dict[str, int]) -> None:
    """The low-bit pass packs by the operand's layout: no thread's bits are moved after the load."""
    dims = {"M": 21, "N": 140, "K": 256}
    program = LowBit()(laid_out("gemm_quantized", dims, config))
    verify(program)
    (weights,) = program.packed
    assert weights.storage.word_bytes == 16
    posed = problem("gemm_quantized", dims, {}, seed=5)
    packed = packing.pack(posed.args["w"], weights.storage.to_data())
    interpreter.run(program, {**posed.args, "w": packed}, interpreter.Options())
    hold(posed)
