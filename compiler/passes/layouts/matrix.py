"""Products on a matrix unit: its atom (mma, wgmma), how warps share a tile, the operands' layouts.

The result is (warps over m and n) . (repeats) . (the atom's c); an operand lies as the atom has it,
repeated along k, with copies in the warps that differ only along the other operand's axis (Tilus
paper, section 4; the atoms are in `Target.atoms`). Exchanging the operands puts the side with many
columns on the atom's m (operand swap). Units of several warps read operands from shared memory where
they may stay there: such an operand has no layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, Mode, divisible
from dslc.compiler.layout.mode import Modes, replicated
from dslc.compiler.passes.layouts.cost import SHARED_BYTES
from dslc.compiler.passes.layouts.shared_operands import is_placeable
from dslc.compiler.targets import Target
from dslc.compiler.targets.target import SWAP, Atom

_MAC_RATE = 1024  # multiply-adds of 16 bits in a cycle of a multiprocessor, by a warp's atoms
_GROUP_RATE = 2048  # by those of a warpgroup
_EITHER_BITS = 16
_READ_SHARE = 0.05
_MANY_COLUMNS = 64
_NOWHERE: Mapping[Value, bool] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to compute a Dot: the atom and the three layouts, over all threads of the block.

    An operand that the unit reads from shared memory has none.
    """

    atom: str
    a: Layout | None
    b: Layout | None
    c: Layout
    share: tuple[int, ...]  # how many warps stand along each axis of the result
    copies: int  # how many warps hold the same part of it
    cycles: float  # of the matrix units of one multiprocessor
    interleaved: tuple[bool, bool] = (
        False,
        False,
    )  # k, columns of the result (`operand_interleaving`)
    scales: tuple[Layout | None, Layout | None] = (None, None)  # of a and of b
    placed: tuple[Value, ...] = ()  # computed operands, of those without a layout

    def operands(self, dot: ins.Dot) -> Iterator[tuple[Value, Layout]]:
        """The tiles that the unit takes from registers, and how they must lie."""
        wanted = zip((dot.scale_a, dot.scale_b), self.scales, strict=True)
        for x, layout in ((dot.a, self.a), (dot.b, self.b), *wanted):
            if x is not None and layout is not None:
                yield x, layout

    def leaves(self, dot: ins.Dot, tile: Value | None) -> bool:
        """Whether the unit takes a tile from elsewhere than registers."""
        return all(x is not tile for x, _ in self.operands(dot))

    @property
    def is_swapped(self) -> bool:
        """Whether the program's a goes in as the instruction's b."""
        return self.atom.endswith(SWAP)

    def over(self, f: Callable[[Layout], Layout]) -> Plan:
        """The plan with `f` of its layouts."""
        a, b, *scales = (None if x is None else f(x) for x in (self.a, self.b, *self.scales))
        return replace(self, a=a, b=b, c=f(self.c), scales=(scales[0], scales[1]))


def atoms_for(dot: ins.Dot, target: Target) -> list[Atom]:
    """The warp's atoms, and their swaps, that take the dtypes and whose tile divides the product's."""
    a, b = dot.a.type, dot.b.type
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    fitting: list[Atom] = []
    for atom in target.atoms:
        if atom.a is None or atom.b is None or atom.threads != target.warp_size:
            continue
        for way in (atom, atom.swapped):
            fits = m % way.m == 0 and n % way.n == 0 and k % way.k == 0
            fits = fits and (way.scaled > 0 or not dot.is_scaled)
            if fits and way.takes(a.dtype.name, b.dtype.name):
                fitting.append(way)
    deepest = max((atom.k for atom in fitting), default=0)
    return [atom for atom in fitting if atom.k == deepest]


