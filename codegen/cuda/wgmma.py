"""Products of warpgroups that read their operands from shared memory: wgmma (PTX ISA 8.5, 9.7.15).

The unit writes accumulators while the warps run on. So the result of a product has the registers of its
accumulator wherever nothing else reads that, and after a wait the compiler is told that they changed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family import control
from dslc.codegen.c_family.accesses import pointer
from dslc.codegen.c_family.ctypes_of import element_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.remap import thread_part
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.cuda.descriptors import (
    SWIZZLES,
    Format,
    Indices,
    Operand,
    operand,
    placed,
    repeats,
    separated,
)
from dslc.codegen.cuda.fragments import Mismatch
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import Kernel, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, inner_names, results
from dslc.compiler.layout import divide, permute
from dslc.compiler.targets import TARGETS, Atom
from dslc.compiler.targets.target import SWAP

_PTX = {"i8": "s8", "i32": "s32", "f8e4m3": "e4m3", "f8e5m2": "e5m2"}
_UNIT = 16  # bytes that a step of a descriptor's start stands for


def name_of(atom: Atom, a: str, b: str) -> str:
    """The function of an instruction on operands of these dtype names."""
    return f"{atom.name}_{a}_{b}".replace(".", "_")


@functools.cache
def functions() -> dict[str, str]:
    """Every instruction of NVIDIA's targets as a function, by name."""
    targets = [t for t in TARGETS.values() if t.family == "cuda"]
    atoms = [x for t in targets for x in t.atoms if x.a is None and x.b is None]
    return {name_of(x, a, b): _function(x, a, b, c) for x in atoms for a, b, c in x.types}


