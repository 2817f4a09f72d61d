"""Parameters, dims and declarations: what a kernel's head says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dslc.checker import names
from dslc.checker.arithmetic import as_dtype, as_expr
from dslc.checker.context import Context, expect_dtype
from dslc.checker.expressions import condition, evaluate
from dslc.checker.failure import fail
from dslc.checker.items import Absent, Item, Lost, describe, is_number, is_scalar
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import Label, Loc, did_you_mean
from dslc.compiler.dtypes import INDEX, DType, parse_dtype
from dslc.compiler.ir import Memory, Param, Requirement, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant as constant_of
from dslc.compiler.layout import Layout
from dslc.frontend import tree

Declaration: TypeAlias = tree.Const | tree.Tune | tree.Require


@dataclass(frozen=True, slots=True)
class Head:
    """A kernel or program split into its parts."""

    params: tuple[tree.Param, ...]
    consts: tuple[tree.Const, ...]
    tunes: tuple[tree.Tune, ...]
    requires: tuple[tree.Require, ...]
    body: tuple[tree.Statement, ...]
    dims: tuple[str, ...]
    absent: tuple[str, ...] = ()


def split(
    node: tree.Kernel | tree.Program, known: Iterable[str], absent: Collection[str] = ()
) -> Head:
    """The parts of a kernel; names in its dims that nothing defines are its dims.

    The optional parameters of `absent` are None: they are no parameters, nor are their dims dims.
    """
    declared = [s for s in node.body if isinstance(s, Declaration)]
    count = next(
        (k for k, s in enumerate(node.body) if not isinstance(s, Declaration)), len(node.body)
    )
    for late in node.body[count:]:
        if isinstance(late, tree.Const | tree.Tune | tree.Require):
            fail("DSL0216", "declarations come first in a kernel", late.loc)
    consts = tuple(s for s in declared if isinstance(s, tree.Const))
    tunes = tuple(s for s in declared if isinstance(s, tree.Tune))
    requires = tuple(s for s in declared if isinstance(s, tree.Require))
    params = tuple(p for p in node.params if p.name not in absent)
    scalars = {p.name for p in node.params if p.dims is None}
    taken = {*known, *scalars, *(d.name for d in consts), *(d.name for d in tunes)}
    own_dims: dict[str, None] = {}
    for param in params:
        for dim in (*(param.dims or ()), *(param.strides or ())):
            own_dims.update(dict.fromkeys(n for n in names.reads(dim) if n not in taken))
    _check_names(node, consts, tunes, tuple(own_dims))
    body = node.body[count:]
    return Head(params, consts, tunes, requires, body, tuple(own_dims), tuple(absent))


def _check_names(
    node: tree.Kernel | tree.Program,
    consts: tuple[tree.Const, ...],
    tunes: tuple[tree.Tune, ...],
    dims: tuple[str, ...],
) -> None:
    seen: dict[str, Loc] = {}
    declared: tuple[tree.Param | tree.Const | tree.Tune, ...] = (*node.params, *consts, *tunes)
    for item in declared:
        if item.name in seen or item.name in dims:
            labels = (Label(seen[item.name], "first here"),) if item.name in seen else ()
            what = "is declared twice" if item.name in seen else "is a dim as well"
            fail("DSL0216", f"{item.name} {what}", item.loc, labels=labels)
        seen[item.name] = item.loc


def parse_value(value: object) -> Item:
    """A `define` value: numbers and dtypes as they are, text as on the command line."""
    if value is None or isinstance(value, bool | int | float | DType | Layout):
        return value
    if isinstance(value, str):
        if value in ("True", "False"):
            return value == "True"
        if value == "None":
            return None
        return _parse_text(value)
    name = getattr(value, "name", None)
    return parse_dtype(name) if isinstance(name, str) and parse_dtype(name) else str(value)


def _parse_text(text: str) -> Item:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return parse_dtype(text) or text


def declare_dims(c: Context, head: Head, fixed: Mapping[str, int]) -> None:
    """Bind every dim: to its fixed value or to a variable of the kernel."""
    for name in head.dims:
        if name in fixed:
            c.names[name] = fixed[name]
        else:
            var = c.emit.fresh_var(name, INDEX)
            c.dims[name] = var
            c.names[name] = var


def declare_constants(
    c: Context, head: Head, define: Mapping[str, Item], config: Mapping[str, object]
) -> tuple[tuple[str, int], ...]:
    """Bind const and tune names; gives the choice of every tune."""
    declare_consts(c, head, define)
    chosen = []
    for tune in head.tunes:
        with c.recover((tune.name,)):
            value = choose(c, tune, config.get(tune.name))
            c.names[tune.name] = value
            chosen.append((tune.name, value))
    return tuple(chosen)  # type: ignore[arg-type]


def declare_consts(c: Context, head: Head, define: Mapping[str, Item]) -> None:
    """Bind the names of constants."""
    for const in head.consts:
        with c.recover((const.name,)):
            value = define[const.name] if const.name in define else evaluate(c, const.value)
            c.names[const.name] = settled(c, value, const)


def settled(c: Context, item: Item, const: tree.Const) -> Item:
    """The value of a const, which is known at compile time."""
    if isinstance(item, Lost) or item is None:
        fail("DSL0206", f"const {const.name} has no value", const.loc)
    if is_scalar(item) and not is_number(item):
        known = c.known(item)
        if known is None:
            c.not_constant(item, const.value.loc, f"const {const.name}")
        return known
    return item


def choose(c: Context, tune: tree.Tune, wanted: object) -> Item:
    """The choice of a tune: what was asked for, else the first."""
    choices = [evaluate(c, e) for e in tune.choices]
    if wanted is None:
        return choices[0]
    value = parse_value(wanted)
    if value not in choices:
        listed = ", ".join(str(x) for x in choices)
        fail(
            "DSL0218",
            f"{tune.name} = {value} is not one of its choices",
            tune.loc,
            hint=f"the choices are {listed}",
        )
    return value


def declare_params(c: Context, head: Head) -> tuple[Param, ...]:
    """Bind the parameters: tensors as memories, scalars as variables."""
    c.names.update({name: Absent(name) for name in head.absent})
    for param in head.params:
        if param.dims is None:
            with c.recover((param.name,)):
                _declare_scalar(c, param)
    for param in head.params:
        if param.dims is not None:
            with c.recover((param.name,)):
                c.names[param.name] = _tensor(c, param)
    declared = [c.names.get(p.name) for p in head.params]
    return tuple(p for p in declared if isinstance(p, Memory | ex.Var))


def _declare_scalar(c: Context, param: tree.Param) -> None:
    dtype = expect_dtype(evaluate(c, param.dtype), param.loc)
    if param.mode != "in":
        fail(
            "DSL0211",
            f"{param.name} is a scalar and cannot be {param.mode}",
            param.loc,
            hint=f"take a tensor of one element: {param.name}: {param.mode} {dtype}[1]",
        )
    c.names[param.name] = c.emit.fresh_var(param.name, dtype)


def _tensor(c: Context, param: tree.Param) -> Memory:
    dtype = expect_dtype(evaluate(c, param.dtype), param.loc)
    shape = tuple(_extent(c, d) for d in param.dims or ())
    strides = None
    if param.strides is not None:
        strides = tuple(index(evaluate(c, s), s.loc) for s in param.strides)
        if len(strides) != len(shape):
            fail("DSL0212", f"{len(strides)} strides for {len(shape)} axes", param.loc)
    if param.packed is not None and (param.packed != "row" or dtype.bits > 8):
        fail(
            "DSL0211",
            f"{param.name} cannot be packed {param.packed}",
            param.loc,
            hint="packed row is for dtypes of 1 to 8 bits",
        )
    return Memory(param.name, dtype, shape, Role(param.mode), strides=strides,
                  packed=param.packed, loc=param.loc)  # fmt: skip


def _extent(c: Context, node: tree.Expr) -> ex.Expr:
    item = evaluate(c, node)
    if isinstance(item, float) or not is_scalar(item):
        fail("DSL0212", f"the extent of an axis is an integer, not {describe(item)}", node.loc)
    extent = index(item, node.loc)
    known = constant_of(extent)
    if isinstance(known, int) and known < 0:
        fail("DSL0224", f"the extent of an axis is at least 0, not {known}", node.loc)
    return extent


def check_bindable(c: Context, head: Head, params: tuple[Param, ...]) -> None:
    """Every dim must stand alone as some tensor's extent, or its value cannot be found."""
    bare = {e for p in params if isinstance(p, Memory) for e in (*p.shape, *(p.strides or ()))}
    for name, var in c.dims.items():
        if var not in bare:
            at = next(p.loc for p in head.params if name in set(names.reads((p.dims, p.strides))))
            with c.recover(()):
                fail(
                    "DSL0207",
                    f"the dim {name} stands only inside an expression",
                    at,
                    hint=f"fix it with -D {name}=..., or give some tensor an axis {name}",
                )


