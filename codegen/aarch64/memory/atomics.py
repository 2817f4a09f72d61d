"""Atomic updates, element by element, by exclusive loads and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import Format, Lanes
from dslc.codegen.aarch64.chunks.indirect import row
from dslc.codegen.aarch64.machine_code.blocks import Effect, Inst, Reg
from dslc.codegen.aarch64.memory.accesses import check as in_bounds
from dslc.codegen.aarch64.memory.nests import nest
from dslc.codegen.aarch64.memory.transfer import places, store_lanes, to_general
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.aarch64.statements import in_registers, scratch_for
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at, unproved
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def atomic_rmw(e: Emission, i: ins.AtomicRmw) -> None:
    """Integers and floats of 32 and 64 bits; what stood there before is 0 out of bounds."""
    dtype = i.x.type.dtype
    form = e.memories[i.region.memory].form
    if form.bits not in (32, 64):
        raise unsupported(f"atomic updates of {dtype}", i.loc, "use an i32 or f32 tensor")
    result = None if i.out is None else scratch_for(e, i.out)
    tiles = [v for v in (i.x, i.expected, *i.ids) if v is not None]

    def element(at: At) -> None:
        given = [e.pull(v, at).regs[0] for v in (i.x, i.expected) if v is not None]
        region, rest = row(e, i, at)
        where = region_at(region, rest)
        unsure = unproved(region, where, e.inside)
        end = e.s.label("updated")
        if result is not None:
            store_lanes(e, result, at, Lanes((e.s.splat(0, 8),), form, 1))
        if unsure:
            e.s.branch("cbz {0}, @", end, in_bounds(e, region, where, unsure))
        with e.branch():
            array = e.memories[region.memory]
            address = e.pointer(array, places(array, where)[0])
            old = _update(e, i.op, dtype, form, address, given, array.alias)
            if result is not None:
                lane = "s" if form.bits == 32 else "d"
                name = "w" if form.bits == 32 else "x"
                before = e.s.v(f"fmov {{0:{lane}}}, {{1:{name}}}", old)
                store_lanes(e, result, at, Lanes((before,), form, 1))
        e.s.put(end)

    nest(e, i.x.type.shape, 1, element, unroll=any(in_registers(e, v) for v in tiles))
    if i.out is not None and result is not None:
        e.settle(i.out, result)
    e.forget()


def _update(
    e: Emission, op: str, dtype: DType, form: Format, address: Reg, given: list[Reg], alias: object
) -> Reg:
    """What stood at an address that is updated by the first lanes of the operands."""
    s = e.s
    name, lane = ("w", "s") if form.bits == 32 else ("x", "d")
    numbers = [to_general(e, Lanes((reg,), form, 1), dtype) for reg in given]
    again, kept = s.label("again"), s.label("kept")
    s.put(again)
    old = s.general()
    s.load(f"ldaxr {{0:{name}}}, [{{1}}]", address, alias=alias, out=old)
    match op:
        case "exchange":
            new = numbers[0]
        case "cas":
            s.branch(f"cmp {{0:{name}}}, {{1:{name}}}\n\tb.ne @", kept, old, numbers[1])
            new = numbers[0]
        case _ if form.kind == "f":
            number = s.v(f"fmov {{0:{lane}}}, {{1:{name}}}", old)
            verb = {"add": "fadd", "max": "fmax", "min": "fmin"}[op]
            both = s.v(f"{verb} {{0:{lane}}}, {{1:{lane}}}, {{2:{lane}}}", number, given[0])
            new = s.x(f"fmov {{0:{name}}}, {{1:{lane}}}", both)
        case "add":
            new = s.x(f"add {{0:{name}}}, {{1:{name}}}, {{2:{name}}}", old, numbers[0])
        case _:
            taken = {"max": "gt", "min": "lt"} if dtype.is_signed else {"max": "hi", "min": "lo"}
            compared = f"cmp {{1:{name}}}, {{2:{name}}}"
            chosen = f"csel {{0:{name}}}, {{1:{name}}}, {{2:{name}}}, {taken[op]}"
            new = s.x(f"{compared}\n\t{chosen}", old, numbers[0])
    failed = s.general()
    # The status register must differ from the others: the branch keeps them.
    stored = f"stlxr {{0:w}}, {{1:{name}}}, [{{2}}]"
    s.put(Inst(stored, (failed, new, address), 1, effect=Effect.STORE, alias=alias))
    s.branch("cbnz {0:w}, @", again, failed, new, address)
    s.put(kept)
    return old


STATEMENTS = {ins.AtomicRmw: atomic_rmw}
