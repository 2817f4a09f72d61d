"""Branches and loops whose iterations only the core knows; scalars that they hand on lie in its memory.

    if n > 0: total = x    ->    scf.if %c { memref.store %x, %total[%c0] ... }
                                 %total_1 = memref.load %total[%c0]

A region's values are not seen outside of it, a cell of the memory is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dslc.codegen.aie.compute.casts import converted
from dslc.codegen.aie.compute.emission import Emission, Stored
from dslc.codegen.aie.compute.filling import fill
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.compute.scalars import scalar
from dslc.compiler.dtypes import I32, INDEX
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.traverse import Body, names_in, uses_of, walk


@dataclass(frozen=True, slots=True)
class Cell:
    """The place of a scalar; an index is an i32 there."""

    e: Emission
    stmt: Stmt
    name: ex.Var
    place: Stored

    def put(self, value: str) -> None:
        """What the scalar is from here on."""
        if self.name.dtype == INDEX:
            value = converted(self.e, self.stmt, value, INDEX, I32, 1)
        self.e.store(value, self.place, (), 1)

    def get(self) -> str | Index:
        """What the scalar is."""
        value = self.e.load(self.place, (), 1)
        if self.name.dtype != INDEX:
            return value
        return Index(((converted(self.e, self.stmt, value, I32, INDEX, 1), 1),))


def cell(e: Emission, stmt: Stmt, name: ex.Var) -> Cell:
    """A new place for a scalar."""
    dtype = I32 if name.dtype == INDEX else name.dtype
    return Cell(e, stmt, name, e.buffer(name.name, dtype, ()))


class Cells:
    """The places of the scalars that a loop carries."""

    def __init__(self, e: Emission, stmt: Stmt, carried: Iterable[Carried]) -> None:
        self._e, self._stmt = e, stmt
        self._cells = [(c, cell(e, stmt, c.inner)) for c in carried if isinstance(c.inner, ex.Var)]
        for own, place in self._cells:
            place.put(self._number(own.init))

    def enter(self) -> None:
        """The names that an iteration's body reads."""
        for own, place in self._cells:
            assert isinstance(own.inner, ex.Var)
            self._e.scalars[own.inner] = place.get()

    def leave(self) -> None:
        """What the next iteration gets; all is computed before any of it is put down."""
        values = [self._number(own.yielded) for own, _ in self._cells]
        for (_, place), value in zip(self._cells, values, strict=True):
            place.put(value)

    def end(self) -> None:
        """The names after the loop."""
        for own, place in self._cells:
            assert isinstance(own.result, ex.Var)
            self._e.scalars[own.result] = place.get()

    def _number(self, use: Value | ex.Expr) -> str:
        assert not isinstance(use, Value)
        return scalar(self._e, self._stmt, use)


def branch(e: Emission, stmt: ins.If, write: Callable[[Body], None]) -> None:
    """Two branches; `write` writes the statements of one."""
    condition = scalar(e, stmt, stmt.condition)
    places: dict[Value, Stored] = {}
    cells: dict[ex.Var, Cell] = {}
    for joined in stmt.joined:
        if isinstance(value := joined.result, Value):
            places[value] = e.buffer(value.name or "t", value.type.dtype, value.type.shape)
        else:
            cells[value] = cell(e, stmt, value)
    for number, body in enumerate((stmt.then, stmt.otherwise)):
        if number and not body and not stmt.joined:
            break
        e.out.line("} else {" if number else f"scf.if {condition} {{")
        with e.out.scope(), e.forgetting():
            write(body)
            for joined in stmt.joined:
                given = joined.otherwise if number else joined.then
                if isinstance(joined.result, Value):
                    assert isinstance(given, Value)
                    fill(e, given, places[joined.result])
                else:
                    assert not isinstance(given, Value)
                    cells[joined.result].put(scalar(e, stmt, given))
    e.out.line("}")
    e.held.update(places)
    for name, place in cells.items():
        e.scalars[name] = place.get()


def repeat(
    e: Emission, stmt: ins.While, write: Callable[[Body], None], hand_on: Callable[[], None]
) -> None:
    """A loop on a condition; `hand_on` writes the carried tiles of the next iteration."""
    cells = Cells(e, stmt, stmt.carried)
    # A loop hands something on, so that all readers of its form agree; what it carries is in cells.
    token, again, after = (e.out.name(n) for n in ("token", "again", "after"))
    zero = e.out.constant(0, "i32")
    e.out.line(f"{after} = scf.while ({token} = {zero}) : (i32) -> i32 {{")
    with e.out.scope(), e.forgetting():
        cells.enter()
        before = set(e.scalars)
        write(stmt.before)
        wanted = {
            n for s in walk((*stmt.before, *stmt.body)) for u in uses_of(s) for n in names_in(u)
        }
        wanted |= {n for c in stmt.carried for n in names_in(c.yielded)}
        kept = [cell(e, stmt, n) for n in e.scalars if n not in before and n in wanted]
        for place in kept:
            place.put(scalar(e, stmt, place.name))
        e.out.line(f"scf.condition({scalar(e, stmt, stmt.condition)}) {token} : i32")
    e.out.line("} do {")
    e.out.line(f"^bb0({again}: i32):")
    with e.out.scope(), e.forgetting():
        cells.enter()
        for place in kept:
            e.scalars[place.name] = place.get()
        write(stmt.body)
        hand_on()
        cells.leave()
        e.out.line(f"scf.yield {again} : i32")
    e.out.line("}")
    cells.end()
