"""Whether all turns of a grid do the same work, so that one of them stands for all."""

from __future__ import annotations

from collections.abc import Iterator

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Var, free_vars
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.values import Value


def are_turns_alike(kernel: Kernel) -> bool:
    """Whether no bound of a loop and no condition follows from where in the grid a turn is.

    What is read from memory may differ from turn to turn all the same: it is not known to the model.
    """
    follows = {axis.var for axis in kernel.grid}
    statements = list(walk(kernel.body))
    pairs = [pair for s in statements for pair in _defined(s)]
    before = 0
    while len(follows) > before:
        before = len(follows)
        follows |= {var for var, expr in pairs if not follows.isdisjoint(free_vars(expr))}
    decide = [e for s in statements for e in _deciding(s)]
    return all(follows.isdisjoint(free_vars(e)) for e in decide)


def _defined(stmt: ins.Stmt) -> Iterator[tuple[Var, Expr]]:
    """The scalars that a statement defines, with what they follow from."""
    match stmt:
        case ins.Let(var=var, value=value):
            yield var, value
        case ins.For() | ins.While():
            for c in stmt.carried:
                for name in (c.inner, c.result):
                    for source in (c.init, c.yielded):
                        if isinstance(name, Var) and not isinstance(source, Value):
                            yield name, source
        case ins.If():
            for j in stmt.joined:
                for given in (j.then, j.otherwise):
                    if isinstance(j.result, Var) and not isinstance(given, Value):
                        yield j.result, given


def _deciding(stmt: ins.Stmt) -> tuple[Expr, ...]:
    """What decides how often a statement's body runs, or whether."""
    match stmt:
        case ins.For():
            return stmt.start, stmt.stop, stmt.step
        case ins.While() | ins.If():
            return (stmt.condition,)
    return ()
