"""A prediction before the passes, from a kernel's tiles alone: which choices are worth scheduling.

A program of the checker has neither layouts nor copies. Its products are taken to be on the widest
unit that fits them, or the first atom, its threads as many as the layout pass would try first; bytes,
products, blocks and waves follow from the tiles, as they do after the passes. What layouts and copies
cost is missing, so the time is no prediction, but the order is good among those that are fed alike. It
takes a twentieth of the time.

Where threads multiply, parts of a reduction are made: turns follow from them. On AMD's GPUs they and
rings decide. There the passes that make these run first, which need no layouts, and the time comes
within some percent of that after all passes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from math import prod

from dslc.compiler.analysis.statement_work import overlapped
from dslc.compiler.cost.model import predict
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.layouts.matrix import atoms_for, group_atom
from dslc.compiler.passes.layouts.shared_operands import readable_in_place
from dslc.compiler.passes.layouts.threads import thread_counts
from dslc.compiler.passes.memory.memory_plan import MemoryPlan
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.pipelining.prefetchable_loads import tile_bytes
from dslc.compiler.passes.pipelining.software_pipeline import SoftwarePipeline
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from dslc.compiler.targets import Target


@dataclasses.dataclass(frozen=True, slots=True)
class Outline:
    """Seconds of one launch, good for comparing choices of one kernel that are `fed` alike.

    A kernel is fed where a unit may copy what warpgroups multiply: its blocks then share their turns
    evenly, and wait for no copy. Of others the waits count.
    """

    seconds: float
    fed: bool = False


def outline(kernel: Kernel, target: Target, dims: Mapping[str, int]) -> Outline:
    """The outline of a kernel of the checker.

    DSL0520 and DSL0521 for layouts that the machine cannot run, DSL0530 for a target without rates;
    where parts and rings are made, what their passes refuse.
    """
    threads = thread_counts(kernel, target, None)[0]
    if target.linear_copies:
        kernel = _staged(kernel, target)
    elif _is_divided(kernel) and _has_plain_products(kernel, target):
        kernel = _split(kernel, target)
    atoms = _Atoms(kernel, target, fed=_is_fed(kernel, target, threads))
    taken = dataclasses.replace(atoms.kernel(kernel), threads=threads)
    if target.linear_copies:
        predicted = predict(taken, target, dims, turns=_TURNS)
    else:
        shared = {kernel.name: min(_ring_bytes(kernel) * (_AHEAD + 1), _most_shared(target))}
        predicted = predict(taken, target, dims, shared=shared, ahead=_AHEAD, turns=_TURNS)
    idle = min(1.0, predicted.blocks / target.units)
    own = [
        t * (1.0 if n in _SPREAD else idle) for n, t in predicted.terms.items() if n != "latency"
    ]
    if atoms.warpgroups:
        return Outline(overlapped(own), fed=True)
    return Outline(predicted.seconds)


_SPREAD = ("memory", "cache", "launch")
_AHEAD = 2  # iterations by which loads in a loop usually run ahead
_STAGES, _SUMS = 3, 160  # at least under way; registers of a thread for sums at most
_OUTGOING = 32 << 10  # bytes of results on their way
_TURNS = 2  # of the grid that are looked at


def _staged(kernel: Kernel, target: Target) -> Kernel:
    """The kernel with its reduction split and its loads copied ahead, where they lie in memory."""
    shared = target.memory("shared")
    passes: tuple[Pass, ...] = (
        SplitReduction.of(target),
        SoftwarePipeline(target),
        MemoryPlan(shared.bytes if shared else None),
    )
    staged: TileProgram = kernel
    for step in passes:
        staged = step(staged)
    assert isinstance(staged, Kernel)
    return staged


def _is_divided(kernel: Kernel) -> bool:
    """Whether a reduction is added up in parts."""
    return any(isinstance(s, ins.For) and (s.split or 1) > 1 for s in kernel.body)


def _has_plain_products(kernel: Kernel, target: Target) -> bool:
    """Whether threads multiply: then turns decide more than what feeds them."""
    dots = [s for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    return any(not atoms_for(s, target) for s in dots)


def _split(kernel: Kernel, target: Target) -> Kernel:
    """The kernel with its reduction in parts: as many more turns, and sums of parts to be added."""
    parts = SplitReduction.of(target)(kernel)
    assert isinstance(parts, Kernel)
    return parts


def _ring_bytes(kernel: Kernel) -> int:
    """What one iteration of a kernel's loops loads."""
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For)]
    return sum(tile_bytes(s.out) for loop in loops for s in loop.body if isinstance(s, ins.Load))


def _most_shared(target: Target) -> int:
    shared = target.memory("shared")
    return shared.bytes if shared and shared.bytes else 0


def _is_fed(kernel: Kernel, target: Target, threads: int) -> bool:
    """Whether a unit may copy what the kernel's one loop multiplies, and registers hold its sums."""
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For | ins.While)]
    shared = target.memory("shared")
    if not target.bulk_copies or len(loops) != 1 or not isinstance(loop := loops[0], ins.For):
        return False
    whole = loop.split in (None, 1)
    loads = [s.out for s in walk(loop.body) if isinstance(s, ins.Load)]
    sums = [prod(s.out.type.shape) for s in walk(loop.body) if isinstance(s, ins.Dot)]
    room = (shared.bytes if shared else 0) - _OUTGOING
    fits = _STAGES * sum(map(tile_bytes, loads)) <= room and sum(sums) <= _SUMS * threads
    return whole and fits


class _Atoms(Rewriter):
    """Products on units of several warps where those are fed, else on the first atom that fits."""

    def __init__(self, kernel: Kernel, target: Target, *, fed: bool) -> None:
        super().__init__()
        self._target, self.warpgroups = target, False
        self._in_place = readable_in_place(kernel) if fed else {}

    def statement(self, stmt: ins.Stmt) -> Iterable[ins.Stmt]:
        rebuilt = self.rebuild(stmt)
        if isinstance(stmt, ins.Dot) and isinstance(rebuilt, ins.Dot) and stmt.atom is None:
            atoms = atoms_for(stmt, self._target)
            group = group_atom(stmt, self._target, self._in_place)
            self.warpgroups |= group is not None
            atom = group or next(iter(atoms), None)
            if atom is not None:
                return (dataclasses.replace(rebuilt, atom=atom.name),)
        return (rebuilt,)
