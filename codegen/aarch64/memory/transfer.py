"""Chunks from and to memory, and from tiles that are in registers.

The lanes of a register that lie side by side in memory come in one load, the others run by run. What is
read are exactly the elements that are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import Format, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Inst, Reg
from dslc.codegen.aarch64.machine_code.stream import INPUTS
from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir.arithmetic.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission
    from dslc.codegen.aarch64.places import Array, Blocks, InRegisters

# A list of registers in braces; the holes of a template are digits in braces.
LIST_OPEN, LIST_CLOSE = "{ ", " }"
_AHEAD = 512  # bytes, at least, between a load and the prefetch beside it
_LINE = 64
_NAMES = {1: "b", 2: "h", 4: "s", 8: "d", 16: "q"}


def places(array: Array, at: At) -> list[Linear]:
    """For each lane the number of its element in an array, as a sum."""
    if array.blocks is not None:
        return _in_blocks(array, array.blocks, at)
    start = Linear()
    for base, stride in zip(at.base, array.strides, strict=True):
        start = start + base * stride
    numbers, known = [], {}
    for lane in at.lanes:
        if lane not in known:
            total = start
            for distance, stride in zip(lane, array.strides, strict=True):
                if distance:
                    total = total + stride.scale(distance)
            known[lane] = total
        numbers.append(known[lane])
    return numbers


def _in_blocks(array: Array, blocks: Blocks, at: At) -> list[Linear]:
    """The same where the last two axes are cut into blocks: by the block, then within it."""
    numbers = []
    for lane in at.lanes:
        total = Linear()
        coordinates = [b + Linear(constant=d) for b, d in zip(at.base, lane, strict=True)]
        for k, (x, stride) in enumerate(zip(coordinates, array.strides, strict=True)):
            part = k - len(coordinates) + 2
            if part < 0:
                total = total + x * stride
                continue
            size, inner = blocks[part]
            whole = x.divide(Linear(constant=size))
            total = total + whole * stride + (x + whole.scale(-size)).scale(inner)
        numbers.append(total)
    return numbers


def store_lanes(e: Emission, array: Array, at: At, lanes: Lanes) -> None:
    """A chunk to an array of the same format."""
    elements = places(array, at)
    per, size = array.form.lanes, array.form.bits // 8
    for number, reg in enumerate(lanes.regs):
        for first, run in runs(elements[number * per : (number + 1) * per], repeats=False):
            where = elements[number * per + first]
            if first == 0:
                name = _NAMES[run * size]
                base, near = e.address(array, where, run * size)
                e.s.store(f"str {{0:{name}}}, [{{1}}, #{near}]", reg, base, alias=array.alias)
            else:
                base = e.pointer(array, where)
                name = _NAMES[run * size]
                lane = first // run
                e.s.store(_listed("st1", name, lane), reg, base, alias=array.alias)


def load_register(e: Emission, array: Array, elements: list[Linear]) -> Reg:
    """Elements by their numbers in one register."""
    size = array.form.bits // 8
    if len(elements) > 1 and all(x == elements[0] for x in elements[1:]):
        base = e.pointer(array, elements[0])
        text = f"ld1r {LIST_OPEN}{{0}}.{array.form.arrangement}{LIST_CLOSE}, [{{1}}]"
        return e.s.load(text, base, alias=array.alias)
    out: Reg | None = None
    for first, run in runs(elements, repeats=True):
        name = _NAMES[run * size]
        if out is None:
            base, near = e.address(array, elements[first], run * size)
            out = e.s.load(f"ldr {{0:{name}}}, [{{1}}, #{near}]", base, alias=array.alias)
            if e.streaming and array.alias == INPUTS and run * size == 16:
                _prefetch(e, array, elements[first])
        else:
            base = e.pointer(array, elements[first])
            e.s.load(_listed("ld1", name, first // run), base, alias=array.alias, out=out)
    assert out is not None
    return out


def _prefetch(e: Emission, array: Array, element: Linear) -> None:
    """Prefetch what a later iteration of the loop loads in place of an element, once a cache line."""
    size = array.form.bits // 8
    stride = e.stride(array, element)
    if stride is None or stride <= 0:
        return
    ahead = -(-_AHEAD // stride) * stride
    base, near = e.address(array, element + Linear(constant=ahead // size), 8)
    key = ("prefetch", base, near // _LINE)
    if near >= 0 and near % 8 == 0 and e.s.recall(key) is None:
        e.s.put(Inst(f"prfm pldl1keep, [{{0}}, #{near}]", (base,)))
        e.s.remember(key, base)


def _listed(op: str, name: str, lane: int) -> str:
    return f"{op} {LIST_OPEN}{{0}}.{name}{LIST_CLOSE}[{lane}], [{{1}}]"


def runs(elements: list[Linear], *, repeats: bool) -> list[tuple[int, int]]:
    """Where lanes lie side by side: (first, length), lengths powers of two that divide `first`."""
    starts = []
    at = 0
    while at < len(elements):
        length = 1
        while at + length < len(elements):
            step = elements[at + length] - elements[at]
            if not step.is_constant or step.constant != length:
                break
            length += 1
        run = 1
        while run * 2 <= length and (at == 0 or at % (run * 2) == 0):
            run *= 2
        starts.append((at, run))
        at += run
    return starts


def from_registers(e: Emission, home: InRegisters, at: At) -> Lanes:
    """A chunk of a tile in registers; where it begins is known by then."""
    base = at.base
    if home.origin:
        base = tuple(b - o for b, o in zip(base, home.origin, strict=True))
    assert all(b.is_constant for b in base), "tiles in registers are read at known places"
    wanted = [
        home.places[tuple(b.constant + d for b, d in zip(base, lane, strict=True))]
        for lane in at.lanes
    ]
    per = home.form.lanes
    regs = tuple(
        gather_register(e, home.form, wanted[i : i + per]) for i in range(0, len(wanted), per)
    )
    return Lanes(regs, home.form, at.count)


def gather_register(e: Emission, form: Format, wanted: list[tuple[Reg, int]]) -> Reg:
    """A register whose lanes are these lanes of others: as it is, by halves, or lane by lane."""
    first, lane = wanted[0]
    if lane == 0 and all(p == (first, i) for i, p in enumerate(wanted)):
        return first
    half = form.lanes // 2
    if len(wanted) == form.lanes and form.lanes >= 4:
        halves = [wanted[:half], wanted[half:]]
        if all(_is_half(h, half) for h in halves):
            (a, i), (b, j) = halves[0][0], halves[1][0]
            if i == 0 and j == 0:
                return e.s.v("zip1 {0}.2d, {1}.2d, {2}.2d", a, b)
            if i and j:
                return e.s.v("zip2 {0}.2d, {1}.2d, {2}.2d", a, b)
            if i and not j:
                return e.s.v("ext {0}.16b, {1}.16b, {2}.16b, #8", a, b)
            return e.s.onto("mov {0}.d[1], {1}.d[1]", e.s.copy(a), b)
    name = {8: "b", 16: "h", 32: "s", 64: "d"}[form.bits]
    if len(set(wanted)) == 1:
        return e.s.v(f"dup {{0}}.{form.arrangement}, {{1}}.{name}[{lane}]", first)
    out = e.s.v(f"dup {{0}}.{form.arrangement}, {{1}}.{name}[{lane}]", first)
    for to, (reg, source) in enumerate(wanted[1:], 1):
        e.s.onto(f"mov {{0}}.{name}[{to}], {{1}}.{name}[{source}]", out, reg)
    return out


def _is_half(part: list[tuple[Reg, int]], half: int) -> bool:
    reg, lane = part[0]
    return lane in (0, half) and all(p == (reg, lane + i) for i, p in enumerate(part))


def to_general(e: Emission, lanes: Lanes, dtype: DType) -> Reg:
    """The first lane as an integer, extended as the dtype says; of a mask 0 or 1."""
    reg, bits = lanes.regs[0], lanes.format.bits
    name = {8: "b", 16: "h", 32: "s", 64: "d"}[bits]
    if lanes.format.kind == "m":
        raw = e.s.x(f"umov {{0:w}}, {{1}}.{name}[0]" if bits < 64 else "umov {0}, {1}.d[0]", reg)
        return e.s.x("and {0}, {1}, #1", raw)
    if bits == 64:
        return e.s.x("umov {0}, {1}.d[0]", reg)
    if dtype.kind is Kind.INT:
        return e.s.x(f"smov {{0}}, {{1}}.{name}[0]", reg)
    return e.s.x(f"umov {{0:w}}, {{1}}.{name}[0]", reg)


def splat_general(e: Emission, reg: Reg, form: Format, count: int) -> Lanes:
    """An integer in every lane."""
    name = "x" if form.bits == 64 else "w"
    out = e.s.v(f"dup {{0}}.{form.arrangement}, {{1:{name}}}", reg)
    return Lanes((out,) * -(-count // form.lanes), form, count)
