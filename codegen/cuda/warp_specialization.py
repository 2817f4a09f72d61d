"""Warp specialization: a kernel's text for producer warps, which only copy, and for consumer warps.

Both are sides of one branch. Where one block fills a multiprocessor, producer warps give back registers
that they do not need, and the others take them (PTX ISA 8.5, 9.7.20.5: setmaxnreg, by warpgroups).
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission
from dslc.codegen.cuda.tma import is_bulk
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk

_WARP, _GROUP = 32, 4  # threads of a warp, warps of a warpgroup
_REGISTERS, _MOST, _STEP = 65536, 240, 8  # of a multiprocessor, of a thread at most, by how many
# What one thread can do for the others.
_LED = (ins.For, ins.If, ins.Let, ins.AwaitPhase, ins.Arrive, ins.CopyAsync)
_SCALAR = (ins.Load, ins.Full, ins.Unary, ins.Binary, ins.Cast)  # of rank 0


def launched_threads(kernel: Kernel) -> int:
    """The threads of a block: those that run its turn, and those producers."""
    assert kernel.threads is not None
    producers = producers_of(kernel)
    return kernel.threads + (producers.warps * _WARP if producers is not None else 0)


def producers_of(kernel: Kernel) -> ins.WarpSpecialize | None:
    """The producer warps of a kernel, if it has any."""
    return next((s for s in kernel.body if isinstance(s, ins.WarpSpecialize)), None)


def body(e: Emission) -> None:
    """The text of a kernel's body. DSL0590 where producer warps do more than copy in bulk."""
    producers = producers_of(e.kernel)
    if producers is None:
        e.body(e.kernel.body)
        return
    at = e.kernel.body.index(producers)
    e.body(e.kernel.body[:at])
    own, others = _registers(e.kernel, producers)
    with e.out.block(f"if (tid >= {e.threads})"):
        if own:
            e.out.line(f"give_registers<{own}>();")
        _led(e, producers)
    with e.out.block("else"):
        if others:
            e.out.line(f"take_registers<{others}>();")
        # Else the assembler may ask for the block's rank, which shared addresses have, in every turn.
        e.out.line("hold_address(shared);")
        e.together = f"barrier_of_some({e.threads});"
        e.body(e.kernel.body[at + 1 :])


def _led(e: Emission, producers: ins.WarpSpecialize) -> None:
    """One thread of the producer warps does it all."""
    for stmt in walk(producers.body):
        together = isinstance(stmt, ins.Arrive) and stmt.together
        threads = isinstance(stmt, ins.CopyAsync) and not is_bulk(stmt)
        scalar = isinstance(stmt, _SCALAR) and not stmt.out.type.shape
        if not (isinstance(stmt, _LED) or scalar) or together or threads:
            text = f"producer warps only copy in bulk, but there is {type(stmt).__name__}"
            raise error("DSL0590", text, stmt.loc)
    leader = e.leader
    with e.out.block(f"if (tid == {e.threads})"):
        e.leader = ""
        e.body(producers.body)
    e.leader = leader


def _registers(kernel: Kernel, producers: ins.WarpSpecialize) -> tuple[int, int]:
    """What a producer thread keeps and what one of the others gets; 0 where nothing is handed on."""
    assert kernel.threads is not None
    groups, rest = divmod(kernel.threads, _WARP * _GROUP)
    more, rest_producers = divmod(producers.warps, _GROUP)
    if producers.registers is None or rest or rest_producers or groups < 2:
        return 0, 0
    at_start = _REGISTERS // (_WARP * _GROUP * (groups + more)) // _STEP * _STEP
    left = at_start * (groups + more) - producers.registers * more
    others = min(_MOST, left // groups // _STEP * _STEP)
    return (producers.registers, others) if producers.registers < at_start < others else (0, 0)
