"""Faults put into kernels that are right, each of which the simulator has to refuse by the right rule.

Every one changes a line of a whole kernel (support/nki/kernels.py), or is a few instructions in a frame.
"""

# ruff: noqa: E501 - a fault is a line of a table

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import RULES, NkiFault

from support.nki.kernels import GEMM, MASKED, RING, SOFTMAX, compute, run, tile

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return RNG.standard_normal(shape, dtype=np.float32)


INPUTS = {
    GEMM: (normal(300, 200).astype(BF16), normal(300, 700).astype(BF16), normal(700)),
    SOFTMAX: (normal(200, 77),),
    RING: (normal(256, 384).astype(BF16),),
    MASKED: (np.abs(normal(64, 40)) + 1, np.full((64, 1), 20, np.float32)),
}

# kernel, the right text, the wrong text, the rule
IN_KERNELS = {
    "a whole number copied into floats": (
        MASKED,
        "dst=masked, src=root, predicate=keep",
        "dst=masked, src=1, predicate=keep",
        "dtype",
    ),
    "every product accumulates": (GEMM, "accumulate=(k > 0)", "accumulate=True", "accumulate"),
    "no product accumulates": (GEMM, "accumulate=(k > 0)", "accumulate=False", "accumulate"),
    "the first iteration accumulates, the others not": (GEMM, "(k > 0)", "(k == 0)", "accumulate"),
    "accumulation onto zeros of a memset": (
        GEMM,
        "nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=(k > 0))",
        "if k == 0: nisa.memset(dst=acc, value=0.0)\n"
        "                nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=True)",
        "accumulate",
    ),
    "a ragged edge that is not clipped": (GEMM, "rows = min(128, M - m)", "rows = 128", "bounds"),
    "a ragged depth that is not clipped": (GEMM, "min(128, K - k)", "128", "bounds"),
    "256 columns of the stationary operand": (GEMM, "min(128, M - m)", "min(256, M - m)", "partitions"),
    "1024 moving columns": (GEMM, "min(512, N - n)", "min(1024, N - n)", "moving"),
    "sums in bf16 in PSUM": (
        GEMM,
        "acc = nl.ndarray((rows, cols), dtype=nl.float32",
        "acc = nl.ndarray((rows, cols), dtype=nl.bfloat16",
        "dtype",
    ),
    "sums in SBUF": (GEMM, "dtype=nl.float32, buffer=nl.psum", "dtype=nl.float32, buffer=nl.sbuf", "memory"),
    "an operand in PSUM": (
        GEMM,
        "dtype=b.dtype, buffer=nl.sbuf)\n                nisa.dma_copy(dst=a_tile",
        "dtype=b.dtype, buffer=nl.psum)\n                nisa.dma_copy(dst=a_tile",
        "memory",
    ),
    "float32 times bf16": (GEMM, "dtype=a_t.dtype", "dtype=nl.float32", "dtype"),
    "GpSimd reads PSUM": (GEMM, "src=total, engine", "src=acc, engine", "memory"),
    "DMA writes from PSUM": (GEMM, "n:n + cols], src=out", "n:n + cols], src=acc", "memory"),
    "an operand that was never loaded": (
        GEMM,
        "                nisa.dma_copy(dst=b_tile, src=b[k:k + depth, n:n + cols])\n",
        "",
        "unwritten",
    ),
    "half an operand is loaded": (
        GEMM,
        "nisa.dma_copy(dst=b_tile, src=b[k:k + depth, n:n + cols])",
        "nisa.dma_copy(dst=b_tile[0:depth // 2, 0:cols], src=b[k:k + depth // 2, n:n + cols])",
        "unwritten",
    ),
    "the operands change places": (GEMM, "stationary=a_tile, moving=b_tile", "stationary=b_tile, moving=a_tile", "stationary"),
    "the output is not stored": (GEMM, "            nisa.dma_copy(dst=c[m", "            if m: nisa.dma_copy(dst=c[m", "output"),
    "the sum is read before the products": (
        GEMM,
        "            for k in",
        "            early = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)\n"
        "            nisa.tensor_copy(dst=early, src=acc)\n            for k in",
        "unwritten",
    ),
    "an output in private memory": (GEMM, "buffer=nl.shared_hbm", "buffer=nl.hbm", "output"),
    "all of the second operand at once": (
        GEMM,
        "    for m in range(0, M, 128):",
        "    whole = nl.ndarray((128, 60000), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    nisa.memset(dst=whole, value=0.0)\n    for m in range(0, M, 128):",
        "sbuf-capacity",
    ),
    "the result in an argument": (SOFTMAX, "dst=y[m:m + rows, 0:N]", "dst=x[m:m + rows, 0:N]", "output"),
    "the maximum over the partitions": (SOFTMAX, "axis=(1,)", "axis=(0,)", "window"),
    "a sum in place of the sign": (SOFTMAX, "op=nl.maximum", "op=nl.rsqrt", "operator"),
    "the factor in bf16": (SOFTMAX, "scale = nl.ndarray((rows, 1), dtype=nl.float32", "scale = nl.ndarray((rows, 1), dtype=nl.bfloat16", "operand"),
    "a factor for each element": (SOFTMAX, "operand0=scale", "operand0=power", "operand"),
    "a maximum of one partition too few": (SOFTMAX, "top = nl.ndarray((rows, 1)", "top = nl.ndarray((rows - 1, 1)", "shape"),
    "a partition left out": (SOFTMAX, "range(0, M, 128)", "range(0, M, 129)", "output"),
    "200 partitions": (SOFTMAX, "rows = min(128, M - m)", "rows = M", "partitions"),
    "the sum that is not there yet": (SOFTMAX, "data=total)", "data=scale)", "unwritten"),
    "an activation by the ALU's operator": (SOFTMAX, "op=nl.exp", "op=nl.add", "operator"),
    "a keyword of another year": (SOFTMAX, "op0=nl.multiply, operand0=scale", "op0=nl.multiply, operand0=scale, mask=None", "signature"),
    "the old package": (SOFTMAX, "import nki\n", "import neuronxcc.nki as nki\n", "subset"),
    "an instruction that is not there": (SOFTMAX, "nisa.reciprocal", "nisa.inverse", "signature"),
    "the ring's other tile": (RING, "data=ring[slot]", "data=ring[1 - slot]", "unwritten"),
    "the other bank": (RING, "src=banks[slot]", "src=banks[1 - slot]", "unwritten"),
    "a transpose into SBUF": (RING, "dtype=x.dtype, buffer=nl.psum) for", "dtype=x.dtype, buffer=nl.sbuf) for", "memory"),
    "a transpose into another type": (RING, "dtype=x.dtype, buffer=nl.psum) for", "dtype=nl.float32, buffer=nl.psum) for", "dtype"),
    "a large transpose by the DVE": (RING, "nisa.engine.tensor", "nisa.engine.vector", "window"),
    "a slice by a step of partitions": (RING, "src=banks[slot]", "src=banks[slot][0:128:2, 0:128]", "partition-stride"),
    "a root of negative numbers": (MASKED, "scale=4.0", "scale=-4.0", "range"),
    "a root of numbers that are too small": (MASKED, "scale=4.0", "scale=0.0", "range"),
    "the lower half from partition 16": (MASKED, "lower[M // 2:M, 0:N], engine", "lower[16:48, 0:N], engine", "start-partition"),
    "a pattern of too many elements": (MASKED, "pattern=[[1, N]], offset", "pattern=[[1, N + 1]], offset", "shape"),
    "a mask of 32-bit floats": (MASKED, "dtype=nl.uint8", "dtype=nl.float32", "dtype"),
    "iota into PSUM": (MASKED, "index = nl.ndarray((M, N), dtype=nl.int32, buffer=nl.sbuf)", "index = nl.ndarray((M, N), dtype=nl.int32, buffer=nl.psum)", "memory"),
    "memset by the PE": (MASKED, "nisa.engine.gpsimd", "nisa.engine.tensor", "engine"),
    "a mask over memory that nothing wrote": (
        MASKED, "    nisa.memset(dst=masked, value=0.0, engine=nisa.engine.gpsimd)\n", "", "unwritten",
    ),
    "`yield` in a kernel": (MASKED, "    M, N = x.shape", "    M, N = x.shape\n    yield M", "subset"),
}  # fmt: skip

