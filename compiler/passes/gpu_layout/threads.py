"""How many threads a kernel's turns have."""

from __future__ import annotations

from math import prod

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.printer import print_statement
from dslc.compiler.ir.traverse import definitions, walk
from dslc.compiler.passes.gpu_layout.matrix import atoms_for
from dslc.compiler.targets import Target

_TILE_OF_EIGHT = 128 * 128  # results of a product from which on eight warps share it
_ELEMENTS = 8  # that each thread has at least, in kernels without products
_MANY = 64  # elements a thread from which on more than eight warps are taken


def choose_threads(kernel: Kernel, target: Target, warps: int | None) -> int:
    """The threads of a turn: those of the explicit layouts, as forced, or by the sizes of the tiles.

    Products have four warps, eight for large tiles, and fewer where there are not as many atoms; else
    each thread has at least eight elements of the largest tile.
    """
    explicit = _explicit(kernel, target)
    if explicit is not None:
        if warps is not None and warps * target.warp_size != explicit:
            message = f"{warps} warps are asked for, but the layouts of {kernel.name} have {explicit} threads"
            raise error("DSL0521", message, kernel.loc, hint="leave the number of warps open")
        return explicit
    count = warps if warps is not None else _warps(kernel, target)
    if not 1 <= count * target.warp_size <= target.threads:
        most = target.threads // target.warp_size
        raise error(
            "DSL0521", f"{target.name} has 1 to {most} warps in a turn, not {count}", kernel.loc
        )
    return count * target.warp_size


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
            )  # fmt: skip
    if first is None or first[0].type.layout is None:
        return None
    threads = first[0].type.layout.threads
    if threads % target.warp_size or threads > target.threads:
        raise error(
            "DSL0521",
            f"{target.name} runs whole warps of {target.warp_size} threads, at most {target.threads}, "
            f"but the layout {first[0].type.layout} has {threads}\n  in: {print_statement(first[1])}",
            first[1].loc,
            hint="spread the tile over a multiple of the warp with spatial(...) or replicate(n)",
        )
    return threads


def _warps(kernel: Kernel, target: Target) -> int:
    counts = [_for_product(s, target) for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    if counts:
        return min(max(counts), *_rows_of_chains(kernel, target), 8)
    return _for_elements(kernel, target)


def _for_product(dot: ins.Dot, target: Target) -> int:
    *batch, m, n = dot.out.type.shape
    atoms = atoms_for(dot, target)
    if not atoms:
        return _power(prod(dot.out.type.shape) // (_ELEMENTS * target.warp_size), 4)
    tiles = max(prod(batch) * (m // a.m) * (n // a.n) for a in atoms)
    return _power(tiles, 8 if m * n * prod(batch) >= _TILE_OF_EIGHT else 4)


def _rows_of_chains(kernel: Kernel, target: Target) -> list[int]:
    """Where a product's result is a later product's operand, warps that each have whole rows."""
    return [8]


def _for_elements(kernel: Kernel, target: Target) -> int:
    sizes = [
        prod(s.region.shape)
        for s in walk(kernel.body)
        if isinstance(s, ins.Load | ins.Store) and s.region.memory.role is not Role.BUFFER
    ]
    largest = max(sizes, default=1)
    count = _power(largest // (_ELEMENTS * target.warp_size), 8)
    many = largest // (count * target.warp_size) >= _MANY
    return min(2 * count, target.threads // target.warp_size) if many else count


def _power(count: int, most: int) -> int:
    """The greatest power of two that is neither above the count nor above `most`; at least 1."""
    found = 1
    while found * 2 <= min(count, most):
        found *= 2
    return found
