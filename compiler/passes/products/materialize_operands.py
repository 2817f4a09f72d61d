"""Materialised operands: what many turns compute alike for a product is computed once, before it.

Before (tests/ir/materialize-operands/activation.tir), where n has 64 turns and the activation function
costs more than the product of a tile:

    grid m in range(0, M, 64), n in range(0, 4096, 64)
    ...
    %t = load @a[m : +64, k : +64] : f16[64, 64]
    ...
    %x = div %t, %s : f16[64, 64]
    %w = load @b[k : +64, n : +64] : f16[64, 64]
    %acc_2 = dot %x, %w, acc=%acc_1 : f32[64, 64]

After, a program of two kernels with a buffer between them:

    kernel f_operand[M](@a: in f16[M, 128], @operand: out f16[(M + 63) // 64 * 64, 128]) {
    grid m in range(0, M, 64), k in range(0, 128, 64)
    %t = load @a[m : +64, k : +64] : f16[64, 64]
    ...
    store @operand[m : +64!, k : +64!], %x
    ...
    grid m in range(0, M, 64), n in range(0, 4096, 64)
    ...
    %x = load @operand[m : +64!, k : +64!] : f16[64, 64]
    %w = load @b[k : +64, n : +64] : f16[64, 64]
    %acc_2 = dot %x, %w, acc=%acc_1 : f32[64, 64]

The operand must come from memory that the kernel only reads, by statements without effects, and must
not depend on some axes of the grid, which have turns enough. It pays where threads would take long for
it beside the product: functions such as exp and division, sums in a loop before it, elements that are
gathered, rows that no copy can move ahead (their length is no multiple of 4 bytes). Whole tiles are
kept, the elements beyond the end of a tensor as well, so that the product's kernel reads what it would
have computed, by copies in bulk and with no bounds. Each element is written once and read from then on
like any tensor; the results are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, div, mul, sub
from dslc.compiler.ir.expr import Expr, Var, free_vars, index, substitute
from dslc.compiler.ir.program import (
    Call,
    GridAxis,
    Kernel,
    Param,
    Program,
    Requirement,
    TileProgram,
)
from dslc.compiler.ir.rewrite import Substitution, clone_body, fresh_name, scalar_names
from dslc.compiler.ir.traverse import Name, memories, names_in, results, uses_of, walk
from dslc.compiler.ir.values import AxisSlice, Memory, Region, Role
from dslc.compiler.passes.products.reused_operands import Operand, candidates
from dslc.compiler.passes.simplification.dead_code import remove_dead_code
from dslc.compiler.targets import Target

_FEWEST = 8  # turns that would compute the same


@dataclass(frozen=True, slots=True)
class MaterializeOperands:
    """Gives what many turns compute for their products alike to a kernel that runs before."""

    target: Target
    name: ClassVar[str] = "materialize-operands"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with these kernels and buffers; as it is where there are none."""
        if self.target.rates is None:
            return program
        whole = program if isinstance(program, Program) else _as_program(program)
        taken = {p.name for p in (*whole.params, *whole.buffers, *(v.memory for v in whole.views))}
        buffers, calls = list(whole.buffers), []
        for called in whole.calls:
            call, read = called, set[str]()  # what is read by now is computed
            while (found := next(self._found(call.kernel, read), None)) is not None:
                first, main, operand = _parted(call.kernel, found)
                read.add(operand.name)
                buffer = _buffer(call, operand, taken)
                buffers.append(buffer)
                args = dict(zip(call.kernel.params, call.args, strict=True)) | {operand: buffer}
                calls.append(_called(first, args, call))
                call = _called(main, args, call)
            calls.append(call)
        if len(calls) == len(whole.calls):
            return program
        return replace(whole, calls=tuple(calls), buffers=tuple(buffers))

    def _found(self, kernel: Kernel, read: Collection[str]) -> Iterator[Operand]:
        """The operands that pay, whose reuse is known; not those that are `read` from memory alone."""
        for found in candidates(kernel, self.target):
            loads = [s.region.memory.name for s in found.inside if isinstance(s, ins.Load)]
            if len(found.inside) == len(loads) and {*loads} <= {*read}:
                continue
            if found.reuse >= _FEWEST and _is_bound(kernel, found):
                yield found


def _parted(kernel: Kernel, found: Operand) -> tuple[Kernel, Kernel, Memory]:
    """The kernel that computes the operand, that of the product, and the operand's parameter there."""
    taken = {p.name for p in kernel.params}
    shape, at = _place(found)
    dtype, loc = found.tile.type.dtype, found.loop.loc
    operand = Memory(fresh_name("operand", taken), dtype, shape, Role.IN, loc=loc)
    region = Region(operand, at)
    made = next(s for s in found.inside if found.tile in results(s))
    load = ins.Load(found.tile, region, loc=made.loc)
    inside = tuple(load if s is made else s for s in found.loop.body)
    loop = replace(found.loop, body=inside)
    body = tuple(loop if s is found.loop else s for s in kernel.body)
    whole = replace(kernel, body=body, params=(*kernel.params, operand))
    return _computing(kernel, found, operand), _trimmed(remove_dead_code(whole)), operand