def _function(atom: Atom, a: str, b: str, c: str) -> str:
    result = parse_dtype(c)
    assert result is not None
    count, letter = atom.c.locals, "f" if result.is_float else "r"
    registers = ", ".join(f"%{i}" for i in range(count))
    types = ".".join(_PTX.get(n, n) for n in (c, a, b))
    # Scales of a product are 1; 16-bit operands may lie with k down the columns.
    either = a in ("f16", "bf16")
    rest = f", 1, 1, %{count + 2}, %{count + 3}" if either else ", 1, 1" if letter == "f" else ""
    shape = f"m{atom.m}n{atom.n}k{atom.k}"
    text = (
        f"wgmma.mma_async.sync.aligned.{shape}.{types} "
        f"{{{registers}}}, %{count}, %{count + 1}, 1{rest};"
    )
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    inputs = '"l"(a), "l"(b)' + (', "n"(A), "n"(B)' if either else "")
    head = "template <int A, int B> " if either else ""
    return (
        f"{head}DEVICE void {name_of(atom, a, b)}({element_type(result)}* d, "
        f"unsigned long long a, unsigned long long b) {{\n"
        f'  asm volatile("{text}"\n    : {outputs}\n    : {inputs});\n}}'
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """An operand in memory: the descriptor's text, and what each step adds to its start."""

    descriptor: str
    steps: Indices
    format: Format


def dot(e: Emission, s: ins.Dot, atom: Atom) -> None:
    """out = a @ b (+ acc), under way when it returns. Raises Mismatch where memory does not fit."""
    out = _accumulators(e, s)
    swapped = s.atom is not None and s.atom.endswith(SWAP)
    c = permute(out.layout, (1, 0)) if swapped else out.layout
    outer = divide(c, atom.c).table()  # [groups, repeats, 2]
    steps = s.a.type.shape[1] // atom.k
    left, right = (s.b, s.a) if swapped else (s.a, s.b)
    a = _side(e, left, left is s.a, (atom.m, atom.k), outer[..., 0], steps)
    b = _side(e, right, right is s.a, (atom.n, atom.k), outer[..., 1], steps)
    first = np.arange(outer.shape[1]) * atom.c.locals
    table = np.stack([a.steps, b.steps, np.broadcast_to(first, a.steps.shape)], axis=-1)
    function = name_of(atom, left.type.dtype.name, right.type.dtype.name)
    if left.type.dtype.bits == 16:
        function += f"<{int(not a.format.along)}, {int(not b.format.along)}>"
    e.out.line("wgmma_fence();")
    for x, y, at in linear_loops(e.out, table.reshape(-1, 3)):
        e.out.line(f"{function}({out.name} + {at}, {a.descriptor} + {x}, {b.descriptor} + {y});")
    e.out.line("wgmma_commit();")
    e.under_way.append(out)


def wait(e: Emission, s: ins.WaitDots) -> None:
    """Until at most so many products are under way."""
    e.out.line(f"wgmma_wait<{s.pending}>();")
    if s.pending:
        return
    for tile in dict.fromkeys(e.under_way):
        kind = "floats" if tile.dtype.is_float else "integers"
        e.out.line(f"changed_{kind}<{tile.count}>({tile.name});")
    e.under_way.clear()


def _accumulators(e: Emission, s: ins.Dot) -> Tile:
    """The registers of the result: the accumulator's, where this product alone reads it."""
    if s.acc is None:
        return e.new(s.out, zero=True)
    owners = _owners(e.kernel)
    if len(e.readers[s.acc]) == 1 and owners[s.acc] == owners[s]:
        e.alias(s.out, e.tile(s.acc))
        return e.tile(s.out)
    tile = e.new(s.out, zero=False)
    control.copy(e, tile, e.tile(s.acc))
    return tile


@functools.lru_cache(maxsize=8)
def _owners(kernel: Kernel) -> dict[Value | Stmt, int]:
    """The body in which each statement stands and each tile is made anew, by number."""
    found: dict[Value | Stmt, int] = {}
    todo: list[tuple[Body, tuple[object, ...]]] = [(kernel.body, ())]
    for number, (body, names) in enumerate(todo):  # which grows meanwhile
        found |= {n: number for n in names if isinstance(n, Value)}
        for stmt in body:
            found[stmt] = number
            found |= {n: number for n in results(stmt) if isinstance(n, Value)}
            todo += [(inner, inner_names(stmt)) for inner in bodies(stmt)]
    return found


def _side(
    e: Emission, value: Value, is_a: bool, tile: tuple[int, int], blocks: Indices, steps: int
) -> _Side:
    """The operand of the instructions: `blocks` numbers its tiles along m or n, [groups, repeats]."""
    region, transposed = e.in_memory[value]
    along = is_a is not transposed
    groups, count = blocks.shape
    origins = np.zeros((groups, steps, count, 2), np.int64)
    origins[..., 0] = blocks[:, None, :] * tile[0]
    origins[..., 1] = np.arange(steps)[:, None] * tile[1]
    layout, slots = placed(region)
    bits = region.memory.dtype.bits
    found = operand(layout, bits, along, tile, origins.reshape(-1, 2))
    own, more = separated(found.starts, groups, (steps, count))
    if (more % _UNIT).any() or (own % _UNIT).any():
        raise Mismatch("its parts do not begin at multiples of 16 bytes")
    descriptor = _descriptor(e, region, found, own, slots)
    name = e.out.name(f"{value.name or 't'}_at")
    e.out.line(f"const unsigned long long {name} = {descriptor};")
    return _Side(name, more // _UNIT, found.format)


def _descriptor(
    e: Emission, region: Region, found: Operand, own: Indices, slots: list[tuple[ex.Expr, int]]
) -> str:
    """The descriptor of the first instruction's tile of each group of warps."""
    format_ = found.format
    if any(stride % repeats(format_) for _, stride in slots):
        raise Mismatch("the slots of its ring do not begin where the swizzle does")
    part = thread_part(np.repeat(own, e.threads // len(own)), e.threads)
    if part is None:
        raise Mismatch("the groups of warps read operands at irregular places")
    base = f"(const unsigned char*){pointer(e, region.memory)}"
    if part != "0":  # the same in all lanes, and known to be
        base += f" + {e.bases.named('group_at', f'__shfl_sync(~0u, {part}, 0)')}"
    code = SWIZZLES[format_.swizzle]
    text = f"matrix_descriptor({base}, {format_.leading}, {format_.stride}, {code})"
    for start, stride in slots:
        text += f" + ({e.scalar(start)}) * {stride // _UNIT}"
    return text


EMITTERS: dict[type, Emitter] = {ins.WaitDots: wait}
