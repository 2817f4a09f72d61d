"""Which parameters the compiler may store as it likes: those of low-bit types, and 8-bit weights.

Elements of fewer than 8 bits have no storage of their own, so every parameter of them that is only
read is stored as its loads want it. A tensor of bytes is an ordinary array, which a caller may have
from anywhere; it is stored otherwise only where that pays: where it is the *weights* of a product, that
is where each element is cast to a wider type and becomes one element of a product's operand. Scales and
zero points, which are repeated over the rows of a group, are not weights; nor are bytes that a matrix
unit takes as they are.

`packed codes` on a parameter (`Memory.packed`) says that the caller passes the bytes as an ordinary
array, whatever they are used for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import Kernel, Memory, Role, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import free_vars
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Program
from dslc.compiler.ir.rewrite import Rewriter, map_kernels, with_memories
from dslc.compiler.ir.traverse import Name, users, walk

CODES = "codes"
SAME_ELEMENTS = (
    ins.Cast, ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Reshape, ins.Transpose, ins.ConvertLayout,
)  # fmt: skip


def packed_freely(kernel: Kernel) -> frozenset[Memory]:
    """The parameters of a kernel whose storage the compiler chooses."""
    wide = [m for m in kernel.tensors if is_open(m) and not m.dtype.is_low_bit]
    packed = {m for m in kernel.tensors if is_open(m) and m.dtype.is_low_bit}
    if wide:
        packed |= _weights(kernel) & set(wide)
    return frozenset(packed)


def weight_dims(program: TileProgram, names: Collection[str]) -> set[str]:
    """The dims in the extents of the parameters of these names."""
    shapes = [p.shape for p in program.params if isinstance(p, Memory) and p.name in names]
    return {v.name for shape in shapes for extent in shape for v in free_vars(extent)}


def is_open(memory: Memory) -> bool:
    """Whether a parameter may be stored otherwise than as an array of its elements."""
    free = memory.packed is None and memory.strides is None and memory.rank > 0
    kinds = (Kind.INT, Kind.UINT, Kind.FLOAT)
    small = memory.dtype.is_low_bit or (memory.dtype.bits == 8 and memory.dtype.kind in kinds)
    return small and memory.role is Role.IN and free


def _weights(kernel: Kernel) -> set[Memory]:
    readers = users(kernel.body)
    loads = [s for s in walk(kernel.body) if isinstance(s, ins.Load)]
    # A slice that ends within the tensor ends within a block of its packed storage.
    ended = {r.memory for s in loads for r in (s.region,) if any(a.end is not None for a in r.axes)}
    weights = {load.region.memory for load in loads if _becomes_operand(load.out, readers)}
    return weights - ended


def _becomes_operand(loaded: Value, readers: Mapping[Name, list[Stmt]]) -> bool:
    """Whether a tile's elements, once cast to a wider type, become those of an operand of a product."""
    open_ = [(loaded, False)]  # tiles of the same elements, and whether they have been cast
    seen = set(open_)
    while open_:
        value, cast = open_.pop()
        for stmt in readers.get(value, ()):
            if isinstance(stmt, ins.Dot) and cast and value is not stmt.acc:
                return True
            if isinstance(stmt, SAME_ELEMENTS):
                wider = isinstance(stmt, ins.Cast) and stmt.out.type.dtype.bits > 8
                operand = (stmt.out, cast or wider)
                if operand not in seen:
                    seen.add(operand)
                    open_.append(operand)
    return False


class _Marked(Rewriter):
    def __init__(self, memories: dict[Memory, Memory]) -> None:
        super().__init__()
        self._memories.update(memories)


def with_codes(program: TileProgram, names: frozenset[str]) -> TileProgram:
    """The program with the 8-bit parameters of these names passed as ordinary arrays.

    Of those that are arrays anyway nothing is said: what a caller passes must not change how the others
    are packed.
    """
    free = free_names(program)
    marked = {
        p: replace(p, packed=CODES)
        for p in program.params
        if isinstance(p, Memory) and p.name in names & free and not p.dtype.is_low_bit
    }
    if not marked:
        return program
    if isinstance(program, Kernel):
        return _Marked(marked).kernel(program)
    assert isinstance(program, Program)
    taken: defaultdict[Kernel, set[Memory]] = defaultdict(set)
    for call in program.calls:
        pairs = zip(call.kernel.params, call.args, strict=True)
        taken[call.kernel] |= {p for p, a in pairs if a in marked and isinstance(p, Memory)}
    passed = map_kernels(program, lambda k: _marked(k, taken[k]))
    assert isinstance(passed, Program)
    return with_memories(passed, marked)


def free_names(program: TileProgram) -> frozenset[str]:
    """The parameters whose storage the compiler chooses, of a program in any kernel that it calls."""
    if isinstance(program, Kernel):
        return frozenset(m.name for m in packed_freely(program))
    assert isinstance(program, Program)
    names: set[str] = set()
    for call in program.calls:
        free = packed_freely(call.kernel)
        pairs = zip(call.kernel.params, call.args, strict=True)
        names |= {a.name for p, a in pairs if isinstance(a, Memory) and p in free}
    return frozenset(names - {v.base.name for v in program.views})


def _marked(kernel: Kernel, params: set[Memory]) -> Kernel:
    return (
        _Marked({p: replace(p, packed=CODES) for p in params}).kernel(kernel) if params else kernel
    )
