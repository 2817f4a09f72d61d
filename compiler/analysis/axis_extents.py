"""How far along an axis of a tile elements matter: what no store keeps need not be computed.

Axes that always have one coordinate are one class: those of the operands of an elementwise operation,
of a product's rows, of what a loop carries. Where no element of a class ever bears on one at another
coordinate (no reduction along it, no product over it), and all stores along it drop what is out of
bounds of one extent, only the coordinates before that matter.
"""

from __future__ import annotations

from typing import TypeAlias

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, Memory, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.traverse import handed, operands, results, walk

Axis: TypeAlias = "tuple[Value, int]"
Extents: TypeAlias = "dict[Axis, ex.Expr]"
_SOURCES = (ins.Full, ins.Arange, ins.Load, ins.Undefined)


class Classes:
    """Sets of axes that have one coordinate, and what is known of each set."""

    def __init__(self) -> None:
        self._parent: dict[Axis, Axis] = {}
        self._whole: set[Axis] = set()
        self._tied: set[Axis] = set()
        self._ends: dict[Axis, list[ex.Expr]] = {}

    def find(self, axis: Axis) -> Axis:
        """The set's name."""
        parent = self._parent.setdefault(axis, axis)
        if parent != axis:
            parent = self._parent[axis] = self.find(parent)
        return parent

    def join(self, a: Axis, b: Axis) -> None:
        """Two axes have one coordinate."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        self._parent[b] = a
        for marked in (self._whole, self._tied):
            if b in marked:
                marked.add(a)
        self._ends.setdefault(a, []).extend(self._ends.pop(b, ()))

    def need_all(self, axis: Axis) -> None:
        """All elements along it matter."""
        self._whole.add(self.find(axis))

    def tie(self, axis: Axis) -> None:
        """Elements along it bear on elements at other coordinates: all of them matter."""
        self.need_all(axis)
        self._tied.add(self.find(axis))

    def is_tied(self, axis: Axis) -> bool:
        """Whether an element of the set bears on one at another coordinate."""
        return self.find(axis) in self._tied

    def ends_at(self, axis: Axis, end: ex.Expr) -> None:
        """A store keeps the coordinates before `end`."""
        self._ends.setdefault(self.find(axis), []).append(end)

    def members(self, axis: Axis) -> list[Axis]:
        """All axes of a set."""
        root = self.find(axis)
        return [a for a in list(self._parent) if self.find(a) == root]

    def extents(self) -> Extents:
        """Where the elements that matter end, for the axes of which that is known."""
        by_tile: Extents = {}
        for axis in self._parent:
            root = self.find(axis)
            ends = self._ends.get(root, [])
            if root not in self._whole and ends and all(x == ends[0] for x in ends):
                by_tile[axis] = ends[0]
        return by_tile


def extents(kernel: Kernel) -> Extents:
    """For axes of tiles, how many of their elements matter, as an expression of what a turn knows."""
    return classes_of(kernel).extents()


def classes_of(kernel: Kernel) -> Classes:
    """The sets of axes of a kernel's tiles."""
    classes = Classes()
    known = {*kernel.dims, *(a.var for a in kernel.grid)}
    known |= {p for p in kernel.params if isinstance(p, ex.Var)}
    for stmt in walk(kernel.body):
        _relate(stmt, classes, frozenset(known))
        for h in handed(stmt):
            uses = [getattr(h, n, None) for n in ("inner", "init", "yielded", "then", "otherwise")]
            for use in uses:
                if isinstance(use, Value) and isinstance(h.result, Value):
                    for k in range(use.type.rank):
                        classes.join((h.result, k), (use, k))
    return classes


