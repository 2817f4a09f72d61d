"""Copies by the memory unit in the emulator: right numbers, and no wait or barrier too many."""

from __future__ import annotations

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.toolchain import compile_isa
from dslc.codegen.quoting import entry_name
from dslc.compiler.ir import Kernel
from dslc.compiler.targets import find_target
from dslc.runtime.hip_emulator import EmulationError, Module, compiler

from support.hip.emulation import execute
from support.hip.products import product

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
SIZES = {"M": 64, "N": 64, "K": 512}
TILE = (64, 64, 64)


def arguments(m: int, n: int, k: int) -> dict[str, np.ndarray]:
    """Small whole numbers, whose products have no rounding."""
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-4, 5, shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (n, k)))
    return {"a": a, "b": b, "c": np.full((m, n), np.nan, ml_dtypes.bfloat16)}


def expected(args: dict[str, np.ndarray]) -> np.ndarray:
    exact = args["a"].astype(np.float32) @ args["b"].astype(np.float32).T
    return exact.astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize(
    "sizes", [(64, 64, 512), (100, 130, 208), (1, 1, 8), (64, 64, 64)], ids=str
)
@pytest.mark.sampled(3)
def test_products_through_a_ring(chip: str, stages: int, sizes: tuple[int, int, int]) -> None:
    """Rows, columns and depths that end within tiles; fewer iterations than stages."""
    kernel = product(chip, TILE, (("K", sizes[2]),), stages=stages)
    args = arguments(*sizes)
    execute(kernel, chip, args, seed=stages)
    np.testing.assert_array_equal(args["c"], expected(args))


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("sizes", [(64, 64, 512), (100, 136, 200), (33, 70, 75)], ids=str)
@pytest.mark.sampled(2)
def test_products_of_weights_by_rows_of_columns(chip: str, sizes: tuple[int, int, int]) -> None:
    kernel = product(chip, TILE, (("K", sizes[2]), ("N", sizes[1])), operands="nn")
    args = arguments(*sizes)
    wanted = expected(args)
    args["b"] = np.ascontiguousarray(args["b"].T)
    execute(kernel, chip, args, seed=3)
    np.testing.assert_array_equal(args["c"], wanted)


def fails(kernel: Kernel, text: str, chip: str = "gfx950") -> bool:
    """Whether some interleaving of a changed text is reported, or computes something else."""
    module = Module(text)
    for seed in range(6):
        args = arguments(**{k.lower(): v for k, v in SIZES.items()})
        plain = [args[n].view(np.uint16) for n in "abc"]
        dims = [SIZES[d.name] for d in kernel.dims]
        try:
            module.launch(
                entry_name(kernel.name), [*plain, *dims], 1, kernel.threads or 64, seed=seed
            )
        except EmulationError:
            return True
        if not np.array_equal(args["c"], expected(args)):
            return True
    return False


def ring(chip: str = "gfx950") -> Kernel:
    """One workgroup with three stages."""
    return product(chip, TILE, tuple(SIZES.items()), stages=3)


def source(kernel: Kernel, edit: Callable[[str], str] = lambda text: text) -> str:
    text, _ = emit(kernel, find_target("hip:gfx950"))
    changed = edit(text)
    return compile_isa(changed, "gfx950")


def test_the_text_itself_is_right() -> None:
    kernel = ring()
    assert not fails(kernel, source(kernel))


def without(isa: str, pattern: str, number: int) -> str:
    """The text without the n-th line that a pattern matches."""
    lines = isa.splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if re.search(pattern, line)][number]
    return "".join([*lines[:at], *lines[at + 1 :]])


def count(isa: str, pattern: str) -> int:
    return sum(bool(re.search(pattern, line)) for line in isa.splitlines())


WAITS, BARRIERS = r"^\ts_waitcnt vmcnt\(\d+\)$", r"^\ts_barrier$"


def test_every_counted_wait_and_every_barrier_is_needed() -> None:
    kernel = ring()
    isa = source(kernel)
    for pattern in (WAITS, BARRIERS):
        assert count(isa, pattern) >= 1
        for number in range(count(isa, pattern)):
            assert fails(kernel, without(isa, pattern, number)), (pattern, number)


def test_a_wait_for_fewer_loads_is_not_enough() -> None:
    kernel = ring()
    isa = source(kernel)
    waited = max(int(n) for n in re.findall(r"s_waitcnt vmcnt\((\d+)\)\n", isa))
    assert waited > 0
    assert fails(
        kernel, isa.replace(f"s_waitcnt vmcnt({waited})\n", f"s_waitcnt vmcnt({waited + 1})\n")
    )


def test_the_swizzle_of_what_lanes_read_is_the_swizzle_of_lds() -> None:
    kernel = ring()
    assert fails(
        kernel, source(kernel, lambda text: re.sub(r"(const int lane\w* = .*) \^ ", r"\1 | ", text))
    )
