"""Atomic updates, element by element, by exclusive loads and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks.conversions import number, rounded
from dslc.codegen.aarch64.chunks.formats import Format, Lanes
from dslc.codegen.aarch64.chunks.indirect import row
from dslc.codegen.aarch64.machine_code.blocks import Effect, Inst, Reg
from dslc.codegen.aarch64.memory.accesses import check as in_bounds
from dslc.codegen.aarch64.memory.nests import nest
from dslc.codegen.aarch64.memory.transfer import places, store_lanes
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.aarch64.statements import in_registers, scratch_for
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at, unproved
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def atomic_rmw(e: Emission, i: ins.AtomicRmw) -> None:
    """Elements of whole bytes; what stood there before is 0 out of bounds."""
    dtype = i.x.type.dtype
    form = e.memories[i.region.memory].form
    if dtype.bits < 8:
        raise unsupported(f"atomic updates of {dtype}", i.loc, "use an i32 tensor")
    result = None if i.out is None else scratch_for(e, i.out)
    tiles = [v for v in (i.x, i.expected, *i.ids) if v is not None]

    def element(at: At) -> None:
        given = [e.pull(v, at) for v in (i.x, i.expected) if v is not None]
        region, rest = row(e, i, at)
        where = region_at(region, rest)
        unsure = unproved(region, where, e.inside)
        end = e.s.label("updated")
        if result is not None:
            store_lanes(e, result, at, _one(e.s.splat(0, 8), form))
        if unsure:
            e.s.branch("cbz {0}, @", end, in_bounds(e, region, where, unsure))
        with e.branch():
            array = e.memories[region.memory]
            address = e.pointer(array, places(array, where)[0])
            old = _update(e, i, form, address, given, array.alias)
            if result is not None:
                store_lanes(e, result, at, _from_general(e, old, form))
        e.s.put(end)

    nest(e, i.x.type.shape, 1, element, unroll=any(in_registers(e, v) for v in tiles))
    if i.out is not None and result is not None:
        e.settle(i.out, result)
    e.forget()


def _update(
    e: Emission, i: ins.AtomicRmw, form: Format, address: Reg, given: list[Lanes], alias: object
) -> Reg:
    """The bits that stood at an address, which the first lanes of the operands update."""
    s = e.s
    size, name = {8: "b", 16: "h"}.get(form.bits, ""), "x" if form.bits == 64 else "w"
    bits = [_bits(e, x, form) for x in given]
    again, kept = s.label("again"), s.label("kept")
    s.put(again)
    old = s.general()
    s.load(f"ldaxr{size} {{0:{name}}}, [{{1}}]", address, alias=alias, out=old)
    if i.op == "cas":
        s.branch(f"cmp {{0:{name}}}, {{1:{name}}}\n\tb.ne @", kept, old, bits[1])
    exchanged = i.op in ("exchange", "cas")
    new = bits[0] if exchanged else _combined(e, i, old, given[0], bits[0], form)
    failed = s.general()
    # The status register must differ from the others: the branch keeps them.
    stored = f"stlxr{size} {{0:w}}, {{1:{name}}}, [{{2}}]"
    s.put(Inst(stored, (failed, new, address), 1, effect=Effect.STORE, alias=alias))
    s.branch("cbnz {0:w}, @", again, failed, new, address)
    s.put(kept)
    return old


def _combined(e: Emission, i: ins.AtomicRmw, old: Reg, x: Lanes, bits: Reg, form: Format) -> Reg:
    """The bits of the sum, the greater or the less of an element and the first lane of a chunk."""
    s, dtype = e.s, i.x.type.dtype
    name = "x" if form.bits == 64 else "w"
    if form.kind == "f":
        lane = "d" if form.bits == 64 else "s"
        there, y = number(e, _from_general(e, old, form), dtype), number(e, x, dtype)
        verb = {"add": "fadd", "max": "fmax", "min": "fmin"}[i.op]
        text = f"{verb} {{0:{lane}}}, {{1:{lane}}}, {{2:{lane}}}"
        result = s.v(text, there.regs[0], y.regs[0])
        return _bits(e, rounded(e, _one(result, there.format), dtype), form)
    if i.op == "add":
        return s.x(f"add {{0:{name}}}, {{1:{name}}}, {{2:{name}}}", old, bits)
    new, seen = bits, old
    if dtype.is_signed and form.bits < 32:  # bits are loaded without their sign
        extend = {8: "sxtb", 16: "sxth"}[form.bits]
        new, seen = (s.x(f"{extend} {{0:w}}, {{1:w}}", r) for r in (bits, old))
    taken = {"max": "gt", "min": "lt"} if dtype.is_signed else {"max": "hi", "min": "lo"}
    chosen = f"csel {{0:{name}}}, {{1:{name}}}, {{2:{name}}}, {taken[i.op]}"
    return s.x(f"cmp {{1:{name}}}, {{2:{name}}}\n\t{chosen}", seen, new)


def _one(reg: Reg, form: Format) -> Lanes:
    return Lanes((reg,), form, 1)


def _bits(e: Emission, x: Lanes, form: Format) -> Reg:
    """The bits of the first lane."""
    lane, name = {8: "b", 16: "h", 32: "s", 64: "d"}[form.bits], "x" if form.bits == 64 else "w"
    return e.s.x(f"umov {{0:{name}}}, {{1}}.{lane}[0]", x.regs[0])


def _from_general(e: Emission, bits: Reg, form: Format) -> Lanes:
    lane, name = ("d", "x") if form.bits == 64 else ("s", "w")
    return _one(e.s.v(f"fmov {{0:{lane}}}, {{1:{name}}}", bits), form)


STATEMENTS: dict[type, Any] = {ins.AtomicRmw: atomic_rmw}
