"""A program: calls of kernels over its tensors and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dslc.checker import signature
from dslc.checker.calls import Argument, bind
from dslc.checker.context import Context, expect_dtype
from dslc.checker.expressions import evaluate
from dslc.checker.failure import NeedsDims, fail, needs_dims
from dslc.checker.items import Absent, Item, KernelName, describe
from dslc.checker.kernel import finish, new_context
from dslc.checker.statements import bind as bind_name
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Call, Kernel, Memory, Program, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant, difference, simplify
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Prefer, Template


def elaborate(
    node: tree.Program,
    head: signature.Head,
    outer: dict[str, Item],
    define: Mapping[str, Item],
    fixed: Mapping[str, int],
    config: Mapping[str, object],
    prefer: Prefer | None = None,
) -> Program:
    """Tile IR of a program; its kernels are specialised to the shapes that are known.

    `prefer` chooses the tunes that a call leaves open.
    """
    c = new_context(outer)
    signature.declare_dims(c, head, fixed)
    signature.declare_constants(c, head, define, config)
    params = signature.declare_params(c, head)
    signature.check_bindable(c, head, params)
    buffers: list[Memory] = []
    calls: list[Call] = []
    written: set[str] = {p.name for p in params if isinstance(p, Memory) and p.role is not Role.OUT}
    for require in head.requires:
        with c.recover(()):
            fail("DSL0228", "require stands in kernels", require.loc)
    for statement in head.body:
        with c.recover(()):
            _statement(c, statement, buffers, calls, written, prefer)
    finish(c)
    used = tuple((n, fixed[n]) for n in head.dims if n in fixed)
    return Program(
        node.name,
        params,
        tuple(c.dims.values()),
        tuple(buffers),
        tuple(calls),
        fixed=used,
        doc=node.doc,
        loc=node.loc,
    )


def _statement(
    c: Context,
    statement: tree.Statement,
    buffers: list[Memory],
    calls: list[Call],
    written: set[str],
    prefer: Prefer | None,
) -> None:
    match statement:
        case tree.Pass():
            return
        case tree.Assign(
            target=tree.Name(id=name),
            value=tree.Call(function=tree.Name(id="buffer")) as value,
        ):
            memory = _buffer(c, name, value)
            buffers.append(memory)
            c.names[name] = memory
        case tree.Assign(target=tree.Name(id=name), value=value):
            bind_name(c, name, evaluate(c, value), statement.loc)
        case tree.ExprStatement(value=tree.Call() as value):
            calls.append(_call(c, value, written, prefer))
        case _:
            fail("DSL0228", "a program holds buffers, scalars and calls of kernels", statement.loc)


def _buffer(c: Context, name: str, node: tree.Call) -> Memory:
    if name in c.names:
        fail("DSL0216", f"{name} has a meaning already", node.loc)
    arguments = bind(node, "buffer", ["dtype", "shape"], {"dtype", "shape"})
    dtype = expect_dtype(evaluate(c, arguments["dtype"]), node.loc)
    items = evaluate(c, arguments["shape"])
    sizes = items if isinstance(items, tuple) else (items,)
    shape = tuple(index(s, node.loc) for s in sizes)
    return Memory(name, dtype, shape, Role.BUFFER, loc=node.loc)


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
