"""Stores of many results, with masks: each is rounded where it is stored.

    if (m + at < M && n + at_1 < N) {
      c[0] = pack_bf16(here(acc[0]), here(acc[1]));
      c[1] = pack_bf16(here(acc[2]), here(acc[3]));
      store_8(..., &c[0]);
    }

Rounded all at once, before the branches of the masks, the results of a large product would take their
registers a second time, and what the turn needs afterwards would be spilled.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping

from dslc.codegen.c_family.casts import emit_casts
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import loops
from dslc.codegen.c_family.memory import accesses, rows
from dslc.codegen.c_family.memory.accesses import access, first_copy
from dslc.codegen.c_family.memory.widths import vector_width
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, use_counts

_HALVES = ("f16", "bf16")
_MANY = 64  # results of a thread


@functools.lru_cache(maxsize=16)
def _rounded_where_stored(kernel: Kernel) -> Mapping[Stmt, ins.Cast]:
    """The stores right behind a cast to halves that they alone read, and these casts."""
    counts = use_counts(kernel.body)
    casts: dict[Stmt, ins.Cast] = {}

    def visit(body: Body) -> None:
        for nested in (b for stmt in body for b in bodies(stmt)):
            visit(nested)
        for one, following in itertools.pairwise(body):
            match one, following:
                case ins.Cast(out=out, x=source), ins.Store(x=x) if (
                    x is out
                    and counts[out] == 1
                    and source.type.dtype.name == "f32"
                    and out.type.dtype.name in _HALVES
                    and out.type.layout is not None
                    and out.type.layout == source.type.layout
                    and out.type.layout.locals >= _MANY
                    and any(a.is_guarded for a in following.region.axes)
                    and following.where is None
                ):
                    casts[following] = one

    visit(kernel.body)
    return casts


def _pair(e: Emission, s: ins.Store) -> ins.Cast | None:
    """The cast that a store carries out; words of halves must be whole."""
    rounded = _rounded_where_stored(e.kernel).get(s)
    layout = s.x.type.layout
    if rounded is None or layout is None or vector_width(e, s.region, layout) < 2:
        return None
    return rounded


def cast(e: Emission, s: ins.Cast) -> None:
    """Another dtype; nothing where the store behind it does it."""
    store = next((r for r in e.readers.get(s.out, []) if isinstance(r, ins.Store)), None)
    if store is None or _pair(e, store) is not s:
        emit_casts.cast(e, s)


def store(e: Emission, s: ins.Store) -> None:
    """A tile to memory, rounded on its way where the cast was left to it."""
    rounded = _pair(e, s)
    if rounded is None:
        rows.store(e, s)
        return
    source, tile = e.tile(rounded.x), e.new(s.x, zero=False)
    target = access(e, s.region, tile.layout)
    once = first_copy(tile.layout)
    pack = f"pack_{tile.dtype.name}"
    with e.exchanging(target.memory), loops(e.out, target.runs):
        inside = " && ".join(p for p in (once, target.inside()) if p)
        with e.out.block(f"if ({inside})" if inside else ""):
            element = f"({target.runs.element})"
            for j in range(0, target.width, 2):
                halves = (f"here({source.read(f'{element} + {i}')})" for i in (j, j + 1))
                e.out.line(f"{tile.name}[({element} + {j}) / 2] = {pack}({', '.join(halves)});")
            accesses.store_chunk(e, target, tile)
    accesses.announce(e, s.region.memory)


EMITTERS: dict[type, Emitter] = {ins.Cast: cast, ins.Store: store}
