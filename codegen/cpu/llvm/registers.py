"""Instructions between registers as LLVM IR. Each gives the name of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dslc.codegen.cpu.llvm.types import scalar_type, suffix, type_text
from dslc.codegen.cpu.llvm.units import emit_dot, emit_permute, emit_scale
from dslc.codegen.cpu.llvm.writing import FunctionText
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType

_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_BINARY = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "lshift": "shl",
}
_SIGNED = {"quotient": ("sdiv", "udiv"), "remainder": ("srem", "urem"), "rshift": ("ashr", "lshr")}
_ROUNDINGS = {"floor": "floor", "ceil": "ceil", "round": "roundeven", "trunc": "trunc"}
_ORDERED = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def unsupported(stmt: Any) -> AssertionError:
    """What legalisation leaves for no printer."""
    return AssertionError(f"no legal instruction: {type(stmt).__name__} {getattr(stmt, 'op', '')}")


def _unary(f: FunctionText, i: ins.Unary) -> str:
    type_ = vector_type(i.x)
    text, x = type_text(type_), f.value(i.x)
    if type_.dtype.is_float:
        match i.op:
            case "neg":
                return f.emit(f"fneg {text} {x}")
            case "abs":
                return f.of("fabs", type_, i.x)
            case "sqrt":
                return f.of("sqrt", type_, i.x)
        if i.op in _ROUNDINGS:
            return f.of(_ROUNDINGS[i.op], type_, i.x)
        raise unsupported(i)
    match i.op:
        case "neg":
            zero = "zeroinitializer" if type_.lanes else "0"
            return f.emit(f"sub {text} {zero}, {x}")
        case "abs":
            return f.call(f"llvm.abs.{suffix(type_)}", text, f"{text} {x}", "i1 false")
        case "not":
            ones = "splat (i1 true)" if type_.lanes else "true"
            return f.emit(f"xor {text} {x}, {ones}")
    raise unsupported(i)


def _binary(f: FunctionText, i: ins.Binary) -> str:
    type_ = vector_type(i.x)
    dtype, text = type_.dtype, type_text(type_)
    x, y = f.value(i.x), f.value(i.y)
    if i.op in _ORDERED:
        return f.emit(f"{_comparison(i.op, dtype)} {text} {x}, {y}")
    if dtype.is_float:
        if i.op == "scale":
            return emit_scale(f, i)
        if i.op not in _FLOAT_BINARY:
            raise unsupported(i)
        return f.emit(f"{_FLOAT_BINARY[i.op]} {text} {x}, {y}")
    if i.op in ("min", "max"):
        return f.of(f"{'s' if dtype.is_signed else 'u'}{i.op}", type_, i.x, i.y)
    if i.op == "multishift":
        return f.call("llvm.x86.avx512.pmultishift.qb.512", text, f"{text} {y}", f"{text} {x}")
    if i.op == "mulhi":
        return _upper_half(f, type_, x, y)
    word = _BINARY.get(i.op) or _SIGNED.get(i.op, (None, None))[not dtype.is_signed]
    if word is None:
        raise unsupported(i)
    return f.emit(f"{word} {text} {x}, {y}")


def _comparison(op: str, dtype: DType) -> str:
    if dtype.is_float:
        return f"fcmp {_ORDERED[op]}"
    if op in ("eq", "ne"):
        return f"icmp {op}"
    return f"icmp {'s' if dtype.is_signed else 'u'}{op}"


def _upper_half(f: FunctionText, type_: VectorType, x: str, y: str) -> str:
    """By a product of twice the width, which instruction selection knows."""
    bits, text = type_.dtype.bits, type_text(type_)
    wide = f"i{2 * bits}" if type_.lanes is None else f"<{type_.lanes} x i{2 * bits}>"
    extend = "sext" if type_.dtype.is_signed else "zext"
    a, b = (f.emit(f"{extend} {text} {operand} to {wide}") for operand in (x, y))
    product = f.emit(f"mul {wide} {a}, {b}")
    amount = str(bits) if type_.lanes is None else f"splat (i{2 * bits} {bits})"
    return f.emit(f"trunc {wide} {f.emit(f'lshr {wide} {product}, {amount}')} to {text}")


def _fma(f: FunctionText, i: ins.Fma) -> str:
    return f.of("fma", i.x.type, i.x, i.y, i.z)


def _select(f: FunctionText, i: ins.Select) -> str:
    return f.emit(f"select {f.typed(i.condition)}, {f.typed(i.x)}, {f.typed(i.y)}")


def _convert(f: FunctionText, i: ins.Convert) -> str:
    src, dst = vector_type(i.x), vector_type(i.out)
    word = _conversion(src.dtype, dst.dtype)
    if word is None:
        return f.value(i.x)
    return f.emit(f"{word} {f.typed(i.x)} to {type_text(dst)}")


def _conversion(src: DType, dst: DType) -> str | None:
    """The instruction's word; None where the bits are the same."""
    if src.is_float and dst.is_float:
        return "fpext" if dst.bits > src.bits else "fptrunc"
    if src.is_float:
        return "fptosi" if dst.is_signed else "fptoui"
    if dst.is_float:
        return "sitofp" if src.is_signed else "uitofp"
    own, wanted = (1 if d == BOOL else d.bits for d in (src, dst))
    if own == wanted:
        return None
    if own > wanted:
        return "trunc"
    return "sext" if src.is_signed else "zext"


