"""How much work a kernel is for known dims: turns, bytes to and from memory, operations.

The counts follow the program as it stands, tile by tile: what a load asks for counts whole, out of
bounds or not, and each time it is asked for. Loops and branches whose course depends on the turn are
counted over a sample of turns; where the course is known only by running (a `while`, a branch on
data), one iteration of the loop and the longer branch count, and the result is not `exact`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, evaluate
from dslc.compiler.ir.expr import Const, Expr, Var, free_vars, substitute
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import reads, regions, walk, writes
from dslc.compiler.ir.values import Memory, Region, Role, Value

_SAMPLES = 32
_STEPS = (0.6180339887498949, 0.4142135623730951, 0.7320508075688772)  # of axes, irrational
_ELEMENTWISE = (ins.Unary, ins.Binary, ins.Where, ins.Cast)


@dataclass
class Workload:
    """Counts of one launch; bytes are by memory name, and sampled counts may be fractions."""

    turns: int = 0
    loaded: dict[str, float] = field(default_factory=dict)  # bytes asked of global memory
    stored: dict[str, float] = field(default_factory=dict)  # bytes sent to global memory
    dot_operations: float = 0  # 2 m n k a product
    other_operations: float = 0  # one an element of elementwise, reductions and scans
    exact: bool = True

    def add(self, other: Workload, times: float = 1) -> None:
        """Count another's work as often as said (its turns excepted)."""
        for mine, theirs in ((self.loaded, other.loaded), (self.stored, other.stored)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count * times
        self.dot_operations += other.dot_operations * times
        self.other_operations += other.other_operations * times
        self.exact = self.exact and other.exact


Known = dict[Var, Expr]


def workload(kernel: Kernel, dims: Mapping[str, int]) -> Workload:
    """The work of one launch of a kernel; `dims` gives every free dim (and scalars that matter)."""
    known: Known = {
        var: Const(dims[var.name], var.dtype)
        for var in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var)))
        if var.name in dims
    }
    axes = [range_of(axis.start, axis.stop, axis.step, known) for axis in kernel.grid]
    total = Workload(turns=math.prod(len(a) if a is not None else 1 for a in axes))
    total.exact = None not in axes
    sample = list(spread([range(1) if a is None else a for a in axes], _SAMPLES))
    if not _follows({axis.var for axis in kernel.grid}, kernel.body):
        sample = sample[:1]  # the same work in every turn
    for point in sample:
        turn = known | {
            axis.var: Const(at, INDEX) for axis, at in zip(kernel.grid, point, strict=True)
        }
        total.add(_body(kernel.body, turn), total.turns / len(sample))
    return total


def tensor_bytes(memory: Memory, dims: Mapping[str, int]) -> float | None:
    """The bytes of a whole tensor, low-bit ones packed; None where its shape is not known."""
    shape = extents(memory, dims)
    return None if shape is None else math.prod(shape) * memory.dtype.bits / 8