def _computing(kernel: Kernel, found: Operand, operand: Memory) -> Kernel:
    """A turn for each tile; where a loop comes before it, one for all tiles that need its results."""
    loop = found.loop
    written = replace(operand, role=Role.OUT)
    store = ins.Store(Region(written, _place(found)[1]), found.tile, loc=loop.loc)
    grid, body = found.axes, (*found.inside, store)
    if any(isinstance(s, ins.For) for s in found.before):
        body = (*found.before, replace(loop, body=body, carried=(), split=None))
    else:
        grid = (*grid, GridAxis(loop.var, loop.start, loop.stop, loop.step))
        body = (*found.before, *body)
    own = {m: replace(m) for m in kernel.tensors}
    copy, _ = clone_body(body, scalar_names(kernel))
    first = replace(
        kernel,
        name=f"{kernel.name}_{operand.name}",
        params=(*kernel.params, written),
        grid=grid,
        body=copy,
        rasterization=None,
    )
    return _trimmed(Substitution(memories=own).kernel(first), keep=written)


def _trimmed(kernel: Kernel, keep: Memory | None = None) -> Kernel:
    """The kernel with those parameters, dims and requirements alone that it uses."""
    touched = {m for s in walk(kernel.body) for m in memories(s)} | {keep}
    exprs = [e for a in kernel.grid for e in (a.start, a.stop, a.step)]
    exprs += [e for m in touched if m is not None for e in (*m.shape, *(m.strides or ()))]
    names: set[Name] = {v for e in exprs for v in free_vars(e)}
    names |= {n for s in walk(kernel.body) for u in uses_of(s) for n in names_in(u)}
    params = tuple(p for p in kernel.params if p in touched or p in names)
    dims = tuple(d for d in kernel.dims if d in names)
    requires = tuple(r for r in kernel.requires if _holds_over(r, (*dims, *params)))
    return replace(kernel, params=params, dims=dims, requires=requires)


def _holds_over(requirement: Requirement, names: Iterable[Param]) -> bool:
    return free_vars(requirement.condition) <= {n for n in names if isinstance(n, Var)}


def _is_bound(kernel: Kernel, found: Operand) -> bool:
    """Whether both kernels' tensors give them their dims."""
    *parts, operand = _parted(kernel, found)
    for one in parts:
        shapes = (e for m in one.tensors if m.name != operand.name for e in m.shape)
        if not {*one.dims} <= {e for e in shapes if isinstance(e, Var)}:
            return False
    return True


def _place(found: Operand) -> tuple[tuple[Expr, ...], tuple[AxisSlice, ...]]:
    """The shape of the operand, a tile for each turn and iteration, and where a turn's tile lies."""
    rows, columns = found.tile.type.shape
    loop = found.loop
    along = GridAxis(loop.var, loop.start, loop.stop, loop.step)
    *outer, last = found.axes or (None,)
    shape = [_count(a, 1) for a in outer if a is not None]
    at = [AxisSlice(_start(a, 1), 1, dropped=True, checked=False) for a in outer if a is not None]
    shape += [index(rows) if last is None else _count(last, rows), _count(along, columns)]
    first = index(0) if last is None else _start(last, rows)
    at += [AxisSlice(first, rows, checked=False)]
    at += [AxisSlice(_start(along, columns), columns, checked=False)]
    return tuple(shape), tuple(at)


def _count(axis: GridAxis, each: int) -> Expr:
    """The places of an axis, of so many elements a turn."""
    return simplify(mul(cdiv(sub(axis.stop, axis.start), axis.step), each))


def _start(axis: GridAxis, each: int) -> Expr:
    """Where the place of a turn begins."""
    gone = simplify(sub(axis.var, axis.start))
    if constant(axis.step) == each:
        return gone
    return simplify(mul(div(gone, axis.step), each))


# Programs


def _as_program(kernel: Kernel) -> Program:
    """The program that calls the kernel."""
    params = tuple(replace(p) if isinstance(p, Memory) else p for p in kernel.params)
    call = Call(kernel, params, kernel.loc)
    return Program(
        kernel.name, params, kernel.dims, (), (call,), kernel.fixed, kernel.doc, kernel.loc,
        kernel.packed, kernel.requires,
    )  # fmt: skip


def _called(kernel: Kernel, args: Mapping[Param, Memory | Expr], call: Call) -> Call:
    """A call with the arguments of another, by the names of its kernel's parameters."""
    by_name = {p.name: a for p, a in args.items()}
    return replace(call, kernel=kernel, args=tuple(by_name[p.name] for p in kernel.params))


def _buffer(call: Call, operand: Memory, taken: set[str]) -> Memory:
    """The buffer of an operand, in the dims of the program that calls its kernel."""
    sizes: dict[Var, Expr] = {}
    for param, arg in zip(call.kernel.params, call.args, strict=True):
        if isinstance(param, Memory) and isinstance(arg, Memory):
            pairs = zip(param.shape, arg.shape, strict=True)
            sizes |= {p: a for p, a in pairs if isinstance(p, Var)}
    shape = tuple(simplify(substitute(e, sizes)) for e in operand.shape)
    name = fresh_name(operand.name, taken)
    return replace(operand, name=name, shape=shape, role=Role.BUFFER)
