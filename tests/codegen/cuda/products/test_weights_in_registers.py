"""Weights made ready in registers while a warpgroup multiplies: meaning, text and machine code."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.cuda.tools.sass import disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute
from support.gpu.quantized import arrays, quantized
from support.gpu.warpgroups import flow, in_flight, is_product, left
from support.kernels import every

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")

CASES = [
    ((64, 64, 128), 64, 1024, 64, {}),
    ((64, 64, 64), 40, 896, 64, {"stages": 4}),  # groups of two iterations
    ((64, 128, 128), 70, 640, 128, {"warps": 8}),  # two warpgroups, an odd number of iterations
    ((64, 128, 128), 64, 256, 128, {"warps": 4}),  # two iterations, two rows of instructions
    ((64, 64, 256), 64, 1024, 64, {}),
    ((128, 64, 64), 128, 512, 64, {"stages": 2}),  # waited for at once
    ((64, 64, 128), 64, 1536, 64, {"split": 4, "stages": 4}),
    ((64, 64, 64), 64, 1280, 128, {"units": 1}),  # one block, turn after turn
    ((64, 64, 64), 70, 1152, 128, {"units": 3, "stages": 4}),  # a round, and shares of six steps
    ((64, 64, 64), 64, 896, 256, {"units": 3}),  # odd shares
]


@emulated
@pytest.mark.parametrize(("tile", "m", "k", "n", "options"), CASES)
@pytest.mark.sampled(2)
def test_text_and_interpreter_agree(
    tile: tuple[int, int, int], m: int, k: int, n: int, options: dict[str, int]
) -> None:
    kernel = quantized(k, n, tile, **options)
    args, wanted = arrays(m, k, n, 4)
    for seed in range(2):
        got = {name: x.copy() for name, x in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["c"], wanted)
    (packed,) = kernel.packed
    args["w"] = packing.pack(args["w"], packed.storage.to_data())
    run(kernel, args, Options())
    np.testing.assert_array_equal(args["c"], wanted)


@emulated
@pytest.mark.parametrize("weights", ["u8", "u2", "u1", "u3"])
@pytest.mark.sampled(2)
def test_widths(weights: str) -> None:
    kernel = quantized(768, 64, (64, 64, 128), weights)
    args, wanted = arrays(64, 768, 64, int(weights[1:]))
    execute(kernel, args, 1)
    np.testing.assert_array_equal(args["c"], wanted)


def test_everything_is_copied_by_the_unit_and_one_product_runs_on() -> None:
    """Producer warps copy, no barrier of the block is in the loop: warps may be an iteration apart."""
    kernel = quantized(8192, 8192, (64, 128, 128), warps=8)
    (producers,) = every(kernel, ins.WarpSpecialize)
    (loop,) = (s for s in every(kernel, ins.For) if s.unroll == 2)
    copies = [s for s in every(kernel, ins.CopyAsync) if s.dst.memory.name.endswith("_ring")]
    assert {s.dst.memory.name for s in copies} == {"a_ring", "w_ring", "s_ring"}
    assert all(s.barrier is not None and s in set(walk(producers.body)) for s in copies)
    assert not any(isinstance(s, ins.Sync | ins.WaitGroup) for s in loop.body)
    assert [s.pending for s in every(kernel, ins.WaitDots)] == [1, 0]
    body = emitted(kernel)[0].partition("#pragma unroll 2")[2].partition("\n      }\n")[0]
    assert "keep_registers" in body
    assert "bulk_" not in body
    assert "fence_async_proxy" not in body


@emulated
@pytest.mark.parametrize(
    "line",
    ["wgmma_wait<1>();", "phase_await(full + slot, (unsigned)(phase));", "wgmma_fence();",
     "phase_await(empty + fill, (unsigned)(freed));"],
)  # fmt: skip
def test_what_is_left_out_is_found(line: str) -> None:
    kernel = quantized(2048, 128, (64, 128, 128), warps=8, units=1)
    args, wanted = arrays(64, 2048, 128, 4)
    head, mark, body = emitted(kernel)[0].partition("__global__")
    assert line in body
    for seed in range(12):
        got = {n: x.copy() for n, x in args.items()}
        try:
            execute(kernel, got, seed, lambda text: head + mark + body.replace(line, "", 1))
        except EmulationError:
            return
        if (got["c"] != wanted).any():
            return
    pytest.fail(f"nobody misses {line}")


@pytest.mark.parametrize(
    ("k", "tile", "options"),
    [
        (8192, (256, 64, 64), {}),
        (8192, (64, 128, 128), {"warps": 8}),
        (8192, (64, 128, 128), {"warps": 4}),
        (896, (64, 64, 128), {}),
        (None, (128, 128, 64), {"warps": 8}),  # as many iterations as the call says
        (8192, (64, 64, 128), {"split": 2, "stages": 4}),
    ],
)
@pytest.mark.sampled(2)
def test_machine_code_leaves_registers_under_way_alone(
    nvdisasm: None, k: int | None, tile: tuple[int, int, int], options: dict[str, int]
) -> None:
    """The registers of two iterations are different ones, and ptxas puts no waits of its own."""
    text, _ = emitted(quantized(k, 8192, tile, **options))
    (code,) = disassemble(compile_cubin(text, "sm_90a").cubin)
    assert any(left(i) for i in code.instructions)
    assert in_flight(flow(code)) == []
    loop = code.main_loop()
    assert loop is not None
    products = [i for i in loop.instructions if is_product(i)]
    assert loop.count("WARPGROUP.DEPBAR") == sum("gsb0" in i.operands for i in products)
    assert not code.spills()


def test_the_registers_of_one_turn_would_not_do(nvdisasm: None) -> None:
    text, _ = emitted(quantized(8192, 8192, (64, 64, 128)))
    once = text.replace("#pragma unroll 2\n", "#pragma unroll 1\n")
    assert once != text
    (code,) = disassemble(compile_cubin(once, "sm_90a").cubin)
    assert in_flight(flow(code))
