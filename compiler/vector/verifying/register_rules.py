"""What an instruction between registers keeps to; each rule gives the first fault: code and message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dslc.compiler.dtypes import BOOL, U8, DType
from dslc.compiler.ir.expr import COMPARE_OPS
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.types import Type, VectorType, is_index

Fail: TypeAlias = tuple[str, str]
Rule: TypeAlias = Callable[[Any], Fail | None]

_OF_FLOATS = {
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "div",
    "trunc",
}
_OF_INTEGERS = {"shl", "shr", "invert"}
_OF_BITS = {"and", "or", "xor"}


def dtypes(message: str) -> Fail:
    """A dtype that does not fit."""
    return "DSL0413", message


def lanes(message: str) -> Fail:
    """Lanes that do not fit."""
    return "DSL0412", message


def attribute(message: str) -> Fail:
    """An attribute out of its range."""
    return "DSL0416", message


def same(what: str, *types: Type) -> Fail | None:
    """All of one type."""
    if len(set(types)) > 1:
        return dtypes(f"{what} have one type, not {' and '.join(map(str, types))}")
    return None


def computes(op: str, dtype: DType) -> Fail | None:
    """Whether an operation of tiles or of machines is one of the dtype."""
    if dtype == BOOL:
        fits = op in _OF_BITS or op in ("not", "eq", "ne", "min", "max")
    elif op in _OF_FLOATS:
        fits = dtype.is_float
    elif op == "scale":
        fits = dtype.is_float and dtype.bits >= 32
    elif op == "multishift":
        fits = dtype == U8
    elif op in ins.MACHINE_OPS:
        fits = dtype.is_integer and dtype.bits >= 8
    elif op in _OF_INTEGERS or op in _OF_BITS:
        fits = dtype.is_integer
    else:
        fits = op != "not"
    return None if fits else dtypes(f"{op} is no operation of {dtype}")


def _unary(i: ins.Unary) -> Fail | None:
    if i.op not in ins.UNARY_OPS:
        return attribute(f"there is no unary operation {i.op}")
    return same("x and the result", i.x.type, i.out.type) or _computes(i.op, i.x.type)


def _computes(op: str, type_: Type) -> Fail | None:
    if not isinstance(type_, VectorType):
        return dtypes(f"{op} is no operation of pointers")
    return computes(op, type_.dtype)


def _binary(i: ins.Binary) -> Fail | None:
    if i.op not in ins.BINARY_OPS:
        return attribute(f"there is no binary operation {i.op}")
    failed = same("x and y", i.x.type, i.y.type) or _computes(i.op, i.x.type)
    if failed or not isinstance(i.x.type, VectorType):
        return failed
    if i.op == "multishift" and i.x.type.count % 8:
        return lanes("multishift is of eight lanes and eight")
    wanted = i.x.type.of(BOOL) if i.op in COMPARE_OPS else i.x.type
    return same(f"{i.op} and its result", wanted, i.out.type)


def _fma(i: ins.Fma) -> Fail | None:
    return same("x, y, z and the result", i.x.type, i.y.type, i.z.type, i.out.type) or _computes(
        "mul", i.x.type
    )


def _select(i: ins.Select) -> Fail | None:
    failed = same("x, y and the result", i.x.type, i.y.type, i.out.type)
    condition = i.condition.type
    if failed or condition == VectorType(BOOL):
        return failed
    if isinstance(i.x.type, VectorType) and condition == i.x.type.of(BOOL):
        return None
    return lanes(f"the condition is bool or has a bool for each lane of x, not {condition}")


def _convert(i: ins.Convert) -> Fail | None:
    failed = _same_lanes(i.x.type, i.out.type)
    if failed or not i.in_range:
        return failed
    assert isinstance(i.x.type, VectorType)
    assert isinstance(i.out.type, VectorType)
    if not (i.x.type.dtype.is_float and i.out.type.dtype.is_integer):
        return attribute("in_range is of floats that become integers")
    return None


def _nearest(i: ins.Nearest) -> Fail | None:
    failed = _same_lanes(i.x.type, i.out.type)
    if failed:
        return failed
    assert isinstance(i.x.type, VectorType)
    assert isinstance(i.out.type, VectorType)
    if not (i.x.type.dtype.is_float and i.out.type.dtype.is_integer):
        return dtypes("nearest makes integers of floats")
    return None


def _same_lanes(x: Type, y: Type) -> Fail | None:
    if not (isinstance(x, VectorType) and isinstance(y, VectorType)):
        return dtypes("no operation of pointers")
    return None if x.lanes == y.lanes else lanes(f"the lanes of {x} and {y} differ")


def _bitcast(i: ins.Bitcast) -> Fail | None:
    x, out = i.x.type, i.out.type
    if not (isinstance(x, VectorType) and isinstance(out, VectorType)):
        return dtypes("a pointer's bits are its own")
    if (x.dtype == BOOL) != (out.dtype == BOOL):
        return dtypes("a mask's bits are its own")
    if x.count * x.dtype.bits != out.count * out.dtype.bits:
        return lanes(f"{x} and {out} differ in their bits")
    if x.dtype.bits != out.dtype.bits and min(x.dtype.bits, out.dtype.bits) < 8 and x.dtype != U8:
        return dtypes(f"codes of fewer than 8 bits stay lanes or come of bytes: {x}, {out}")
    return None


def _broadcast(i: ins.Broadcast) -> Fail | None:
    out = i.out.type
    if not isinstance(out, VectorType) or out.lanes is None:
        return lanes("the result is a vector")
    return same("a broadcast and its lanes", i.x.type, out.by(None))


def _shuffle(i: ins.Shuffle) -> Fail | None:
    x, out = i.x.type, i.out.type
    if not (isinstance(x, VectorType) and isinstance(out, VectorType) and x.lanes and out.lanes):
        return lanes("a shuffle is of vectors")
    y = x if i.y is None else i.y.type
    if not isinstance(y, VectorType) or not x.dtype == y.dtype == out.dtype or not y.lanes:
        return dtypes(f"x, y and the result are vectors of one dtype, not {x}, {y}, {out}")
    count = x.count + (0 if i.y is None else y.count)
    if len(i.indices) != out.count or not all(0 <= at < count for at in i.indices):
        return attribute(f"{out.count} indices from 0 to {count - 1}, one a lane of the result")
    return None


def _permute(i: ins.Permute) -> Fail | None:
    table, at, out = i.table.type, i.index.type, i.out.type
    for type_ in (table, at, out):
        if not isinstance(type_, VectorType) or type_.lanes is None:
            return lanes("table, index and result are vectors")
    assert isinstance(table, VectorType)
    assert isinstance(at, VectorType)
    if not at.dtype.is_integer:
        return dtypes(f"index is of integers, not of {at.dtype}")
    if table.count & (table.count - 1):
        return lanes(f"the table's lanes are a power of two, not {table.count}")
    return same("a permutation and its result", at.of(table.dtype), out)


def _extract(i: ins.Extract) -> Fail | None:
    return _lane(i.x.type, i.lane.type) or same(
        "a lane and the result", _scalar(i.x.type), i.out.type
    )


def _insert(i: ins.Insert) -> Fail | None:
    return (
        _lane(i.x.type, i.lane.type)
        or same("a lane and the value", _scalar(i.x.type), i.value.type)
        or same("x and the result", i.x.type, i.out.type)
    )


def _lane(x: Type, lane: Type) -> Fail | None:
    if not isinstance(x, VectorType) or x.lanes is None:
        return lanes("x is a vector")
    return None if is_index(lane) else dtypes(f"a lane is named by an index, not by {lane}")


def _scalar(type_: Type) -> Type:
    return type_.by(None) if isinstance(type_, VectorType) else type_


def _reduce(i: ins.Reduce) -> Fail | None:
    if i.op not in ins.REDUCE_OPS:
        return attribute(f"there is no reduction {i.op}")
    if not isinstance(i.x.type, VectorType) or i.x.type.lanes is None:
        return lanes("x is a vector")
    failed = computes(i.op, i.x.type.dtype)
    return failed or same("a lane and the result", _scalar(i.x.type), i.out.type)


def _dot(i: ins.Dot) -> Fail | None:
    atom = ATOMS.get(i.atom)
    if atom is None:
        return attribute(f"there is no atom {i.atom}")
    if atom.accumulates != (i.acc is not None):
        return attribute(f"{i.atom} {'has an' if atom.accumulates else 'has no'} accumulator")
    a = i.a.type
    if not isinstance(a, VectorType) or a.count % (atom.m * atom.k):
        return lanes(f"a of {i.atom} is a vector of units of {atom.m * atom.k} lanes, not {a}")
    wanted = (
        VectorType(dtype, count)
        for dtype, count in zip(
            (atom.acc, atom.a, atom.b), atom.lanes(a.count // (atom.m * atom.k)), strict=True
        )
    )
    acc, first, second = wanted
    return (
        same(f"{i.atom} and a", first, a)
        or same(f"{i.atom} and b", second, i.b.type)
        or same(f"{i.atom} and its result", acc, i.out.type)
        or (None if i.acc is None else same(f"{i.atom} and acc", acc, i.acc.type))
    )


REGISTER_RULES: Mapping[type[Any], Rule] = {
    ins.Unary: _unary,
    ins.Binary: _binary,
    ins.Fma: _fma,
    ins.Select: _select,
    ins.Convert: _convert,
    ins.Nearest: _nearest,
    ins.Bitcast: _bitcast,
    ins.Broadcast: _broadcast,
    ins.Shuffle: _shuffle,
    ins.Permute: _permute,
    ins.Extract: _extract,
    ins.Insert: _insert,
    ins.Reduce: _reduce,
    ins.Dot: _dot,
}
