"""Loads of regions, with checks where an element may be out of bounds; `chunk_stores` has the stores.

A chunk that lies in bounds whole is read or written at once. Else its elements that do are copied
one by one between the tensor and the stack frame; nothing out of bounds is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.chunks.formats import Format, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Effect, Inst, Reg
from dslc.codegen.aarch64.memory.chunk_loads import load_lanes
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at, unproved
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import largest

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission
    from dslc.codegen.aarch64.places import Array

_SUFFIX = {8: "b", 16: "h", 32: "s", 64: "d"}


def load(e: Emission, i: ins.Load, at: At) -> Lanes:
    """A chunk of a region; `other`, or 0, where it is out of bounds."""
    where = region_at(i.region, at)
    array = e.memories[i.region.memory]
    dtype = i.out.type.dtype
    unsure = unproved(i.region, where, e.inside)
    if not unsure:
        return load_lanes(e, array, where, dtype)
    return _guarded_load(e, i, array, where, unsure)


def check(e: Emission, region: Region, where: At, unsure: list[int]) -> Reg:
    """1 where all of a chunk is in bounds on these axes, else 0."""
    total: Reg | None = None
    for k in unsure:
        least = min(lane[k] for lane in where.lanes)
        most = max(lane[k] for lane in where.lanes)
        first = to_expr(where.base[k] + Linear(constant=least))
        extent = region.extent(k)
        if region.axes[k].end is not None:
            extent = largest(extent, 0)
        # As unsigned numbers: what is negative is above every extent.
        lowest = e.integer(first)
        inside = e.s.x("cmp {1}, {2}\n\tcset {0}, lo", lowest, e.integer(extent))
        if most > least:
            last = e.integer(to_expr(where.base[k] + Linear(constant=most)))
            inside = e.s.x(
                "cmp {1}, #0\n\tccmp {2}, {3}, #0, ge\n\tcset {0}, lt",
                lowest,
                last,
                e.integer(extent),
            )
        total = inside if total is None else e.s.x("and {0}, {1}, {2}", total, inside)
    assert total is not None
    return total


def _guarded_load(e: Emission, i: ins.Load, array: Array, where: At, unsure: list[int]) -> Lanes:
    s = e.s
    dtype = i.out.type.dtype
    other = _other(e, i, where.count)
    slow, end = s.label("edge"), s.label("loaded")
    inside = check(e, i.region, where, unsure)
    s.branch("cbz {0}, @", slow, inside)
    with e.branch():
        loaded = load_lanes(e, array, where, dtype)
        out = Lanes(tuple(s.copy(r) for r in loaded.regs), loaded.format, loaded.count)
    s.jump(end)
    s.put(slow)
    with e.branch():
        frame = to_frame(e, other)
        for lane in range(where.count):
            one = single(where, lane)
            skip = s.label("skip")
            s.branch("cbz {0}, @", skip, check(e, i.region, one, unsure))
            with e.branch():
                code = load_lanes(e, array, one, dtype)
                frame_element(e, "str", code.regs[0], out.format, frame, lane, Effect.STORE)
            s.put(skip)
        for number, reg in enumerate(out.regs):
            _frame(e, "ldr", reg, frame + 16 * number, Effect.LOAD, frame)
    s.put(end)
    return out


def single(at: At, lane: int) -> At:
    """One lane of a chunk."""
    return At(at.base, (at.lanes[lane],))


def to_frame(e: Emission, lanes: Lanes) -> int:
    """The registers of a chunk in the stack frame; gives where."""
    frame = e.s.frame(16 * len(lanes.regs))
    for number, reg in enumerate(lanes.regs):
        _frame(e, "str", reg, frame + 16 * number, Effect.STORE, frame)
    return frame


def _frame(e: Emission, op: str, reg: Reg, at: int, effect: Effect, alias: int) -> None:
    loads = effect is Effect.LOAD
    text = f"{op} {{0:q}}, [sp, #{at}]"
    e.s.put(Inst(text, (reg,), int(loads), effect=effect, alias=("frame", alias)))


def frame_element(
    e: Emission, op: str, reg: Reg, form: Format, frame: int, lane: int, effect: Effect
) -> None:
    """Load or store (`ldr`, `str`) one lane of what stands in the frame."""
    at = frame + lane * form.bits // 8
    near = at < 4096 * form.bits // 8  # the reach of an offset within the instruction
    operands, where = ((reg,), f"#{at}") if near else ((reg, e.s.number(at)), "{1}")
    text = f"{op} {{0:{_SUFFIX[form.bits]}}}, [sp, {where}]"
    e.s.put(Inst(text, operands, int(effect is Effect.LOAD), effect=effect, alias=("frame", frame)))


def _other(e: Emission, i: ins.Load, count: int) -> Lanes:
    """What stands out of bounds, in the format of memory."""
    dtype = i.out.type.dtype
    form = e.memories[i.region.memory].form
    if i.other is None or simplify(i.other) in (ex.Const(0, i.other.dtype),):
        return Lanes((e.s.splat(0, 8),) * -(-count // form.lanes), form, count)
    if dtype.kind is Kind.BOOL:
        return floats.mask_of(e, e.integer(i.other), 8, count)
    return for_memory(e, floats.scalar(e, i.other, count), dtype)


PULLS: dict[type, Any] = {ins.Load: load}
