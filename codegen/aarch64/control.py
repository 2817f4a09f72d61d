"""Loops and branches of the program; what they carry lies in memory or in registers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.scalars import INVERSE, condition_of
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.places import Array, InRegisters
from dslc.codegen.aarch64.products.sweeps import run, sweep_of
from dslc.codegen.aarch64.statements import keep, scratch_for
from dslc.codegen.chunks.handing_on import order_of
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Use

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def for_loop(e: Emission, loop: ins.For) -> None:
    """A counted loop; its step is positive."""
    homes = _enter(e, loop.carried)
    sweep = sweep_of(e, loop)
    if sweep is not None:
        home = homes[loop.carried[0]]
        assert isinstance(home, Array)
        run(e, sweep, home)
        _leave(e, loop.carried, homes)
        return
    with e.loop_over(loop.var, loop.start, loop.stop, loop.step, movable=False):
        _inside(e, loop.carried, homes)
        e.body(loop.body)
        _hand_on(e, loop.carried, homes)
    _leave(e, loop.carried, homes)


def while_loop(e: Emission, loop: ins.While) -> None:
    """The condition is computed at the head of each iteration."""
    s = e.s
    homes = _enter(e, loop.carried)
    head, end = s.label("while"), s.label("end")
    with s.loop_scope():
        s.put(head)
        e.fixed_scopes.add(s.scope)
        _inside(e, loop.carried, homes)
        e.body(loop.before)
        text, uses, condition = condition_of(e, loop.condition)
        s.branch(f"{text}\n\tb.{INVERSE[condition]} @", end, *uses)
        e.body(loop.body)
        _hand_on(e, loop.carried, homes)
        s.jump(head)
    s.put(end)
    _leave(e, loop.carried, homes)


def branch(e: Emission, i: ins.If) -> None:
    """Both branches write what they join to one place."""
    s = e.s
    homes = {j.result: _place(e, j.result) for j in i.joined}
    otherwise, end = s.label("else"), s.label("end")
    text, uses, condition = condition_of(e, i.condition)
    s.branch(f"{text}\n\tb.{INVERSE[condition]} @", otherwise, *uses)
    for body, last in ((i.then, False), (i.otherwise, True)):
        if last:
            s.put(otherwise)
        with e.branch():
            e.body(body)
            for j in i.joined:
                _assign(e, homes[j.result], j.otherwise if last else j.then)
        if not last:
            s.jump(end)
    s.put(end)
    e.forget()
    for j in i.joined:
        _settle(e, j.result, homes[j.result])


def _place(e: Emission, name: Value | ex.Var) -> Array | Reg:
    """Where a carried or joined value lives."""
    if isinstance(name, Value):
        return scratch_for(e, name)
    return e.s.vector() if name.dtype.is_float else e.s.general()


def _assign(e: Emission, home: Array | Reg, use: Use) -> None:
    if isinstance(home, Array):
        assert isinstance(use, Value)
        keep(e, use, home)
    else:
        assert not isinstance(use, Value)
        e.s.move(home, _scalar(e, use))


def _scalar(e: Emission, expr: ex.Expr) -> Reg:
    return floats.scalar(e, expr).regs[0] if expr.dtype.is_float else e.integer(expr)


def _settle(e: Emission, name: Value | ex.Var, home: Array | Reg | InRegisters) -> None:
    if isinstance(name, Value):
        assert not isinstance(home, Reg)
        e.settle(name, home)
    else:
        assert isinstance(home, Reg)
        e.bind(name, home)


Homes = dict[ins.Carried, "Array | Reg | InRegisters"]


def _enter(e: Emission, carried: Sequence[ins.Carried]) -> Homes:
    homes: Homes = {}
    for c in carried:
        home = _place(e, c.inner)
        _assign(e, home, c.init)
        homes[c] = home
    e.forget()
    return homes


def _inside(e: Emission, carried: Sequence[ins.Carried], homes: Homes) -> None:
    for c in carried:
        _settle(e, c.inner, homes[c])


def _leave(e: Emission, carried: Sequence[ins.Carried], homes: Homes) -> None:
    e.forget()
    for c in carried:
        _settle(e, c.result, homes[c])


def _hand_on(e: Emission, carried: Sequence[ins.Carried], homes: Homes) -> None:
    """The next iteration's values; each goes to its place once nothing to come reads what is there."""
    waiting = [c for c in carried if not _stays(e, c, homes)]
    late: list[tuple[Array | Reg, Array | Reg, ins.Carried]] = []
    for c, in_place in order_of(waiting, e.lazy, e.homes):
        home = homes[c]
        assert not isinstance(home, InRegisters)
        if in_place:
            _assign(e, home, c.yielded)
        else:
            between = _place(e, c.inner)
            _assign(e, between, c.yielded)
            late.append((home, between, c))
        e.forget()
    for home, between, c in late:
        if isinstance(home, Array) and isinstance(between, Array):
            assert isinstance(c.inner, Value)
            copy = Value(c.inner.type)
            e.settle(copy, between)
            keep(e, copy, home)
        else:
            assert isinstance(home, Reg)
            assert isinstance(between, Reg)
            e.s.move(home, between)
    e.forget()


def _stays(e: Emission, c: ins.Carried, homes: Homes) -> bool:
    """Whether what is yielded is where it should be already."""
    if not isinstance(c.yielded, Value):
        return c.yielded == c.inner
    return e.homes.get(c.yielded) is homes[c]


STATEMENTS = {ins.For: for_loop, ins.While: while_loop, ins.If: branch}