def _nearest(f: FunctionText, i: ins.Nearest) -> str:
    name = f"llvm.lrint.{suffix(i.out.type)}.{suffix(i.x.type)}"
    return f.call(name, type_text(i.out.type), f.typed(i.x))


def _bitcast(f: FunctionText, i: ins.Bitcast) -> str:
    src, dst = type_text(i.x.type), type_text(i.out.type)
    return f.value(i.x) if src == dst else f.emit(f"bitcast {f.typed(i.x)} to {dst}")


def broadcast(f: FunctionText, x: str, type_: VectorType) -> str:
    """A scalar in all lanes of a type."""
    text, scalar = type_text(type_), scalar_type(type_.dtype)
    first = f.emit(f"insertelement {text} poison, {scalar} {x}, i64 0")
    return f.emit(
        f"shufflevector {text} {first}, {text} poison, <{type_.lanes} x i32> zeroinitializer"
    )


def _broadcast(f: FunctionText, i: ins.Broadcast) -> str:
    return broadcast(f, f.value(i.x), vector_type(i.out))


def _shuffle(f: FunctionText, i: ins.Shuffle) -> str:
    x = vector_type(i.x)
    first, text = f.value(i.x), type_text(x)
    if i.y is None:
        return _shuffled(f, text, first, "poison", i.indices)
    y = vector_type(i.y)
    second, lanes = f.value(i.y), max(x.count, y.count)
    first, second = _padded(f, x, first, lanes), _padded(f, y, second, lanes)
    indices = [at if at < x.count else at - x.count + lanes for at in i.indices]
    return _shuffled(f, type_text(x.by(lanes)), first, second, indices)


def _padded(f: FunctionText, type_: VectorType, x: str, lanes: int) -> str:
    """The operand in as many lanes, the last of which are of no meaning."""
    if type_.count == lanes:
        return x
    indices = ", ".join(f"i32 {at if at < type_.count else 'poison'}" for at in range(lanes))
    text = type_text(type_)
    return f.emit(f"shufflevector {text} {x}, {text} poison, <{lanes} x i32> <{indices}>")


def _shuffled(f: FunctionText, text: str, x: str, y: str, indices: Any) -> str:
    chosen = ", ".join(f"i32 {at}" for at in indices)
    return f.emit(f"shufflevector {text} {x}, {text} {y}, <{len(indices)} x i32> <{chosen}>")


def _extract(f: FunctionText, i: ins.Extract) -> str:
    return f.emit(f"extractelement {f.typed(i.x)}, {f.typed(i.lane)}")


def _insert(f: FunctionText, i: ins.Insert) -> str:
    return f.emit(f"insertelement {f.typed(i.x)}, {f.typed(i.value)}, {f.typed(i.lane)}")


def _reduce(f: FunctionText, i: ins.Reduce) -> str:
    """Of masks alone: `and` or `or`."""
    if vector_type(i.x).dtype != BOOL or i.op not in ("and", "or"):
        raise unsupported(i)
    return f.call(f"llvm.vector.reduce.{i.op}.{suffix(i.x.type)}", "i1", f.typed(i.x))


REGISTER_EMITTERS: Mapping[type[Any], Callable[[FunctionText, Any], str]] = {
    ins.Unary: _unary,
    ins.Binary: _binary,
    ins.Fma: _fma,
    ins.Select: _select,
    ins.Convert: _convert,
    ins.Nearest: _nearest,
    ins.Bitcast: _bitcast,
    ins.Broadcast: _broadcast,
    ins.Shuffle: _shuffle,
    ins.Permute: emit_permute,
    ins.Extract: _extract,
    ins.Insert: _insert,
    ins.Reduce: _reduce,
    ins.Dot: emit_dot,
}