def extents(memory: Memory, dims: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape of a memory in numbers; None where a dim that it needs is missing."""
    known: Known = {
        var: Const(dims[var.name], var.dtype)
        for extent in memory.shape
        for var in free_vars(extent)
        if var.name in dims
    }
    sizes = tuple(value_of(extent, known) for extent in memory.shape)
    return None if None in sizes else tuple(n for n in sizes if n is not None)


def checked_axes(kernel: Kernel) -> tuple[int, int]:
    """How many axes of accesses still check their bounds, and how many axes there are."""
    axes = [a for stmt in walk(kernel.body) for r in regions(stmt) for a in r.axes]
    return sum(a.checked for a in axes), len(axes)


def sampled(axes: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Turns evenly spaced in the grid's order: all of them where they are few."""
    total = math.prod(len(a) for a in axes)
    count = min(total, _SAMPLES)
    for i in range(count):
        rest, point = (2 * i + 1) * total // (2 * count), []
        for axis in reversed(axes):
            rest, at = divmod(rest, len(axis))
            point.append(axis[at])
        yield tuple(reversed(point))


def spread(axes: Sequence[range], most: int) -> Iterator[tuple[int, ...]]:
    """All points of the axes where they are few, else so many that are spread evenly over each axis.

    The longest axis has equal steps, each other one an irrational step of its own (a lattice of
    Kronecker's): no length of an axis is in step with them, as rows of turns would be.
    """
    if math.prod(map(len, axes)) <= most:
        yield from itertools.product(*axes)
        return
    longest = max(range(len(axes)), key=lambda k: len(axes[k]))
    steps = dict(
        zip((k for k in range(len(axes)) if k != longest), itertools.cycle(_STEPS), strict=False)
    )
    for i in range(most):
        places = [(i + 0.5) * steps.get(k, 1 / most) % 1 for k in range(len(axes))]
        yield tuple(axis[int(len(axis) * at)] for axis, at in zip(axes, places, strict=True))


def value_of(expr: Expr, known: Mapping[Var, Expr]) -> int | None:
    """The number that an expression is where these variables are known; None where it is open."""
    number = evaluate(expr, known)
    if number is None:
        number = constant(substitute(expr, known))
    return None if number is None else int(number)


def range_of(
    start: Expr, stop: Expr, step: Expr, known: Mapping[Var, Expr] = MappingProxyType({})
) -> range | None:
    """The values of a loop's variable where these scalars are known; None where they are open."""
    numbers = [value_of(e, known) for e in (start, stop, step)]
    if None in numbers or not numbers[2]:
        return None
    return range(*(n for n in numbers if n is not None))


def _body(body: Iterable[ins.Stmt], known: Known) -> Workload:
    total = Workload()
    known = dict(known)
    for stmt in body:
        match stmt:
            case ins.Let(var=var, value=value):
                number = evaluate(value, known)
                if number is not None:
                    known[var] = Const(number, var.dtype)
            case ins.For():
                _loop(stmt, known, total)
            case ins.While():
                total.exact = False
                total.add(_body(itertools.chain(stmt.before, stmt.body), known))
            case ins.If():
                _branch(stmt, known, total)
            case ins.WarpSpecialize():
                total.add(_body(stmt.body, known))
            case _:
                count_instruction(stmt, total)
    return total


def _loop(loop: ins.For, known: Known, total: Workload) -> None:
    iterations = range_of(loop.start, loop.stop, loop.step, known)
    if iterations is None:
        total.exact = False
        total.add(_body(loop.body, known))
        return
    # A body whose control flow does not depend on the variable is the same work in every iteration.
    sample = list(sampled([iterations]))[: None if _follows({loop.var}, loop.body) else 1]
    for (at,) in sample:
        one = _body(loop.body, known | {loop.var: Const(at, loop.var.dtype)})
        total.add(one, len(iterations) / len(sample))


def _follows(variables: Set[Var], body: Iterable[ins.Stmt]) -> bool:
    """Whether loops or branches in a body may depend on some variables."""
    known = set(variables)
    for stmt in walk(body):
        match stmt:
            case ins.Let(var=var, value=value):
                if free_vars(value) & known:
                    known.add(var)
            case ins.For(start=start, stop=stop, step=step):
                if any(free_vars(e) & known for e in (start, stop, step)):
                    return True
                known |= {c.inner for c in stmt.carried if isinstance(c.inner, Var)}
            case ins.If(condition=condition):
                if free_vars(condition) & known:
                    return True
            case ins.While():
                return True
    return False


def _branch(branch: ins.If, known: Known, total: Workload) -> None:
    chosen = value_of(branch.condition, known)
    then, otherwise = _body(branch.then, known), _body(branch.otherwise, known)
    if chosen is None:
        total.exact = False
        chosen = _size(then) >= _size(otherwise)
    total.add(then if chosen else otherwise)


def _size(work: Workload) -> float:
    moved = [*work.loaded.values(), *work.stored.values()]
    return work.dot_operations + work.other_operations + sum(moved)


def count_instruction(stmt: ins.Instruction, total: Workload) -> None:
    """Count one instruction that is run once."""
    for region in reads(stmt):
        _count(total.loaded, region, stmt)
    for region in writes(stmt):
        _count(total.stored, region, stmt)
    if isinstance(stmt, ins.Dot):
        total.dot_operations += 2 * _elements(stmt.out) * stmt.a.type.shape[-1]
    elif isinstance(stmt, ins.Fma):
        total.other_operations += 2 * _elements(stmt.out)
    elif isinstance(stmt, ins.Fused):
        total.other_operations += len(stmt.steps.split()) * _elements(stmt.out)
    elif isinstance(stmt, ins.Reduce | ins.Scan):
        total.other_operations += _elements(stmt.x)
    elif isinstance(stmt, _ELEMENTWISE):
        total.other_operations += _elements(stmt.out)


def _count(counter: dict[str, float], region: Region, stmt: ins.Instruction) -> None:
    memory = region.memory
    if memory.role is Role.BUFFER:
        return
    count = math.prod(a.size for a in region.axes)
    if isinstance(stmt, ins.Gather | ins.Scatter | ins.AtomicRmw) and stmt.ids:
        count *= _elements(stmt.ids[0])
    counter[memory.name] = counter.get(memory.name, 0) + count * memory.dtype.bits / 8


def _elements(value: Value) -> int:
    return math.prod(value.type.shape)
