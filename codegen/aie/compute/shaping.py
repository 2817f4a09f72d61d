"""Instructions that only say which element stands where: computed by asking elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from dslc.codegen.aie.compute.arithmetic import splat
from dslc.codegen.aie.compute.emission import At, Emission, Flat, Rule, refuse
from dslc.codegen.aie.compute.indices import ZERO, Index
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import U8
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins


def _indices(at: At) -> tuple[Index, ...]:
    assert not isinstance(at, Flat), "only elementwise tiles are computed in the order of memory"
    return at


def _broadcast(e: Emission, stmt: ins.Broadcast, at: At, lanes: int) -> str:
    shape = stmt.x.type.shape
    own = _indices(at)[len(stmt.out.type.shape) - len(shape) :]
    place = tuple(ZERO if n == 1 else i for n, i in zip(shape, own, strict=True))
    if _stretches_last(stmt):
        return splat(e, e.pull(stmt.x, place, 1), element(stmt.x.type.dtype), lanes)
    return e.pull(stmt.x, place, lanes)


def _stretches_last(stmt: ins.Broadcast) -> bool:
    shape = stmt.x.type.shape
    return not shape or (shape[-1] == 1 and stmt.out.type.shape[-1] != 1)


def _broadcast_lanes(e: Emission, stmt: ins.Broadcast, lanes: int) -> bool:
    return _stretches_last(stmt) or e.has_lanes(stmt.x, lanes)


def _arange(e: Emission, stmt: ins.Arange, at: At, lanes: int) -> str:
    (position,) = _indices(at)
    base = e.out.op(f"arith.index_cast {e.out.index(position)} : index to i32", "at")
    if lanes == 1:
        return base
    kind = vector(lanes, "i32")
    steps = e.out.raw_constant(f"dense<[{', '.join(map(str, range(lanes)))}]>", kind)
    return e.out.op(f"arith.addi {splat(e, base, 'i32', lanes)}, {steps} : {kind}", "arange")


def units_only(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether two shapes differ by axes of one element alone."""
    return [n for n in before if n > 1] == [n for n in after if n > 1]


def _reshape(e: Emission, stmt: ins.Reshape, at: At, lanes: int) -> str:
    given = (i for i, n in zip(_indices(at), stmt.out.type.shape, strict=True) if n > 1)
    place = tuple(next(given) if n > 1 else ZERO for n in stmt.x.type.shape)
    return e.pull(stmt.x, place, lanes)


def _reshape_lanes(e: Emission, stmt: ins.Reshape, lanes: int) -> bool:
    same = stmt.x.type.shape[-1:] == stmt.out.type.shape[-1:]
    return same and e.has_lanes(stmt.x, lanes)


def _transpose(e: Emission, stmt: ins.Transpose, at: At, lanes: int) -> str:
    place = [ZERO] * len(stmt.axes)
    for axis, index in zip(stmt.axes, _indices(at), strict=True):
        place[axis] = index
    return e.pull(stmt.x, tuple(place), lanes)


def _transpose_lanes(e: Emission, stmt: ins.Transpose, lanes: int) -> bool:
    return stmt.axes[-1] == len(stmt.axes) - 1 and e.has_lanes(stmt.x, lanes)


def _extract(e: Emission, stmt: ins.Extract, at: At, lanes: int) -> str:
    given = iter(_indices(at))
    place = []
    for axis, (start, step) in enumerate(zip(stmt.starts, stmt.steps, strict=True)):
        index = ZERO if axis in stmt.dropped else next(given)
        place.append(index * step + start)
    return e.pull(stmt.x, tuple(place), lanes)


def _extract_lanes(e: Emission, stmt: ins.Extract, lanes: int) -> bool:
    last = len(stmt.starts) - 1
    along = stmt.steps[-1] == 1 and last not in stmt.dropped
    return along and stmt.starts[-1] % lanes == 0 and e.has_lanes(stmt.x, lanes)


def _repeat(e: Emission, stmt: ins.Repeat, at: At, lanes: int) -> str:
    place = list(_indices(at))
    place[stmt.axis], _ = e.divided(place[stmt.axis], stmt.times)
    if stmt.axis == len(place) - 1:
        return splat(e, e.pull(stmt.x, tuple(place), 1), element(stmt.x.type.dtype), lanes)
    return e.pull(stmt.x, tuple(place), lanes)