def declare_requires(c: Context, head: Head) -> tuple[Requirement, ...]:
    """The conditions that the call must meet; one that is known to fail is an error now."""
    requirements = []
    for require in head.requires:
        with c.recover(()):
            truth = condition(c, evaluate(c, require.condition), require.condition.loc)
            if truth is False:
                fail(
                    "DSL0217",
                    f"require {require.text} does not hold{_values(c, require)}",
                    require.loc,
                )
            if truth is not True:
                requirements.append(
                    Requirement(as_expr(truth, require.loc), require.text, require.loc)
                )
    return tuple(requirements)


def _values(c: Context, require: tree.Require) -> str:
    """What the names of a condition are, as far as they are numbers."""
    loc = require.condition.loc
    items = {
        n: evaluate(c, tree.Name(n, loc=loc)) for n in sorted({*names.reads(require.condition)})
    }
    known = ", ".join(f"{n} = {v}" for n, v in items.items() if is_number(v))
    return f": {known}" if known else ""


def scalar_argument(item: Item, dtype: DType, loc: Loc) -> ex.Expr:
    """A scalar handed to a kernel inside a program."""
    return as_dtype(item, dtype, loc, "argument")


def unknown_defines(given: Iterable[str], known: Iterable[str], loc: Loc) -> None:
    """Refuse a define that names nothing."""
    names_known = sorted(set(known))
    for name in given:
        if name not in names_known:
            fail(
                "DSL0225",
                f"nothing here is called {name}, so it cannot be defined",
                loc,
                hint=did_you_mean(name, names_known)
                or f"dims and constants: {', '.join(names_known) or 'none'}",
            )
