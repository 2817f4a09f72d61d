"""Which bytes of shared memory an instruction may exchange elements through.

Buffers lie where they were planned. An exchange may lie between and behind them, and over those whose
lives have ended for good: after the loop of a product, its rings are free.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from dslc.compiler.analysis.buffer_liveness import Live, Liveness
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import memories
from dslc.compiler.ir.values import Memory, Place, Role

_ALIGNMENT = 16


class SharedUse(enum.Flag):
    """What threads may still use of shared memory."""

    NONE = 0
    EXCHANGE = enum.auto()
    BUFFERS = enum.auto()


def uses_buffers(stmt: ins.Stmt) -> bool:
    """Whether a statement reads or fills buffers in shared memory, its own or those of earlier ones."""
    if isinstance(stmt, ins.Dot | ins.WaitDots | ins.WaitGroup | ins.AwaitPhase):
        return True  # operands in memory; copies that land for one thread, not yet for others
    return any(m.role is Role.BUFFER and m.place is not Place.REGISTER for m in memories(stmt))


@dataclass(frozen=True, slots=True)
class Span:
    """A buffer's bytes [start, end), and its life."""

    start: int
    end: int
    live: Live


@dataclass(slots=True)
class Exchanges:
    """The shared memory of a kernel beside its buffers; `bytes` are all, exchanges included.

    `names` are those of the exchanges' first bytes.
    """

    liveness: Liveness
    spans: list[Span]
    bytes: int = 0
    names: dict[int, str] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """What declares the names."""
        for start, name in self.names.items():
            yield f"unsigned char* const {name} = shared + {start};"

    @classmethod
    def beside(cls, kernel: Kernel, places: dict[Memory, tuple[int, int]]) -> Exchanges:
        """Of a kernel whose buffers lie there: offset and bytes of each."""
        liveness = Liveness(kernel.body)
        spans = []
        for live in liveness.lives:
            if live.memory in places:
                start, size = places[live.memory]
                spans.append(Span(start, start + size, live))
        return cls(liveness, spans, max((s.end for s in spans), default=0))

    def place(self, at: ins.Stmt | None, size: int) -> tuple[int, bool]:
        """The first byte of an exchange by a statement, and whether buffers lay there."""
        start = next(a for a, b in self._gaps(at) if b is None or b - a >= size)
        end = start + -(-size // _ALIGNMENT) * _ALIGNMENT
        self.bytes = max(self.bytes, end)
        return start, any(s.start < end and start < s.end for s in self.spans)

    def room(self, at: ins.Stmt | None, most: int) -> int:
        """The bytes that an exchange may have there, where the machine has so many in all."""
        return max((most if b is None else b) - a for a, b in self._gaps(at))

    def _gaps(self, at: ins.Stmt | None) -> Iterator[tuple[int, int | None]]:
        """What lies between the buffers that are needed then or later, and behind them."""
        free = 0
        for span in sorted(self.spans, key=lambda s: s.start):
            if at is not None and self.liveness.is_over(span.live, at):
                continue
            if span.start > free:
                yield free, span.start
            free = max(free, -(-span.end // _ALIGNMENT) * _ALIGNMENT)
        yield free, None