def _repeat_lanes(e: Emission, stmt: ins.Repeat, lanes: int) -> bool:
    if stmt.axis == len(stmt.out.type.shape) - 1:
        return stmt.times % lanes == 0
    return e.has_lanes(stmt.x, lanes)


def _view(e: Emission, stmt: ins.View, at: At, lanes: int) -> str:
    """Bits seen as another type: packed codes come out of their bytes, each into one of its own."""
    target, source = stmt.out.type.dtype, stmt.x.type.dtype
    if target.bits == source.bits:
        x = e.pull(stmt.x, at, lanes)
        before, after = (vector(lanes, element(d)) for d in (source, target))
        return (
            x if before == after else e.out.op(f"arith.bitcast {x} : {before} to {after}", "bits")
        )
    if not (target.is_low_bit and source == U8):
        raise refuse(stmt, f"a view of {source} as {target} has no code on an NPU")
    *outer, last = _indices(at)
    first, within = e.divided(last * target.bits, 8)
    if lanes == 1:
        return _code(e, stmt, (*outer, first), within)
    size = lanes * target.bits // 8
    x = e.pull(stmt.x, (*outer, first), size)
    if size == 1:
        x = e.out.op(f"vector.broadcast {x} : i8 to vector<1xi8>", "bytes")
    word = "extsi" if target.is_signed and target.is_integer else "extui"
    few, kind = vector(lanes, f"i{target.bits}"), vector(lanes, "i8")
    x = e.out.op(f"vector.bitcast {x} : vector<{size}xi8> to {few}", "codes")
    return e.out.op(f"arith.{word} {x} : {few} to {kind}", "codes")


def _code(e: Emission, stmt: ins.View, at: tuple[Index, ...], within: Index) -> str:
    """One code, which may reach into a second byte."""
    bits = stmt.out.type.dtype.bits
    signed = stmt.out.type.dtype.is_signed and stmt.out.type.dtype.is_integer
    word = e.out.op(f"arith.extui {e.pull(stmt.x, at, 1)} : i8 to i32", "word")
    if 8 % bits:
        *outer, first = at
        last = e.out.constant(stmt.x.type.shape[-1] - 1, "index")
        after = e.out.op(f"arith.minsi {e.out.index(first + 1)}, {last} : index", "after")
        upper = e.pull(stmt.x, (*outer, Index(((after, 1),))), 1)
        upper = e.out.op(f"arith.extui {upper} : i8 to i32", "upper")
        upper = e.out.op(f"arith.shli {upper}, {e.out.constant(8, 'i32')} : i32", "upper")
        word = e.out.op(f"arith.ori {word}, {upper} : i32", "word")
    places = e.out.op(f"arith.index_cast {e.out.index(within)} : index to i32", "places")
    word = e.out.op(f"arith.shrui {word}, {places} : i32", "word")
    if signed:
        up = e.out.constant(32 - bits, "i32")
        word = e.out.op(f"arith.shli {word}, {up} : i32", "word")
        word = e.out.op(f"arith.shrsi {word}, {up} : i32", "word")
    else:
        word = e.out.op(
            f"arith.andi {word}, {e.out.constant((1 << bits) - 1, 'i32')} : i32", "word"
        )
    return e.out.op(f"arith.trunci {word} : i32 to i8", "code")


def _view_lanes(e: Emission, stmt: ins.View, lanes: int) -> bool:
    bits, own = stmt.out.type.dtype.bits, stmt.x.type.dtype.bits
    return lanes * bits % own == 0 and e.has_lanes(stmt.x, lanes * bits // own)


def _rule(pull: Callable[..., str], lanes: Callable[..., bool]) -> Rule:
    def operands(stmt: ins.Stmt) -> tuple[Value, ...]:
        x = getattr(stmt, "x", None)
        return () if x is None else (x,)

    return Rule(pull, operands, lanes)


RULES: dict[type, Rule] = {
    ins.Broadcast: _rule(_broadcast, _broadcast_lanes),
    ins.Arange: _rule(_arange, lambda _e, _s, _n: True),
    ins.Reshape: _rule(_reshape, _reshape_lanes),
    ins.Transpose: _rule(_transpose, _transpose_lanes),
    ins.Extract: _rule(_extract, _extract_lanes),
    ins.Repeat: _rule(_repeat, _repeat_lanes),
    ins.View: _rule(_view, _view_lanes),
}
