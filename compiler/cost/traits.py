"""What of a kernel the time of its launch depends on: its turns, registers, shared memory, bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.values import Place, Role
from dslc.compiler.ir.workload import sampled, tensor_bytes
from dslc.compiler.targets import Target
from dslc.compiler.targets.rates import Rates

_SHORT = 16  # turns of an axis


def turns_looked_at(axes: list[range], turns: int) -> list[tuple[int, ...]]:
    """At least so many turns of the grid, if it has them, evenly spaced.

    Of a short last axis each place is met as often: the parts of a reduction, of which the last ones
    may have less to do.
    """
    *outer, last = axes or [range(1)]
    if not 1 < len(last) <= _SHORT or not turns < prod(map(len, axes)):
        points = list(sampled(axes))
        return points[:: max(1, len(points) // turns)]
    count = -(-turns // len(last)) * len(last)
    total, turns_taken = prod(map(len, outer)), []
    for i in range(count):
        rest, point = (2 * i + 1) * total // (2 * count), [last[i % len(last)]]
        for axis in reversed(outer):
            rest, at = divmod(rest, len(axis))
            point.append(axis[at])
        turns_taken.append(tuple(reversed(point)))
    return turns_taken


def is_persistent(kernel: Kernel) -> bool:
    """Whether blocks take turn after turn, beside producer warps."""
    producers = next((s for s in kernel.body if isinstance(s, ins.WarpSpecialize)), None)
    return producers is not None and any(
        isinstance(t, ins.For) for s in producers.body if isinstance(s, ins.For) for t in s.body
    )


def multiplying(kernel: Kernel) -> Kernel:
    """What decides about the registers: beside producer warps, the loop that multiplies.

    Sums that iterations add up and hand on afterwards are the same registers.
    """
    if not any(isinstance(s, ins.WarpSpecialize) for s in kernel.body):
        return kernel
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For)]
    own = [s for s in loops if any(isinstance(t, ins.Dot) for t in s.body)]
    return replace(kernel, body=tuple(own)) if own else kernel


def under_way(kernel: Kernel) -> int:
    """Registers of operands that the iteration before still multiplies while the next are made."""
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For) and (s.unroll or 1) > 1]
    dots = [s for loop in loops for s in loop.body if isinstance(s, ins.Dot) and s.is_async]
    layouts = [(x.type.layout, x.type.dtype.bits) for s in dots for x in (s.a, s.b)]
    return sum(layout.locals * bits // 32 for layout, bits in layouts if layout is not None)


def shared_bytes(kernel: Kernel) -> int:
    """Where the last of the planned buffers ends; what conversions need beside it is not known."""
    end = 0
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Alloc) and stmt.memory.place is not Place.REGISTER:
            memory = stmt.memory
            size = int(tensor_bytes(memory, {}) or 0)
            end = max(end, (memory.offset or 0) + size)
    return end


def bytes_once(kernel: Kernel, dims: Mapping[str, int]) -> float:
    """The bytes of all tensors, each once; of one that is read and written, twice."""
    moved = 0.0
    for memory in kernel.tensors:
        moved += (tensor_bytes(memory, dims) or 0.0) * (2 if memory.role is Role.INOUT else 1)
    return moved


def best_rate(kernel: Kernel, target: Target, rates: Rates) -> float:
    """Multiply-adds a second that the machine gives the types of a kernel's products at most."""
    bits = [
        max(s.a.type.dtype.bits, s.b.type.dtype.bits)
        for s in walk(kernel.body)
        if isinstance(s, ins.Dot)
    ]
    known = [r for _, b, r in rates.matrix if bits and b == max(bits)]
    return max(known, default=rates.issue * target.warp_size) * target.units * rates.clock
