"""Which axes of a kernel's tiles are padded for a GPU, and to how many elements.

Axes that always have one coordinate are one class (`axis_extents.Classes`): a class is padded as a
whole, or not at all. Padding suits whatever treats elements of an axis alike; a reduction along it has
the padding masked. A class is left as it is where an element's place along it says what it means to
others: what a reshape divides, a concatenation joins or a slice takes out of the middle.

A tile is awkward where its threads would hold copies of each other's elements, since their number and
the tile's extents have too few divisors in common: all 511 elements of a row in each of 128 threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod

from dslc.compiler.analysis.axis_extents import Classes, join_dot, join_shapes
from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.ir import Kernel, Place, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import Indexed, first_id_axis
from dslc.compiler.ir.traverse import handed, operands, regions, results, walk
from dslc.compiler.passes.layouts.blocked import vector_of
from dslc.compiler.passes.layouts.matrix import atoms_for
from dslc.compiler.passes.layouts.threads import thread_counts
from dslc.compiler.targets import Target

Extents = dict[Value, tuple[int, ...]]
"""The tiles that are padded, with the shapes that they get."""

_FEW = 8  # elements that a thread may hold whatever the layout
_TIMES = 1.5  # as many as an even share
_ACCESS = 2  # what an access costs, of what is computed with an element
_WASTE = 1.3  # of a product that is padded
_ROWS = 8  # of a unit: fewer are padded, since threads would take as long for one of them
_HALVES = 16  # bits of the elements whose vectors decide
_EXPLICIT = (ins.View, ins.ConvertLayout, ins.CopyAsync, ins.Sync)
_SOURCES = (ins.Full, ins.Arange, ins.Undefined)


def padded(kernel: Kernel, target: Target, warps: int | None) -> Extents:
    """The shapes of the tiles that are padded; none in a kernel that says how its tiles lie."""
    if _is_explicit(kernel):
        return {}
    tiles = [v for s in walk(kernel.body) for v in _tiles(s)]
    dots = [s for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    even = all(n & (n - 1) == 0 for v in tiles for n in v.type.shape)
    if even and all(atoms_for(dot, target) for dot in dots):
        return {}
    plan = _Plan(kernel, target, thread_counts(kernel, target, warps)[0])
    plan.products()
    for tile in sorted(dict.fromkeys(tiles), key=lambda v: -prod(v.type.shape)):
        plan.spread(tile)
    shapes = {v: plan.shape(v) for v in dict.fromkeys(tiles)}
    return {v: shape for v, shape in shapes.items() if shape != v.type.shape}


def _is_explicit(kernel: Kernel) -> bool:
    if kernel.threads is not None:
        return True
    for stmt in walk(kernel.body):
        if isinstance(stmt, _EXPLICIT) or any(v.type.layout is not None for v in _tiles(stmt)):
            return True
        if isinstance(stmt, ins.Alloc) and (
            stmt.memory.layout is not None or stmt.memory.place is Place.REGISTER
        ):
            return True
    return False


def _tiles(stmt: ins.Stmt) -> Iterator[Value]:
    """The tiles that a statement defines, those that its bodies alone see included."""
    yield from (v for v in results(stmt) if isinstance(v, Value))
    for h in handed(stmt):
        if isinstance(h, ins.Carried) and isinstance(h.inner, Value):
            yield h.inner


@dataclass(frozen=True, slots=True)
class _Unit:
    """A matrix unit's k, what it takes of classes, and how many times the work that is."""

    k: int
    waste: float
    sizes: dict[object, int]


