"""Rings: multi-stage buffers in shared memory (double buffering has 2), and their slots' mbarriers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dslc.compiler.dtypes.dtype import U64
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, mod
from dslc.compiler.ir.expr import Expr, Var, index
from dslc.compiler.ir.instructions import Carried
from dslc.compiler.ir.regions import element, whole
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Memory, Place, Region, Role
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead
from dslc.compiler.passes.pipelining.ring_layout import Placement


@dataclass(frozen=True, slots=True)
class Ring:
    """A staged load, the ring that it is copied to, and how that lies in shared memory."""

    ahead: Ahead
    memory: Memory
    placed: Placement
    slots: int
    bulk: bool = False  # copied by a unit of the machine

    @classmethod
    def of(cls, ahead: Ahead, placed: Placement, slots: int, *, bulk: bool) -> Ring:
        """A new ring of so many slots for a load."""
        source = ahead.load.region.memory
        shape, layout = placed.ring(slots)
        ring = Memory(
            f"{source.name}_ring",
            source.dtype,
            tuple(map(index, shape)),
            Role.BUFFER,
            Place.SHARED,
            layout=layout,
            loc=ahead.load.loc,
        )
        return cls(ahead, ring, placed, slots, bulk)

    @property
    def bytes(self) -> int:
        """The bytes of all slots."""
        return self.slots * math.prod(self.placed.shape) * self.memory.dtype.bits // 8

    def region(self, slot: Expr) -> Region:
        """The tile in a slot."""
        return whole(self.memory, self.ahead.load.out.type.shape, slot)


class Barriers:
    """The barriers of a ring that is filled in bulk, one a slot, and the parity that is waited for.

    A phase of `full` ends when the slot is, one of `empty` when all have read it.
    """

    def __init__(self, name: str, slots: int, phase: Var) -> None:
        self.slots, self.phase = slots, phase
        self.memory = Memory(name, U64, (index(slots),), Role.BUFFER, Place.SHARED)

    def begin(self, arrivals: int = 1) -> Body:
        """They are made; a barrier of the block must follow."""
        every = whole(self.memory, (self.slots,))
        return (ins.Alloc(self.memory), ins.InitBarriers(every, arrivals))

    def at(self, slot: Expr) -> Region:
        """The barrier of a slot."""
        return element(self.memory, slot)

    def wait(self, slot: Expr) -> ins.AwaitPhase:
        """Until the phase of the slot has ended."""
        return ins.AwaitPhase(self.at(slot), self.phase)

    def counter(self, result: Var, slot: Expr, first: int) -> Carried:
        """The parity of the phase, which changes when the slots begin anew."""
        wraps = div(add(slot, 1), self.slots)
        after = simplify(mod(add(self.phase, wraps), 2))
        return Carried(result, self.phase, index(first), after)
