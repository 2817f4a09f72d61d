"""Asynchronous copies from global memory to LDS."""

from __future__ import annotations

from dslc.codegen.c_family.accesses import Access, access, first_copy, pointer, refuse_row
from dslc.codegen.c_family.copying import by_elements, widest
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import loops
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout

_SIZES = (16, 8, 4)  # bytes of a thread's copy


def copy_async(e: Emission, s: ins.CopyAsync) -> None:
    """Every thread copies its runs; what is out of bounds is filled with zeros."""
    refuse_row(s.src.memory)
    found = widest(e, s, _SIZES)
    if found is None:
        by_elements(e, s)
        return
    size, width, layout = found
    _copy(e, s, layout, width, size)


def _copy(e: Emission, s: ins.CopyAsync, layout: Layout, width: int, size: int) -> None:
    """Through registers."""
    to = access(e, s.dst, layout, width)
    source = Access(e, s.src, layout, width, to.runs)
    once = first_copy(layout)
    with loops(e.out, to.runs):
        inside = source.inside()
        target = f"{pointer(e, s.dst.memory)} + {to.address()}"
        origin = f"{pointer(e, s.src.memory)} + {source.address()}"
        call = f"copy_{size}({target}, {origin}, {inside or 'true'});"
        e.out.line(f"if ({once}) {call}" if once else call)


def commit(e: Emission, s: ins.CommitGroup) -> None:
    """Copies through registers are done."""


def wait(e: Emission, s: ins.WaitGroup) -> None:
    """Copies through registers are done."""


EMITTERS: dict[type, Emitter] = {
    ins.CopyAsync: copy_async,
    ins.CommitGroup: commit,
    ins.WaitGroup: wait,
}
