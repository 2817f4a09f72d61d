"""A program's calls of kernels: arguments that fit, and the kernel for what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dslc.checker import signature
from dslc.checker.calls import Argument, bind
from dslc.checker.context import Context
from dslc.checker.expressions import evaluate
from dslc.checker.failure import NeedsDims, fail, needs_dims
from dslc.checker.items import Absent, KernelName, describe
from dslc.checker.programs.views import Views, with_strides
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Call, Kernel, Memory, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant, difference, simplify
from dslc.compiler.ir.arithmetic.strides import strides_of
from dslc.frontend import tree
from dslc.lists_of_tensors import has_lists, spread_arguments

if TYPE_CHECKING:
    from dslc.checker.module import Prefer, Template


@dataclass(slots=True)
class Written:
    """The memories of a program that calls have written, by name: a view is of what it is a view of."""

    names: set[str]
    views: Views

    def check(self, memory: Memory, mode: str, callee: str, loc: Loc) -> None:
        """DSL0211 for an input that is written, DSL0228 for a read of what nothing has written."""
        name = self.views.base(memory).name
        if mode != "in" and memory.role is Role.IN:
            fail("DSL0211", f"{name} is an input and {callee} writes it", loc)
        if mode != "out" and name not in self.names:
            fail("DSL0228", f"{name} is read before any call has written it", loc)
        if mode != "in":
            self.names.add(name)


def call(c: Context, node: tree.Call, written: Written, prefer: Prefer | None) -> Call:
    """The call of a kernel, over tensors, buffers, views of these, and scalars."""
    target = evaluate(c, node.function)
    if not isinstance(target, KernelName) or target.template.kind != "kernel":
        fail("DSL0228", f"a program calls kernels, not {describe(target)}", node.loc)
    template = target.template
    names = [p.name for p in template.params]
    needed = {p.name for p in template.params if not p.optional}
    if has_lists(names):
        flat, given = spread_arguments(
            names,
            node.args,
            {k.name: k.value for k in node.keywords},
            lambda e: _items(c, e),
            lambda text: error("DSL0205", f"{template.name}: {text}", node.loc),
        )
        keywords = tuple(tree.Keyword(n, e, loc=e.loc) for n, e in given.items())
        node = replace(node, args=tuple(flat), keywords=keywords)
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
        _check_tensor(
            item, written.views.called(item), param, parsed.dtype.name, expr.loc, template.name
        )
        written.check(item, param.mode, template.name, expr.loc)
        args.append(item)
        for dim, extent in zip(param.dims or (), item.shape, strict=True):
            if isinstance(dim, tree.Name) and dim.id in template.dims:
                _bind_dim(bound, dim.id, extent, expr.loc)
    kernel = _specialise(c, template, bound, config, prefer, node.loc)
    _check_shapes(kernel, args, bound, written.views, node.loc)
    return Call(with_strides(kernel, args), tuple(args), node.loc, written.views.when)


def _items(c: Context, node: tree.Expr) -> list[tree.Expr] | None:
    """The items of a list of tensors, each as an expression."""
    item = evaluate(c, node)
    if not isinstance(item, tuple):
        return None
    return [
        tree.Subscript(node, (tree.Literal(i, loc=node.loc),), loc=node.loc)
        for i in range(len(item))
    ]


def _is_none(c: Context, node: tree.Expr | None) -> bool:
    if node is None:
        return True
    item = evaluate(c, node)
    return item is None or isinstance(item, Absent)


def _check_tensor(
    memory: Memory, called: str, param: tree.Param, dtype: str, loc: Loc, callee: str
) -> None:
    if memory.dtype.name != dtype:
        fail(
            "DSL0202",
            f"{param.name} of {callee} is {dtype}, {called} is {memory.dtype}",
            loc,
            hint=f"declare {called} as {dtype}, or {param.name} as {memory.dtype}",
        )
    if memory.rank != len(param.dims or ()):
        fail(
            "DSL0203",
            f"{param.name} of {callee} has {len(param.dims or ())} axes, {called} {memory.rank}",
            loc,
        )


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
    # A dim of that name is the program's: the kernel's is what the call says.
    define = {n: v for n, v in template.define.items() if n not in bound}
    try:
        kernel = replace(template, define=define).elaborate(fixed, config)
    except NeedsDims as e:
        free = {v for d in e.dims if d in bound for v in ex.free_vars(bound[d])}
        wanted = sorted(v.name for v in free if v in c.dims.values())
        if not wanted:
            raise
        needs_dims(f"{template.name} needs {', '.join(e.dims)}", loc, wanted)
    assert isinstance(kernel, Kernel)
    return kernel


def _check_shapes(
    kernel: Kernel,
    args: list[Memory | ex.Expr],
    bound: dict[str, ex.Expr],
    views: Views,
    loc: Loc,
) -> None:
    """DSL0203 for extents that do not fit; what is not known is a requirement of the program."""
    bindings: dict[ex.Var, ex.Expr] = {ex.Var(n, INDEX): e for n, e in bound.items()}
    for param, arg in zip(kernel.params, args, strict=True):
        if not isinstance(param, Memory) or not isinstance(arg, Memory):
            continue
        for axis, (wanted, extent) in enumerate(zip(param.shape, arg.shape, strict=True)):
            said = simplify(ex.substitute(wanted, bindings))
            text = f"axis {axis} of {views.called(arg)} does not have the extent that "
            views.holds(
                ex.Binary("eq", said, extent, BOOL),
                f"axis {axis} of {views.called(arg)} to fit {param.name} of {kernel.name}",
                loc,
                f"{text}{param.name} of {kernel.name} needs",
            )
        for axis, (wanted, step) in enumerate(
            zip(param.strides or (), strides_of(arg), strict=False)
        ):
            known = constant(wanted)
            if known is not None and difference(wanted, step) != 0:
                fail(
                    "DSL0203",
                    f"axis {axis} of {views.called(arg)} does not have the stride {known} that "
                    f"{param.name} of {kernel.name} names",
                    loc,
                )
