"""Undefined registers: which elements of which tiles hold nothing yet.

A tile that may be reached from an `Undefined` carries a mask in a slot of its own: None, or True where
an element is undefined. Moves hand masks on; a computation that meets one is an error. Tiles that no
Undefined reaches cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import Frame, Scope, Step
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins


def reached(body: Sequence[ins.Stmt]) -> frozenset[Value]:
    """The tiles of a body that may hold undefined elements."""
    moves = list(_moves(body))
    values: set[Value] = set()
    while True:
        more = {
            out for out, sources in moves if out not in values and (not sources or values & sources)
        }
        if not more:
            return frozenset(values)
        values |= more


def _moves(body: Sequence[ins.Stmt]) -> Iterator[tuple[Value, set[Value]]]:
    """Each tile that only moves elements, with the tiles they come from; none for Undefined."""
    for s in body:
        match s:
            case ins.Undefined(out=out):
                yield out, set()
            case (
                ins.View()
                | ins.ConvertLayout()
                | ins.Transpose()
                | ins.Reshape()
                | ins.Broadcast()
                | ins.Repeat()
                | ins.Extract()
            ):
                yield s.out, {s.x}
            case ins.Concat(out=out, xs=xs):
                yield out, set(xs)
            case ins.Where(out=out, x=x, y=y):
                yield out, {x, y}
            case ins.WarpSpecialize(body=inner):
                yield from _moves(inner)
            case ins.For(body=inner, carried=carried):
                yield from _moves(inner)
                yield from _carried(carried)
            case ins.While(before=before, body=inner, carried=carried):
                yield from _moves((*before, *inner))
                yield from _carried(carried)
            case ins.If(then=then, otherwise=otherwise, joined=joined):
                yield from _moves((*then, *otherwise))
                for j in joined:
                    yield from _hand_over(j.result, j.then, j.otherwise)
            case _:
                pass


def _carried(carried: Sequence[ins.Carried]) -> Iterator[tuple[Value, set[Value]]]:
    for c in carried:
        yield from _hand_over(c.inner, c.init, c.yielded)
        yield from _hand_over(c.result, c.inner)


def _hand_over(out: object, *sources: object) -> Iterator[tuple[Value, set[Value]]]:
    if isinstance(out, Value):
        yield out, {s for s in sources if isinstance(s, Value)}


def mark(scope: Scope, out: Value, step: Step) -> Step:
    """Every element of `out` is undefined."""
    slot = scope.mask(out)
    if slot is None:
        return step
    everything = np.ones(out.type.shape, np.bool_)

    def marked(f: Frame) -> None:
        step(f)
        f[slot] = everything

    return marked


def carry(
    scope: Scope, out: Value, xs: Sequence[Value], function: Callable[..., Any], step: Step
) -> Step:
    """The elements of `out` come from those of `xs` as `function` (of masks) says."""
    slot = scope.mask(out)
    if slot is None:
        return step
    masks = [scope.mask(x) for x in xs]
    clear = [np.zeros(x.type.shape, np.bool_) for x in xs]

    def carried(f: Frame) -> None:
        step(f)
        masked = [None if m is None else f[m] for m in masks]
        if all(m is None for m in masked):
            f[slot] = None
            return
        parts = [c if m is None else m for m, c in zip(masked, clear, strict=True)]
        f[slot] = _some(function(*parts))

    return carried


def choose(scope: Scope, i: ins.Where, step: Step) -> Step:
    """Where chooses masks as it chooses elements; its condition must be defined."""
    slot, condition = scope.mask(i.out), scope.slot(i.condition)
    guarded = guard(scope, [i.condition], i.loc, step)
    if slot is None:
        return guarded
    x, y = scope.mask(i.x), scope.mask(i.y)

    def chosen(f: Frame) -> None:
        guarded(f)
        parts = [None if m is None else f[m] for m in (x, y)]
        masks = [np.False_ if m is None else m for m in parts]
        f[slot] = _some(np.where(f[condition], *masks))

    return chosen


def guard(scope: Scope, xs: Sequence[Value], loc: Loc | None, step: Step) -> Step:
    """The step after a check that every element of `xs` is defined."""
    masks = [(x, m) for x in xs if (m := scope.mask(x)) is not None]
    if not masks:
        return step

    def guarded(f: Frame) -> None:
        for x, slot in masks:
            if f[slot] is not None:
                raise undefined(x, f[slot], loc)
        step(f)

    return guarded


def undefined(x: Value, mask: Array, loc: Loc | None) -> Exception:
    """The error of reading an undefined element of a register tile."""
    at = [int(i) for i in np.argwhere(mask)[0]]
    return error(
        "DSL0603",
        f"element {at} of the register tile {x.name or '(unnamed)'} is read before it is written",
        loc,
        hint="give the tile a value where it is made (`init=`), or write it on every path before this",
    )


def _some(mask: Any) -> Array | None:
    mask = np.asarray(mask)
    return mask if mask.any() else None
