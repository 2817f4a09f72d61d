"""The aie and aiex dialects in xDSL: a reader of emitted modules that is not their writer."""

from __future__ import annotations

from dslc.codegen.aie.dialect import (
    cascades,
    channels,
    dispatches,
    fifos,
    tiles,
    transfers,
    types,
    vectors,
)
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser

AIE = Dialect(
    "aie",
    [
        tiles.DeviceOp, tiles.TileOp, tiles.BufferOp, tiles.CoreOp, tiles.EndOp,
        tiles.RuntimeSequenceOp, fifos.ObjectFifoOp, fifos.LinkOp, fifos.AcquireOp,
        fifos.ReleaseOp, *channels.OPERATIONS, fifos.AccessOp,
        *cascades.OPERATIONS,
    ],
    [types.ObjectFifoType, types.SubviewType, types.LoopAttr],
)  # fmt: skip
AIEX = Dialect(
    "aiex",
    [
        transfers.DmaMemcpyNdOp,
        transfers.DmaWaitOp,
        dispatches.ConfigureOp,
        dispatches.RunOp,
    ],
)
_BY_LANE = {
    o.name: o
    for o in (
        vectors.SelectOp, vectors.CmpiOp, vectors.CmpfOp, vectors.ExtUIOp, vectors.ExtSIOp,
        vectors.TruncIOp, vectors.SIToFPOp, vectors.UIToFPOp, vectors.FPToSIOp, vectors.FPToUIOp,
    )
}  # fmt: skip
_ARITH = Dialect(
    "arith",
    [*(o for o in arith.Arith.operations if o.name not in _BY_LANE), *_BY_LANE.values()],
    list(arith.Arith.attributes),
)
_VECTOR = Dialect(
    "vector",
    [*vector.Vector.operations, vectors.ContractOp, vectors.ShapeCastOp, vectors.TransposeOp],
    list(vector.Vector.attributes),
)


def context() -> Context:
    """A context with the dialects of emitted modules."""
    known = Context()
    for dialect in (builtin.Builtin, func.Func, scf.Scf, math.Math, memref.MemRef):
        known.load_dialect(dialect)
    for dialect in (_ARITH, _VECTOR, AIE, AIEX):
        known.load_dialect(dialect)
    return known


def parse_module(text: str) -> ModuleOp:
    """The module of a text, verified; xDSL's ParseError or VerifyException where it is none."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module
