"""What a placement costs, in nanoseconds of the engine that is busy: rates of targets/nki.

The rules are the documented ones: an engine works on one element of each partition in a cycle, a DMA
row shorter than 512 bytes takes as long as one of 512, a transposition goes through the tensor engine
in blocks of 128 x 128 and back from PSUM by another, and what goes through HBM waits for two transfers.
"""

from __future__ import annotations

from math import prod

from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import tile_of
from dslc.compiler.passes.trainium.alternatives import Way
from dslc.compiler.passes.trainium.placement import (
    PARTITIONS,
    Placement,
    chunks,
    counts,
    placement_of,
)
from dslc.compiler.targets.nki import Engines

_SHORT_ROW = 512  # bytes
_LATENCY = 1300.0  # of a transfer, ns
TRANSPOSING = 0.9  # of the DMA rate, where it transposes elements of two bytes on the way in
_NEVER = 1e12
_FEWEST = 64  # cycles of an instruction


def busy(engines: Engines, place: Placement, shape: tuple[int, ...]) -> float:
    """An elementwise instruction over the tile."""
    _, each = counts(place, shape)
    return chunks(place, shape) * max(_FEWEST, each) / engines.vector


def transfer(
    engines: Engines, place: Placement, region: Region, dtype: DType, *, store: bool = False
) -> float:
    """A DMA between the region and a tile in that placement."""
    shape, item = region.shape, max(1, dtype.bits // 8)
    size = prod(shape) * item
    if place.axis is None:
        return PARTITIONS * max(size, _SHORT_ROW) / engines.dma
    last = len(shape) - 1
    if dtype.is_low_bit and (place.axis == last or place.run > 1):
        return _NEVER  # a partition unpacks rows of its own
    if place.axis != last:
        run = shape[last] * item
    elif engines.transposes and not store and item == 2 and len(shape) == 2:
        return size / (TRANSPOSING * engines.dma)
    else:
        run = place.run * item
    rows = size / run
    return rows * max(run, _SHORT_ROW) / engines.dma


def transposed(engines: Engines, value: Value, region: Region) -> bool:
    """Whether a transfer is a transposition on the way: a matrix of two bytes, columns along rows."""
    place = None if value.type.layout is None else placement_of(value.type.layout)
    two_bytes = value.type.dtype.bits == 16
    matrix = value.type.rank == len(region.shape) == 2
    transposed = place is not None and place.axis == 1 and place.run == 1
    return engines.transposes and two_bytes and matrix and transposed


def convert(
    engines: Engines, here: Placement, there: Placement, shape: tuple[int, ...], dtype: DType
) -> float:
    """Bringing a tile from one placement to another."""
    if here == there:
        return 0.0
    size = prod(shape) * max(1, dtype.bits // 8)
    if by_tensor_engine(here, there, shape):
        blocks = prod(-(-n // PARTITIONS) for n in shape)
        return blocks * (PARTITIONS / engines.tensor + PARTITIONS / engines.vector) + 200
    copies = PARTITIONS if there.axis is None else 1
    return 2 * _LATENCY + size * (1 + copies) / engines.dma


def by_tensor_engine(here: Placement, there: Placement, shape: tuple[int, ...]) -> bool:
    """Whether the conversion is a transposition of a matrix."""
    axes = {here.axis, there.axis}
    return len(shape) == 2 and None not in axes and len(axes) == 2 and here.run == there.run == 1


def price(engines: Engines, stmt: Stmt, way: Way) -> float:
    """An instruction carried out that way, conversions apart."""
    if way.moves:
        return 2 * _LATENCY + sum(busy(engines, p, x.type.shape) for x, p in way.operands.items())
    match stmt:
        case ins.Load(out=out, region=region) if way.out is not None:
            return transfer(engines, way.out, region, out.type.dtype)
        case ins.Store(region=region, x=x) | ins.AtomicRmw(region=region, x=x):
            return transfer(engines, way.operands[x], region, x.type.dtype, store=True)
        case ins.Dot(a=a, b=b, out=out) if way.out is not None:
            return _product(engines, a, b, out, way.out)
        case ins.Reduce(x=x):
            return busy(engines, way.operands[x], x.type.shape)
        case ins.Transpose() | ins.Reshape() | ins.Broadcast() | ins.Extract() | ins.Full():
            return 0.0  # another way of reading the same elements
        case _:
            tile = tile_of(stmt)
            if tile is not None and way.out is not None:
                return busy(engines, way.out, tile.type.shape)
    return 0.0


def _product(engines: Engines, a: Value, b: Value, out: Value, place: Placement) -> float:
    m, n, k = out.type.shape[-2], out.type.shape[-1], a.type.shape[-1]
    batch = prod(out.type.shape[:-2])
    fixed, moving = (m, n) if place.axis == out.type.rank - 2 else (n, m)
    blocks = batch * -(-k // PARTITIONS) * -(-fixed // PARTITIONS)
    cycles = max(_FEWEST, moving) * (4 if b.type.dtype.bits == 32 else 1)
    return blocks * cycles / engines.tensor
