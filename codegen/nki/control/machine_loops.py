"""Loops that the machine counts: their bounds are known there alone, or they are too long to unroll.

The counter is a register, so that a slice that begins at it has a fixed extent. The iterations whose
slices lie within all tensors run first. Those at the edge begin at known places: they are written out
with clipped slices, each behind a flag. In the iterations past the edge nothing is read. What the loop
hands on stays in tensors of its own that each iteration overwrites.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dslc.codegen.nki.arithmetic.dynamic_scalars import register
from dslc.codegen.nki.emission import Emission, refuse
from dslc.codegen.nki.movement.copying import copy, copy_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import AxisSlice, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.indexed import numbered
from dslc.compiler.ir.traverse import expressions, regions, walk
from dslc.compiler.passes.dynamic_values.dynamic_slices import is_counted
from dslc.compiler.passes.trainium.placement import EVERYWHERE, layout_of


@dataclass(frozen=True, slots=True)
class Edge:
    """A slice along the loop: elements `start + offset` to that plus `size` of an axis of `extent`."""

    offset: ex.Expr
    size: int
    extent: ex.Expr


def machine_loop(e: Emission, stmt: ins.For) -> None:
    """The loop as `nl.fori_loop`s: within the tensors, at their edge, and past it."""
    if e.is_dynamic(stmt.start) or constant(stmt.step) is None:
        raise refuse(stmt, "a loop of the machine begins at a known number and has a constant step")
    states = [state(e, stmt, c) for c in stmt.carried]
    edges = _edges(stmt)
    step = int(constant(stmt.step) or 1)
    if not edges:
        _run(e, stmt, states, stmt.start, stmt.stop, step)
    else:
        inside = _inside(stmt, edges, step)
        stop = simplify(ex.Binary("min", stmt.stop, inside, INDEX))
        _run(e, stmt, states, stmt.start, stop, step)
        if e.is_dynamic(stmt.stop):
            past = _past(edges)
            _run_at_edge(e, stmt, states, inside, past, step)
            first = _first_past(inside, past, step)
            e.beyond.add(stmt.var)
            _run(e, stmt, states, first, stmt.stop, step)
            e.beyond.discard(stmt.var)
        else:
            _run_last(e, stmt, states, inside, step)
    for c, held in zip(stmt.carried, states, strict=True):
        assert isinstance(c.result, Value)
        e.values[c.result] = held


def state(e: Emission, stmt: ins.For | ins.While, c: ins.Carried) -> TileValue:
    """A tensor that every iteration overwrites, with the first value in it."""
    if not isinstance(c.inner, Value) or not isinstance(c.init, Value):
        raise refuse(stmt, f"{c.inner.name}: a loop of the machine hands on tiles alone")
    first = e.held(c.init)
    tile = e.tile(c.inner.name, c.inner.type.dtype, c.inner.type.shape, e.place(c.inner))
    copy(e, tile, first)
    e.values[c.inner] = tile
    return tile


def _edges(stmt: ins.For) -> list[Edge]:
    """The slices along the loop that may reach past the end of their tensor.

    Of rows that are moved by number each is looked at by itself.
    """
    edges = []
    for inner in walk(stmt.body):
        by_ids = numbered(inner)
        for region in regions(inner):
            for k, (axis, extent) in enumerate(zip(region.axes, region.memory.shape, strict=True)):
                if k not in by_ids and axis.checked and stmt.var in ex.free_vars(axis.start):
                    edges.append(_edge(stmt, inner, axis, extent))
    return list(dict.fromkeys(edges))


def _edge(stmt: ins.For, inner: ins.Stmt, axis: AxisSlice, extent: ex.Expr) -> Edge:
    offset = simplify(ex.Binary("sub", axis.start, stmt.var, INDEX))
    if stmt.var in ex.free_vars(offset) or axis.step != 1:
        raise refuse(
            inner, "a slice along a loop of the machine begins at its counter, with step 1"
        )
    return Edge(offset, axis.size, extent)


def _inside(stmt: ins.For, edges: list[Edge], step: int) -> ex.Expr:
    """The first iteration that reaches past the end of a tensor."""
    ends = [_minus(_minus(x.extent, x.offset), ex.index(x.size)) for x in edges]
    last = ends[0]
    for end in ends[1:]:
        last = ex.Binary("min", last, end, INDEX)
    trips = _floor(_plus(_minus(last, stmt.start), ex.index(step)), step)
    some = ex.Binary("max", trips, ex.index(0), INDEX)
    return simplify(_plus(stmt.start, ex.Binary("mul", some, ex.index(step), INDEX)))


def _past(edges: list[Edge]) -> ex.Expr:
    """Where all slices lie past the ends of their tensors."""
    ends = [_minus(x.extent, x.offset) for x in edges]
    last = ends[0]
    for end in ends[1:]:
        last = ex.Binary("max", last, end, INDEX)
    return simplify(last)


def _first_past(inside: ex.Expr, past: ex.Expr, step: int) -> ex.Expr:
    """The first iteration from there on."""
    trips = _floor(_plus(_minus(past, inside), ex.index(step - 1)), step)
    some = ex.Binary("max", trips, ex.index(0), INDEX)
    return simplify(_plus(inside, ex.Binary("mul", some, ex.index(step), INDEX)))


def _run(
    e: Emission, stmt: ins.For, states: list[TileValue], start: ex.Expr, stop: ex.Expr, step: int
) -> None:
    """One `fori_loop`: the counter is a register, and a tile where the body computes with it."""
    if _is_empty(start, stop):
        return
    low = e.scalar(start)
    high = register(e, stop, "stop") if e.is_dynamic(stop) else e.scalar(stop)
    counter = _counter(e, stmt, start)
    name = e.out.name(f"{stmt.var.name}_turn")
    argument = e.out.name(stmt.var.name)
    e.names[stmt.var] = argument
    e.dynamic.add(stmt.var)
    with e.out.block(f"def {name}({argument})"):
        body_in_place(e, stmt, states)
        if counter is not None:
            _advance(e, counter, step)
    e.dynamic.discard(stmt.var)
    e.counters.pop(stmt.var, None)
    stepped = f", step={step}" if step != 1 else ""
    e.out.line(f"nl.fori_loop({low}, {high}, {name}{stepped})")


def _counter(e: Emission, stmt: ins.For, start: ex.Expr) -> Value | None:
    """A tile that counts along, where the counter is computed with."""
    dynamic = {*e.dynamic, stmt.var}
    if not any(stmt.var in ex.free_vars(x) for s in walk(stmt.body) for x in _computed(s, dynamic)):
        return None
    value = Value(TileType(I32, (), layout_of(EVERYWHERE, ())), stmt.var.name)
    counter = e.tile(f"{stmt.var.name}_tile", I32, (), EVERYWHERE)
    with e.filled(counter) as at:
        e.call("memset", dst=e.text(counter, at), value=e.scalar(start))
    e.values[value] = e.values[value] = counter
    e.counters[stmt.var] = value
    return value


def _computed(stmt: ins.Stmt, dynamic: Collection[ex.Var]) -> list[ex.Expr]:
    """The scalars of a statement but for the places in a memory that a register tells."""
    by_ids = numbered(stmt)
    starts = [(k, a.start) for r in regions(stmt) for k, a in enumerate(r.axes)]
    placed = [x for k, x in starts if k in by_ids or not is_counted(x, dynamic)]
    return placed + [x for x in expressions(stmt) if x not in [start for _, start in starts]]


def _advance(e: Emission, counter: Value, step: int) -> None:
    held = e.values[counter]
    by = e.like(held, "step")
    with e.filled(by) as at:
        e.call("memset", dst=e.text(by, at), value=step)
        e.call(
            "tensor_tensor",
            dst=e.text(held, at),
            data1=e.text(held, at),
            data2=e.text(by, at),
            op="nl.add",
            engine="nisa.engine.gpsimd",
        )


def _is_empty(start: ex.Expr, stop: ex.Expr) -> bool:
    first, end = constant(start), constant(stop)
    return first is not None and end is not None and first >= end


def _run_last(
    e: Emission, stmt: ins.For, states: list[TileValue], first: ex.Expr, step: int
) -> None:
    """The iterations from the edge on, unrolled, with clipped slices."""
    if _is_empty(first, stmt.stop):
        return
    name = e.declare(stmt.var, not_negative=True)
    bounds = f"{e.scalar(first)}, {e.scalar(stmt.stop)}, {step}"
    with e.out.block(f"for {name} in range({bounds})"):
        body_in_place(e, stmt, states)


def _run_at_edge(
    e: Emission, stmt: ins.For, states: list[TileValue], first: ex.Expr, past: ex.Expr, step: int
) -> None:
    """Iterations with clipped slices, at known places, each where the loop goes so far."""
    name = e.declare(stmt.var, not_negative=True)
    with e.out.block(f"for {name} in range({e.scalar(first)}, {e.scalar(past)}, {step})"):
        reached = ex.Convert(ex.Binary("gt", stmt.stop, stmt.var, BOOL), I32)
        flag = register(e, reached, "flag")
        body = e.out.name("edge_turn")
        with e.out.block(f"def {body}(_)"):
            body_in_place(e, stmt, states)
        e.out.line(f"nl.fori_loop(0, {flag}, {body})")


def body_in_place(e: Emission, stmt: ins.For | ins.While, states: list[TileValue]) -> None:
    """An iteration, and what it hands on in place of what it was handed."""
    for c, held in zip(stmt.carried, states, strict=True):
        assert isinstance(c.inner, Value)
        e.values[c.inner] = held
    e.body(stmt.body)
    handed = []
    for c, held in zip(stmt.carried, states, strict=True):
        assert isinstance(c.yielded, Value)
        yielded = e.held(c.yielded)
        others = {s.name for s in states} - {held.name}
        if yielded.name in others:
            kept = e.like(yielded, yielded.name)
            copy(e, kept, yielded)
            yielded = kept
        handed.append(yielded)
    for held, yielded in zip(states, handed, strict=True):
        if yielded.name != held.name:
            with e.over(held) as at:
                copy_chunk(e, held, yielded, at)


def _plus(x: ex.Expr, y: ex.Expr) -> ex.Expr:
    return ex.Binary("add", x, y, INDEX)


def _minus(x: ex.Expr, y: ex.Expr) -> ex.Expr:
    return ex.Binary("sub", x, y, INDEX)


def _floor(x: ex.Expr, step: int) -> ex.Expr:
    return ex.Binary("floordiv", x, ex.index(step), INDEX)
