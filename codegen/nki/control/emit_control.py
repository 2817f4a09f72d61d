"""Loops and branches: unrolled as the kernel is traced where their bounds are known then."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.arithmetic.dynamic_scalars import dynamic_scalar
from dslc.codegen.nki.bounds import is_not_negative
from dslc.codegen.nki.control.machine_branches import machine_branch, machine_while
from dslc.codegen.nki.control.machine_loops import machine_loop
from dslc.codegen.nki.emission import Emission, Emit, refuse
from dslc.codegen.nki.lifetimes import begin_lists
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.products.transpose_ahead import begin, iteration, transposed_ahead
from dslc.codegen.nki.tile_values import TileValue
from dslc.codegen.quoting import python_string
from dslc.compiler.dtypes import F32, I32
from dslc.compiler.ir import GridAxis, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import Body
from dslc.compiler.targets.nki import MOVING, PSUM_BANKS


def turns(e: Emission, grid: tuple[GridAxis, ...], body: Body) -> None:
    """The turns of the grid, one after another on one core."""
    if not grid:
        e.body(body)
        return
    axis, *rest = grid
    if axis.var in e.machine:
        machine_loop(e, ins.For(axis.var, axis.start, axis.stop, axis.step, _nest(rest, body)))
        return
    begin_lists(e, axis.var)
    with e.out.block(_head(e, axis.var, axis.start, axis.stop, axis.step)):
        turns(e, tuple(rest), body)


def _nest(grid: list[GridAxis], body: Body) -> Body:
    """The inner axes as loops of the body."""
    for axis in reversed(grid):
        body = (ins.For(axis.var, axis.start, axis.stop, axis.step, body),)
    return body


def _head(e: Emission, var: ex.Var, start: ex.Expr, stop: ex.Expr, step: ex.Expr) -> str:
    bounds = [e.scalar(x) for x in (start, stop, step)]
    known = is_not_negative(e, start) and (constant(step) or 0) > 0
    name = e.declare(var, not_negative=bool(known))
    if bounds[2] == "1":
        bounds.pop()
        if bounds[0] == "0":
            bounds.pop(0)
    return f"for {name} in range({', '.join(bounds)})"


def loop(e: Emission, stmt: ins.For) -> None:
    """A sequential loop. What it hands on are names that each iteration sets anew."""
    dynamic = any(e.is_dynamic(x) for x in (stmt.start, stmt.stop, stmt.step))
    if dynamic or stmt.var in e.machine:
        machine_loop(e, stmt)
        return
    sums = []
    for c in stmt.carried:
        if sums_in_psum(e, stmt, c):
            sums.append(c)
            _begin_sums(e, c)
    others = [c for c in stmt.carried if c not in sums]
    fresh = [c for c in others if _begins_with_a_product(e, stmt, c)]
    names = [_begin_fresh(e, c) if c in fresh else _begin(e, c) for c in others]
    begin_lists(e, stmt.var)
    transposed = transposed_ahead(e, stmt)
    ahead = begin(e, transposed) if transposed else None
    with e.out.block(_head(e, stmt.var, stmt.start, stmt.stop, stmt.step)):
        for c in sums:
            assert isinstance(c.inner, Value)
            e.sums[c.inner] = f"{e.names[stmt.var]} > {e.scalar(stmt.start)}"
        for c in fresh:
            assert isinstance(c.inner, Value)
            e.fresh[c.inner] = f"{e.names[stmt.var]} == {e.scalar(stmt.start)}"
        if transposed and ahead:
            iteration(e, stmt, transposed, *ahead)
        else:
            e.body(stmt.body)
        _hand_on(e, names, [_handed(e, c.yielded) for c in others])
    for c in sums:
        assert isinstance(c.inner, Value)
        assert isinstance(c.result, Value)
        e.values[c.result] = e.values[c.inner]
        e.in_psum[c.result] = e.values[c.inner].name
    for c in others:
        _after(e, c)


def sums_in_psum(e: Emission, stmt: ins.For, c: ins.Carried) -> bool:
    """Whether a loop only adds products to the tile, and half of PSUM holds it.

    The other half is for the iteration that follows, so that the tensor engine need not wait.
    """
    if not _adds_products(e, stmt, c) or not isinstance(c.init, Value):
        return False
    held = e.held(c.init)
    return held.extents[0] <= MOVING and held.chunks <= e.banks.free - PSUM_BANKS // 2


def _adds_products(e: Emission, stmt: ins.For, c: ins.Carried) -> bool:
    """Whether a loop that begins with zeros does nothing with the tile but add products of floats."""
    if not isinstance(c.inner, Value) or not isinstance(c.init, Value):
        return False
    held = e.held(c.init)
    if not held.is_zero or held.dtype != F32:
        return False
    dots = [s for s in stmt.body if isinstance(s, ins.Dot) and s.acc is c.inner]
    if len(dots) != 1 or dots[0].out is not c.yielded or dots[0].out.type.rank != 2:
        return False
    alone = e.uses[c.inner] == 1 and e.uses[dots[0].out] == 1
    return alone and dots[0].a.type.dtype.is_float


def _begins_with_a_product(e: Emission, stmt: ins.For, c: ins.Carried) -> bool:
    """Whether the first iteration writes the sums, so that nobody need fill them with zeros."""
    first, stop, step = (constant(x) for x in (stmt.start, stmt.stop, stmt.step))
    if first is None or stop is None or step is None or (stop - first) * step <= 0:
        return False
    return _adds_products(e, stmt, c)


def _begin_fresh(e: Emission, c: ins.Carried) -> str:
    assert isinstance(c.inner, Value)
    total = e.tile(c.inner.name, F32, c.inner.type.shape, e.place(c.inner))
    with e.filled(total):
        pass
    e.values[c.inner] = total
    return total.name


def _begin_sums(e: Emission, c: ins.Carried) -> None:
    assert isinstance(c.inner, Value)
    place = e.place(c.inner)
    sums = e.tile(c.inner.name, F32, c.inner.type.shape, place, psum=True)
    e.banks.take(sums.name, sums.chunks)
    with e.filled(sums):
        pass
    e.values[c.inner] = sums


def _begin(e: Emission, c: ins.Carried | ins.Joined) -> str:
    """The name that holds a carried value, with its first value."""
    assert isinstance(c, ins.Carried)
    if isinstance(c.inner, ex.Var):
        assert not isinstance(c.init, Value)
        if e.is_dynamic(c.init) or (not isinstance(c.yielded, Value) and e.is_dynamic(c.yielded)):
            raise refuse(
                ins.Sync(), f"{c.inner.name}: a loop hands on no scalar that is read from a tile"
            )
        text = e.scalar(c.init)
        name = e.declare(c.inner)
        e.out.line(f"{name} = {text}")
        return name
    assert isinstance(c.init, Value)
    held = own(e, e.held(c.init))
    if not e.is_last_read(c.init):  # the loop may overwrite what it is handed
        kept = e.like(held, held.name)
        copy(e, kept, held)
        held = kept
    name = e.out.name(c.inner.name)
    e.out.line(f"{name} = {held.name}")
    e.values[c.inner] = replace(held, name=name)
    if held.name in e.by_scalar:
        e.by_scalar.add(name)
    return name


def own(e: Emission, held: TileValue) -> TileValue:
    """The tile dense, in SBUF, in the form that every iteration hands on."""
    return e.in_sbuf(e.tensors(held))


def _hand_on(e: Emission, names: list[str], handed: list[str]) -> None:
    """Set the carried names anew, all at once; what stays in place needs nothing."""
    pairs = [(name, use) for name, use in zip(names, handed, strict=True) if name != use]
    if pairs:
        left, right = zip(*pairs, strict=True)
        e.out.line(f"{', '.join(left)} = {', '.join(right)}")


def _handed(e: Emission, yielded: Value | ex.Expr) -> str:
    return own(e, e.held(yielded)).name if isinstance(yielded, Value) else e.scalar(yielded)


def while_loop(e: Emission, stmt: ins.While) -> None:
    """A loop that ends when tracing says so, or the machine."""
    lets = [s for s in stmt.before if isinstance(s, ins.Let)]
    condition = stmt.condition
    for inner in reversed(lets):
        condition = ex.substitute(condition, {inner.var: inner.value})
    if len(lets) < len(stmt.before) or e.is_dynamic(condition):
        machine_while(e, stmt)
        return
    names = [_begin(e, c) for c in stmt.carried]
    with e.out.block(f"while {e.scalar(condition)}"):
        for inner in lets:
            let(e, inner)
        e.body(stmt.body)
        _hand_on(e, names, [_handed(e, c.yielded) for c in stmt.carried])
    for inner in lets:
        let(e, inner)
    for c in stmt.carried:
        _after(e, c)


def _after(e: Emission, c: ins.Carried) -> None:
    """What a loop has carried, under its name behind the loop."""
    if isinstance(c.result, Value) and isinstance(c.inner, Value):
        e.values[c.result] = e.values[c.inner]
    elif isinstance(c.result, ex.Var) and isinstance(c.inner, ex.Var):
        e.names[c.result] = e.names[c.inner]


def branch(e: Emission, stmt: ins.If) -> None:
    """A branch that tracing decides."""
    if e.is_dynamic(stmt.condition):
        machine_branch(e, stmt)
        return
    names: list[str] = []
    for j in stmt.joined:
        hint = j.result.name
        names.append(e.out.name(hint) if isinstance(j.result, Value) else e.declare(j.result))
    sides = ((f"if {e.scalar(stmt.condition)}", stmt.then), ("else", stmt.otherwise))
    for number, (head, body) in enumerate(sides):
        if number and not body and not names:
            break
        with e.out.block(head):
            e.body(body)
            for name, j in zip(names, stmt.joined, strict=True):
                use = j.otherwise if number else j.then
                e.out.line(f"{name} = {_handed(e, use)}")
                if isinstance(use, Value) and isinstance(j.result, Value):
                    e.values[j.result] = replace(own(e, e.held(use)), name=name)


def let(e: Emission, stmt: ins.Let) -> None:
    """A name for a scalar."""
    if e.is_dynamic(stmt.value):
        e.dynamic.add(stmt.var)
        e.dynamic_values[stmt.var] = stmt.value
        return
    text = e.scalar(stmt.value)
    known = is_not_negative(e, stmt.value)
    e.out.line(f"{e.declare(stmt.var, not_negative=known)} = {text}")


def check(e: Emission, stmt: ins.Assert) -> None:
    """Checked when the kernel is traced; what only the machine knows is marked, it cannot stop."""
    if not e.is_dynamic(stmt.condition):
        e.out.line(f"assert {e.scalar(stmt.condition)}, {python_string(stmt.text)}")
        return
    if stmt not in e.checks:
        e.checks.append(stmt)
    column = e.checks.index(stmt)
    numbers = (ex.Const(0, I32), ex.Const(1, I32))
    flag = e.tensors(e.held(dynamic_scalar(e, ex.Select(stmt.condition, *numbers, I32))))
    mark = f"{e.failed}[0:1, {column}:{column + 1}]"
    e.call("tensor_tensor", dst=mark, data1=mark, data2=f"{flag.name}[0:1, 0:1]", op="nl.maximum")


EMITTERS: dict[type, Emit] = {
    ins.For: loop,
    ins.While: while_loop,
    ins.If: branch,
    ins.Let: let,
    ins.Assert: check,
}
