"""How many threads a kernel's turns have."""

from __future__ import annotations

from math import prod

from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.text.printer import print_statement
from dslc.compiler.ir.traverse import definitions, walk
from dslc.compiler.passes.layouts.layout_regions import find_regions
from dslc.compiler.passes.layouts.matrix import atoms_for
from dslc.compiler.passes.layouts.warp_split import NARROW, accumulations
from dslc.compiler.targets import Target

_TILE_OF_EIGHT = 128 * 128  # results of a product from which on eight warps share it
_WARPGROUP = 64  # rows of its instructions
_FEW, _SOME = 8, 32  # elements that each thread has, in kernels without products
_ROWS = 16  # of the matrix unit's tile
_MOST = 16  # warps
_MANY = 64  # elements a thread from which on more than eight warps are taken
_LONG = 300  # statements whose text, for each element of a thread, takes too long to compile


def thread_counts(kernel: Kernel, target: Target, warps: int | None) -> list[int]:
    """How many threads a turn may have, the most first: the cheapest way is for the costs to tell.

    Explicit layouts and `warps` leave one choice. Products have four warps, eight for large tiles, and
    fewer where there are not as many atoms; else each thread has 8 to 32 elements of the largest tile.
    """
    explicit = _explicit(kernel, target)
    if explicit is not None:
        if warps is not None and warps * target.warp_size != explicit:
            message = f"{warps} warps are asked for, but the layouts have {explicit} threads"
            raise error("DSL0521", message, kernel.loc, hint="leave the number of warps open")
        return [explicit]
    if warps is None:
        return [n * target.warp_size for n in _warps(kernel, target)]
    most = target.threads // target.warp_size
    if not 1 <= warps <= most:
        message = f"{target.name} has 1 to {most} warps in a turn, not {warps}"
        raise error("DSL0521", message, kernel.loc)
    return [warps * target.warp_size]


def _explicit(kernel: Kernel, target: Target) -> int | None:
    """The threads of the layouts that the program gives; DSL0520 where they differ."""
    first: tuple[Value, Stmt] | None = None
    for name, stmt in definitions(kernel.body).items():
        if not isinstance(name, Value) or name.type.layout is None:
            continue
        if first is None:
            first = name, stmt
            continue
        one, other = first[0].type.layout, name.type.layout
        assert one is not None
        if one.threads != other.threads:
            where = f" (line {first[1].loc.line})" if first[1].loc else ""
            raise error(
                "DSL0520",
                f"the layout {other} is over {other.threads} threads, but {one}{where} is over "
                f"{one.threads}: nothing brings a tile from one to the other\n"
                f"  in: {print_statement(stmt)}\n  in: {print_statement(first[1])}",
                stmt.loc,
                hint="let all layouts of a kernel have the same number of threads, with replicate(n)",
            )
    if first is None or first[0].type.layout is None:
        return None
    threads = first[0].type.layout.threads
    part = target.part_of_warp and target.warp_size % threads == 0
    if (threads % target.warp_size and not part) or threads > target.threads:
        raise error(
            "DSL0521",
            f"{target.name} runs whole warps of {target.warp_size} threads, at most {target.threads}, "
            f"but the layout {first[0].type.layout} has {threads}\n  in: {print_statement(first[1])}",
            first[1].loc,
            hint="spread the tile over a multiple of the warp with spatial(...) or replicate(n)",
        )
    return threads


def _warps(kernel: Kernel, target: Target) -> list[int]:
    dots = [s for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    if not dots:
        return _for_elements(kernel, target)
    deep = {d for a in accumulations(kernel) for d in a.dots}
    ready = bool(packed_freely(kernel))
    counts = [_for_product(d, target, split=d in deep, ready=ready) for d in dots]
    return [min(max(counts), *_rows_of_chains(kernel), _MOST)]


def _for_product(dot: ins.Dot, target: Target, *, split: bool, ready: bool) -> int:
    """Warps that have an atom each, along k too where the product may be split there.

    Weights that warps make `ready` for a warpgroup's product want more of them.
    """
    *batch, m, n = dot.out.type.shape
    atoms = atoms_for(dot, target)
    if not atoms:
        return _power(prod(dot.out.type.shape) // (_FEW * target.warp_size), 4)
    deep = dot.a.type.shape[-1] if split else 1
    tiles = max(prod(batch) * (m // a.m) * (n // a.n) * max(1, deep // a.k) for a in atoms)
    made_ready = ready and target.bulk_copies and min(m, n) >= _WARPGROUP
    large = m * n * prod(batch) >= _TILE_OF_EIGHT // (2 if made_ready else 1)
    most = target.product_warps if large else min(4, target.product_warps)
    if split and min(m, n) <= NARROW:  # two of the atom's k for each warp: then lanes read 16 bytes
        most = max(most, min(_MOST, deep // (2 * atoms[0].k)))
    return _power(tiles, most)


def _rows_of_chains(kernel: Kernel) -> list[int]:
    """Warps that have whole rows, where each iteration of a loop multiplies what it has just
    multiplied.

    The first result is then the second's operand within each warp, and nothing goes through shared
    memory (attention: Dao, 2023).
    """
    if sum(isinstance(s, ins.Dot) for s in walk(kernel.body)) < 2:
        return []
    regions = find_regions(kernel)
    products = [(s.stmt, s.loop) for s in regions.sites if isinstance(s.stmt, ins.Dot) and s.loop]
    results = {regions.of[dot.out]: loop for dot, loop in products}
    return [
        _power(prod(dot.a.type.shape[:-2]) * max(1, dot.a.type.shape[-2] // _ROWS), 8)
        for dot, loop in products
        if dot.a in regions.of and results.get(regions.of[dot.a]) is loop
    ]


def _for_elements(kernel: Kernel, target: Target) -> list[int]:
    sizes = [
        prod(s.region.shape)
        for s in walk(kernel.body)
        if isinstance(s, ins.Load | ins.Store) and s.region.memory.role is not Role.BUFFER
    ]
    elements = max(sizes, default=1) // target.warp_size  # for each lane
    most = 8 if elements < 8 * _MANY else 16
    count = _power(elements // _FEW, min(most, target.threads // target.warp_size))
    if sum(1 for _ in walk(kernel.body)) > _LONG:
        return [count]
    return [
        n for n in (count, count // 2, count // 4) if n and (n == count or elements <= n * _SOME)
    ]


def _power(count: int, most: int) -> int:
    """The greatest power of two that is neither above the count nor above `most`; at least 1."""
    power = 1
    while power * 2 <= min(count, most):
        power *= 2
    return power
