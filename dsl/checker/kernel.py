"""A kernel: from its syntax tree and the values of its dims and choices to Tile IR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.checker import loops, signature, statements
from dslc.checker.calls import FUNCTIONS
from dslc.checker.context import Context, Elaborators
from dslc.checker.expressions import evaluate
from dslc.checker.failure import NeedsDims, fail
from dslc.checker.items import Item
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import GridAxis, Kernel, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Name, use_counts
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Scope

_ELABORATORS = Elaborators(
    lambda c, node, index: evaluate(c, node, index=index), statements.run, statements.run_function
)


def new_context(scope: Scope) -> Context:
    """An empty context over the names of a module."""
    functions = frozenset(FUNCTIONS)
    return Context(scope.names, _ELABORATORS, known_functions=functions, machine=scope.machine)


def elaborate(
    node: tree.Kernel,
    head: signature.Head,
    scope: Scope,
    define: Mapping[str, Item],
    fixed: Mapping[str, int],
    config: Mapping[str, object],
) -> Kernel:
    """Tile IR of a kernel.

    Raises NeedsDims where dims that are not in `fixed` decide a tile's shape, DiagnosticError with
    every error of the kernel otherwise.
    """
    c = new_context(scope)
    signature.declare_dims(c, head, fixed)
    chosen = signature.declare_constants(c, head, define, config)
    params = signature.declare_params(c, head)
    signature.check_bindable(c, head, params)
    requires = signature.declare_requires(c, head)
    grid: tuple[GridAxis, ...] = ()
    body: tuple[ins.Stmt, ...] = ()
    with c.recover(()), c.emit.nested() as block:
        grid = _body(c, head.body)
        body = tuple(block)
    finish(c)
    body = in_place(body, c.totals)
    used = tuple((n, fixed[n]) for n in head.dims if n in fixed)
    kernel = Kernel(
        node.name, params, tuple(c.dims.values()), grid, body, requires,
        fixed=used, config=chosen, doc=node.doc, loc=node.loc,
    )  # fmt: skip
    if c.observer is not None:
        c.observer.kernel(kernel)
    return kernel


def finish(c: Context) -> None:
    """Raise what was found."""
    if not c.diagnostics:
        return
    if c.needed:
        raise NeedsDims(c.diagnostics, sorted(c.needed))
    raise DiagnosticError(c.diagnostics)


def _body(c: Context, body: tuple[tree.Statement, ...]) -> tuple[GridAxis, ...]:
    at = next((k for k, s in enumerate(body) if _is_nest(s) or _is_grid(s)), None)
    if at is None:
        statements.run(c, body)
        return ()
    _prelude(c, body[:at])
    head, rest = body[at], body[at + 1 :]
    if isinstance(head, tree.For):
        return _parallel(c, head, rest)
    grid = _grid(c, head)
    statements.run(c, rest)
    return grid


def _prelude(c: Context, body: tuple[tree.Statement, ...]) -> None:
    """Scalars and layouts before the turns begin, which the extents of the grid may use."""
    c.inline_scalars = True
    for statement in body:
        with _known_at_the_call(c, "what stands before the parallel nest", statement.loc):
            statements.run(c, (statement,))
    c.inline_scalars = False


@contextmanager
def _known_at_the_call(c: Context, what: str, loc: Loc) -> Iterator[None]:
    """An error where statements would be needed, which belong to a turn: it reads a tensor, say."""
    before = len(c.emit.block)
    yield
    if len(c.emit.block) != before:
        fail(
            "DSL0215",
            f"{what} is computed at the call, from dims and scalars alone",
            loc,
            hint="read tensors within the nest; a size may be a parameter such as n: i32",
        )


def _is_nest(statement: tree.Statement) -> bool:
    return isinstance(statement, tree.For) and loops.is_parallel(statement.iterator)


def _is_grid(statement: tree.Statement) -> bool:
    match statement:
        case tree.ExprStatement(value=tree.Call(function=tree.Name(id="grid"))):
            return True
    return False


def _parallel(c: Context, nest: tree.For, rest: tuple[tree.Statement, ...]) -> tuple[GridAxis, ...]:
    """`for m, n in parallel(range(..), range(..))`."""
    for late in rest:
        if not isinstance(late, tree.Pass):
            fail(
                "DSL0215",
                "nothing may follow the parallel nest",
                late.loc,
                hint="its turns end the kernel: write a second kernel and a program",
            )
    assert isinstance(nest.iterator, tree.Call)
    ranges = nest.iterator.args
    for keyword in nest.iterator.keywords:
        fail("DSL0205", f"parallel has no parameter {keyword.name}", keyword.loc)
    if len(ranges) != len(nest.targets):
        fail("DSL0215", f"{len(nest.targets)} names for {len(ranges)} ranges", nest.loc)
    grid = []
    for target, node in zip(nest.targets, ranges, strict=True):
        with _known_at_the_call(c, "a range of the parallel nest", node.loc):
            turns = loops.parse_range(c, node)
        if turns.options:
            fail("DSL0215", f"{next(iter(turns.options))} is for sequential loops", node.loc)
        step = c.known(turns.step)
        if isinstance(step, int) and step < 0:
            fail("DSL0224", "the step of a parallel range is positive", node.loc)
        var = c.emit.fresh_var(target.id, INDEX)
        grid.append(GridAxis(var, turns.start, turns.stop, turns.step))
        c.names[target.id] = var
    statements.run(c, nest.body)
    return tuple(grid)


def _grid(c: Context, statement: tree.Statement) -> tuple[GridAxis, ...]:
    """`grid(x, y)`: the explicit form."""
    assert isinstance(statement, tree.ExprStatement)
    assert isinstance(statement.value, tree.Call)
    call = statement.value
    if not call.args or call.keywords:
        fail(
            "DSL0205", "grid takes the extents of its axes", call.loc, hint="grid(M // BM, N // BN)"
        )
    axes = []
    for k, node in enumerate(call.args):
        with _known_at_the_call(c, "an extent of the grid", node.loc):
            extent = index(evaluate(c, node), node.loc)
        var = c.emit.fresh_var(f"block{k}", INDEX)
        axes.append(GridAxis(var, ex.index(0), extent, ex.index(1)))
    c.block_index = tuple(a.var for a in axes)
    return tuple(axes)


def in_place(body: Body, totals: Set[Value]) -> Body:
    """The body where a product that only the sum right behind it reads starts from the other term.

    p = dot(a, b)            p is read nowhere else:
    acc += p                 acc = dot(a, b) + acc, one instruction
    """
    return _InPlace(totals, use_counts(body)).body(body) if totals else body


class _InPlace(Rewriter):
    def __init__(self, totals: Set[Value], counts: Counter[Name]) -> None:
        super().__init__()
        self.totals = totals
        self.counts = counts

    def body(self, body: Body) -> Body:
        out: list[ins.Stmt] = []
        for stmt in super().body(body):
            last = out[-1] if out else None
            if (
                isinstance(stmt, ins.Binary)
                and stmt.out in self.totals
                and isinstance(last, ins.Dot)
                and last.out is stmt.y
                and self.counts[stmt.y] == 1
            ):
                out[-1] = replace(last, out=stmt.out, acc=stmt.x)
            else:
                out.append(stmt)
        return tuple(out)
