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
from dslc.compiler.layout import Layout, Mode
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
    cycles: float  # of the matrix units of one multiprocessor

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
    """Every way to share the product among the warps of a block of that many threads."""
    warps = threads // target.warp_size
    found: list[Plan] = []
    for atom in atoms_for(dot, target):
        *batch, m, k = dot.a.type.shape
        n = dot.b.type.shape[-1]
        tiles = (*batch, m // atom.m, n // atom.n)
        shares = _shares(warps, tiles)
        # Warps with copies of the whole product are of no use while others could share it.
        most = max(prod(s) for s in shares)
        for share in (s for s in shares if prod(s) == most):
            copies = warps // most
            work = prod(tiles) * copies * atom.m * atom.n * k
            cycles = work * dot.a.type.dtype.bits / 16 / _MAC_RATE
            found.append(_plan(atom, share, tiles, k // atom.k, copies, cycles))
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


def _plan(
    atom: Atom,
    share: tuple[int, ...],
    tiles: tuple[int, ...],
    k_tiles: int,
    copies: int,
    cycles: float,
) -> Plan:
    assert atom.a is not None
    assert atom.b is not None
    rank = len(tiles)
    repeats = tuple(t // s for t, s in zip(tiles, share, strict=True))
    m, n = rank - 2, rank - 1

    def operand(layout: Layout, keeps: tuple[int, ...], inner: int | None) -> Layout:
        """Warps along the axes that the operand has, copies along the others, repeats along k."""
        modes: list[Mode] = [replicated(copies)]
        for d, count in enumerate(share):
            modes.append(Mode(count, d, repeats[d]) if d in keeps else replicated(count))
        extents = list(tiles)
        local = list(repeats)
        if inner is not None:
            extents[inner] = local[inner] = k_tiles
        own: Modes = tuple(Mode(c, d, 1) for d, c in enumerate(local))
        return Layout(tuple(extents), tuple(modes), own) * layout

    batch = tuple(range(m))
    return Plan(
        atom.name,
        operand(atom.a, (*batch, m), n),
        operand(atom.b, (*batch, n), m),
        operand(atom.c, (*batch, m, n), None),
        share,
        cycles,
    )
