"""TMA: bulk copies of boxes of tensors by the machine's own unit, and the mbarriers that tell of them.

A kernel gets a tensor map, a parameter of 128 bytes that the runtime encodes, for each tensor and box
(PTX ISA 8.5, "Tensor maps"). One thread starts the copies, a column block at a time. What lies in a row
in both memories, such as packed weights of one k, needs no map and is copied at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add
from dslc.codegen.c_family.memory.accesses import access, pointer
from dslc.codegen.c_family.memory.widths import multiple, strides
from dslc.codegen.c_family.products.instruction_operands import Mismatch
from dslc.codegen.cuda.descriptors import operand, placed
from dslc.compiler.artifact import Json
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, Memory, Place, Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import walk
from dslc.compiler.layout import local
from dslc.compiler.manifest import expression_text
from dslc.compiler.passes.pipelining.tma_copies import rows_of

_ROWS = 8  # after which a swizzle begins anew
TENSOR_MAP = "struct alignas(64) TensorMap { unsigned long long words[16]; };\n\n"


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A box of a tensor, axes in the order of the memory; `swizzle` is its width in bytes."""

    memory: Memory
    box: tuple[int, ...]
    swizzle: int

    def to_data(self) -> dict[str, Json]:
        """As the launch describes it: extents and strides (bytes), the fastest axis first."""
        size = self.memory.dtype.bits // 8
        steps = reversed(strides(self.memory)[:-1])
        return {
            "kind": "tensor_map",
            "name": self.memory.name,
            "bytes": size,
            "extents": [expression_text(n) for n in reversed(self.memory.shape)],
            "strides": [f"({expression_text(s)}) * {size}" for s in steps],
            "box": list(reversed(self.box)),
            "swizzle": self.swizzle,
        }


def tensor_maps(kernel: Kernel) -> list[TensorMap]:
    """Those that a kernel's bulk copies need, each once, in the order of its parameters."""
    copies = (s for s in walk(kernel.body) if isinstance(s, ins.CopyAsync))
    maps = dict.fromkeys(tensor_map(s) for s in copies if is_bulk(s) and not is_run(s))
    return sorted(maps, key=lambda m: (kernel.tensors.index(m.memory), m.box))


def sent_from(kernel: Kernel) -> set[Memory]:
    """The buffers in shared memory from which the unit copies to tensors."""
    copies = (s for s in walk(kernel.body) if isinstance(s, ins.CopyAsync) and is_bulk(s))
    return {s.src.memory for s in copies if s.barrier is None}


def is_bulk(s: ins.CopyAsync) -> bool:
    """Whether the unit copies: to shared memory with a barrier, from there always."""
    return s.barrier is not None or _sides(s)[1] is s.dst


def is_run(s: ins.CopyAsync) -> bool:
    """Whether the bytes of a bulk copy follow each other: those to row-major buffers do."""
    return s.barrier is not None and s.dst.memory.layout is None


def _sides(s: ins.CopyAsync) -> tuple[Region, Region]:
    """The tile in shared memory, and the part of a tensor."""
    return (s.src, s.dst) if s.src.memory.place is Place.SHARED else (s.dst, s.src)


