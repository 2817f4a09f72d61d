"""Buffers, barriers, gathers, printing."""

from __future__ import annotations

from dslc.codegen.c_family.accesses import (
    access,
    code,
    first_copy,
    pointer,
    tile_axis,
)
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add, loops
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.scalars import not_negative, unsupported
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Memory, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


def alloc(e: Emission, s: ins.Alloc) -> None:
    """Memory begins to live: its place was planned before."""
    if s.memory not in e.memories:
        raise unsupported(f"the buffer {s.memory.name}, which no pass has placed")


def sync(e: Emission, s: ins.Sync) -> None:
    """A barrier of the block."""
    e.out.line("__syncthreads();")


def assertion(e: Emission, s: ins.Assert) -> None:
    """Stop the kernel with a text."""
    text = s.text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    with e.out.block(f"if (!({e.scalar(s.condition)}))"):
        e.out.line(f'if (tid == 0) printf("assertion failed: {text}\\n");')
        e.out.line("__trap();")


def show(e: Emission, s: ins.Print) -> None:
    """Print scalars, and each element of tiles with its index."""
    text = s.text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    scalars = [a for a in s.args if not isinstance(a, Value)]
    formats = " ".join(_format(a.dtype) for a in scalars)
    values = "".join(f", {_printed(e.scalar(a), a.dtype)}" for a in scalars)
    e.out.line(f'if (tid == 0) printf("{text} {formats}\\n"{values});')
    for value in (a for a in s.args if isinstance(a, Value)):
        _show_tile(e, text, e.tile(value))


def _show_tile(e: Emission, text: str, tile: Tile) -> None:
    from dslc.codegen.c_family.indexing import chunks

    found = chunks(tile.layout, 1, e.out)
    rank = tile.layout.rank
    with loops(e.out, found):
        at = [add(e.bases.base(tile.layout, a), found.offset(a)) or "0" for a in range(rank)]
        index = ", ".join(["%d"] * rank)
        values = "".join(f", {a}" for a in at)
        line = f'printf("{text} [{index}] {_format(tile.dtype)}\\n"{values}, {_printed(tile.read(found.element), tile.dtype)});'
        once = first_copy(tile.layout)
        e.out.line(f"if ({once}) {line}" if once else line)


def _format(dtype: DType) -> str:
    return "%g" if dtype.is_float else "%lld"


def _printed(text: str, dtype: DType) -> str:
    return f"(double)({text})" if dtype.is_float else f"(long long)({text})"


def _ids_tile(e: Emission, ids: Value, shape: tuple[int, ...], axis: int, out: Value) -> Tile:
    """The id of every element of a gathered tile, in the tile's layout."""
    import numpy as np

    from dslc.codegen.c_family.remap import move
    from dslc.compiler.ir import TileType

    rank = ids.type.rank
    wide = Value(TileType(ids.type.dtype, out.type.shape, out.type.layout), "ids")
    move(e, wide, e.tile(ids), lambda i: np.ascontiguousarray(i[:, axis : axis + rank]))
    return e.tile(wide)


def _gather_address(
    e: Emission, region: Region, tile: Tile, found_offset: list[str], chosen: str, axis: int, ids_rank: int
) -> tuple[str, str]:
    """The address and condition of a gathered element."""
    from dslc.codegen.c_family.accesses import strides

    parts, inside = [], []
    for k, a in enumerate(region.axes):
        start = e.scalar(a.start)
        if k == axis:
            at = add(start, f"({chosen})")
            inside.append(f"({at}) >= 0 && ({at}) < {e.scalar(region.memory.shape[k])}")
        else:
            place = tile_axis(region, k)
            place = place if place < axis else place + ids_rank - 1
            at = start if a.dropped else add(start, f"({found_offset[place]}) * {a.step}" if a.step != 1 else found_offset[place])
            if a.checked:
                if not not_negative(a.start):
                    inside.append(f"({at}) >= 0")
                inside.append(f"({at}) < {e.scalar(region.memory.shape[k])}")
        stride = e.scalar(strides(region.memory)[k])
        parts.append(f"(long long)({at}) * {stride}" if stride != "1" else f"({at})")
    return " + ".join(parts) or "0", " && ".join(inside)


def gather(e: Emission, s: ins.Gather) -> None:
    """Rows by index."""
    from dslc.codegen.c_family.indexing import chunks

    ids = _ids_tile(e, s.ids, s.out.type.shape, s.axis, s.out)
    tile = e.new(s.out, zero=True)
    found = chunks(tile.layout, 1, e.out)
    with loops(e.out, found):
        at = [add(e.bases.base(tile.layout, a), found.offset(a)) or "0" for a in range(tile.layout.rank)]
        where, inside = _gather_address(e, s.region, tile, at, ids.read(found.element), s.axis, s.ids.type.rank)
        raw = f"({pointer(e, s.region.memory)})[{where}]"
        from dslc.codegen.c_family.accesses import _set

        e.out.line(f"if ({inside}) {{ {_set(tile, found.element, raw, s.region.memory.dtype)} }}")


