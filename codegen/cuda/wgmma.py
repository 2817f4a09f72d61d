"""Products of warpgroups that read operands from shared memory: wgmma (PTX ISA 8.5, 9.7.15).

The unit writes accumulators while the warps run on. So the result of a product has the registers of its
accumulator wherever nothing else reads that, and after a wait the compiler is told that they changed.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family import control
from dslc.codegen.c_family.ctypes_of import element_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.through_shared import thread_part
from dslc.codegen.c_family.memory.accesses import pointer
from dslc.codegen.c_family.products.instruction_operands import Mismatch
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.cuda import kept
from dslc.codegen.cuda.descriptors import (
    SWIZZLES,
    Indices,
    Operand,
    operand,
    placed,
    repeats,
    separated,
)
from dslc.codegen.cuda.kept import owners
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import Kernel, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.layout import Layout, divide, permute
from dslc.compiler.targets import TARGETS, Atom
from dslc.compiler.targets.target import SWAP

_PTX = {"i8": "s8", "i32": "s32", "f8e4m3": "e4m3", "f8e5m2": "e5m2"}
_UNIT = 16  # bytes that a step of a descriptor's start stands for
_WORDS = 4  # registers of a left operand that the unit takes from them


def name_of(atom: Atom, a: str, b: str) -> str:
    """The function of an instruction on operands of these dtype names."""
    return f"{atom.name}_{a}_{b}".replace(".", "_")


@functools.cache
def functions() -> dict[str, str]:
    """Every instruction of NVIDIA's targets as a function, by name."""
    targets = [t for t in TARGETS.values() if t.family == "cuda"]
    atoms = [x for t in targets for x in t.atoms if x.b is None and not x.name.endswith(SWAP)]
    return {name_of(x, a, b): _function(x, a, b, c) for x in atoms for a, b, c in x.types}


def _function(atom: Atom, a: str, b: str, c: str) -> str:
    result = parse_dtype(c)
    assert result is not None
    count, letter = atom.c.locals, "f" if result.is_float else "r"
    both = atom.a is None
    types = ".".join(_PTX.get(n, n) for n in (c, a, b))
    left = _numbers(count, 1 if both else _WORDS)
    at = count + (1 if both else _WORDS)
    # Scales of a product are 1; 16-bit operands in memory may lie with k down the columns.
    either = a in ("f16", "bf16")
    flags = [f"%{i}" for i in range(at + 1, at + 2 + both)] if either else []
    scales = ["1", "1"] if letter == "f" else []
    rest = ", ".join([f"%{at}", "1", *scales, *flags])
    shape = f"m{atom.m}n{atom.n}k{atom.k}"
    first = left if both else f"{{{left}}}"
    text = (
        f"wgmma.mma_async.sync.aligned.{shape}.{types} {{{_numbers(0, count)}}}, {first}, {rest};"
    )
    outputs = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    words = ['"l"(a)'] if both else [f'"r"(a[{i}])' for i in range(_WORDS)]
    constants = (['"n"(A)'] if both else []) + ['"n"(B)'] if either else []
    inputs = ", ".join([*words, '"l"(b)', *constants])
    head = f"template <{'int A, ' if both else ''}int B> " if either else ""
    operand_a = "unsigned long long a" if both else "const unsigned* a"
    return (
        f"{head}DEVICE void {name_of(atom, a, b)}({element_type(result)}* d, {operand_a}, "
        f"unsigned long long b) {{\n"
        f'  asm volatile("{text}"\n    : {outputs}\n    : {inputs});\n}}'
    )


def _numbers(first: int, count: int) -> str:
    """`%4, %5, ...`: the operands of an asm statement."""
    return ", ".join(f"%{i}" for i in range(first, first + count))


@dataclass(frozen=True, slots=True)
class _Side:
    """An operand: its descriptor's or its registers' text, and what each step adds to that.

    `down` where it lies in memory with k down the columns, None where it is in registers.
    """

    text: str
    steps: Indices
    down: bool | None = None


def dot(e: Emission, s: ins.Dot, atom: Atom) -> None:
    """out = a @ b (+ acc), under way when it returns. Raises Mismatch where memory does not fit."""
    out = _accumulators(e, s)
    swapped = s.atom is not None and s.atom.endswith(SWAP)
    c = permute(out.layout, (1, 0)) if swapped else out.layout
    outer = divide(c, atom.c).table()  # [groups, repeats, 2]
    steps = s.a.type.shape[1] // atom.k
    left, right = (s.b, s.a) if swapped else (s.a, s.b)
    if atom.a is None:
        a = _side(e, left, left is s.a, (atom.m, atom.k), outer[..., 0], steps)
    else:
        a = _registers(e, left, swapped, atom.a, outer[..., 0], steps)
    b = _side(e, right, right is s.a, (atom.n, atom.k), outer[..., 1], steps)
    first = np.arange(outer.shape[1]) * atom.c.locals
    table = np.stack([a.steps, b.steps, np.broadcast_to(first, a.steps.shape)], axis=-1)
    function = name_of(atom, left.type.dtype.name, right.type.dtype.name)
    if left.type.dtype.bits == 16:
        flags = [str(int(x.down)) for x in (a, b) if x.down is not None]
        function += f"<{', '.join(flags)}>"
    e.out.line("wgmma_fence();")
    for x, y, at in linear_loops(e.out, table.reshape(-1, 3)):
        e.out.line(f"{function}({out.name} + {at}, {a.text} + {x}, {b.text} + {y});")
    e.out.line("wgmma_commit();")
    e.under_way.append(out)
    runs_on = bool(e.frames) and s in running_on(e.frames[-1].loop)
    if atom.a is not None and not runs_on:
        kept.keep(e, s, left)


