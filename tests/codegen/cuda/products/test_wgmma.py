"""Products of warpgroups: the text computes what the interpreter does, and faults in it are found."""

from __future__ import annotations

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.cuda import wgmma
from dslc.codegen.cuda.tools.sass import disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower
from support.kernels import every
from support.products import product

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "i8": np.int8,
    "u8": np.uint8, "tf32": np.float32,
}  # fmt: skip


def lowered(*args: object, **options: object) -> Kernel:
    found = lower(product(*args, **options))  # type: ignore[arg-type]
    assert isinstance(found, Kernel)
    assert all(d.is_async for d in every(found, ins.Dot))
    return found


def arrays(kernel: Kernel, dims: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Small integers: products and sums are exact in any order."""
    rng = np.random.default_rng(seed)
    found = {}
    for memory in kernel.tensors:
        shape = [dims[d.name] for d in memory.shape]  # type: ignore[union-attr]
        name = memory.dtype.name
        kind = NUMPY.get(name) or {"f32": np.float32, "i32": np.int32}[name]
        low = 0 if name == "u8" else -3
        found[memory.name] = rng.integers(low, 4, shape).astype(kind)
        if name.startswith("f8"):
            found[memory.name] = found[memory.name].view(np.uint8)
    return found


def agree(kernel: Kernel, dims: dict[str, int], seeds: int = 3) -> None:
    args = arrays(kernel, dims)
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    for seed in range(seeds):
        got = {n: a.copy() for n, a in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["c"], wanted["c"])


@emulated
@pytest.mark.parametrize(
    ("stages", "down", "across"),
    [(None, False, True), (2, False, False), (3, True, True), (5, True, False)],
)
def test_rings_of_any_depth(stages: int | None, down: bool, across: bool) -> None:
    kernel = lowered((64, 64, 32), stages=stages, down=down, across=across)
    agree(kernel, {"M": 80, "N": 96, "K": 208})


@emulated
@pytest.mark.parametrize(
    ("tile", "dims"),
    [
        ((128, 128, 64), (128, 128, 128)),  # two warpgroups
        ((16, 64, 64), (16, 128, 128)),  # operands exchanged
        ((64, 16, 16), (64, 32, 48)),  # the narrowest rows
        ((64, 96, 64), (128, 96, 64)),  # panels of 64 bytes
        ((64, 64, 64), (0, 64, 64)),
        ((64, 64, 64), (64, 64, 0)),
    ],
)
@pytest.mark.sampled(2)
def test_tiles_of_many_shapes(tile: tuple[int, int, int], dims: tuple[int, int, int]) -> None:
    agree(lowered(tile), dict(zip("MNK", dims, strict=True)), 2)


@emulated
@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3", "i8", "u8", "tf32"])
def test_every_element_type(dtype: str) -> None:
    depth = 32 if dtype == "tf32" else 64
    agree(lowered((64, 64, depth), dtype, across=True), {"M": 64, "N": 80, "K": 160}, 2)


@emulated
def test_a_loop_in_a_loop_is_filled_by_the_threads() -> None:
    kernel = lowered((64, 64, 32), again=2)
    assert all(s.barrier is None for s in every(kernel, ins.CopyAsync) if s.layout is not None)
    assert "fence_async_proxy();" in emitted(kernel)[0]
    agree(kernel, {"M": 64, "N": 64, "K": 96})


Edit = Callable[[str], str]


def without(line: str) -> Edit:
    """The text with that line of the kernel gone."""

    def edit(text: str) -> str:
        head, mark, body = text.partition("__global__")
        assert line in body
        return head + mark + body.replace(line, "", 1)

    return edit


@emulated
@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("wgmma_fence();", 0),
        ("wgmma_wait<0>();", 0),
        ("wgmma_wait<1>();", 0),
        ("phase_await(full + slot, (unsigned)(phase));", 0),
        ("phase_await(empty + fill, (unsigned)(freed));", 0),
        ("fence_async_proxy();", 2),
        ("bulk_commit();", 0),
    ],
)
def test_what_is_left_out_is_found(line: str, again: int) -> None:
    # Two warpgroups may be an iteration apart: one alone waits for itself.
    wide = 128 if "empty" in line else 64
    # Blocks share the turn: with fewer stages than a share has steps, slots are filled again.
    kernel = lowered((wide, wide, 32), again=again, stages=None if again else 3)
    args = arrays(kernel, {"M": wide, "N": wide, "K": 1024})
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    for seed in range(12):
        got = {n: a.copy() for n, a in args.items()}
        try:
            execute(kernel, got, seed, without(line))
        except EmulationError:
            return
        if (got["c"] != wanted["c"]).any():
            return
    pytest.fail(f"nobody misses {line}")


@emulated
@pytest.mark.parametrize(
    ("old", "new", "report"),
    [
        ("phase_expect(full + fill, 8192)", "phase_expect(full + fill, 9216)", "wait for ever"),
        ("b_ring, 0, 1024, 1)", "b_ring, 0, 1024, 0)", "not swizzled"),
        ("a_ring, 0, 512, 2) + (slot)", "a_ring, 0, 512, 2) + 1 + (slot)", "beyond|differ|other"),
    ],
)
def test_wrong_numbers_are_found(old: str, new: str, report: str) -> None:
    kernel = lowered((64, 64, 32))
    assert old in emitted(kernel)[0]
    args = arrays(kernel, {"M": 64, "N": 64, "K": 512})
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    try:
        execute(kernel, args, 1, lambda text: text.replace(old, new))
    except EmulationError as problem:
        assert re.search(report, str(problem))  # noqa: PT017
        return
    assert (args["c"] != wanted["c"]).any()


def test_machine_code_has_the_units_and_no_spills(nvdisasm: None) -> None:
    text, _ = emitted(lowered((128, 256, 64)))
    binary = compile_cubin(text, "sm_90a")
    assert binary.resources["product_kernel"].spill_stores == 0
    (code,) = disassemble(binary.cubin)
    loop = code.main_loop()
    assert loop is not None
    listing = code.text()
    assert listing.count("HGMMA.64x256x16") == 4
    assert "UTMALDG.2D" in listing
    assert "UTMASTG.2D" in listing
    assert "HMMA." not in listing.replace("HGMMA", "")


@pytest.mark.parametrize("n", [8, 24, 128, 256])
def test_instructions_assemble(nvrtc: None, n: int) -> None:
    chosen = {k: v for k, v in wgmma.functions().items() if k.startswith(f"wgmma_m64n{n}k")}
    assert len(chosen) == 22  # either way of the left operand
    calls = []
    for name, code in chosen.items():
        given = "int" if "_i8" in name else "float"
        flags = {2: "<0, 1>", 1: "<1>", 0: ""}[code.count("int A") + code.count("int B")]
        left = "a" if "_ss_" in name else "words"
        calls.append(f"{name}{flags}(({given}*)d, {left}, b);")
    source = (
        "#define DEVICE static __device__ __forceinline__\n" + "\n".join(chosen.values())
        + '\nextern "C" __global__ void k(void* d, const unsigned* words, unsigned long long a,'
        ' unsigned long long b) {\n'
        + "\n".join(calls[::3]) + "\n}\n"
    )  # fmt: skip
    assert compile_cubin(source, "sm_90a").cubin
