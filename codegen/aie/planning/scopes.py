"""Scopes of a core's program: the launch, the steps along each axis of the grid, the kernel's loops.

An object of a FIFO is acquired where a scope begins and released where it ends. A load belongs to the
outermost scope in which what it reads does not change:

    launch > steps along m > steps along n > for k
    g[:]     x[m, :]         r[m, n]         a[m, k]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dslc.compiler.analysis.accessed_boxes import reads_by_iteration
from dslc.compiler.analysis.asserted_limits import is_runtime, upper
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import Kernel, Region, Role
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Expr, Var, free_vars, substitute
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, walk


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One scope: `var` from start up to stop by step; the launch has none.

    `axis` numbers an axis of the grid, `loop` is a loop of the kernel, the `number`th of them. With
    `guarded` it may end before `stop`: a core passes over the iterations beyond its own bound.
    """

    parent: Scope | None = None
    var: Var | None = None
    start: Expr | None = None
    stop: Expr | None = None
    step: Expr | None = None
    axis: int | None = None
    loop: ins.For | None = None
    number: int = 0
    guarded: bool = False

    @property
    def chain(self) -> tuple[Scope, ...]:
        """From the launch to this one."""
        return (*(self.parent.chain if self.parent else ()), self)

    def holds(self, other: Scope) -> bool:
        """Whether another scope begins and ends while this one runs."""
        return self is not other and self in other.chain

    @property
    def bounds(self) -> tuple[Expr, ...]:
        """The expressions by which it runs."""
        return tuple(e for e in (self.start, self.stop, self.step) if e is not None)

    @property
    def trips(self) -> int | None:
        """How many iterations it has, where its bounds are constants."""
        known = [int(n) for n in map(constant, self.bounds) if n is not None]
        if len(known) < 3:
            return None
        start, stop, step = known
        return max(0, -((start - stop) // step))


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A load or store of a tensor, its subscripts over variables of scopes alone."""

    stmt: ins.Load | ins.Store
    starts: tuple[Expr, ...]
    scope: Scope
    inner: Scope  # the one that the statement stands in
    number: int  # in the program's order
    after: ins.For | None = None  # the last loop that ended before it, outside of all
    guarded: bool = False  # in a branch or a while loop

    @property
    def region(self) -> Region:
        """The part of the tensor."""
        return self.stmt.region

    @property
    def is_store(self) -> bool:
        """Whether it writes."""
        return isinstance(self.stmt, ins.Store)


@dataclass(slots=True)
class Scopes:
    """The scopes of a kernel, and its accesses to tensors in order."""

    turn: Scope  # the scope of a turn's body
    loops: dict[ins.For, Scope] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)


def find_scopes(kernel: Kernel) -> Scopes:
    """The scopes and accesses of a kernel; DSL0590 for accesses that no FIFO can serve."""
    turn = Scope()
    for number, axis in enumerate(kernel.grid):
        turn = Scope(turn, axis.var, axis.start, axis.stop, axis.step, axis=number)
    scopes = Scopes(turn)
    _walk(kernel.body, turn, {}, scopes, None)
    return scopes


def _walk(
    body: Body, scope: Scope, known: Mapping[Var, Expr], found: Scopes, around: Scope | None
) -> None:
    """The scopes and accesses of a body; `around` is the scope that its branch or while loop is in.

    What is read in a branch comes whether the branch is taken or not, so it belongs to a scope around.
    """
    known = dict(known)
    asserted: list[Expr] = []
    ended: ins.For | None = None
    for stmt in body:
        match stmt:
            case ins.Let(var, value):
                known[var] = substitute(value, known)
            case ins.For():
                inner = _loop_scope(stmt, scope, known, found, asserted)
                found.loops[stmt] = inner
                _walk(stmt.body, inner, known, found, around)
                ended = stmt if scope is found.turn and around is None else ended
            case ins.If():
                for part in (stmt.then, stmt.otherwise):
                    _walk(part, scope, known, found, around or scope)
            case ins.While():
                for part in (stmt.before, stmt.body):
                    _walk(part, scope, known, found, around or scope)
            case ins.Assert(condition):
                asserted.append(substitute(condition, known))
            case ins.Load() | ins.Store() if stmt.region.memory.role is not Role.BUFFER:
                access = _access(stmt, scope, known, len(found.accesses), ended)
                access = replace(access, guarded=around is not None)
                if around is not None and (access.is_store or around.holds(access.scope)):
                    raise refuse_access(stmt, "stands in a branch or a while loop")
                if access.is_store and any(s.guarded for s in scope.chain):
                    raise refuse_access(stmt, "stands in a loop whose end the host does not know")
                found.accesses.append(access)
            case _:
                pass


def _loop_scope(
    stmt: ins.For, scope: Scope, known: Mapping[Var, Expr], found: Scopes, asserted: list[Expr]
) -> Scope:
    """The scope of a loop; one that reads tensors gets an end that the host knows."""
    start, stop, step = (substitute(e, dict(known)) for e in (stmt.start, stmt.stop, stmt.step))
    variables = {s.var for s in scope.chain if s.var is not None}
    number, guarded = len(found.loops), False
    dynamic = [is_runtime(e, variables) for e in (start, stop, step)]
    if any(dynamic) and reads_by_iteration(stmt):
        most = upper(stop, variables, asserted)
        if dynamic[0] or most is None or dynamic[2]:
            raise error(
                "DSL0590",
                "the host does not know how often this loop runs, and tensors are read in it",
                stmt.loc,
                hint="begin at 0 and add the beginning to the subscripts"
                if dynamic[0]
                else "assert the most before it: assert start + S <= L",
            )
        stop, guarded = most, True
        if any(isinstance(s, ins.For) and reads_by_iteration(s) for s in walk(stmt.body)):
            raise error(
                "DSL0590",
                "a loop whose end the host does not know holds one that reads tensors",
                stmt.loc,
                hint="give the outer loop the most iterations that it may have, with a branch in it",
            )
    return Scope(scope, stmt.var, start, stop, step, loop=stmt, number=number, guarded=guarded)


def _access(
    stmt: ins.Load | ins.Store,
    scope: Scope,
    known: Mapping[Var, Expr],
    number: int,
    ended: ins.For | None,
) -> Access:
    starts = tuple(substitute(a.start, dict(known)) for a in stmt.region.axes)
    bound = {s.var for s in scope.chain if s.var is not None}
    strange = {v for e in starts for v in free_vars(e)} - bound
    if strange:
        names = ", ".join(sorted(v.name for v in strange))
        raise refuse_access(stmt, f"depends on {names}, which the host does not know")
    own = [s for s in scope.chain if s.var is None or any(s.var in free_vars(e) for e in starts)]
    return Access(stmt, starts, own[-1], scope, number, ended)


def refuse_access(stmt: Stmt, why: str) -> DiagnosticError:
    """DSL0590 for an access to a tensor."""
    assert isinstance(stmt, ins.Load | ins.Store)
    word = "written" if isinstance(stmt, ins.Store) else "read"
    return error(
        "DSL0590",
        f"tensor {stmt.region.memory.name}: where it is {word} {why}; an NPU's tensors come and go by "
        "FIFOs whose order is fixed before the launch",
        stmt.loc,
    )


def expressions(scope: Scope, starts: tuple[Expr, ...]) -> Iterator[Expr]:
    """What the objects of a scope depend on: their place, and how many there are."""
    yield from starts
    for outer in scope.chain:
        if outer.loop is not None:
            yield from outer.bounds