def plans(
    dot: ins.Dot,
    target: Target,
    threads: int,
    in_place: Mapping[Value, bool] = _NOWHERE,
    *,
    place: bool = False,
) -> list[Plan]:
    """Every way to share the product among the warps of a block of that many threads.

    An explicit layout of the result leaves those ways that give it, in whatever order it has. Operands
    that are `in_place` may be read from shared memory; with `place` computed ones may be put there.
    """
    given = dot.out.type.layout
    grouped = _group_plans(dot, target, threads, in_place, place) if given is None else []
    for atom in atoms_for(dot, target):
        if given is not None:
            grouped += [_plan(dot, atom, given / atom.c)] if divisible(given, atom.c) else []
            continue
        *batch, m, n = dot.out.type.shape
        tiles = (*batch, m // atom.m, n // atom.n)
        warps = threads // target.warp_size
        shares = _shares(warps, tiles)
        # Warps with copies of the whole product are of no use while others could share it.
        most = max(prod(s) for s in shares)
        grouped += [
            _plan(dot, atom, _shared(tiles, s, warps // most)) for s in shares if prod(s) == most
        ]
    return grouped


def _group_plans(
    dot: ins.Dot, target: Target, threads: int, in_place: Mapping[Value, bool], place: bool
) -> list[Plan]:
    """The ways of units whose groups of warps read an operand, or both, from shared memory.

    Each group takes the widest instruction that divides its columns. Only 16-bit elements may lie in
    memory with another axis than k along the rows.
    """
    if dot.out.type.rank != 2 or dot.is_scaled:
        return []
    m, n = dot.out.type.shape
    best: dict[tuple[bool, int, int], Plan] = {}
    for atom in target.atoms:
        if atom.b is not None or threads % atom.threads:
            continue
        for way in (atom, atom.swapped):
            if not fits_unit(dot, way) or not _finds_operands(
                dot, way, atom, in_place, place=place
            ):
                continue
            ways = ((dot.a, way.a), (dot.b, way.b))
            placed = tuple(
                x for x, given in ways if given is None and not _is_ready(x, x is dot.b, in_place)
            )
            tiles = (m // way.m, n // way.n)
            for share in _shares(threads // atom.threads, tiles):
                if prod(share) != threads // atom.threads:
                    continue
                outer = _shared(tiles, share, 1)
                a, b = _operands(dot, way, outer)
                cycles = _group_cycles(dot, atom)
                # Targets list their atoms by width: a wider one comes later.
                key = way is not atom, len(placed), share[0]
                best[key] = Plan(way.name, a, b, outer * way.c, share, 1, cycles, placed=placed)
    return list(best.values())


def group_atom(dot: ins.Dot, target: Target, in_place: Mapping[Value, bool]) -> Atom | None:
    """The widest instruction of several warps that may compute a product; None where none may."""
    widest = None
    for atom in target.atoms:
        for way in (atom, atom.swapped) if atom.b is None else ():
            if fits_unit(dot, way) and _finds_operands(dot, way, atom, in_place):
                widest = way
    return widest


def _finds_operands(
    dot: ins.Dot, way: Atom, atom: Atom, in_place: Mapping[Value, bool], *, place: bool = False
) -> bool:
    """Whether what the unit reads from memory is there, and what it takes from registers is not.

    With `place` a computed tile may be put there, where the unit takes it from memory alone.
    A register operand has as many readers as the result has columns for each of its rows: for few of
    them the warps' own instructions do.
    """
    for x, layout, transposed in ((dot.a, way.a, False), (dot.b, way.b, True)):
        if layout is not None and x in in_place:
            return False
        if layout is None and not _is_ready(x, transposed, in_place):
            turned = transposed and x.type.dtype.bits != _EITHER_BITS
            if not place or not is_placeable(x, turned=turned):
                return False
    columns = dot.out.type.shape[0 if way is not atom else 1]
    packed = dot.a.type.dtype.bits <= _EITHER_BITS
    return atom.a is None or (columns >= _MANY_COLUMNS and packed)


def _is_ready(x: Value, transposed: bool, in_place: Mapping[Value, bool]) -> bool:
    """Whether an operand lies in memory as the unit reads it."""
    either = x.type.dtype.bits == _EITHER_BITS
    return x in in_place and (either or in_place[x] is transposed)


def wants_along(dot: ins.Dot, x: Value) -> bool | None:
    """Whether a unit wants k along the rows of an operand in memory; None where it takes either."""
    if x.type.dtype.bits == _EITHER_BITS:
        return None
    return x is dot.a


def _group_cycles(dot: ins.Dot, atom: Atom) -> float:
    """What the unit takes, or shared memory where that is slower; fewer reads are the better way."""
    m, n = dot.out.type.shape
    k, bits = dot.a.type.shape[-1], dot.a.type.dtype.bits
    computing = m * n * k * bits / 16 / _GROUP_RATE
    count = m * n / (atom.m * atom.n)
    reading = count * (atom.m + atom.n) * k * bits / 8 / SHARED_BYTES
    return max(computing, reading) + reading * _READ_SHARE


def fits_unit(dot: ins.Dot, atom: Atom) -> bool:
    """Whether the atom's tile divides the product, and the unit takes its dtypes."""
    a, b = dot.a.type, dot.b.type
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    divides = m % atom.m == 0 and n % atom.n == 0 and k % atom.k == 0
    return divides and atom.takes(a.dtype.name, b.dtype.name)


def _shares(warps: int, tiles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """How many warps stand along each axis: all ways with a power of two that divides the tiles."""
    if not tiles:
        return [()]
    shares: list[tuple[int, ...]] = []
    here = 1
    while warps % here == 0 and tiles[0] % here == 0:
        shares += [(here, *rest) for rest in _shares(warps // here, tiles[1:])]
        here *= 2
    return shares


def _shared(tiles: tuple[int, ...], share: tuple[int, ...], copies: int) -> Layout:
    """The layout of atoms over warps: each warp has a block of neighbours."""
    repeats = [t // s for t, s in zip(tiles, share, strict=True)]
    warps = [Mode(s, d, r) for d, (s, r) in enumerate(zip(share, repeats, strict=True))]
    own = [Mode(r, d, 1) for d, r in enumerate(repeats)]
    return Layout(tiles, (replicated(copies), *warps), tuple(own))


def _plan(dot: ins.Dot, atom: Atom, outer: Layout) -> Plan:
    """The plan in which atoms lie over warps as `outer` says."""
    a, b = _operands(dot, atom, outer)
    k_tiles = dot.a.type.shape[-1] // atom.k
    share = tuple(
        prod(s.size for s in outer.spatial_modes if s.axis == d) for d in range(outer.rank)
    )
    work = outer.threads * outer.locals * k_tiles * atom.m * atom.n * atom.k
    cycles = work * dot.a.type.dtype.bits / 16 / _MAC_RATE
    copies = outer.replication
    scales = _scales(dot, atom, outer)
    return Plan(atom.name, a, b, outer * atom.c, share, copies, cycles, scales=scales)


def _scales(dot: ins.Dot, atom: Atom, outer: Layout) -> tuple[Layout | None, Layout | None]:
    """The layouts of the scales that a product has: each lane those of its own blocks."""
    if not dot.is_scaled:
        return None, None
    a, b = atom.scales()
    left, right = _operands(dot, replace(atom, a=a, b=b), outer)
    return left if dot.scale_a is not None else None, right if dot.scale_b is not None else None


def _operands(dot: ins.Dot, atom: Atom, outer: Layout) -> tuple[Layout | None, Layout | None]:
    """The layouts of the operands; None for one that the unit reads from memory."""
    m, n = outer.rank - 2, outer.rank - 1
    k_tiles = dot.a.type.shape[-1] // atom.k
    a = b = None
    if atom.a is not None:
        a = _without(outer, n, k_tiles, lambda own: (*own, Mode(k_tiles, n, 1))) * atom.a
    if atom.b is not None:
        b = _without(outer, m, k_tiles, lambda own: (Mode(k_tiles, m, 1), *own)) * atom.b
    return a, b


def _without(outer: Layout, axis: int, extent: int, local: Callable[[Modes], Modes]) -> Layout:
    """An operand: warps along an axis that it has not hold copies, and k stands in its place."""
    return Layout(
        tuple(extent if d == axis else size for d, size in enumerate(outer.shape)),
        tuple(replicated(s.size) if s.axis == axis else s for s in outer.spatial_modes),
        local(tuple(s for s in outer.local_modes if s.axis != axis)),
    )
