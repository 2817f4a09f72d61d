"""The iterations of a loop in a core's program: which are its own, how many, the variable's value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dslc.codegen.aie.compute.emission import Emission, refuse
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.compute.scalars import index, scalar
from dslc.codegen.aie.planning.merging import Cascade
from dslc.codegen.aie.planning.scopes import Scope
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant


def deals_evenly(scope: Scope, stages: int) -> bool:
    """Whether every stage of a cascade has as many iterations of a loop and passes over none."""
    return scope.trips is not None and scope.trips % stages == 0


@dataclass(frozen=True, slots=True)
class Iterations:
    """Those of loops in the `stage`th of `stages` cores, which share the loop of a cascade."""

    e: Emission
    cascade: Cascade | None
    stage: int
    stages: int

    def are_shared(self, stmt: ins.For) -> bool:
        """Whether each stage of the cascade runs iterations of its own."""
        return self.cascade is not None and stmt is self.cascade.loop

    def counter(self, stmt: ins.For, iteration: Index) -> Index:
        """A loop's variable by the number of its iteration."""
        if self.are_shared(stmt):
            iteration = iteration * self.stages + self.stage
        step = constant(stmt.step)
        if step is None:
            raise refuse(stmt, "a loop with a step that is not a constant has no code on an NPU")
        return iteration * int(step) + index(self.e, stmt, stmt.start)

    def are_guarded(self, stmt: ins.For, scope: Scope) -> bool:
        """Whether the loop's scope has more iterations than its own bound allows, or may have."""
        return scope.guarded or (self.are_shared(stmt) and not deals_evenly(scope, self.stages))

    @contextmanager
    def guarded(self, stmt: ins.For, scope: Scope) -> Iterator[None]:
        """Only iterations within the loop's own bound do anything, where its scope has more of them."""
        if not self.are_guarded(stmt, scope):
            yield
            return
        e = self.e
        at, end = scalar(e, stmt, stmt.var), scalar(e, stmt, stmt.stop)
        inside = e.out.op(f"arith.cmpi slt, {at}, {end} : index", "inside")
        e.out.line(f"scf.if {inside} {{")
        with e.out.scope(), e.forgetting():
            yield
        e.out.line("}")

    def count(self, stmt: ins.For, scope: Scope) -> int | str:
        """How many iterations a loop has here, those that are passed over among them."""
        trips = self._every_trip(stmt, scope)
        if not self.are_shared(stmt):
            return trips
        if isinstance(trips, int):
            return -(-trips // self.stages)
        by = self.e.out.constant(self.stages, "index")
        return self.e.out.op(f"arith.ceildivsi {trips}, {by} : index", "rounds")

    def _every_trip(self, stmt: ins.For, scope: Scope) -> int | str:
        given = scope.bounds if scope.guarded else (stmt.start, stmt.stop, stmt.step)
        if all(constant(x) is not None for x in given):
            start, stop, step = (int(constant(x) or 0) for x in given)
            return max(0, -((start - stop) // step))
        e = self.e
        first, end, by = (scalar(e, stmt, x) for x in given)
        length = e.out.op(f"arith.subi {end}, {first} : index", "length")
        return e.out.op(f"arith.ceildivsi {length}, {by} : index", "trips")
