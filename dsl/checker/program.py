"""A program: calls of kernels over its tensors and buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.checker import signature
from dslc.checker.calls import Argument, bind
from dslc.checker.context import Context, expect_dtype
from dslc.checker.expressions import condition, evaluate
from dslc.checker.failure import NeedsDims, fail, needs_dims
from dslc.checker.items import Absent, Item, KernelName, describe
from dslc.checker.kernel import finish, new_context
from dslc.checker.statements import bind as bind_name
from dslc.checker.static_loops import known_items, unroll
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Call, Kernel, Memory, Program, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant, difference, simplify
from dslc.compiler.ir.rewrite import fresh_name
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Prefer, Scope, Template


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
    program = _Body(written, prefer)
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
    )


class _Body:
    """The statements of a program: what is known when it is compiled decides its loops and branches."""

    def __init__(self, written: set[str], prefer: Prefer | None) -> None:
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
                if not isinstance(truth, bool):
                    hint = "compute both, or choose in a kernel: its conditions may be any scalars"
                    fail("DSL0228", "a program decides when it is compiled", node.loc, hint=hint)
                self.run(c, then if truth else otherwise)
            case tree.ExprStatement(value=tree.Call() as value):
                self.calls.append(_call(c, value, self.written, self.prefer))
            case _:
                fail(
                    "DSL0228",
                    "a program holds buffers, scalars, loops, branches and calls of kernels",
                    statement.loc,
                )

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
        arguments = bind(node, "buffer", ["dtype", "shape"], {"dtype", "shape"})
        dtype = expect_dtype(evaluate(c, arguments["dtype"]), node.loc)
        items = evaluate(c, arguments["shape"])
        sizes = items if isinstance(items, tuple) else (items,)
        shape = tuple(index(s, node.loc) for s in sizes)
        taken = {b.name for b in self.buffers} | self.written
        memory = Memory(fresh_name(name, taken), dtype, shape, Role.BUFFER, loc=node.loc)
        self.buffers.append(memory)
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


def _call(c: Context, node: tree.Call, written: set[str], prefer: Prefer | None) -> Call:
    target = evaluate(c, node.function)
    if not isinstance(target, KernelName) or target.template.kind != "kernel":
        fail("DSL0228", f"a program calls kernels, not {describe(target)}", node.loc)
    template = target.template
    names = [p.name for p in template.params]
    needed = {p.name for p in template.params if not p.optional}
    arguments = bind(node, template.name, [*names, *template.tunes], needed)
    absent = [p.name for p in template.params if p.optional and _is_none(c, arguments.get(p.name))]
    template = template.without(absent)
    config = {n: Argument(c, arguments[n], n).item() for n in template.tunes if n in arguments}
    args: list[Memory | ex.Expr] = []
    bound: dict[str, ex.Expr] = {}
    for param, parsed in zip(template.head.params, template.params, strict=True):
        expr = arguments[param.name]
        item = evaluate(c, expr)
        if parsed.dims is None:
            args.append(signature.scalar_argument(item, parsed.dtype, expr.loc))
            continue
        if not isinstance(item, Memory):
            fail(
                "DSL0228",
                f"{param.name} of {template.name} is a tensor, not {describe(item)}",
                expr.loc,
            )
        _check_tensor(item, param, parsed.dtype.name, expr.loc, written, template.name)
        args.append(item)
        for dim, extent in zip(param.dims or (), item.shape, strict=True):
            if isinstance(dim, tree.Name) and dim.id in template.dims:
                _bind_dim(bound, dim.id, extent, expr.loc)
    kernel = _specialise(c, template, bound, config, prefer, node.loc)
    _check_shapes(kernel, args, bound, node.loc)
    return Call(kernel, tuple(args), node.loc)


def _is_none(c: Context, node: tree.Expr | None) -> bool:
    if node is None:
        return True
    item = evaluate(c, node)
    return item is None or isinstance(item, Absent)


def _check_tensor(
    memory: Memory, param: tree.Param, dtype: str, loc: Loc, written: set[str], callee: str
) -> None:
    if memory.dtype.name != dtype:
        fail(
            "DSL0202",
            f"{param.name} of {callee} is {dtype}, {memory.name} is {memory.dtype}",
            loc,
            hint=f"declare {memory.name} as {dtype}, or {param.name} as {memory.dtype}",
        )
    if memory.rank != len(param.dims or ()):
        fail(
            "DSL0203",
            f"{param.name} of {callee} has {len(param.dims or ())} axes, "
            f"{memory.name} {memory.rank}",
            loc,
        )
    if param.mode != "in" and memory.role is Role.IN:
        fail("DSL0211", f"{memory.name} is an input and {callee} writes it", loc)
    if param.mode != "out" and memory.name not in written:
        fail("DSL0228", f"{memory.name} is read before any call has written it", loc)
    if param.mode != "in":
        written.add(memory.name)


def _bind_dim(bound: dict[str, ex.Expr], name: str, extent: ex.Expr, loc: Loc) -> None:
    if name not in bound:
        bound[name] = extent
        return
    gap = difference(bound[name], extent)
    if gap is not None and gap != 0:
        fail("DSL0203", f"the dim {name} would be two numbers at once", loc)


def _specialise(
    c: Context,
    template: Template,
    bound: dict[str, ex.Expr],
    config: Mapping[str, object],
    prefer: Prefer | None,
    loc: Loc,
) -> Kernel:
    """The kernel for what is known of its dims."""
    fixed = {}
    for name, extent in bound.items():
        known = constant(extent)
        if isinstance(known, int):
            fixed[name] = int(known)
    if prefer is not None and not config:
        config = prefer(template, bound)
    try:
        kernel = template.elaborate(fixed, config)
    except NeedsDims as e:
        free = {v for d in e.dims if d in bound for v in ex.free_vars(bound[d])}
        wanted = sorted(v.name for v in free if v in c.dims.values())
        if not wanted:
            raise
        needs_dims(f"{template.name} needs {', '.join(e.dims)}", loc, wanted)
    assert isinstance(kernel, Kernel)
    return kernel


def _check_shapes(
    kernel: Kernel, args: list[Memory | ex.Expr], bound: dict[str, ex.Expr], loc: Loc
) -> None:
    bindings: dict[ex.Var, ex.Expr] = {ex.Var(n, INDEX): e for n, e in bound.items()}
    for param, arg in zip(kernel.params, args, strict=True):
        if not isinstance(param, Memory) or not isinstance(arg, Memory):
            continue
        for axis, (wanted, extent) in enumerate(zip(param.shape, arg.shape, strict=True)):
            gap = difference(simplify(ex.substitute(wanted, bindings)), extent)
            if gap is not None and gap != 0:
                fail(
                    "DSL0203",
                    f"axis {axis} of {arg.name} does not have the extent that "
                    f"{param.name} of {kernel.name} needs",
                    loc,
                )
