"""Constants and indices, by lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.formats import F16, SIGNED, Lanes, computed
from dslc.codegen.aarch64.memory.transfer import splat_general
from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, to_expr

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def full(e: Emission, i: ins.Full, at: At) -> Lanes:
    """One number in every lane."""
    dtype, known = i.out.type.dtype, constant(i.value)
    if dtype.name == "f16" and "fp16" in e.features and known is not None:
        half = e.s.literal(np.float16(known).tobytes() * 8)
        return Lanes((half,) * -(-at.count // 8), F16, at.count)
    if dtype.is_float:
        return floats.scalar(e, i.value, at.count)
    form = computed(dtype)
    if known is not None:
        value = -int(bool(known)) if dtype.kind is Kind.BOOL else int(known)
        reg = e.s.splat(value, form.bits)
        return Lanes((reg,) * -(-at.count // form.lanes), form, at.count)
    if dtype.kind is Kind.BOOL:
        return floats.mask_of(e, e.integer(i.value), form.bits, at.count)
    return splat_general(e, e.integer(i.value), form, at.count)


def arange(e: Emission, i: ins.Arange, at: At) -> Lanes:
    """0, 1, 2, ..."""
    return indices(e, at.base[0], tuple(lane[0] for lane in at.lanes))


def indices(e: Emission, base: Linear, distances: tuple[int, ...]) -> Lanes:
    """base + distance in each lane, as i32."""
    form, fixed = SIGNED[32], base.constant
    offsets = []
    for k in range(0, len(distances), 4):
        part = [d + fixed for d in distances[k : k + 4]]
        part += [part[-1]] * (4 - len(part))
        offsets.append(b"".join((d & 0xFFFFFFFF).to_bytes(4, "little") for d in part))
    known = Lanes(tuple(e.s.literal(o) for o in offsets), form, len(distances))
    if base.is_constant:
        return known
    variable = e.integer(to_expr(base + Linear(constant=-fixed)))
    start = splat_general(e, variable, form, len(distances))
    pairs = zip(start.regs, known.regs, strict=True)
    regs = tuple(e.s.v("add {0}.4s, {1}.4s, {2}.4s", a, b) for a, b in pairs)
    return Lanes(regs, form, len(distances))


PULLS = {ins.Full: full, ins.Arange: arange}
