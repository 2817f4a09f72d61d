"""Loops that read tensors leave branches; where the branch is not taken they have no iterations.

Before (tests/ir/branch-loops/example.tir):

    %e = load @e[0!] : i32[]
    if read(%e) >= i32(0) {
      %a = full f32(0.0) : f32[16]
      %s = for k in range(0, 64, 16) carry (%t : f32[16] = %a) {
        %w = load @w[k : +16!] : f32[16]
        %u = add %t, %w : f32[16]
        yield %u
      }
      store @y[0 : +16!], %s
    }

After:

    %e = load @e[0!] : i32[]
    let taken: bool = read(%e) >= i32(0)
    %a = full f32(0.0) : f32[16]
    %s = for k in range(0, select(taken, 64, 0), 16) carry (%t : f32[16] = %a) {
      %w = load @w[k : +16!] : f32[16]
      %u = add %t, %w : f32[16]
      yield %u
    }
    if taken {
      store @y[0 : +16!], %s
    }

For machines whose transfers are in one order whatever is computed: they send what a loop reads, and the
core takes it and passes over the iterations. What only computes, or reads a tensor that nothing writes,
leaves the branch too; what is left stays in branches of their own, which hand on what is read later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from dslc.compiler.analysis.accessed_boxes import reads_by_iteration
from dslc.compiler.analysis.asserted_limits import is_runtime, upper
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Kernel, Role, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Expr, Var, substitute
from dslc.compiler.ir.instructions import Joined, Stmt
from dslc.compiler.ir.rewrite import Rewriter, Substitution, fresh_name, map_kernels, scalar_names
from dslc.compiler.ir.traverse import Body, Name, Use, names_in, results, uses_of, walk

_COMPUTES = (
    ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast, ins.Full, ins.Broadcast, ins.Arange,
    ins.Reshape, ins.Transpose, ins.Extract, ins.Repeat, ins.View,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BranchLoops:
    """Takes the loops that read tensors out of branches."""

    name: ClassVar[str] = "branch-loops"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose loops over tensors run in every turn."""
        return map_kernels(program, lambda kernel: _OutOfBranches(kernel).kernel(kernel))


