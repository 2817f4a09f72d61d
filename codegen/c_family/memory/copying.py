"""Asynchronous copies on every machine: which thread copies what, how many bytes at once."""

from __future__ import annotations

from math import gcd, prod

from dslc.codegen.c_family.ctypes_of import memory_bits
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory.accesses import Access, access, first_copy, pointer
from dslc.codegen.c_family.memory.widths import vector_width
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, Mode


def spread(shape: tuple[int, ...], threads: int, width: int) -> Layout:
    """A tile over the threads in runs of `width` along the last axis, neighbours beside each other."""
    total = prod(shape) // width
    used = gcd(total, threads)
    spatial: list[Mode] = []
    local: list[Mode] = [Mode(width, len(shape) - 1, 1)] if width > 1 else []
    left = used
    outer: list[Mode] = []
    for axis in reversed(range(len(shape))):
        extent, unit = shape[axis], 1
        if axis == len(shape) - 1:
            extent, unit = extent // width, width
        here = gcd(left, extent)
        if here > 1:
            spatial.insert(0, Mode(here, axis, unit))
        if extent // here > 1:
            outer.insert(0, Mode(extent // here, axis, unit * here))
        left //= here
    if threads // (used // left) > 1:
        spatial.insert(0, Mode(threads // (used // left), -1, 0))
    return Layout(shape, tuple(spatial), (*outer, *local))


def widest(e: Emission, s: ins.CopyAsync, sizes: tuple[int, ...]) -> tuple[int, int, Layout] | None:
    """The first of these sizes in bytes that a thread can copy at once, its elements, and the layout.

    Which thread copies what is the instruction's to say, since a reader may rely on it; only where it
    does not are runs spread over the threads.
    """
    bits = memory_bits(s.dst.memory.dtype)
    for size in sizes:
        width = size * 8 // bits
        layout = s.layout or _spread(e, s, width)
        if width and layout is not None and _is_aligned(e, s, layout, width):
            return size, width, layout
    return None


def _spread(e: Emission, s: ins.CopyAsync, width: int) -> Layout | None:
    shape = s.dst.shape
    return spread(shape, e.threads, width) if width and shape and shape[-1] % width == 0 else None


def _is_aligned(e: Emission, s: ins.CopyAsync, layout: Layout, width: int) -> bool:
    widths = (vector_width(e, region, layout) for region in (s.dst, s.src))
    return all(offset % width == 0 for offset in widths)


def by_elements(e: Emission, s: ins.CopyAsync) -> None:
    """What no vector can do goes through registers."""
    layout = s.layout or spread(s.dst.shape, e.threads, 1)
    to = access(e, s.dst, layout, 1)
    source = Access(e, s.src, layout, 1, to.runs)
    once = first_copy(layout)
    with loops(e.out, to.runs):
        inside = source.inside()
        origin = f"({pointer(e, s.src.memory)})[{source.address()}]"
        value = f"{inside} ? {origin} : 0" if inside else origin
        line = f"({pointer(e, s.dst.memory)})[{to.address()}] = {value};"
        e.out.line(f"if ({once}) {line}" if once else line)
