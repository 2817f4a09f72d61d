"""Sums in pieces, and warpgroups that alternate, by the emitted text; faults in it are found."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir import Kernel
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower
from support.gpu.groups import expected, grouped, operands
from support.kernels import one

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


@emulated
@pytest.mark.parametrize("dims", [(80, 512, 192), (128, 256, 320)])
def test_pieces_give_the_same_sums(dims: tuple[int, int, int]) -> None:
    kernel = lower(grouped((128, 256, 64)), 2, warps=8)
    for seed in range(2):
        given: dict[str, Array] = operands(*dims, 64)
        execute(kernel, given, seed)
        np.testing.assert_array_equal(given["c"], expected(given))


def test_pieces_are_put_together_in_registers() -> None:
    """Nothing but a number that one thread tells the others goes through scratch memory."""
    kernel = lower(grouped((128, 256, 64)), 2, warps=8)
    assert isinstance(kernel, Kernel)
    text, _ = emitted(kernel)
    assert text.count("scratch)[0]") == text.count("scratch)[") == 2


CHAIN = """
kernel chain(q: f16[M, D], k: f16[L, D], v: f16[L, D], o: out f32[M, D]):
    require D % 16 == 0
    for m in parallel(range(0, M, 128)):
        rows = q[m : m + 128, 0 : 256]
        acc = zeros(f32, [128, 256])
        for l in range(0, L, 64):
            p = dot(rows, k[l : l + 64, 0 : 256], transposed="b")
            acc = acc * 0.5 + dot(cast(maximum(p, 0), f16), v[l : l + 64, 0 : 256])
        o[m : m + 128, 0 : 256] = acc
"""


def chain() -> Kernel:
    found = lower(one(CHAIN, {"D": 256}), warps=8)
    assert isinstance(found, Kernel)
    assert emitted(found)[0].count("await_partner(group)") == 2
    return found


def chained(rows: int, keys: int) -> tuple[dict[str, Array], Array]:
    rng = np.random.default_rng(keys)
    q, k, v = (rng.integers(-1, 2, (n, 256)).astype(np.float16) for n in (rows, keys, keys))
    wanted = np.zeros((rows, 256), np.float32)
    for start in range(0, keys, 64):
        block = slice(start, start + 64)
        p = np.maximum(q.astype(np.float32) @ k[block].astype(np.float32).T, 0)
        wanted = wanted * 0.5 + p @ v[block].astype(np.float32)
    return {"q": q, "k": k, "v": v, "o": np.full((rows, 256), np.nan, np.float32)}, wanted


@emulated
@pytest.mark.parametrize("keys", [0, 64, 320])
def test_warpgroups_that_alternate_give_the_same_products(keys: int) -> None:
    given, wanted = chained(128, keys)
    execute(chain(), given, keys)
    np.testing.assert_array_equal(given["o"], wanted)


@emulated
@pytest.mark.parametrize(
    "line",
    [
        "      hand_over(group);\n",  # the other one waits for ever
        "    if (group == 0) hand_over(group);\n",
        "      await_partner(group);\n",  # more arrivals than a barrier counts
    ],
)
def test_an_exchange_that_does_not_match_is_found(line: str) -> None:
    def edit(text: str) -> str:
        assert line in text
        return text.replace(line, "", 1)

    with pytest.raises(EmulationError):
        execute(chain(), chained(128, 320)[0], edit=edit)


@pytest.mark.usefixtures("nvrtc")
def test_the_products_of_warpgroups_that_alternate_run_on() -> None:
    """ptxas serializes products where it cannot follow what is under way."""
    library = dslc.compile(EXAMPLES / "attention.tile", "cuda:sm_90a")
    text = library["attention"].specialize(D=256, BS=128, BL=80).source()
    assert "await_partner(group)" in text
    (found,) = compile_cubin(text, "sm_90a").resources.values()
    assert not found.serialized
    assert not found.spills