class _Plan:
    """The classes of one kernel's axes, and what those are padded to that are."""

    def __init__(self, kernel: Kernel, target: Target, threads: int) -> None:
        self.kernel, self.target, self.threads = kernel, target, threads
        self.classes = Classes()
        self.sizes: dict[object, int] = {}
        packed = packed_freely(kernel)
        for stmt in walk(kernel.body):
            _relate(stmt, self.classes)
            # Of weights whole fragments are packed, and of another block's memory all is written.
            remote = isinstance(stmt, ins.Load) and stmt.rank is not None
            if remote or any(r.memory in packed for r in regions(stmt)):
                _keep(stmt, self.classes)

    def shape(self, tile: Value) -> tuple[int, ...]:
        """The shape of a tile by now."""
        return tuple(
            self.sizes.get(self.classes.find((tile, d)), n) if n > 1 else n
            for d, n in enumerate(tile.type.shape)
        )

    def products(self) -> None:
        """Extents of products that a matrix unit's nearly divide, such as heads of 72 elements.

        Those of products that have a unit are settled: it says which thread holds what.
        """
        dots = [s for s in walk(self.kernel.body) if isinstance(s, ins.Dot)]
        with_unit = [dot for dot in dots if atoms_for(dot, self.target)]
        for dot in dots:
            best = None if dot.is_scaled else self._best_unit(dot)
            if best is not None and not any(a.k == best.k for a in atoms_for(dot, self.target)):
                self.sizes |= best.sizes
                with_unit.append(dot)
        for dot in with_unit:
            for tile in (dot.a, dot.b):
                for d, n in enumerate(self.shape(tile)):
                    self.sizes.setdefault(self.classes.find((tile, d)), n)

    def _best_unit(self, dot: ins.Dot) -> _Unit | None:
        """The deepest of the units that take the operands, of these that with the least padding."""
        names = (dot.a.type.dtype.name, dot.b.type.dtype.name)
        units = [
            self._rounded(dot, (atom.m, atom.n, atom.k))
            for one in self.target.atoms
            if one.a is not None and one.threads == self.target.warp_size and not one.scaled
            for atom in (one, one.swapped)
            if atom.takes(*names)
        ]
        fitting = [unit for unit in units if unit is not None]
        return min(fitting, key=lambda unit: (-unit.k, unit.waste), default=None)

    def _rounded(self, dot: ins.Dot, extents: tuple[int, int, int]) -> _Unit | None:
        """What must be padded for a unit of m, n and k; None where that is too much."""
        sizes: dict[object, int] = {}
        waste = 1.0
        rank = dot.a.type.rank
        sides = ((dot.a, rank - 2, False), (dot.b, rank - 1, False), (dot.a, rank - 1, True))
        for (tile, d, deep), unit in zip(sides, extents, strict=True):
            own, now = self.classes.find((tile, d)), self.shape(tile)[d]
            wanted = -(-now // unit) * unit
            if wanted == now:
                continue
            if self.classes.is_tied((tile, d)) or now == 1 or sizes.get(own, wanted) != wanted:
                return None
            sizes[own] = wanted
            if deep or wanted > _ROWS:
                waste *= wanted / now
        return _Unit(extents[2], waste, sizes) if waste <= _WASTE else None

    def spread(self, tile: Value) -> None:
        """Pads axes of a tile until its threads share its elements, as far as that can be."""
        share = -(-prod(tile.type.shape) // self.threads)
        while True:
            shape = self.shape(tile)
            if self._held(shape) <= max(_FEW, _TIMES * share):
                return
            ways = [w for d in range(len(shape)) if (w := self._way(tile, shape, d)) is not None]
            if not ways:
                return
            _, _, axis, size = min(ways)
            self.sizes[axis] = size

    def _held(self, shape: tuple[int, ...]) -> int:
        """The fewest elements that each thread holds in a blocked layout."""
        return prod(shape) * self._free(shape) // self.threads

    def _free(self, shape: tuple[int, ...]) -> int:
        """How many threads hold each element."""
        free = self.threads
        for n in shape:
            free //= gcd(n, free)
        return free

    def _way(
        self, tile: Value, shape: tuple[int, ...], d: int
    ) -> tuple[float, int, object, int] | None:
        """Padding one axis so that it takes the threads that the others leave: waste, axis, size."""
        axis, n = self.classes.find((tile, d)), shape[d]
        if n == 1 or self.classes.is_tied((tile, d)) or axis in self.sizes:
            return None
        free = self._free((*shape[:d], *shape[d + 1 :]))
        while free > 1 and -(-n // free) * free > 2 * n:
            free //= 2
        vectors = [v for v in (1, 2, 4, 8) if vector_of(n, _HALVES) % v == 0]
        sizes = [(-(-n // (free * v)) * free * v, v) for v in vectors]
        size, _ = min(sizes, key=lambda s: (s[0] * (1 + _ACCESS / s[1]), s[0]))
        return (size / n, -d, axis, size) if size > n else None


def _keep(stmt: ins.Stmt, classes: Classes) -> None:
    """The axes of all that the statement reads and makes stay as they are."""
    for v in (*operands(stmt), *results(stmt)):
        if isinstance(v, Value):
            for k in range(v.type.rank):
                classes.tie((v, k))


def _join(classes: Classes, a: Value, b: Value, but: int | None = None) -> None:
    for k in range(a.type.rank):
        if k != but:
            classes.join((a, k), (b, k))


def _relate(stmt: ins.Stmt, classes: Classes) -> None:
    for h in handed(stmt):
        uses = [getattr(h, n, None) for n in ("inner", "init", "yielded", "then", "otherwise")]
        for use in uses:
            if isinstance(use, Value) and isinstance(h.result, Value):
                _join(classes, h.result, use)
    match stmt:
        case ins.For() | ins.While() | ins.If() | ins.Load():
            pass
        case ins.Store(where=where, x=x):
            if where is not None:
                _join(classes, where, x)
        case ins.Scan(out=out, x=x) | ins.ClusterReduce(out=out, x=x):
            _join(classes, out, x)
        case _ if isinstance(stmt, ins.ELEMENTWISE):
            for x in operands(stmt):
                _join(classes, stmt.out, x)
        case ins.Reduce(out=out, x=x, axis=axis, keepdims=keepdims):
            for k in range(x.type.rank):
                if k != axis:
                    classes.join((out, k if keepdims or k < axis else k - 1), (x, k))
        case ins.Dot(scale_a=None, scale_b=None):
            join_dot(stmt, classes)
            classes.join((stmt.a, stmt.a.type.rank - 1), (stmt.b, stmt.b.type.rank - 2))
        case ins.Gather() | ins.Scatter() | ins.AtomicRmw():
            _indexed(stmt, classes)
        case ins.Concat(out=out, xs=xs, axis=axis):
            for x in xs:
                _join(classes, out, x, but=axis)
                classes.tie((x, axis))
            classes.tie((out, axis))
        case ins.Repeat(out=out, x=x, axis=axis):
            _join(classes, out, x, but=axis)
            classes.tie((x, axis))
            classes.tie((out, axis))
        case ins.Extract():
            _extract(stmt, classes)
        case ins.Broadcast() | ins.Transpose() | ins.Reshape():
            join_shapes(stmt, classes)
        case _ if not isinstance(stmt, _SOURCES):
            _keep(stmt, classes)


def _indexed(stmt: Indexed, classes: Classes) -> None:
    """The axes of ids go with theirs of the tile; what is written has an id that is nowhere."""
    tile = stmt.out if isinstance(stmt, ins.Gather) else stmt.x
    for ids in stmt.ids:
        for k in range(ids.type.rank):
            classes.join((tile, first_id_axis(stmt.region, stmt.axes) + k), (ids, k))
            if not isinstance(stmt, ins.Gather) and not _has_nowhere(stmt.ids[0]):
                classes.tie((ids, k))
    if isinstance(stmt, ins.AtomicRmw):
        for v in (stmt.out, stmt.expected):
            if v is not None:
                _join(classes, v, tile)


def _has_nowhere(ids: Value) -> bool:
    """Whether there is an id that is surely out of bounds."""
    return ids.type.dtype.is_signed and ids.type.dtype.bits >= 32


def _extract(stmt: ins.Extract, classes: Classes) -> None:
    """A slice of a whole axis goes with it; one of a part has its own end."""
    kept = [d for d in range(stmt.x.type.rank) if d not in stmt.dropped]
    for k, d in enumerate(kept):
        n = stmt.out.type.shape[k]
        if n == stmt.x.type.shape[d]:
            classes.join((stmt.out, k), (stmt.x, d))
        else:
            classes.tie((stmt.out, k))
