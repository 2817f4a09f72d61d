"""Tiles that outlive their statement: sums in banks of PSUM, and residents that stay through a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.traverse import Body, operands, tile_of, walk
from dslc.compiler.passes.trainium.capacity import VIEWS
from dslc.compiler.passes.trainium.residents import ResidentTensors

if TYPE_CHECKING:
    from dslc.codegen.nki.emission import Emission


def release(e: Emission, rest: Body) -> None:
    """Give free the banks of what the rest of the body does not read."""
    for value, name in list(e.in_psum.items()):
        seen = {value}
        for stmt in walk(rest):
            if seen.intersection(operands(stmt)):
                if not isinstance(stmt, VIEWS):
                    break
                seen.add(stmt.out)
        else:
            e.banks.release(name)
            del e.in_psum[value]


def keep(e: Emission, kept: ResidentTensors) -> None:
    """Make a tile in the first iteration of its loop, and take it from its list in all."""
    name = e.lists[kept.value]
    first = " and ".join(f"{e.names[x.var]} == {e.scalar(x.start)}" for x in kept.firsts)
    before = dict(e.values)
    with e.out.block(f"if {first}"):
        for stmt in kept.chain:
            if tile_of(stmt) not in before:
                e.statement(stmt)
        held = e.tensors(e.held(kept.value))
        e.out.line(f"{name}.append({held.name})")
    e.values = before  # the other tiles of the chain are those of the first iteration
    taken = e.out.name(kept.value.name)
    e.out.line(f"{taken} = {name}[{_version(e, kept)}]")
    e.values[kept.value] = replace(held, name=taken)


def _version(e: Emission, kept: ResidentTensors) -> str:
    """The number of a version of a tile that stays: its loops' iterations as digits."""
    number: ex.Expr = ex.index(0)
    for loop in kept.inside:
        digit = ex.Binary("sub", loop.var, loop.start, INDEX)
        digit = ex.Binary("floordiv", digit, loop.step, INDEX)
        number = ex.Binary("mul", number, ex.index(loop.iterations or 1), INDEX)
        number = ex.Binary("add", number, digit, INDEX)
    return e.scalar(simplify(number))


def begin_lists(e: Emission, var: ex.Var) -> None:
    """Before a loop: the lists of the tiles that stay through it."""
    for value, kept in e.resident.items():
        if kept.across.var == var:
            e.lists[value] = e.out.name(f"{value.name}_kept")
            e.out.line(f"{e.lists[value]} = []")