def scatter(e: Emission, s: ins.Scatter) -> None:
    """The inverse of a gather."""
    from dslc.codegen.c_family.ctypes_of import memory_type
    from dslc.codegen.c_family.indexing import chunks

    ids = _ids_tile(e, s.ids, s.x.type.shape, s.axis, s.x)
    tile = e.tile(s.x)
    found = chunks(tile.layout, 1, e.out)
    once = first_copy(tile.layout)
    with loops(e.out, found):
        at = [add(e.bases.base(tile.layout, a), found.offset(a)) or "0" for a in range(tile.layout.rank)]
        where, inside = _gather_address(e, s.region, tile, at, ids.read(found.element), s.axis, s.ids.type.rank)
        condition = " && ".join(c for c in (once, inside) if c)
        to = f"({pointer(e, s.region.memory)})[{where}]"
        e.out.line(f"if ({condition}) {to} = ({memory_type(s.region.memory.dtype)}){code(tile, found.element)};")


def scan(e: Emission, s: ins.Scan) -> None:
    """Inclusive sums along an axis: through shared memory, one thread a line."""
    from math import prod

    from dslc.codegen.c_family.ctypes_of import element_type
    from dslc.codegen.c_family.indexing import chunks

    x = e.tile(s.x)
    ctype = element_type(x.dtype)
    shape = x.layout.shape
    area = e.scratch(prod(shape) * (8 if x.dtype.bits == 64 else 4))
    cells = f"(({ctype}*){area})"

    def where(found: object) -> str:
        parts = []
        for axis in range(len(shape)):
            stride = prod(shape[axis + 1 :])
            at = add(e.bases.base(x.layout, axis), found.offset(axis))  # type: ignore[attr-defined]
            parts.append(f"({at or '0'}) * {stride}")
        return " + ".join(parts)

    once = first_copy(x.layout)
    e.out.line("__syncthreads();")
    found = chunks(x.layout, 1, e.out)
    with loops(e.out, found):
        line = f"{cells}[{where(found)}] = {x.read(found.element)};"
        e.out.line(f"if ({once}) {line}" if once else line)
    e.out.line("__syncthreads();")
    inner = prod(shape[s.axis + 1 :])
    lines = prod(shape) // shape[s.axis]
    with e.out.block(f"for (int line = tid; line < {lines}; line += {e.threads})"):
        e.out.line(f"int at = line / {inner} * {inner * shape[s.axis]} + line % {inner};")
        e.out.line(f"{ctype} total = 0;")
        with e.out.block(f"for (int i = 0; i < {shape[s.axis]}; ++i, at += {inner})"):
            e.out.line(f"total += {cells}[at]; {cells}[at] = total;")
    e.out.line("__syncthreads();")
    tile = e.new(s.out)
    found = chunks(tile.layout, 1, e.out)
    with loops(e.out, found):
        e.out.line(tile.write(found.element, f"{cells}[{where(found)}]"))
    e.out.line("__syncthreads();")


def concat(e: Emission, s: ins.Concat) -> None:
    """Tiles one after another: through shared memory."""
    from math import prod

    from dslc.codegen.c_family.indexing import chunks
    from dslc.codegen.c_family.remap import _cell, _row_major

    tile = e.new(s.out)
    ctype, put, take = _cell(tile)
    shape = tile.layout.shape
    area = e.scratch(prod(shape) * (8 if tile.dtype.bits == 64 else 4))
    cells = f"(({ctype}*){area})"
    e.out.line("__syncthreads();")
    start = 0
    for value in s.xs:
        x = e.tile(value)
        found = chunks(x.layout, 1, e.out)
        once = first_copy(x.layout)
        with loops(e.out, found):
            parts = []
            for axis in range(len(shape)):
                at = add(e.bases.base(x.layout, axis), found.offset(axis)) or "0"
                at = f"{at} + {start}" if axis == s.axis else at
                parts.append(f"({at}) * {prod(shape[axis + 1 :])}")
            line = f"{cells}[{' + '.join(parts)}] = {put.format(x.name, found.element)};"
            e.out.line(f"if ({once}) {line}" if once else line)
        start += value.type.shape[s.axis]
    e.out.line("__syncthreads();")
    found = chunks(tile.layout, 1, e.out)
    with loops(e.out, found):
        e.out.line(take.format(tile.name, found.element, f"{cells}[{_row_major(e, tile.layout, found)}]"))
    e.out.line("__syncthreads();")


def semaphore_wait(e: Emission, s: ins.SemaphoreWait) -> None:
    """One thread spins, then the block goes on."""
    at = _one(e, s.region)
    ctype = "long long" if s.region.memory.dtype.bits == 64 else "int"
    with e.out.block("if (tid == 0)"):
        e.out.line(f"while (*(volatile {ctype}*)({at}) != {e.scalar(s.value)}) {{}}")
        e.out.line("__threadfence();")
    e.out.line("__syncthreads();")


def semaphore_release(e: Emission, s: ins.SemaphoreRelease) -> None:
    """All writes of the block are published before the value."""
    ctype = "long long" if s.region.memory.dtype.bits == 64 else "int"
    e.out.line("__threadfence();")
    e.out.line("__syncthreads();")
    e.out.line(f"if (tid == 0) *(volatile {ctype}*)({_one(e, s.region)}) = {e.scalar(s.value)};")


def _one(e: Emission, region: Region) -> str:
    from dslc.compiler.layout import replicate

    found = access(e, region, replicate(e.threads, rank=len(region.shape)), 1)
    return f"{pointer(e, region.memory)} + {found.address()}"


EMITTERS: dict[type, Emitter] = {
    ins.Alloc: alloc, ins.Sync: sync, ins.Assert: assertion, ins.Print: show, ins.Gather: gather,
    ins.Scatter: scatter, ins.Scan: scan, ins.Concat: concat, ins.SemaphoreWait: semaphore_wait,
    ins.SemaphoreRelease: semaphore_release,
}  # fmt: skip
_ = (Memory, ex)