def tensor_map(s: ins.CopyAsync) -> TensorMap:
    """The map of a bulk copy: a column block of the tile. DSL0591 where the unit does not copy so."""
    tile, box = _sides(s)
    block = _column_block(tile)
    rows, wide = block.rows, block.wide
    kept = [d for d, a in enumerate(box.axes) if not a.dropped]
    extents = tuple({kept[0]: rows, kept[1]: wide}.get(d, 1) for d in range(box.memory.rank))
    return TensorMap(box.memory, extents, wide * tile.memory.dtype.bits // 8)


@dataclass(frozen=True, slots=True)
class _ColumnBlock:
    """Rows and columns of a column block of a tile in shared memory, or of a part of one.

    `slots` are the bytes that indices of a ring count, `whole` those of a column block, `swizzle` of
    its row.
    """

    rows: int
    wide: int
    swizzle: int
    whole: int
    slots: tuple[tuple[ex.Expr, int], ...]


def _column_block(region: Region) -> _ColumnBlock:
    """The column blocks of a region: whole ones of a tile, or the same rows of each."""
    kept = [d for d, a in enumerate(region.axes) if not a.dropped]
    try:
        layout, slots = placed(_whole(region))
        rows, columns = layout.shape
        bits = region.memory.dtype.bits
        form = operand(layout, bits, False, (columns, rows), np.zeros((1, 2), np.int64)).format
        wide = form.swizzle * 8 // bits
        dense = rows <= _ROWS or form.stride == _ROWS * form.swizzle
        if not dense or (columns > wide and form.leading != rows * form.swizzle):
            raise Mismatch("its column blocks do not follow each other")
        high, across = (region.axes[d] for d in kept)
        if across.size % min(wide, columns) or high.size % min(_ROWS, rows):
            raise Mismatch(
                "a part of it is neither whole column blocks nor whole rows of the swizzle"
            )
    except Mismatch as problem:
        text = f"@{region.memory.name} cannot be copied in bulk: {problem}"
        raise error("DSL0591", text) from None
    return _ColumnBlock(high.size, wide, form.swizzle, rows * form.swizzle, tuple(slots))


def _whole(region: Region) -> Region:
    """All of the tile that a region is a part of."""
    sizes = [constant(n) for n in region.memory.shape]
    axes = (
        a if a.dropped else replace(a, start=ex.index(0), size=int(n or a.size))
        for a, n in zip(region.axes, sizes, strict=True)
    )
    return Region(region.memory, tuple(axes))


def _inside(e: Emission, region: Region, block: _ColumnBlock) -> list[str]:
    """The bytes before a part of a tile: rows of its column blocks, whole ones. DSL0591 otherwise."""
    high, across = (a for a in region.axes if not a.dropped)
    terms = []
    for axis, unit, size in (
        (high, _ROWS, _ROWS * block.swizzle),
        (across, block.wide, block.whole),
    ):
        if constant(axis.start) == 0:
            continue
        if multiple(e, axis.start) % unit:
            text = (
                f"@{region.memory.name} cannot be copied in bulk from the middle of its swizzle on"
            )
            raise error("DSL0591", text)
        terms.append(f"({e.scalar(axis.start)}) / {unit} * {size}")
    return terms


def copy(e: Emission, s: ins.CopyAsync) -> None:
    """One thread starts the copies of all column blocks."""
    if is_run(s):
        _copy_run(e, s)
        return
    found = tensor_map(s)
    tile, box = _sides(s)
    block = _column_block(tile)
    count = tile.shape[-1] // block.wide
    slots = [f"({e.scalar(start)}) * {size}" for start, size in block.slots]
    slots += _inside(e, tile, block)
    i = e.out.name("i")
    base = f"(unsigned char*){pointer(e, tile.memory)}"
    offset = f"{i} * {block.whole}" if count > 1 else "0"
    starts = [e.scalar(a.start) for a in box.axes]
    if count > 1:
        starts[-1] = add(starts[-1], f"{i} * {block.wide}")
    at = ", ".join(f"(int)({x})" for x in reversed(starts))
    to = add(base, *slots, offset)
    if s.barrier is None:
        line = f"bulk_store_{len(starts)}d(&{e.maps[found]}, {to}, {at});"
    else:
        word, told = _told(e, s, s.barrier)
        line = f"{word}_{len(starts)}d({to}, &{e.maps[found]}, {told}, {at});"
    with e.out.block(led(e)):
        if count == 1:
            e.out.line(line)
            return
        with e.out.loop(i, count):
            e.out.line(line)


def _told(e: Emission, s: ins.CopyAsync, told: Region) -> tuple[str, str]:
    """How the function of a load begins, and the barrier that it tells, with the mask of a cluster."""
    at = barrier(e, told)
    if not s.multicast:
        return "bulk_load", at
    assert e.kernel.cluster is not None
    return "bulk_multicast", f"{at}, {hex((1 << e.kernel.cluster) - 1)}"


def led(e: Emission) -> str:
    """What is for the thread that acts for all begins so; where it runs alone, with nothing."""
    return f"if ({e.leader})" if e.leader else ""


def _copy_run(e: Emission, s: ins.CopyAsync) -> None:
    assert s.barrier is not None
    run, rows = rows_of(s.src)
    size = run * s.dst.memory.dtype.bits // 8
    to, source = (first_element(e, r) for r in (s.dst, s.src))
    i = e.out.name("i")
    if rows > 1:
        to = add(to, f"{i} * {run}")
        source = add(source, f"(long long){i} * {row_step(e, s.src)}")
    word, told = _told(e, s, s.barrier)
    call = f"{word}_run({to}, {source}, {told}, {size});"
    if rows == 1:
        e.out.line(f"{led(e)} {call}".lstrip())
        return
    with e.out.block(led(e)), e.out.loop(i, rows):
        e.out.line(call)


def first_element(e: Emission, region: Region) -> str:
    """The address of a region's first element."""
    *outer, last = region.axes
    row = Region(region.memory, (*(replace(a, size=1, dropped=True) for a in outer), last))
    return add(pointer(e, region.memory), access(e, row, local(last.size), last.size).address())


def row_step(e: Emission, region: Region) -> str:
    """Elements between the runs of a region, all of which lie along one axis."""
    axes = zip(strides(region.memory), region.axes, strict=True)
    return next(e.scalar(n) for n, a in axes if a.size > 1)


def barrier(e: Emission, region: Region) -> str:
    """The address of a barrier."""
    return add(pointer(e, region.memory), e.scalar(region.axes[0].start))


def init(e: Emission, s: ins.InitBarriers) -> None:
    """One thread makes them; the barrier of the block that follows tells the others."""
    first, count = barrier(e, s.region), s.region.axes[0].size
    together = any(
        isinstance(x, ins.Arrive) and x.together and x.region.memory is s.region.memory
        for x in walk(e.kernel.body)
    )
    arrivals = s.arrivals * (e.threads // e.warp if together else 1)
    with e.out.block(f"if ({e.leader})"):
        with e.out.loop("i", count):
            e.out.line(f"phase_init({first} + i, {arrivals});")
        e.out.line("phase_init_fence();")


def arrive(e: Emission, s: ins.Arrive) -> None:
    """One thread arrives, with the bytes that are to come; or one of each warp."""
    at = barrier(e, s.region)
    if s.together and s.everywhere:
        lane = f"tid % {e.warp}"
        e.out.line(f"if ({lane} < {e.kernel.cluster}) phase_arrive_at({at}, {lane});")
        return
    if s.together:
        e.out.line(f"if (tid % {e.warp} == 0) phase_arrive({at});")
        return
    if s.everywhere:
        raise error("DSL0590", "one thread does not arrive at barriers of a whole cluster", s.loc)
    call = f"phase_expect({at}, {s.bytes});" if s.bytes else f"phase_arrive({at});"
    e.out.line(f"{led(e)} {call}".lstrip())


def await_phase(e: Emission, s: ins.AwaitPhase) -> None:
    """All threads wait."""
    e.out.line(f"phase_await({barrier(e, s.region)}, {_parity(e, s.parity)});")


def _parity(e: Emission, parity: ex.Expr) -> str:
    return f"(unsigned)({e.scalar(parity)})"


EMITTERS: dict[type, Emitter] = {
    ins.InitBarriers: init,
    ins.Arrive: arrive,
    ins.AwaitPhase: await_phase,
}