def matching_axes(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Groups of neighbouring axes of two shapes with the same number of elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(a) or j < len(b):
        mine, theirs = ([i] if i < len(a) else []), ([j] if j < len(b) else [])
        p, q = (a[i] if mine else 1), (b[j] if theirs else 1)
        i, j = i + len(mine), j + len(theirs)
        while p != q:
            if p < q:
                p *= a[i]
                mine.append(i)
                i += 1
            else:
                q *= b[j]
                theirs.append(j)
                j += 1
        groups.append((mine, theirs))
    return groups


def _relate(stmt: ins.Stmt, classes: Classes, known: frozenset[ex.Var]) -> None:
    match stmt:
        case ins.Store(region=region, x=x):
            _store(region.memory, stmt, classes, known)
        case ins.For() | ins.While() | ins.If():
            pass
        case _ if isinstance(stmt, _SOURCES):
            pass
        case _ if isinstance(stmt, (*ins.ELEMENTWISE, ins.ConvertLayout)):
            for x in operands(stmt):
                for k in range(x.type.rank):
                    classes.join((stmt.out, k), (x, k))
        case ins.Broadcast() | ins.Transpose() | ins.Reshape():
            join_shapes(stmt, classes)
        case ins.Extract():
            _extract(stmt, classes)
        case ins.Concat(out=out, xs=xs, axis=axis):
            for x in xs:
                for k in range(out.type.rank):
                    if k == axis:
                        classes.tie((out, k))
                        classes.tie((x, k))
                    else:
                        classes.join((out, k), (x, k))
        case ins.Reduce(out=out, x=x, axis=axis, keepdims=keepdims):
            _reduce(out, x, axis % x.type.rank, keepdims, classes)
        case ins.Dot(a=a, b=b):
            join_dot(stmt, classes)
            classes.tie((a, a.type.rank - 1))
            classes.tie((b, b.type.rank - 2))
        case _:
            for v in (*operands(stmt), *results(stmt)):
                if isinstance(v, Value):
                    for k in range(v.type.rank):
                        classes.tie((v, k))


def join_shapes(stmt: ins.Broadcast | ins.Transpose | ins.Reshape, classes: Classes) -> None:
    """Axes of a tile that go on in another shape; those that a reshape divides are tied."""
    match stmt:
        case ins.Broadcast(out=out, x=x):
            skip = out.type.rank - x.type.rank
            for k, n in enumerate(x.type.shape):
                if n == out.type.shape[k + skip]:
                    classes.join((out, k + skip), (x, k))
        case ins.Transpose(out=out, x=x, axes=axes):
            for k, axis in enumerate(axes):
                classes.join((out, k), (x, axis))
        case ins.Reshape(out=out, x=x):
            _reshape(out, x, classes)


def _store(memory: Memory, stmt: ins.Store, classes: Classes, known: frozenset[ex.Var]) -> None:
    axes = [(k, a) for k, a in enumerate(stmt.region.axes) if not a.dropped]
    for number, (k, axis) in enumerate(axes):
        start, extent = axis.start, memory.shape[k]
        open_end = axis.checked and axis.step == 1 and memory.role is not Role.BUFFER
        if (
            open_end
            and start.dtype == INDEX
            and ex.free_vars(start) | ex.free_vars(extent) <= known
        ):
            left = simplify(ex.Binary("sub", extent, start, INDEX))
            classes.ends_at((stmt.x, number), left)
        else:
            classes.need_all((stmt.x, number))


def _reshape(out: Value, x: Value, classes: Classes) -> None:
    for mine, theirs in matching_axes(out.type.shape, x.type.shape):
        a = [k for k in mine if out.type.shape[k] > 1]
        b = [k for k in theirs if x.type.shape[k] > 1]
        if len(a) == len(b) == 1:
            classes.join((out, a[0]), (x, b[0]))
        else:
            for k in a:
                classes.tie((out, k))
            for k in b:
                classes.tie((x, k))


def _extract(stmt: ins.Extract, classes: Classes) -> None:
    """Axes that are taken whole go on; along the others elements have other coordinates."""
    kept = [k for k in range(stmt.x.type.rank) if k not in stmt.dropped]
    for k, mine in enumerate(kept):
        whole = stmt.out.type.shape[k] == stmt.x.type.shape[mine]
        if whole and stmt.starts[mine] == 0 and stmt.steps[mine] == 1:
            classes.join((stmt.out, k), (stmt.x, mine))
        else:
            classes.tie((stmt.out, k))
            classes.tie((stmt.x, mine))
    for k in stmt.dropped:
        classes.tie((stmt.x, k))


def _reduce(out: Value, x: Value, axis: int, keepdims: bool, classes: Classes) -> None:
    classes.tie((x, axis))
    if keepdims:
        classes.tie((out, axis))  # all there is of it, whatever x has
    for k in range(x.type.rank):
        if k != axis:
            classes.join((out, k if keepdims or k < axis else k - 1), (x, k))


def join_dot(stmt: ins.Dot, classes: Classes) -> None:
    """The rows and columns of a product with those of its operands."""
    out, a, b, acc = stmt.out, stmt.a, stmt.b, stmt.acc
    rank = out.type.rank
    for k in range(rank - 2):
        classes.join((out, k), (a, k))
        classes.join((out, k), (b, k))
    classes.join((out, rank - 2), (a, rank - 2))
    classes.join((out, rank - 1), (b, rank - 1))
    if acc is not None:
        for k in range(rank):
            classes.join((out, k), (acc, k))
