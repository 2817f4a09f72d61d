"""stmatrix: fragments to shared memory, four matrices of eight rows of 16 bytes an instruction.

The counterpart of ldmatrix, with its proof: a layout that holds such matrices is stored as rows of 16
bytes, of which lane l gives the address of row l % 8 of matrix l / 8 (PTX ISA, "stmatrix"). A thread of
a product holds two elements side by side, for which a store of its own each would move 4 bytes.
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.memory import accesses, rows
from dslc.codegen.cuda.ldmatrix import Matrices, matrices, row_addresses, rows_fit
from dslc.compiler.ir import instructions as ins


def store(e: Emission, s: ins.Store) -> None:
    """A store, by stmatrix where machine, memory and layout allow it."""
    tiles = _matrices(e, s)
    addresses = row_addresses(e, s.region, tiles) if tiles is not None else None
    if tiles is None or addresses is None:
        rows.store(e, s)
        return
    tile = e.tile(s.x)
    with e.exchanging(s.region.memory):
        for first, row in addresses.items():
            e.out.line(f"stmatrix_{tiles.suffix}({row}, &{tile.name}[{first}]);")
    accesses.announce(e, s.region.memory)


def _matrices(e: Emission, s: ins.Store) -> Matrices | None:
    """The tile as matrices, each of which one warp holds."""
    layout = s.x.type.layout
    if not e.target.matrix_stores or layout is None or layout.replication > 1:
        return None
    if s.where is not None or not rows_fit(e, s.region):
        return None
    return matrices(layout, s.x.type.dtype.bits)


EMITTERS: dict[type, Emitter] = {ins.Store: store}
