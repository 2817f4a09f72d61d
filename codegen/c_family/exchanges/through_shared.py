"""Elements that change threads: written to shared memory row-major, read where they are wanted."""

from __future__ import annotations

from math import gcd, prod

import numpy as np
from dslc.codegen.c_family.ctypes_of import element_type, is_packed
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import Chunks, add, chunks, fastest_run, loops
from dslc.codegen.c_family.memory.accesses import first_copy
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.scalars import unsupported
from dslc.compiler.ir import Value
from dslc.compiler.layout import Layout
from numpy.typing import NDArray

Indices = NDArray[np.int64]
_WORD, _BYTE = 32, 8  # bits; halves by words came slower on an H200, in seven of nine kernels


def _affine(picks: list[int]) -> str | None:
    """`a + i * b`, or `i / n * b + ...`, as one expression of i for regular picks."""
    count = len(picks)
    if count < 4:
        return None
    for inner in (d for d in range(1, count + 1) if count % d == 0):
        p = np.array(picks).reshape(count // inner, inner)
        low, high = p[0] - p[0, 0], p[:, 0]
        if not (p == high[:, None] + low[None, :]).all():
            continue
        b, a = _step(low), _step(high)
        if b is not None and a is not None:
            parts = [str(picks[0])] if picks[0] else []
            if a:
                parts.append(f"i / {inner} * {a}")
            if b:
                parts.append(f"i % {inner} * {b}" if inner < count else f"i * {b}")
            return " + ".join(parts) or "0"
    return None


def _step(run: Indices) -> int | None:
    steps = np.diff(run)
    if len(steps) == 0:
        return 0
    return int(steps[0]) if (steps == steps[0]).all() else None


def cell(x: Tile, together: int = 1) -> tuple[str, str, str]:
    """How so many elements of a word lie in scratch: C type, how they are put, how they are taken."""
    if not is_packed(x.dtype):
        return element_type(x.dtype), "{0}[{1}]", "{0}[{1}] = {2};"
    bits = x.dtype.bits * together
    if bits == _WORD:
        return "unsigned", "{0}[{1}]", "{0}[{1}] = {2};"
    ctype = "unsigned short" if bits > 8 else "unsigned char"
    put = f"({ctype})get_bits<{bits}>({{0}}, {{1}})"
    return ctype, put, f"set_bits<{bits}>({{0}}, {{1}}, {{2}});"


def through_shared(e: Emission, out: Value, x: Tile, wanted: Indices) -> None:
    """Write the operand row-major, read the result where its elements lie."""
    tile = e.new(out)
    size = {"float": 4, "int": 4, "unsigned": 4, "bool": 1, "unsigned short": 2, "unsigned char": 1}
    area = e.scratch(prod(x.layout.shape) * size.get(cell(x)[0], 8))
    written, read = _put_together(x), _taken_together(tile, wanted)
    ctype, put, _ = cell(x, written)
    parts = chunks(x.layout, written, e.out)
    once = first_copy(x.layout)
    with loops(e.out, parts):
        at, i = row_major(e, x.layout, parts), parts.element
        if written > 1:
            at, i = f"({at}) / {written}", f"({i}) / {written}"
        line = f"(({ctype}*){area})[{at}] = {put.format(x.name, i)};"
        e.out.line(f"if ({once}) {line}" if once else line)
    e.out.line(e.together)
    ctype, _, take = cell(tile, read)
    _read_back(e, tile, f"(({ctype}*){area})", take, wanted[:, ::read] // read)


def _put_together(x: Tile) -> int:
    """How many elements of a word follow each other in a row, wherever a thread has them."""
    if not is_packed(x.dtype) or x.dtype.bits != _BYTE:
        return 1
    last = x.layout.rank - 1
    count = _WORD // x.dtype.bits
    modes = [m for m in (*x.layout.spatial_modes, *x.layout.local_modes[:-1]) if m.axis == last]
    fits = [fastest_run(x.layout, last), *(m.stride for m in modes), *x.layout.shape[last:]]
    return 1 if x.layout.swizzles else gcd(count, *fits)


def _taken_together(tile: Tile, wanted: Indices) -> int:
    """The same of elements that are read: of each word, if its first one begins a word there."""
    if not is_packed(tile.dtype) or tile.dtype.bits != _BYTE:
        return 1
    count = _WORD // tile.dtype.bits
    while count > 1:
        if wanted.shape[1] % count == 0:
            words = wanted.reshape(len(wanted), -1, count)
            first = words[:, :, :1]
            if not (first % count).any() and (words == first + np.arange(count)).all():
                return count
        count //= 2
    return 1


def row_major(e: Emission, layout: Layout, found: Chunks) -> str:
    """The row-major number of a chunk's first element."""
    parts = []
    for axis in range(layout.rank):
        stride = prod(layout.shape[axis + 1 :])
        at = add(e.bases.base(layout, axis), found.offset(axis))
        if at != "0":
            parts.append(at if stride == 1 else f"({at}) * {stride}")
    return add(*parts) if parts else "0"


def _read_back(e: Emission, tile: Tile, cells: str, take: str, wanted: Indices) -> None:
    """Each thread's address is its digits' plus its registers': wanted is affine in both."""
    thread = thread_part(wanted[:, 0], tile.layout.threads)
    local = wanted[0] - wanted[0, 0]
    if thread is None or not (wanted == wanted[:, :1] + local[None, :]).all():
        what = "elements whose places are no sum of multiples of a thread's digits"
        raise unsupported(what, "join or repeat pieces of a power of two of rows, or use a buffer")
    name = e.out.name("from")
    e.out.line(f"const int {name} = {thread};")
    step = _affine([int(v) for v in local])
    if step is not None:
        with e.out.loop("i", len(local)):
            e.out.line(take.format(tile.name, "i", f"{cells}[{name} + {step}]"))
        return
    for i, offset in enumerate(local):
        e.out.line(take.format(tile.name, i, f"{cells}[{name} + {offset}]"))


def thread_part(column: Indices, threads: int) -> str | None:
    """A column of numbers by thread as C: a constant plus a multiple of each digit of the thread."""
    parts = [str(int(column[0]))] if column[0] else []
    predicted = np.full(threads, column[0])
    weight = 1
    t = np.arange(threads)
    while weight < threads:
        size, step = _digit(column, weight, threads)
        digit = t // weight % size
        predicted = predicted + digit * step
        if step:
            text = "tid" if weight == 1 else f"tid / {weight}"
            text = text if weight * size >= threads else f"({text}) % {size}"
            parts.append(f"({text}) * {step}")
        weight *= size
    if not (predicted == column).all():
        return None
    return " + ".join(parts) or "0"


def _digit(column: Indices, weight: int, threads: int) -> tuple[int, int]:
    """The longest run of equal steps from a digit of this weight: its size and step."""
    step = int(column[weight] - column[0])
    size = 2
    while weight * size < threads and int(column[weight * size] - column[0]) == step * size:
        size += 1
    while threads % (weight * size):
        size -= 1
    return size, step


def broadcast_copies(e: Emission, tile: Tile) -> None:
    """Hand what the first of several copies holds to the others."""
    ctype, put, take = cell(tile)
    total = prod(tile.layout.shape)
    area = e.scratch(total * 8)
    cells = f"(({ctype}*){area})"
    parts = chunks(tile.layout, 1, e.out)
    with loops(e.out, parts):
        at = row_major(e, tile.layout, parts)
        e.out.line(
            f"if ({first_copy(tile.layout)}) {cells}[{at}] = {put.format(tile.name, parts.element)};"
        )
    e.out.line(e.together)
    parts = chunks(tile.layout, 1, e.out)
    with loops(e.out, parts):
        at = row_major(e, tile.layout, parts)
        e.out.line(take.format(tile.name, parts.element, f"{cells}[{at}]"))