def wait(e: Emission, s: ins.WaitDots) -> None:
    """Until at most so many products are under way."""
    e.out.line(f"wgmma_wait<{s.pending}>();")
    kept.waited(e, s)
    if s.pending:
        return
    if e.frames:  # what the iteration before left to this wait
        e.under_way += map(e.tile, running_on(e.frames[-1].loop).values())
    for tile in dict.fromkeys(e.under_way):
        kind = "floats" if tile.dtype.is_float else "integers"
        e.out.line(f"changed_{kind}<{tile.count}>({tile.name});")
    e.under_way.clear()


def in_place(kernel: Kernel) -> dict[Value, Value]:
    """Tiles that are made where another is: nothing may move sums that the unit still adds to.

    A product that runs on into the next iteration adds to what its loop carries, or to what is made of
    that.
    """
    loops = (s for s in walk(kernel.body) if isinstance(s, ins.For))
    pairs = (pair for loop in loops for pair in running_on(loop).items())
    return {dot.acc: inner for dot, inner in pairs if dot.acc not in (None, inner)}


@functools.lru_cache(maxsize=8)
def running_on(loop: ins.For) -> dict[ins.Dot, Value]:
    """The products that the next iteration waits for, and what their sums are called there."""
    waits = [i for i, s in enumerate(loop.body) if isinstance(s, ins.WaitDots) and not s.pending]
    first = waits[-1] if waits else len(loop.body)
    dots = (s for s in loop.body[first:] if isinstance(s, ins.Dot) and s.is_async)
    handed = {c.yielded: c.inner for c in loop.carried}
    carried = {dot: handed.get(dot.out) for dot in dots}
    return {dot: inner for dot, inner in carried.items() if isinstance(inner, Value)}


def _accumulators(e: Emission, s: ins.Dot) -> Tile:
    """The registers of the result: the accumulator's, where this product alone reads it."""
    if s.acc is None:
        return e.new(s.out, zero=True)
    home = owners(e.kernel).of
    if len(e.readers[s.acc]) == 1 and home[s.acc] == home[s]:
        e.alias(s.out, e.tile(s.acc))
        return e.tile(s.out)
    tile = e.new(s.out, zero=False)
    control.copy(e, tile, e.tile(s.acc))
    return tile


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
    side = operand(layout, bits, along, tile, origins.reshape(-1, 2))
    own, more = separated(side.starts, groups, (steps, count))
    if (more % _UNIT).any() or (own % _UNIT).any():
        raise Mismatch("its parts do not begin at multiples of 16 bytes")
    descriptor = _descriptor(e, region, side, own, slots)
    name = e.out.name(f"{value.name or 't'}_at")
    e.out.line(f"const unsigned long long {name} = {descriptor};")
    return _Side(name, more // _UNIT, not side.format.along)


def _registers(
    e: Emission, value: Value, swapped: bool, atom: Layout, blocks: Indices, steps: int
) -> _Side:
    """The left operand in registers: the first of those that each instruction takes."""
    tile = e.tile(value)
    layout = permute(tile.layout, (1, 0)) if swapped else tile.layout
    held = divide(layout, atom).table()  # [groups, places, 2]
    groups, repeats_, words = *blocks.shape, atom.locals * tile.dtype.bits // 32
    first = np.zeros((groups, steps, repeats_), np.int64)
    for group in range(groups):
        places = {(int(i), int(k)): at for at, (i, k) in enumerate(held[group])}
        for step in range(steps):
            for number, block in enumerate(blocks[group]):
                place = places.get((int(block), step))
                if place is None:
                    raise Mismatch("a group of warps does not hold the rows of its results")
                first[group, step, number] = place * words
    if (first != first[:1]).any():
        raise Mismatch("the groups of warps hold the left operand differently")
    return _Side(tile.name, first[0])


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
    if part.isdigit():
        base += f" + {part}" if part != "0" else ""
    else:  # the same in all lanes, and known to be
        base += f" + {e.bases.named('group_at', f'__shfl_sync(~0u, {part}, 0)')}"
    code = SWIZZLES[format_.swizzle]
    text = f"matrix_descriptor({base}, {format_.leading}, {format_.stride}, {code})"
    for start, stride in slots:
        text += f" + ({e.scalar(start)}) * {stride // _UNIT}"
    return text


EMITTERS: dict[type, Emitter] = {ins.WaitDots: wait}
