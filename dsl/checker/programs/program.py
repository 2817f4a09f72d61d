"""A program: calls of kernels over its tensors and buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.checker import signature
from dslc.checker.calls import bind
from dslc.checker.context import Context, expect_dtype
from dslc.checker.expressions import condition, evaluate
from dslc.checker.failure import fail
from dslc.checker.items import Item, Lost, describe
from dslc.checker.kernel import finish, new_context
from dslc.checker.programs import calls as kernel_calls
from dslc.checker.programs.calls import Written
from dslc.checker.programs.initial import filled
from dslc.checker.programs.views import Views, negated
from dslc.checker.statements import bind as bind_name
from dslc.checker.static_loops import known_items, unroll
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Call, Memory, Program, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import largest
from dslc.compiler.ir.rewrite import fresh_name
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Prefer, Scope


def elaborate(
    node: tree.Program,
    head: signature.Head,
    scope: Scope,
    define: Mapping[str, Item],
    fixed: Mapping[str, int],
    config: Mapping[str, object],
    prefer: Prefer | None = None,
) -> Program:
    """Tile IR of a program; its kernels are specialised to the shapes that are known.

    `prefer` chooses the tunes that a call leaves open.
    """
    c = new_context(scope)
    signature.declare_dims(c, head, fixed)
    signature.declare_constants(c, head, define, config)
    params = signature.declare_params(c, head)
    signature.check_bindable(c, head, params)
    c.inline_scalars = True  # extents and arguments are expressions of dims and scalars
    for require in head.requires:
        with c.recover(()):
            fail("DSL0228", "require stands in kernels", require.loc)
    written = {p.name for p in params if isinstance(p, Memory) and p.role is not Role.OUT}
    c.views = Views({p.name for p in params})
    program = _Body(Written(written, c.views), prefer)
    c.elaborators = replace(c.elaborators, statements=program.run)
    program.run(c, head.body)
    finish(c)
    used = tuple((n, fixed[n]) for n in head.dims if n in fixed)
    return Program(
        node.name,
        params,
        tuple(c.dims.values()),
        tuple(program.buffers),
        tuple(program.calls),
        fixed=used,
        doc=node.doc,
        loc=node.loc,
        requires=tuple(c.views.requires),
        views=tuple(v for m, v in c.views.views.items() if any(m in x.args for x in program.calls)),
    )


class _Body:
    """The statements of a program: what is known when it is compiled decides its loops and branches.

    A branch that scalars decide is its calls, where the condition holds.
    """

    def __init__(self, written: Written, prefer: Prefer | None) -> None:
        self.buffers: list[Memory] = []
        self.calls: list[Call] = []
        self.written = written
        self.prefer = prefer

    def run(self, c: Context, body: Iterable[tree.Statement]) -> None:
        """Elaborate statements in order, each error by itself."""
        for statement in body:
            with c.recover(()):
                self._statement(c, statement)

    def _statement(self, c: Context, statement: tree.Statement) -> None:
        match statement:
            case tree.Pass():
                return
            case tree.Assign(target=target, value=value, loc=loc):
                _assign(c, target, self._value(c, target, value), loc)
            case tree.For():
                items = known_items(c, statement.iterator, unrolled=True)
                if items is None:
                    fail("DSL0228", "a program's loops are over numbers and lists", statement.loc)
                unroll(c, statement, items)
            case tree.If(condition=node, then=then, otherwise=otherwise):
                truth = condition(c, evaluate(c, node), node.loc)
                if isinstance(truth, bool):
                    self.run(c, then if truth else otherwise)
                else:
                    self._branches(c, truth, then, otherwise, statement.loc)
            case tree.ExprStatement(value=tree.Call() as value):
                made = kernel_calls.call(c, value, self.written, self.prefer)
                self.calls.append(made)
            case _:
                fail(
                    "DSL0228",
                    "a program holds buffers, scalars, loops, branches and calls of kernels",
                    statement.loc,
                )

    def _branches(
        self,
        c: Context,
        truth: ex.Expr,
        then: tuple[tree.Statement, ...],
        otherwise: tuple[tree.Statement, ...],
        loc: Loc,
    ) -> None:
        """Both branches, each for its calls: names have one value after both, or none."""
        views = self.written.views
        before, written, outer = c.names, self.written.names, views.when
        after = []
        for body, holds in ((then, truth), (otherwise, negated(truth))):
            c.names, self.written.names = dict(before), set(written)
            views.when = holds if outer is None else ex.Binary("and", outer, holds, BOOL)
            self.run(c, body)
            after.append((c.names, self.written.names))
        (names, first), (others, second) = after
        views.when, self.written.names = outer, first & second
        lost = Lost("has a value in one branch of this if only", loc)
        c.names = {n: x if others.get(n, lost) is x else lost for n, x in names.items()}
        c.names |= {n: lost for n in others if n not in names}

    def _value(self, c: Context, target: tree.Expr, node: tree.Expr) -> Item:
        """What is assigned to a name, or item by item to several."""
        match target, node:
            case tree.Sequence(items=targets), tree.Sequence(items=items) if len(targets) == len(
                items
            ):
                pairs = zip(targets, items, strict=True)
                return tuple(self._value(c, to, item) for to, item in pairs)
            case tree.Name(id=name), tree.Call(function=tree.Name(id="buffer")):
                return self._buffer(c, name, node)
        return evaluate(c, node)

    def _buffer(self, c: Context, name: str, node: tree.Call) -> Memory:
        held = c.names.get(name)
        if name in c.dims or (held is not None and held not in self.buffers):
            fail("DSL0216", f"{name} has a meaning already", node.loc)
        arguments = bind(node, "buffer", ["dtype", "shape", "init"], {"dtype", "shape"})
        dtype = expect_dtype(evaluate(c, arguments["dtype"]), node.loc)
        items = evaluate(c, arguments["shape"])
        sizes = items if isinstance(items, tuple) else (items,)
        shape = tuple(index(s, node.loc) for s in sizes)
        views = self.written.views
        if views.when is not None:  # where the branch is not taken, no number need be right
            shape = tuple(simplify(largest(n, 0)) for n in shape)
        memory = Memory(fresh_name(name, views.taken), dtype, shape, Role.BUFFER, loc=node.loc)
        self.buffers.append(memory)
        if "init" in arguments:
            value = signature.scalar_argument(evaluate(c, arguments["init"]), dtype, node.loc)
            self.calls.append(filled(views, memory, value, node.loc))
            self.written.names.add(memory.name)
        return memory


def _assign(c: Context, target: tree.Expr, item: Item, loc: Loc) -> None:
    """Give a name an item: a tensor goes by several names, and a name by several tensors in turn."""
    if isinstance(target, tree.Sequence):
        if not isinstance(item, tuple) or len(target.items) != len(item):
            fail("DSL0215", f"{len(target.items)} names are given {describe(item)}", loc)
        for part, value in zip(target.items, item, strict=True):
            _assign(c, part, value, loc)
    elif not isinstance(target, tree.Name):
        fail("DSL0228", "a program assigns names", target.loc)
    elif isinstance(item, Memory) and target.id not in c.dims:
        c.names[target.id] = item
    else:
        bind_name(c, target.id, item, loc)