class _OutOfBranches(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._taken = scalar_names(kernel)
        self._counted = {a.var for a in kernel.grid}
        self._lets: dict[Var, Expr] = {}
        self._asserted: list[list[Expr]] = []

    def body(self, body: Body) -> Body:
        """A body, which may rely on what it asserts itself."""
        self._asserted.append([])
        statements = super().body(body)
        self._asserted.pop()
        return statements

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A branch and its loops, those of branches within it first."""
        match stmt:
            case ins.Let(var, value):
                self._lets[var] = substitute(value, self._lets)
            case ins.Assert(condition):
                self._asserted[-1].append(substitute(condition, self._lets))
            case ins.For():
                self._counted.add(stmt.var)
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, ins.For) and any(map(_leaves, rebuilt.body)):
            return (self._counted_loop(rebuilt),)
        if not (
            isinstance(rebuilt, ins.If) and any(map(_leaves, (*rebuilt.then, *rebuilt.otherwise)))
        ):
            return (rebuilt,)
        condition = Var(fresh_name("taken", self._taken), BOOL)
        told = ins.Let(condition, rebuilt.condition, loc=rebuilt.loc)
        return (told, *_split(replace(rebuilt, condition=condition), condition, self._taken))

    def _counted_loop(self, loop: ins.For) -> ins.For:
        """A loop over loops that read tensors, with the most iterations that it may have."""
        stop = substitute(loop.stop, self._lets)
        if not is_runtime(stop, self._counted):
            return loop
        most = upper(stop, self._counted, self._asserted[-1])
        if most is None:
            return loop
        condition = Var(fresh_name("taken", self._taken), BOOL)
        told = ins.Let(condition, ex.Binary("lt", loop.var, loop.stop, BOOL), loc=loop.loc)
        guarded = _guarded(loop, condition, self._taken, then=True)
        return replace(guarded, stop=most, body=(told, *guarded.body))


def _guarded(loop: ins.For, condition: Var, taken: set[str], *, then: bool) -> ins.For:
    """A loop that does something where a condition holds, or does not, its own loops split off."""
    joined, carried = [], []
    for own in loop.carried:
        result = _fresh(own.inner, taken)
        pair = (own.yielded, own.inner) if then else (own.inner, own.yielded)
        joined.append(Joined(result, *pair))
        carried.append(replace(own, yielded=result))
    sides: tuple[Body, Body] = (loop.body, ()) if then else ((), loop.body)
    inside = ins.If(condition, *sides, tuple(joined), loc=loop.loc)
    return replace(loop, body=tuple(_split(inside, condition, taken)), carried=tuple(carried))


def _fresh(name: Name, taken: set[str]) -> Name:
    return (
        replace(name) if isinstance(name, Value) else Var(fresh_name(name.name, taken), name.dtype)
    )


def _split(stmt: ins.If, condition: Var, taken: set[str]) -> list[Stmt]:
    """What stands in place of a branch on a variable."""
    out: list[Stmt] = []
    sides = []
    for number, body in enumerate((stmt.then, stmt.otherwise)):
        given = [j.otherwise if number else j.then for j in stmt.joined]
        sides.append(_Side(condition, not number, taken, out).split(body, given))
    joined = tuple(
        Joined(j.result, then, otherwise)
        for j, then, otherwise in zip(stmt.joined, *sides, strict=True)
    )
    if joined:
        out.append(ins.If(condition, (), (), joined, loc=stmt.loc))
    return out


def _leaves(stmt: Stmt) -> bool:
    """Whether a statement is a loop that leaves its branch: it counts upwards."""
    if not (isinstance(stmt, ins.For) and reads_by_iteration(stmt)):
        return False
    step = constant(stmt.step)
    return isinstance(step, int) and step > 0


@dataclass(slots=True)
class _Side:
    """One side of a branch on its way out: `waiting` are the statements that stay in it."""

    condition: Var
    then: bool
    taken: set[str]
    out: list[Stmt]
    waiting: list[Stmt] = field(default_factory=list)
    moved: Substitution = field(default_factory=Substitution)

    def split(self, body: Body, given: list[Use]) -> list[Use]:
        """The statements of a side, and what stands for the values that it gives."""
        for number, stmt in enumerate(body):
            own = self.moved.rebuild(stmt)
            if isinstance(own, ins.For) and _leaves(own):
                self._stay(body[number:], given)
                own = self.moved.rebuild(stmt)
                assert isinstance(own, ins.For)
                self.out.append(self._passed_over(own))
            elif self._goes(own):
                self.out.append(own)
            else:
                self.waiting.append(own)
        self._stay((), given)
        return [self.moved.use(g) for g in given]

    def _passed_over(self, loop: ins.For) -> ins.For:
        """The loop with no iterations where the branch is not taken.

        One that holds loops that read tensors has its iterations nevertheless, in which they have none.
        """
        if not any(map(_leaves, loop.body)):
            here, none = loop.stop, loop.start
            x, y = (here, none) if self.then else (none, here)
            return replace(loop, stop=ex.Select(self.condition, x, y, INDEX))
        return _guarded(loop, self.condition, self.taken, then=self.then)

    def _goes(self, stmt: Stmt) -> bool:
        """Whether a statement may run though the branch is not taken, and has all that it reads."""
        waited_for = {n for s in self.waiting for n in results(s)}
        if any(n in waited_for for use in uses_of(stmt) for n in names_in(use)):
            return False
        match stmt:
            case ins.Let(_, value):
                return not any(map(_may_trap, ex.walk(value)))
            case ins.Load():
                return stmt.region.memory.role is Role.IN
            case ins.Binary():
                return stmt.x.type.dtype.is_float or stmt.op not in ("floordiv", "mod")
            case ins.Alloc():
                return True
            case _:
                return isinstance(stmt, _COMPUTES)

    def _stay(self, rest: Iterable[Stmt], given: list[Use]) -> None:
        """A branch of what waits, which hands on what the rest reads."""
        if not self.waiting:
            return
        wanted = {n for s in walk(rest) for use in uses_of(s) for n in names_in(use)}
        wanted |= {n for use in given for n in names_in(use)}
        fills: list[Stmt] = []
        joined = []
        for name in (n for s in self.waiting for n in results(s) if n in wanted):
            fill, fresh = _nothing(name, fills), _fresh(name, self.taken)
            then, otherwise = (name, fill) if self.then else (fill, name)
            joined.append(Joined(fresh, then, otherwise))
            self.moved.bind(name, fresh)
        body, filled = tuple(self.waiting), tuple(fills)
        then_body, else_body = (body, filled) if self.then else (filled, body)
        self.out.append(
            ins.If(self.condition, then_body, else_body, tuple(joined), loc=body[0].loc)
        )
        self.waiting = []


def _nothing(name: Name, fills: list[Stmt]) -> Use:
    """What stands for a name where its branch is not taken."""
    dtype = name.dtype if isinstance(name, Var) else name.type.dtype
    zero = ex.Const(False if dtype == BOOL else 0, dtype)
    if isinstance(name, Var):
        return zero
    fill = replace(name)
    fills.append(ins.Full(fill, zero))
    return fill


def _may_trap(expr: Expr) -> bool:
    """Whether an expression is a division by what may be 0."""
    return isinstance(expr, ex.Binary) and expr.op in ("floordiv", "mod") and not constant(expr.y)
