"""What a product costs that no matrix unit makes: threads multiply what lies in shared memory.

The generator (codegen/c_family/products/thread_products.py) writes a slab of both operands to shared
memory, as 32 or 64 bits each, and threads multiply what belongs to their elements of the result: for
each k the rows of a, four k at a time, and the columns of b, neighbours at once. So a multiply-add
needs the fewer loads the more rows and columns a thread has, and loads take shared memory's time by
what lanes of a warp do not have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from dslc.compiler.dtypes import DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout
from dslc.compiler.layout.mode import with_weights

SLAB = 16384  # bytes of shared memory for a slab of both operands
_VECTOR = 16  # bytes of the widest load
_UNROLLED = 4  # k whose operands are loaded together
_STORE = 2.0  # instructions for an element that is written, beside its cast: its place, the store


@dataclass(frozen=True, slots=True)
class ThreadProduct:
    """Of a whole block: `multiply_adds` and `others`, warp instructions; `shared`, bytes of its banks'
    time; `slabs`, which end at barriers; `steps`, loads that threads wait for one after the other.
    """

    multiply_adds: float
    others: float
    shared: float
    slabs: int
    steps: float


def accumulator_bytes(dtype: DType) -> int:
    """What an operand's element takes in shared memory, by the dtype of the sums."""
    return 8 if dtype.bits == 64 else 4


def slab_depth(dot: ins.Dot) -> int:
    """How many k of both operands lie in shared memory at one time: all, or a power of two.

    Then the parts of threads lie in a slab whole or not at all, and a compiler drops the tests. Slabs
    of 51 have been compiled to writes past the end by clang 21 (gfx942 and gfx950).
    """
    *batch, m, n = dot.out.type.shape
    k = dot.a.type.shape[-1]
    fit = SLAB // (prod(batch) * (m + n) * accumulator_bytes(dot.out.type.dtype))
    return k if k <= fit else 1 << max(1, fit).bit_length() - 1


def slab_bytes(dot: ins.Dot) -> int:
    """What a slab of both operands takes."""
    *batch, m, n = dot.out.type.shape
    width = accumulator_bytes(dot.out.type.dtype)
    return prod(batch) * (m + n) * slab_depth(dot) * width


def thread_product(dot: ins.Dot, warps: int, warp: int, banks: float) -> ThreadProduct:
    """The work of a product; shared memory moves `banks` bytes in a cycle."""
    *batch, m, n = dot.out.type.shape
    k = dot.a.type.shape[-1]
    width = accumulator_bytes(dot.out.type.dtype)
    rows, columns = _split(dot.out.type.layout, (m, n), prod(batch), warps * warp, warp)
    layout = dot.out.type.layout
    held = (
        layout.locals if layout is not None else max(1, prod(dot.out.type.shape) // (warps * warp))
    )
    planes = max(1.0, held / (rows.own * columns.own))
    if layout is not None:
        warps = max(1, layout.threads // warp)
    depth = _UNROLLED if width == 4 else _VECTOR // width
    left = planes * rows.own / depth
    right = planes * ceil(columns.own / max(1, min(columns.run, _VECTOR // width)))
    moved = max(banks * left, planes * rows.own * rows.lanes * width)
    moved += max(banks * right, planes * columns.own * columns.lanes * width)
    stored = sum(prod(x.type.shape) for x in (dot.a, dot.b))
    return ThreadProduct(
        multiply_adds=float(warps * k * held),
        others=warps * k * (left + right) + _STORE * stored / warp,
        shared=warps * k * moved + stored * width,
        slabs=-(-k // slab_depth(dot)),
        steps=k / _UNROLLED,
    )


@dataclass(frozen=True, slots=True)
class _Share:
    """Of an axis: what a thread has, so many side by side, and the lanes of a warp that differ."""

    own: int
    run: int
    lanes: int


def _split(
    layout: Layout | None, shape: tuple[int, int], planes: int, threads: int, warp: int
) -> tuple[_Share, _Share]:
    """How a result's rows and columns lie over the threads; without a layout as they usually do."""
    if layout is None:
        each = max(1, planes * prod(shape) // threads)
        columns = min(4, each, shape[1])
        lanes = max(1, min(warp, shape[1] // columns))
        rows = max(1, min(shape[0], each // columns))
        return _Share(rows, 1, max(1, warp // lanes)), _Share(columns, columns, lanes)
    shares = []
    for axis in (layout.rank - 2, layout.rank - 1):
        local = [mode for mode in layout.local_modes if mode.axis == axis]
        spread = with_weights(layout.spatial_modes)
        lanes = prod(
            min(mode.size, warp // weight)
            for mode, weight in spread
            if mode.axis == axis and weight < warp
        )
        run = next((mode.size for mode in reversed(local) if mode.stride == 1), 1)
        shares.append(_Share(prod(mode.size for mode in local), run, lanes))
    return shares[0], shares[1]