# what happens, on which machine, the rule; tx and ty are [128, 64] float32
IN_FRAMES = {
    "two operands in PSUM": (
        f"p, q, out = {tile((128, 64), buffer='psum')}, {tile((128, 64), buffer='psum')}, {tile((128, 64))}\n"
        "nisa.tensor_copy(dst=p, src=tx)\nnisa.tensor_copy(dst=q, src=ty)\n"
        "nisa.tensor_tensor(dst=out, data1=p, data2=q, op=nl.add)",
        "trn2", "both-psum",
    ),
    "a bank that a product leaves": (
        f"acc, out = {tile((64, 600), buffer='psum')}, {tile((64, 64))}\n"
        "nisa.nc_matmul(dst=acc[0:64, 480:544], stationary=tx, moving=ty, accumulate=False)\n"
        "nisa.tensor_copy(dst=out, src=acc[0:64, 480:544])",
        "trn2", "psum-bank",
    ),
    "nine banks": (
        f"banks = [{tile((64, 512), buffer='psum')} for _ in range(9)]\n"
        "for b in banks:\n    nisa.memset(dst=b, value=0.0)\n"
        f"out = {tile((64, 512))}\n"
        "for b in banks:\n    nisa.tensor_copy(dst=out, src=b)",
        "trn2", "psum-capacity",
    ),
    "a number as bias on v2": (
        f"out = {tile((128, 64))}\nnisa.activation(dst=out, op=nl.exp, data=tx, bias=1.0)",
        "trn1", "version",
    ),
    "a copy on the Scalar Engine of v2": (
        f"out = {tile((128, 64))}\nnisa.tensor_copy(dst=out, src=tx, engine=nisa.engine.scalar)",
        "trn1", "engine",
    ),
    "double rows on v2": (
        f"a, out = {tile((128, 2, 32), 'float8_e4m3')}, {tile((32, 32))}\n"
        "nisa.memset(dst=a, value=1.0)\n"
        f"acc = {tile((32, 32), buffer='psum')}\n"
        "nisa.nc_matmul(dst=acc, stationary=a, moving=a, accumulate=False,\n"
        "               perf_mode=nisa.matmul_perf_mode.double_row)\n"
        "nisa.tensor_copy(dst=out, src=acc)",
        "trn1", "version",
    ),
    "double rows of bf16": (
        f"a = {tile((128, 2, 32), 'bfloat16')}\nnisa.memset(dst=a, value=1.0)\n"
        f"out, acc = {tile((32, 32))}, {tile((32, 32), buffer='psum')}\n"
        "nisa.nc_matmul(dst=acc, stationary=a, moving=a, accumulate=False,\n"
        "               perf_mode=nisa.matmul_perf_mode.double_row)\n"
        "nisa.tensor_copy(dst=out, src=acc)",
        "trn2", "dtype",
    ),
    "the sine of 4": (
        f"out = {tile((128, 64))}\nnisa.memset(dst=out, value=4.0)\n"
        "nisa.activation(dst=out, op=nl.sin, data=out)",
        "trn2", "range",
    ),
    "the reciprocal of 0 by the Scalar Engine": (
        f"out = {tile((128, 64))}\nnisa.memset(dst=out, value=0.0)\n"
        "nisa.activation(dst=out, op=nl.reciprocal, data=out)",
        "trn2", "range",
    ),
    "bits of floats": (
        f"out = {tile((128, 64))}\n"
        "nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.bitwise_and)",
        "trn2", "dtype",
    ),
    "bits and sums in one": (
        f"out = {tile((128, 64), 'int32')}\nnisa.memset(dst=out, value=1)\n"
        "nisa.tensor_scalar(dst=out, data=out, op0=nl.bitwise_and, operand0=1, op1=nl.add, operand1=1)",
        "trn2", "operator",
    ),
    "a DMA transpose of 4-byte elements on v2": (
        f"out = {tile((64, 128))}\nnisa.dma_transpose(dst=out, src=x, axes=(1, 0))",
        "trn1", "dtype",
    ),
    "40 partitions from 96": (
        f"out = {tile((32, 64))}\nbig = {tile((128, 64))}\nnisa.memset(dst=big, value=0.0)\n"
        "nisa.tensor_copy(dst=big[32:72, 0:64], src=tx[0:40, 0:64])\n"
        "nisa.tensor_copy(dst=out, src=big[0:32, 0:64])",
        "trn2", "start-partition",
    ),
    "a pattern that leaves its tile": (
        f"out = {tile((128, 64))}\n"
        "nisa.tensor_copy(dst=out, src=tx.ap(pattern=[[64, 128], [2, 64]]))",
        "trn2", "bounds",
    ),
    "five free dimensions": (
        f"out = {tile((128, 32))}\nbig = {tile((128, 3, 3, 3, 3, 3))}\nnisa.memset(dst=big, value=0.0)\n"
        "nisa.tensor_copy(dst=out, src=big[0:128, 0:2, 0:2, 0:2, 0:2, 0:2])",
        "trn2", "free-pattern",
    ),
    "a register without a value": (
        f"out = {tile((128, 64))}\nr = nisa.register_alloc()\n"
        "def body(i):\n    nisa.tensor_copy(dst=out, src=tx)\nnl.fori_loop(0, r, body)",
        "trn2", "unwritten",
    ),
    "statistics of 600 elements": (
        f"big, out = {tile((128, 600))}, {tile((128, 6))}\nnisa.memset(dst=big, value=0.0)\n"
        "nisa.bn_stats(dst=out, data=big)",
        "trn2", "window",
    ),
    "sums of unequal tiles": (
        f"out = {tile((128, 64))}\n"
        "nisa.tensor_tensor(dst=out, data1=tx, data2=ty[0:128, 0:32], op=nl.add)",
        "trn2", "shape",
    ),
}  # fmt: skip


