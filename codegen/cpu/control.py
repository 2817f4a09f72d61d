"""Loops and branches of the program: scalars are handed on in registers, tiles in scratch memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from dslc.codegen.chunks.handing_on import order_of
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.products.sweeps import run, sweep_of
from dslc.codegen.cpu.statements import keep, scratch_for
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.vector.values import Operand, Register

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

Homes: TypeAlias = "dict[ins.Carried, Array]"


def for_loop(e: Emission, loop: ins.For) -> None:
    """A counted loop; its step is positive."""
    homes, starts = _enter(e, loop.carried)
    sweep = sweep_of(e, loop)
    if sweep is not None:
        run(e, sweep, lambda body: body(homes[loop.carried[0]]))
        _leave(e, loop.carried, homes, ())
        return
    scalars = _scalars(loop.carried)
    with e.loop_over(loop.var, loop.start, loop.stop, loop.step, starts, movable=False) as made:
        _inside(e, loop.carried, homes, made.carried)
        e.body(loop.body)
        made.yields = _yields(e, scalars)
        _hand_on(e, loop.carried, homes)
    _leave(e, loop.carried, homes, made.results)


def while_loop(e: Emission, loop: ins.While) -> None:
    """The condition is computed at the head of each iteration."""
    homes, starts = _enter(e, loop.carried)
    scalars = _scalars(loop.carried)

    def test(carried: tuple[Register, ...]) -> Sequence[Operand]:
        with e.scope():
            _inside(e, loop.carried, homes, carried)
            e.body(loop.before)
            return (e.scalar(loop.condition),)

    def body(carried: tuple[Register, ...]) -> Sequence[Operand]:
        with e.scope():
            e.body(loop.body)
            yields = _yields(e, scalars)
            _hand_on(e, loop.carried, homes)
            return yields

    results = e.b.while_(starts, test, body)
    _leave(e, loop.carried, homes, results)


def branch(e: Emission, i: ins.If) -> None:
    """Both branches write the tiles that they join to one place, and give the scalars."""
    tiles = {j.result: scratch_for(e, j.result) for j in i.joined if isinstance(j.result, Value)}
    condition = e.scalar(i.condition)

    def part(body: tuple[ins.Stmt, ...], uses: Sequence[Value | ex.Expr]) -> Sequence[Operand]:
        e.body(body)
        found = []
        for j, use in zip(i.joined, uses, strict=True):
            if isinstance(use, Value):
                assert isinstance(j.result, Value)
                keep(e, use, tiles[j.result])
            else:
                found.append(e.scalar(use))
        return found

    results = e.choose(
        condition,
        lambda: part(i.then, [j.then for j in i.joined]),
        lambda: part(i.otherwise, [j.otherwise for j in i.joined]),
    )
    e.forget()
    registers = iter(results)
    for j in i.joined:
        if isinstance(j.result, Value):
            e.settle(j.result, tiles[j.result])
        else:
            e.bind(j.result, next(registers))


def _scalars(carried: Sequence[ins.Carried]) -> list[ins.Carried]:
    return [c for c in carried if not isinstance(c.inner, Value)]


def _yields(e: Emission, scalars: list[ins.Carried]) -> tuple[Operand, ...]:
    found = []
    for c in scalars:
        assert not isinstance(c.yielded, Value)
        found.append(e.scalar(c.yielded))
    return tuple(found)


def _enter(e: Emission, carried: Sequence[ins.Carried]) -> tuple[Homes, list[Operand]]:
    homes: Homes = {}
    starts = []
    for c in carried:
        if isinstance(c.inner, Value):
            assert isinstance(c.init, Value)
            homes[c] = keep(e, c.init, scratch_for(e, c.inner))
        else:
            assert not isinstance(c.init, Value)
            starts.append(e.scalar(c.init))
    e.forget()
    return homes, starts


def _inside(
    e: Emission, carried: Sequence[ins.Carried], homes: Homes, registers: Sequence[Operand]
) -> None:
    left = iter(registers)
    for c in carried:
        if isinstance(c.inner, Value):
            e.settle(c.inner, homes[c])
        else:
            e.bind(c.inner, next(left))


def _leave(
    e: Emission, carried: Sequence[ins.Carried], homes: Homes, registers: Sequence[Operand]
) -> None:
    e.forget()
    left = iter(registers)
    for c in carried:
        if isinstance(c.result, Value):
            e.settle(c.result, homes[c])
        else:
            e.bind(c.result, next(left))


def _hand_on(e: Emission, carried: Sequence[ins.Carried], homes: Homes) -> None:
    """The next iteration's tiles; each goes to its place once nothing to come reads what is there."""
    stays = {
        c for c in homes if isinstance(c.yielded, Value) and e.homes.get(c.yielded) is homes[c]
    }
    waiting = [c for c in homes if c not in stays]
    late: list[tuple[ins.Carried, Array]] = []
    for c, in_place in order_of(waiting, e.lazy, e.homes):
        assert isinstance(c.yielded, Value)
        if in_place:
            keep(e, c.yielded, homes[c])
        else:
            assert isinstance(c.inner, Value)
            late.append((c, keep(e, c.yielded, scratch_for(e, c.inner))))
    for c, between in late:
        assert isinstance(c.inner, Value)
        copy = Value(c.inner.type)
        e.settle(copy, between)
        keep(e, copy, homes[c])
    e.forget()


STATEMENTS = {ins.For: for_loop, ins.While: while_loop, ins.If: branch}
