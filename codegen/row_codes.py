"""Packed rows that a machine of bytes takes as codes, one a byte.

    kernel k(w: u4[K, N] packed row, q: out u4[K, N] packed row)

NPUs and NeuronCores transfer and store bytes. Rows that a kernel writes, and those of which some slice
begins or ends within a byte, are therefore codes there: `Artifact.launch` names them in `codes`, and a
call unpacks and packs the caller's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from dslc.compiler.analysis.alignment import known_divisors
from dslc.compiler.analysis.row_bytes import takes_whole_bytes
from dslc.compiler.ir import Call, Kernel, Memory, Role, TileProgram
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, with_memories
from dslc.compiler.ir.traverse import memories, walk

Fits = Callable[[Stmt], bool]


class _Unpacked(Rewriter):
    """Some parameters as arrays of their codes."""

    def __init__(self, codes: Collection[Memory]) -> None:
        super().__init__()
        self._memories.update({m: replace(m, packed=None) for m in codes})


def with_row_codes(
    program: TileProgram, fits: Fits = lambda _: True
) -> tuple[TileProgram, tuple[str, ...]]:
    """The program over codes where it cannot be over packed rows, and the parameters that are codes.

    `fits`: whether the machine takes a load of whole bytes where it stands.
    """
    if isinstance(program, Kernel):
        codes = _codes(program, fits)
        return _Unpacked(codes).kernel(program), tuple(m.name for m in codes)
    own = {kernel: _codes(kernel, fits) for kernel in {c.kernel: None for c in program.calls}}
    apart = {arg for c in program.calls for m, arg in _pairs(c) if m in own[c.kernel]}
    rows = [p for p in program.params if isinstance(p, Memory) and _is_row(p)]
    moved = {m: replace(m, packed=None) for m in rows if m in apart}
    calls, made = [], dict[tuple[Kernel, tuple[Memory, ...]], Kernel]()
    for call in program.calls:
        # Buffers and tensors that the program does not call rows are codes as well.
        codes = tuple(
            m for m, arg in _pairs(call) if _is_row(m) and (arg in moved or not _is_row(arg))
        )
        key = (call.kernel, codes)
        if key not in made:
            made[key] = _Unpacked(codes).kernel(call.kernel)
        calls.append(replace(call, kernel=made[key]))
    over = with_memories(replace(program, calls=tuple(calls)), moved)
    return over, tuple(m.name for m in moved)


def _is_row(memory: Memory) -> bool:
    return memory.packed == "row" and memory.dtype.is_low_bit


def _codes(kernel: Kernel, fits: Fits) -> tuple[Memory, ...]:
    """The packed rows of a kernel that it cannot take as bytes."""
    rows = [m for m in kernel.tensors if _is_row(m)]
    if not rows:
        return ()
    known = known_divisors(kernel)
    within = {
        m
        for stmt in walk(kernel.body)
        for m in memories(stmt)
        if _is_row(m) and not (takes_whole_bytes(stmt, m, known) and fits(stmt))
    }
    return tuple(m for m in rows if m.role is not Role.IN or m in within)


def _pairs(call: Call) -> list[tuple[Memory, Memory]]:
    """The tensors of a kernel with what a call gives for them."""
    pairs = zip(call.kernel.params, call.args, strict=True)
    return [(m, a) for m, a in pairs if isinstance(m, Memory) and isinstance(a, Memory)]
