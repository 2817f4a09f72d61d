"""Branches and while loops by numbers that the machine alone knows: loops over registers."""

from __future__ import annotations

from dslc.codegen.nki.arithmetic.dynamic_scalars import register
from dslc.codegen.nki.control.machine_loops import body_in_place, state
from dslc.codegen.nki.emission import Emission, refuse
from dslc.codegen.nki.movement.copying import copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import operands, results, walk


def machine_while(e: Emission, stmt: ins.While) -> None:
    """A while loop whose condition reads tiles: each iteration computes what the next one's reads."""
    states = [state(e, stmt, c) for c in stmt.carried]
    e.body(stmt.before)
    go = register(e, _times(stmt.condition), "go")
    name = e.out.name("turn")
    with e.out.block(f"def {name}(_)"):
        if _reads(stmt):
            e.body(stmt.before)
        body_in_place(e, stmt, states)
        for c, held in zip(stmt.carried, states, strict=True):
            assert isinstance(c.inner, Value)
            e.values[c.inner] = held
        e.body(stmt.before)
        e.out.line(f"return {register(e, _times(stmt.condition), 'go')}")
    e.needs.add("while_loop")
    e.out.line(f"while_loop({go}, {name})")
    for c, held in zip(stmt.carried, states, strict=True):
        assert isinstance(c.result, Value)
        e.values[c.result] = held


def _reads(stmt: ins.While) -> bool:
    """Whether the body reads a tile that is made for the condition."""
    of_condition = {v for s in walk(stmt.before) for v in results(s)}
    return any(of_condition.intersection(operands(s)) for s in walk(stmt.body))


def _times(condition: ex.Expr) -> ex.Expr:
    return ex.Select(condition, ex.Const(1, I32), ex.Const(0, I32), I32)


def machine_branch(e: Emission, stmt: ins.If) -> None:
    """A branch by what the machine alone knows: each side is a loop of one iteration, or of none."""
    outputs: list[TileValue] = []
    for j in stmt.joined:
        if not isinstance(j.result, Value):
            raise refuse(stmt, f"{j.result.name}: a branch of the machine gives tiles alone")
        held = e.result(j.result)
        with e.filled(held):
            pass
        outputs.append(held)
    numbers = (ex.Const(1, I32), ex.Const(0, I32))
    for side, body in enumerate((stmt.then, stmt.otherwise)):
        if not body and not outputs:
            continue
        x, y = numbers if side == 0 else numbers[::-1]
        times = register(e, ex.Select(stmt.condition, x, y, I32), "times")
        name = e.out.name("otherwise" if side else "then")
        with e.out.block(f"def {name}(_)"):
            e.body(body)
            for j, held in zip(stmt.joined, outputs, strict=True):
                use = j.otherwise if side else j.then
                assert isinstance(use, Value)
                given = e.held(use)
                with e.over(held) as at:
                    copy_chunk(e, held, given, at)
        e.out.line(f"nl.fori_loop(0, {times}, {name})")
