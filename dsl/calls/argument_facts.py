"""What a call's arguments let a specialisation rely on beyond the dims that it fixes.

A machine reads memory in wide words where rows begin at multiples of them. A call with N = 4096 gets a
kernel that requires `N % 16 == 0`; one with N = 1000 gets another, which relies on nothing. A tensor
that begins between such multiples, as a slice of another may, gets a kernel that knows; so does one of
bytes that a kernel would rather have packed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dslc.compiler.analysis.alignment import alignment_of, divisor
from dslc.compiler.analysis.weights import with_codes
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import Call, Kernel, Memory, Requirement, TileProgram, View, alignment
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, free_vars, index
from dslc.compiler.ir.rewrite import Rewriter, with_memories
from dslc.compiler.targets import Target

Divisors = tuple[tuple[str, int], ...]
"""Dims with a number that divides them."""
Alignments = tuple[tuple[str, int], ...]
"""Tensors that begin at multiples of fewer bytes than a machine's memory does, and how many."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What may be relied on; equal facts give equal kernels."""

    divisors: Divisors = ()
    alignments: Alignments = ()
    plain: frozenset[str] = frozenset()  # 8-bit tensors whose bytes come as an ordinary array


def divisor_facts(
    target: Target,
    dims: Iterable[str],
    sizes: Callable[[str], int | None],
    counts: Container[str] = (),
) -> Divisors:
    """The greatest of the target's divisors for each dim whose size is known.

    `counts` are dims that only count rows: no row is longer for them, and kernels that rely on smaller
    divisors of them would be many and no faster.
    """
    facts = []
    for dim in dims if target.divisors else ():
        size = sizes(dim)
        if size is not None:
            told = target.divisors[:1] if dim in counts else target.divisors
            best = max((d for d in told if size % d == 0), default=1)
            if best > 1:
                facts.append((dim, best))
    return tuple(facts)


def counting(shapes: Iterable[Sequence[Collection[str]]]) -> frozenset[str]:
    """The dims that are first extents alone, by the names in each extent of each tensor's shape."""
    known = [shape for shape in shapes if len(shape) > 1]
    inner = {name for shape in known for extent in shape[1:] for name in extent}
    return frozenset({name for shape in known for name in shape[0]} - inner)


def with_facts(program: TileProgram, facts: Facts, target: Target) -> TileProgram:
    """The kernel or program with what is known of its dims required, and its tensors' alignments.

    The kernels of a program rely on what follows for theirs.
    """
    program = with_codes(program, facts.plain)
    divisors, aligned = dict(facts.divisors), dict(facts.alignments)
    known = {dim: divisors[dim.name] for dim in program.dims if dim.name in divisors}
    added = (_multiple(dim, n) for dim, n in known.items())
    program = dataclasses.replace(program, requires=(*program.requires, *added))
    if isinstance(program, Kernel):
        return _aligned(program, aligned)
    params = {p: _placed(p, aligned) for p in program.params if isinstance(p, Memory)}
    program = with_memories(program, params)
    program = with_memories(program, {v.memory: _aligned_view(v, known) for v in program.views})
    kernels: dict[tuple[object, ...], Kernel] = {}
    calls = tuple(_informed(call, known, target, kernels) for call in program.calls)
    return dataclasses.replace(program, calls=calls)


def _aligned_view(view: View, known: Mapping[Var, int]) -> Memory:
    """The view's memory with the alignment that what is known of its offset gives it."""
    return dataclasses.replace(view.memory, align=alignment_of(view.base, view.offset, known))


def _informed(
    call: Call,
    known: Mapping[Var, int],
    target: Target,
    made: dict[tuple[object, ...], Kernel],
) -> Call:
    """A call of the kernel that relies on what is known of the program's dims and tensors."""
    aligned: dict[str, int] = {}
    sizes: dict[Var, Expr] = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, Memory) and isinstance(arg, Memory):
            if arg.align != param.align:
                aligned[param.name] = alignment(arg)
            pairs = [*zip(param.shape, arg.shape, strict=True)]
            pairs += zip(param.strides or (), arg.strides or (), strict=False)
            for extent, size in pairs:
                if isinstance(extent, Var):
                    sizes.setdefault(extent, size)
    multiples = {dim.name: divisor(sizes[dim], known) for dim in call.kernel.dims if dim in sizes}
    shapes = [p.shape for p in call.kernel.params if isinstance(p, Memory)]
    counts = counting([[{v.name for v in free_vars(e)} for e in shape] for shape in shapes])
    divisors = divisor_facts(target, multiples, multiples.get, counts)
    key = (call.kernel, divisors, *aligned.items())
    if key not in made:
        informed = with_facts(call.kernel, Facts(divisors, tuple(aligned.items())), target)
        assert isinstance(informed, Kernel)
        made[key] = informed
    return dataclasses.replace(call, kernel=made[key])


def _multiple(dim: Var, divisor: int) -> Requirement:
    rest = Binary("mod", dim, Const(divisor, INDEX), INDEX)
    return Requirement(Binary("eq", rest, index(0), BOOL), f"{dim.name} % {divisor} == 0")


def _placed(memory: Memory, aligned: Mapping[str, int]) -> Memory:
    align = aligned.get(memory.name)
    return memory if align is None else dataclasses.replace(memory, align=align)


class _Moved(Rewriter):
    """A kernel over other memories."""

    def __init__(self, memories: Mapping[Memory, Memory]) -> None:
        super().__init__()
        self._memories.update(memories)


def _aligned(kernel: Kernel, aligned: Mapping[str, int]) -> Kernel:
    if not aligned:
        return kernel
    return _Moved({m: _placed(m, aligned) for m in kernel.tensors}).kernel(kernel)
