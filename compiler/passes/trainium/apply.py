"""A kernel over the placements that were chosen: layouts on all tiles, conversions between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir import Kernel, Memory, Place, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Name, Use, bodies, tile_of
from dslc.compiler.passes.trainium.placement import Placement, layout_of
from dslc.compiler.passes.trainium.solve import Solution

ATOM = "nc_matmul"


def apply(kernel: Kernel, solution: Solution) -> Kernel:
    """The kernel with its tiles where the solution has them."""
    return _Applier(solution).kernel(kernel)


class _Applier(Rewriter):
    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self._solution = solution
        self._versions: dict[tuple[Value, Placement], Value] = {}
        self._wants: dict[Value, Placement] = {}
        self._pending: list[Stmt] = []

    def memory(self, memory: Memory) -> Memory:
        """Buffers of a turn lie in SBUF."""
        rewritten = super().memory(memory)
        if rewritten.role is Role.BUFFER and rewritten.place is None:
            rewritten = self._memories[memory] = replace(rewritten, place=Place.SHARED)
        return rewritten

    def value(self, value: Value) -> Value:
        """The tile where the statement at hand wants it."""
        place = self._wants.get(value, self._solution.places[value])
        key = value, place
        if key not in self._versions:
            self._versions[key] = _placed(value, place)
            home = self._versions[value, self._solution.places[value]]
            self._pending.append(ins.ConvertLayout(self._versions[key], home))
        return self._versions[key]

    def define(self, name: Name) -> Name:
        """A tile where it is made."""
        if not isinstance(name, Value):
            return name
        place = self._solution.places[name]
        self._versions[name, place] = placed = _placed(name, place)
        return placed

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement between the conversions of its operands and that of its result."""
        pending, self._pending = self._pending, []
        way = self._solution.ways.get(stmt)
        self._wants = dict(way.operands) if way is not None else {}
        rebuilt = self.rebuild(stmt)
        before, self._pending = self._pending, pending
        after: list[Stmt] = []
        out = tile_of(stmt)
        if way is not None and way.out is not None and out is not None:
            home = self._solution.places[out]
            if way.out != home:
                placed = _placed(out, way.out)
                after.append(ins.ConvertLayout(self._versions[out, home], placed))
                rebuilt = replace(rebuilt, out=placed)  # type: ignore[arg-type]
        if isinstance(rebuilt, ins.Dot) and way is not None:
            rebuilt = replace(rebuilt, atom=ATOM + ".swap" if way.swapped else ATOM)
        return [*before, rebuilt, *after]

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body; what is converted in it is known in it alone."""
        kept, pending = dict(self._versions), self._pending
        self._pending = []
        body = list(self.body(bodies(stmt)[which]))
        self._wants = {}
        uses = [self.use(u) for u in handed]
        body.extend(self._pending)
        self._versions, self._pending = kept, pending
        return tuple(body), uses


def _placed(value: Value, place: Placement) -> Value:
    layout = layout_of(place, value.type.shape)
    return Value(replace(value.type, layout=layout), value.name)
