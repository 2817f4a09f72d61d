"""Floats of 8 bits as operands: as they are where the tensor engine has the type, else as bf16.

f8e5m2 is the machine's float8_e5m2. f8e4m3 has no infinities and reaches 448: that is float8_e4m3fn, of
NeuronCore-v4 alone; the float8_e4m3 of earlier ones ends at 240. Where the engine takes rows in pairs
(double_row), two chunks of 128 rows lie side by side in a tensor [128, 2, columns].
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dslc.codegen.nki.arithmetic.small_floats import decode
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import PARTITIONS, TileValue
from dslc.compiler.dtypes import BF16, DType
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import operands, walk
from dslc.compiler.targets.nki import Engines

_GREATEST = {"f8e5m2": 57344.0, "f8e4m3": 448.0}
_NAMES = {"f8e5m2": "float8_e5m2", "f8e4m3": "float8_e4m3fn"}


def multipliable(e: Emission, held: TileValue, of: DType) -> TileValue:
    """A tile of such a type as the tensor engine takes it; integers of 8 bits are exact in bf16."""
    if held.dtype.is_float and held.dtype.bits >= 16:
        return held
    if of.is_float:
        return _as_it_is(e, held, of) if of.name in e.engines.floats8 else decode(e, held, of, BF16)
    wide = e.like(held, held.name, BF16)
    copy(e, wide, held)
    return wide


def _as_it_is(e: Emission, held: TileValue, of: DType) -> TileValue:
    """The codes seen as the numbers that they are."""
    name, view = e.out.name("bits"), f"nl.{_NAMES[of.name]}"
    if held.chunks > 1:
        e.out.line(f"{name} = [t.view({view}) for t in {held.name}]")
    else:
        e.out.line(f"{name} = {held.name}.view({view})")
    return replace(held, name=name)


def round_to(e: Emission, made: TileValue, x: TileValue, dtype: DType, *, saturate: bool) -> None:
    """Fill a tile with the nearest numbers of such a type, beyond its range its own."""
    x = e.tensors(x) if x.constant is not None else x
    greatest = _GREATEST[dtype.name]
    with e.filled(made) as at:
        dst = f"{e.text(made, at)}.view(nl.{_NAMES[dtype.name]})"
        if saturate:
            e.call(
                "tensor_scalar",
                dst=dst,
                data=e.text(x, at),
                op0="nl.maximum",
                operand0=-greatest,
                op1="nl.minimum",
                operand1=greatest,
            )
        else:
            e.call("tensor_copy", dst=dst, src=e.text(x, at))


def paired(kernel: Kernel, engines: Engines) -> set[Value]:
    """The operands whose chunks lie in pairs: nothing but products reads them, which take both so."""
    stmts = list(walk(kernel.body))
    makers = {s.out for s in stmts if isinstance(s, ins.Load | ins.ConvertLayout)}
    dots = [s for s in stmts if isinstance(s, ins.Dot) and _takes_pairs(s, engines, makers)]
    multiplied = {v for dot in dots for v in (dot.a, dot.b)}
    while True:
        # One operand that lies otherwise, and the other does as well.
        alone = {v for s in stmts if s not in dots for v in operands(s) if v in multiplied}
        if not alone:
            return multiplied
        dots = [s for s in dots if s.a not in alone and s.b not in alone]
        multiplied = {v for dot in dots for v in (dot.a, dot.b)}


def _takes_pairs(dot: ins.Dot, engines: Engines, makers: Collection[Value]) -> bool:
    depth = dot.a.type.shape[-1]
    return (
        engines.pairs
        and dot.out.type.rank == 2
        and depth % (2 * PARTITIONS) == 0
        and all(v in makers and v.type.dtype.name in engines.floats8 for v in (dot.a, dot.b))
    )


def columns(e: Emission, held: TileValue, k: At, span: str) -> str:
    """An operand's columns at a step of k: a chunk, or a pair of them."""
    if held.paired:
        assert k.index is not None
        return f"{held.name}[{e.names[k.index]}][0:{PARTITIONS}, 0:2, {span}]"
    return f"{e.base(held, k)}[0:{k.rows}, {span}]"
