"""Blocks of a cluster in CUDA C: tiles that one copies to all, and what each must wait for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dslc.codegen.cuda.lowering import lower as lower_to_artifact
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.codegen.quoting import entry_name
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import TARGET, emitted, execute, lower
from support.gpu.quantized import arrays, quantized
from support.kernels import every
from support.products import product

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


def dense(
    tile: tuple[int, int, int], dtype: str = "f16", *, across: bool = False, **options: int
) -> Kernel:
    found = lower(product(tile, dtype, across=across), **options)
    assert isinstance(found, Kernel)
    return found


def numbers(
    m: int, n: int, k: int, dtype: str = "f16", *, across: bool = False
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    import ml_dtypes

    rng = np.random.default_rng(m + n + k)
    a, b = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    kind = {"f16": np.float16, "f8e4m3": ml_dtypes.float8_e4m3fn}[dtype]
    given = [x.astype(kind) for x in (a, np.ascontiguousarray(b.T) if across else b)]
    if dtype == "f8e4m3":
        given = [x.view(np.uint8) for x in given]
    c = np.full((m, n), np.nan, np.float16 if dtype == "f16" else np.float32)
    return {"a": given[0], "b": given[1], "c": c}, (a @ b).astype(c.dtype)


def shared(kernel: Kernel) -> set[str]:
    return {s.dst.memory.name for s in every(kernel, ins.CopyAsync) if s.multicast}


CASES = [
    ((64, 128, 64), "f16", (128, 256, 192), {"cluster": 2}),
    ((64, 128, 64), "f16", (80, 144, 160), {"cluster": 2}),
    ((64, 64, 64), "f16", (208, 64, 320), {"cluster": 4, "units": 8}),  # parts of columns' rows
    ((64, 64, 64), "f16", (320, 192, 448), {"cluster": 2, "units": 6}),  # shares, and an odd row
    ((128, 64, 128), "f8e4m3", (256, 128, 384), {"cluster": 2, "units": 4}),
]


@emulated
@pytest.mark.parametrize(("tile", "dtype", "dims", "options"), CASES)
def test_text_and_interpreter_agree(
    tile: tuple[int, int, int],
    dtype: str,
    dims: tuple[int, int, int],
    options: dict[str, int],
) -> None:
    across = dtype == "f8e4m3"
    kernel = dense(tile, dtype, across=across, **options)
    assert kernel.cluster == options["cluster"]
    assert len(shared(kernel)) == 1
    args, wanted = numbers(*dims, dtype, across=across)
    for seed in range(3):
        got = {name: x.copy() for name, x in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["c"], wanted)
    for shuffle in (None, 1):
        got = {name: x.copy() for name, x in args.items()}
        run(kernel, got, Options(shuffle=shuffle))
        np.testing.assert_array_equal(got["c"], wanted)


@emulated
@pytest.mark.parametrize(
    ("tile", "m", "k", "n", "options", "rings"),
    [
        ((128, 64, 64), 128, 512, 256, {}, {"a_ring"}),  # activations, along the columns
        ((64, 128, 128), 128, 640, 128, {"warps": 8}, {"w_ring", "s_ring"}),  # one tile of columns
        ((64, 64, 128), 64, 1024, 192, {"units": 4}, {"a_ring"}),  # an odd number of them
    ],
)
def test_quantised_products_share_what_saves_most(
    tile: tuple[int, int, int], m: int, k: int, n: int, options: dict[str, int], rings: set[str]
) -> None:
    kernel = quantized(k, n, tile, cluster=2, **options)
    assert shared(kernel) == rings
    args, wanted = arrays(m, k, n, 4)
    for seed in range(2):
        got = {name: x.copy() for name, x in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["c"], wanted)
    (packed,) = kernel.packed
    args["w"] = packing.pack(args["w"], packed.storage.to_data())
    run(kernel, args, Options(shuffle=3))
    np.testing.assert_array_equal(args["c"], wanted)


FAULTS = {
    "no barrier before others' memory is reached": (r"cluster_meet\(\);", "__syncthreads();", 0),
    "a block ends while others reach it": (r"cluster_sync\(\);", ";", 0),
    "slots are freed for the block itself alone": (
        r"phase_arrive_at\((.*), tid % 32\)", r"phase_arrive_at(\1, (int)blockIdx.x % 2)", None,
    ),
    "a slot is filled before all have read it": (
        r"phase_init\(empty \+ i, 8\)", "phase_init(empty + i, 4)", 0,
    ),
    "a copy reaches one block": (r"full \+ fill, 0x3", "full + fill, 0x1", None),
    "both copy the same part": (r"\(long long\)rank \* 64", "0 * rank", None),
    "fewer bytes are announced than come": (r"(phase_expect\(full \+ fill, )(\d+)\)", r"\1 \2 / 2)", 0),
    "a descriptor has bits of the rank": (r"& 0x3ffffu", "& ~0u", 0),
    "a wait is missing": (r"phase_await\(empty.*\);", ";", 0),
}  # fmt: skip


@emulated
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str) -> None:
    kernel = dense((64, 128, 64), cluster=2, units=2)
    args, wanted = numbers(128, 256, 640)
    pattern, instead, which = FAULTS[fault]
    head, mark, body = "", *emitted(kernel)[0].partition("#define DEVICE")[1:]
    places = list(re.finditer(pattern, body))
    for place in reversed(places if which is None else [places[which]]):
        body = body[: place.start()] + place.expand(instead) + body[place.end() :]
    for seed in range(24):
        got = {n: x.copy() for n, x in args.items()}
        try:
            execute(kernel, got, seed, lambda _: head + mark + body)
        except EmulationError:
            return
        if (got["c"] != wanted).any():
            return
    pytest.fail(f"nobody notices: {fault}")


@pytest.mark.usefixtures("nvrtc")
def test_the_launch_knows_the_cluster() -> None:
    kernel = dense((128, 256, 64), cluster=2)
    made = lower_to_artifact(kernel, TARGET)
    assert made.launch["cluster"] == [2, 1, 1]
    assert made.grid[0].endswith("66) * 2))")  # whole clusters
    resources = compile_cubin(emitted(kernel)[0], "sm_90a").resources[entry_name(kernel.name)]
    assert not resources.spills
    assert not resources.serialized