def test_there_are_faults_enough() -> None:
    assert len(IN_KERNELS) + len(IN_FRAMES) >= 60
    rules = {case[-1] for case in (*IN_KERNELS.values(), *IN_FRAMES.values())}
    assert rules <= set(RULES)
    assert set(RULES) - rules <= {"scalar", "dependency", "simulator"}  # test_documented.py


@pytest.mark.parametrize(
    "kernel", [GEMM, SOFTMAX, RING, MASKED], ids=["gemm", "softmax", "ring", "masked"]
)
def test_the_kernels_are_right_before(kernel: str) -> None:
    assert not run(kernel, *INPUTS[kernel]).findings


@pytest.mark.parametrize("name", IN_KERNELS)
def test_a_fault_in_a_kernel_is_refused(name: str) -> None:
    kernel, right, wrong, rule = IN_KERNELS[name]
    assert right in kernel
    source = kernel.replace(right, wrong, 1)
    with pytest.raises(NkiFault) as fault:
        run(source, *INPUTS[kernel])
    assert fault.value.rule == rule, str(fault.value)
    assert 0 < fault.value.line <= len(source.splitlines())


@pytest.mark.parametrize("name", IN_FRAMES)
def test_a_fault_in_a_few_instructions_is_refused(name: str) -> None:
    body, target, rule = IN_FRAMES[name]
    with pytest.raises(NkiFault) as fault:
        compute(body, normal(128, 64), normal(128, 64), target=target)
    assert fault.value.rule == rule, str(fault.value)


def test_a_tile_that_is_loaded_in_vain_is_found() -> None:
    """A stale tile whose memory is written is no fault of the machine; the new one stays unread."""
    once = RING.replace("data=ring[slot]", "data=ring[0]")
    found = run(once, *INPUTS[RING]).findings
    assert found == ("line 17: ring is loaded, nothing reads it",)
