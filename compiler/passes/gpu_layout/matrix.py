"""Products on a matrix unit: how the warps of a block share a tile, and the operands' layouts.

The result is (warps over m and n) . (repeats) . (the atom's c); an operand lies as the atom has it,
repeated along k, with copies in the warps that differ only along the other operand's axis (Tilus
paper, section 4; the atoms are in `Target.atoms`). Exchanging the operands puts the side with many
columns on the atom's m (operand swap).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, Mode, divisible
from dslc.compiler.layout.mode import Modes, replicated
from dslc.compiler.targets import Target
from dslc.compiler.targets.target import SWAP, Atom

_MAC_RATE = 1024  # multiply-adds of 16 bits in a cycle of a multiprocessor (Ampere; more on Hopper)


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to compute a Dot: the atom and the three layouts, over all threads of the block."""

    atom: str
    a: Layout
    b: Layout
    c: Layout
    share: tuple[int, ...]  # how many warps stand along each axis of the result
    copies: int  # how many warps hold the same part of it
    cycles: float  # of the matrix units of one multiprocessor
    dealt: tuple[bool, bool] = (False, False)  # k, and the columns of the result (`dealing`)

    @property
    def is_swapped(self) -> bool:
        """Whether the program's a goes in as the instruction's b."""
        return self.atom.endswith(SWAP)

    def over(self, f: Callable[[Layout], Layout]) -> Plan:
        """The plan with `f` of its layouts."""
        return replace(self, a=f(self.a), b=f(self.b), c=f(self.c))


def atoms_for(dot: ins.Dot, target: Target) -> list[Atom]:
    """The warp's atoms, and their swaps, that take the dtypes and whose tile divides the product's."""
    a, b = dot.a.type, dot.b.type
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    found: list[Atom] = []
    for atom in target.atoms:
        if atom.a is None or atom.b is None or atom.threads != target.warp_size:
            continue
        for way in (atom, atom.swapped):
            fits = m % way.m == 0 and n % way.n == 0 and k % way.k == 0
            if fits and way.takes(a.dtype.name, b.dtype.name):
                found.append(way)
    deepest = max((atom.k for atom in found), default=0)
    return [atom for atom in found if atom.k == deepest]


def plans(dot: ins.Dot, target: Target, threads: int) -> list[Plan]:
    """Every way to share the product among the warps of a block of that many threads.

    An explicit layout of the result leaves those ways that give it, in whatever order it has.
    """
    given = dot.out.type.layout
    found: list[Plan] = []
    for atom in atoms_for(dot, target):
        if given is not None:
            found += [_plan(dot, atom, given / atom.c)] if divisible(given, atom.c) else []
            continue
        *batch, m, n = dot.out.type.shape
        tiles = (*batch, m // atom.m, n // atom.n)
        warps = threads // target.warp_size
        shares = _shares(warps, tiles)
        # Warps with copies of the whole product are of no use while others could share it.
        most = max(prod(s) for s in shares)
        found += [
            _plan(dot, atom, _shared(tiles, s, warps // most)) for s in shares if prod(s) == most
        ]
    return found


def _shares(warps: int, tiles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """How many warps stand along each axis: all ways with a power of two that divides the tiles."""
    if not tiles:
        return [()]
    found: list[tuple[int, ...]] = []
    here = 1
    while warps % here == 0 and tiles[0] % here == 0:
        found += [(here, *rest) for rest in _shares(warps // here, tiles[1:])]
        here *= 2
    return found


def _shared(tiles: tuple[int, ...], share: tuple[int, ...], copies: int) -> Layout:
    """The layout of atoms over warps: each warp has a block of neighbours."""
    repeats = [t // s for t, s in zip(tiles, share, strict=True)]
    warps = [Mode(s, d, r) for d, (s, r) in enumerate(zip(share, repeats, strict=True))]
    own = [Mode(r, d, 1) for d, r in enumerate(repeats)]
    return Layout(tiles, (replicated(copies), *warps), tuple(own))


def _plan(dot: ins.Dot, atom: Atom, outer: Layout) -> Plan:
    """The plan in which atoms lie over warps as `outer` says."""
    assert atom.a is not None
    assert atom.b is not None
    m, n = outer.rank - 2, outer.rank - 1
    k_tiles = dot.a.type.shape[-1] // atom.k
    along_k = Mode(k_tiles, n, 1), Mode(k_tiles, m, 1)
    a = _without(outer, n, k_tiles, lambda own: (*own, along_k[0]))
    b = _without(outer, m, k_tiles, lambda own: (along_k[1], *own))
    share = tuple(
        prod(s.size for s in outer.spatial_modes if s.axis == d) for d in range(outer.rank)
    )
    work = outer.threads * outer.locals * k_tiles * atom.m * atom.n * atom.k
    cycles = work * dot.a.type.dtype.bits / 16 / _MAC_RATE
    copies = outer.replication
    return Plan(atom.name, a * atom.a, b * atom.b, outer * atom.c, share, copies, cycles)


def _without(outer: Layout, axis: int, extent: int, local: Callable[[Modes], Modes]) -> Layout:
    """An operand: warps along an axis that it has not hold copies, and k stands in its place."""
    return Layout(
        tuple(extent if d == axis else size for d, size in enumerate(outer.shape)),
        tuple(replicated(s.size) if s.axis == axis else s for s in outer.spatial_modes),
        local(tuple(s for s in outer.local_modes if s.axis != axis)),
    )
