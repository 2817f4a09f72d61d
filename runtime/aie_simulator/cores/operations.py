"""The operations of cores in NumPy: a table from names to Python expressions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.compiler.mlir import FLOAT_PREDICATES, Dense, Number
from dslc.runtime.aie_simulator.cores import accesses, vectors
from dslc.runtime.aie_simulator.cores.element_types import FEW, dtype_of, refuse
from dslc.runtime.aie_simulator.cores.fused import fused
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import View
from dslc.runtime.aie_simulator.reader import Operation
from dslc.runtime.elements import extension_dtype

Line = Callable[[str], None]
Resolve = Callable[[str], str]


def round_bf16(x: Any) -> Any:
    """To nearest even, in an f32."""
    rounded = np.asarray(x, np.float32).astype(extension_dtype("bf16")).astype(np.float32)
    return rounded if rounded.ndim else np.float32(rounded)


def _erf(x: Any) -> Any:
    result = np.vectorize(math.erf, otypes=[np.float32])(x)
    return result if np.ndim(x) else np.float32(result)


def _wrapped(x: Any, dtype: Any) -> Any:
    wrapped = np.asarray(x).astype(np.int64).astype(dtype)
    return wrapped if wrapped.ndim else dtype(wrapped)


def _unsigned(x: Any) -> Any:
    """The same bits as an unsigned number."""
    dtype = np.asarray(x).dtype
    if dtype == np.bool_:
        return np.asarray(x).astype(np.uint8)
    return np.asarray(x).view(np.dtype(f"u{dtype.itemsize}"))


def _codes(x: Any, bits: int) -> Any:
    """Numbers of few bits from bytes, with their sign."""
    flat = np.unpackbits(np.asarray(x).view(np.uint8), bitorder="little").reshape(-1, bits)
    values = flat.astype(np.int16) @ (1 << np.arange(bits, dtype=np.int16))
    return (values - (flat[:, -1].astype(np.int16) << bits)).astype(np.int8)


def _truncated(x: Any, y: Any) -> Any:
    """The quotient of integers towards zero."""
    quotient = np.abs(np.int64(x)) // np.abs(np.int64(y))
    return np.where((np.int64(x) < 0) == (np.int64(y) < 0), quotient, -quotient)[()]


def _floor_divided(x: int, y: int) -> int:
    """The quotient of indices towards minus infinity; by 0, which MLIR leaves open, 0."""
    return x // y if y else 0


def _remainder(x: int, y: int) -> int:
    """What `_floor_divided` leaves."""
    return x % y if y else 0


def _cast_float(x: Any, dtype: Any) -> Any:
    whole = np.trunc(x).astype(np.int64).astype(dtype)
    return whole if np.ndim(whole) else dtype(whole)


def block_floating(x: Any, axis: int) -> Any:
    """Blocks of 8 along an axis with one exponent, each element 8 bits: what AIE2P multiplies bf16 as.

    Numbers are rounded to multiples of the greatest one's power of two over 64 (bfp16ebs8).
    """
    shape = list(x.shape)
    whole = -(-shape[axis] // 8) * 8
    padded = np.zeros((*shape[:axis], whole, *shape[axis + 1 :]), np.float32)
    padded[tuple(slice(n) for n in shape)] = x
    blocks = np.moveaxis(padded, axis, -1).reshape(-1, 8)
    _, exponents = np.frexp(np.abs(blocks).max(1, keepdims=True))
    unit = np.ldexp(np.float32(1), exponents - 7)
    rounded = np.clip(np.rint(blocks / unit), -127, 127) * unit
    moved = np.moveaxis(padded, axis, -1).shape
    found = np.moveaxis(rounded.reshape(moved), -1, axis)
    return found[tuple(slice(n) for n in shape)].astype(np.float32)


def as_bf16(x: Any, _: int) -> Any:
    """Operands as they are."""
    return x


NAMES: dict[str, Any] = {
    "padded": accesses.padded,
    "cut": accesses.cut,
    "np": np,
    "R": round_bf16,
    "W": _wrapped,
    "U": _unsigned,
    "erf": _erf,
    "F": _cast_float,
    "nan": np.float32("nan"),
    "inf": np.float32("inf"),
    "View": View,
    "codes": _codes,
    "at": accesses.flat_index,
    "inserted": vectors.inserted,
    "fused": fused,
    "D": _truncated,
    "floored": _floor_divided,
    "left": _remainder,
}
_FLOAT = {
    "addf": "{0} + {1}",
    "subf": "{0} - {1}",
    "mulf": "{0} * {1}",
    "divf": "{0} / {1}",
    "minimumf": "np.minimum({0}, {1})",
    "maximumf": "np.maximum({0}, {1})",
    "minnumf": "np.fmin({0}, {1})",
    "maxnumf": "np.fmax({0}, {1})",
    "remf": "np.fmod({0}, {1})",
    "negf": "-{0}",
}
_INTEGER = {
    "addi": "{0} + {1}",
    "subi": "{0} - {1}",
    "muli": "{0} * {1}",
    "andi": "{0} & {1}",
    "ori": "{0} | {1}",
    "xori": "{0} ^ {1}",
    "shli": "{0} << {1}",
    "shrsi": "{0} >> {1}",
    "minsi": "np.minimum({0}, {1})",
    "maxsi": "np.maximum({0}, {1})",
    "floordivsi": "{0} // {1}",
    "divsi": "D({0}, {1})",
    "remsi": "np.fmod({0}, {1})",
    "ceildivsi": "-(-{0} // {1})",
    "divui": "U({0}) // U({1})",
    "remui": "U({0}) % U({1})",
    "shrui": "U({0}) >> U({1})",
    "minui": "np.minimum(U({0}), U({1}))",
    "maxui": "np.maximum(U({0}), U({1}))",
}
_INDEX = {
    "shrui": "{0} >> {1}",
    "divui": "floored({0}, {1})",
    "remui": "left({0}, {1})",
    "floordivsi": "floored({0}, {1})",
    "ceildivsi": "-floored(-{0}, {1})",
    "divsi": "int(D({0}, {1}))",
    "remsi": "int(np.fmod({0}, {1}))",
    "minsi": "min({0}, {1})",
    "maxsi": "max({0}, {1})",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MATH = {
    "exp": "np.exp",
    "exp2": "np.exp2",
    "log": "np.log",
    "log2": "np.log2",
    "sqrt": "np.sqrt",
    "sin": "np.sin",
    "cos": "np.cos",
    "tanh": "np.tanh",
    "erf": "erf",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "roundeven": "np.round",
    "absf": "np.abs",
    "absi": "np.abs",
}


def translate(line: Line, op: Operation, resolve: Resolve) -> None:
    """The Python line of an operation; AieFault for one that has none."""
    dialect, _, word = op.name.partition(".")
    family = _FAMILIES.get(op.name) or _FAMILIES.get(dialect)
    if family is None:
        raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)
    text = family(op, word, resolve)
    if op.results:
        (result,) = op.results
        line(f"{resolve(result)} = {text}")
    elif text:
        line(text)


def _arith(op: Operation, word: str, resolve: Resolve) -> str:
    if word == "constant":
        return _constant(op)
    operands = [resolve(x) for x in op.operands]
    kind = op.type
    if word in ("cmpf", "cmpi"):
        return _compare(op, word, operands)
    if word == "select":
        c, x, y = operands
        return f"np.where({c}, {x}, {y})" if kind.kind == "vector" else f"({x} if {c} else {y})"
    if word in _CONVERSIONS:
        return _convert(op, word, operands[0])
    element = kind.element
    if word in _FLOAT:
        text = _FLOAT[word].format(*operands)
        return f"R({text})" if element == "bf16" and word != "negf" else text
    if word not in _INTEGER:
        refuse(op)
    if element == "index":
        return _INDEX.get(word, _INTEGER[word]).format(*operands)
    if element == "i1":
        return _INTEGER[word].format(*operands)
    return f"W({_INTEGER[word].format(*operands)}, {dtype_of(kind, op)})"


# True of NaN as well: the opposite does not hold.
_UNORDERED = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}
_CONVERSIONS = (
    "extf",
    "truncf",
    "index_cast",
    "index_castui",
    "uitofp",
    "sitofp",
    "fptosi",
    "fptoui",
    "trunci",
    "extsi",
    "extui",
    "bitcast",
)


def _compare(op: Operation, word: str, operands: list[str]) -> str:
    predicate = _predicate(op, word)
    x, y = operands
    if word == "cmpf":
        if predicate == "ord":
            return f"({x} == {x}) & ({y} == {y})"
        if predicate == "uno":
            return f"({x} != {x}) | ({y} != {y})"
        if predicate in _UNORDERED:
            return f"np.logical_not({x} {_UNORDERED[predicate]} {y})"
        if predicate[0] != "o" and predicate != "une":
            raise AieFault("operation", f"arith.cmpf {predicate}", line=op.line)
        return f"({x} {_COMPARE[predicate[1:]]} {y})"
    if predicate in ("eq", "ne"):
        return f"({x} {_COMPARE[predicate]} {y})"
    if predicate[1:] not in _COMPARE:
        raise AieFault("operation", f"arith.cmpi {predicate}", line=op.line)
    if predicate[0] == "u" and op.types[0].element != "index":
        x, y = f"U({x})", f"U({y})"
    return f"({x} {_COMPARE[predicate[1:]]} {y})"


def _predicate(op: Operation, word: str) -> str:
    predicate = op.attributes.get("predicate")
    if word == "cmpf" and isinstance(predicate, Number):
        return FLOAT_PREDICATES[int(predicate.value)]
    return op.text("predicate")


def _convert(op: Operation, word: str, x: str) -> str:
    (source,), target = op.types, op.type
    before, after, shape = source.element, target.element, target.shape
    dtype = dtype_of(target, op)
    match word:
        case "extf":
            return x
        case "truncf":
            return f"R({x})"
        case "index_cast" | "index_castui":
            return f"int({x})" if after == "index" else f"W({x}, {dtype})"
        case "uitofp" | "sitofp":
            value = f"U({x})" if word == "uitofp" else x
            text = f"np.asarray({value}).astype(np.float32)" if shape else f"np.float32({value})"
            return f"R({text})" if after == "bf16" else text
        case "fptosi" | "fptoui":
            return f"F({x}, {dtype})"
        case "trunci" if after == "i1":
            return f"(({x}) & 1).astype(np.bool_)" if shape else f"bool({x} & 1)"
        case "trunci" | "extsi":
            return f"W({x}, {dtype})"
        case "extui" if before in FEW:
            return f"W(U({x}) & {FEW[before]}, {dtype})"
        case "extui":
            return f"W(U({x}), {dtype})"
        case _ if "bf16" in (before, after):  # kept as f32
            if {before, after} != {"bf16", "i16"}:
                raise AieFault("operation", f"{op.name} from {before} to {after}", line=op.line)
            up = f"(np.asarray({x}).astype(np.int32) << 16).view(np.float32)"
            down = f"(np.asarray({x}, np.float32).view(np.int32) >> 16).astype(np.int16)"
            return f"{down if before == 'bf16' else up}{'' if shape else '[()]'}"
    return f"np.asarray({x}).view({dtype})" if shape else f"np.asarray({x}).view({dtype})[()]"


def _constant(op: Operation) -> str:
    value, kind = op.attributes["value"], op.type
    dtype = dtype_of(kind, op)
    if isinstance(value, Dense):
        numbers = [number_text(v, kind.element, op) for v in value.values]
        if value.splat:
            return f"np.full({kind.shape}, {numbers[0]}, {dtype})"
        return f"np.array([{', '.join(numbers)}], {dtype}).reshape({kind.shape})"
    number = value.value if isinstance(value, Number) else value
    return f"{dtype}({number_text(number, kind.element, op)})"


def number_text(value: Any, element: str, op: Operation) -> str:
    """An element of a constant as Python; floats may be written by their bits."""
    if isinstance(value, str):
        value = int(value, 16)
    if isinstance(value, bool) or not isinstance(value, int) or element not in ("f32", "bf16"):
        return repr(value)
    if value == 0:
        return "0"
    (number,) = struct.unpack("<f", struct.pack("<I", value << (16 if element == "bf16" else 0)))
    return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(repr(number), repr(number))


def _math(op: Operation, word: str, resolve: Resolve) -> str:
    operands = [resolve(x) for x in op.operands]
    if word == "fma":
        text = f"fused({', '.join(operands)})"
    elif word == "rsqrt":
        text = f"np.float32(1) / np.sqrt({operands[0]})"
    elif word == "powf":
        text = f"np.power({operands[0]}, {operands[1]})"
    elif word in _MATH:
        text = f"{_MATH[word]}({operands[0]})"
    else:
        refuse(op)
    return f"R({text})" if op.type.element == "bf16" else text


_FAMILIES: dict[str, Callable[[Operation, str, Resolve], str]] = {
    "arith": _arith,
    "math": _math,
    "vector": vectors.vector,
    "vector.load": accesses.load,
    "vector.store": accesses.store,
    "vector.transfer_read": accesses.transfer,
    "vector.transfer_write": accesses.transfer,
    "memref.load": accesses.load,
    "memref.store": accesses.store,
    "memref.view": accesses.view,
    "memref.assume_alignment": accesses.same_memory,
    "memref.cast": accesses.same_memory,
    "memref.collapse_shape": accesses.same_memory,
    "memref.expand_shape": accesses.same_memory,
}
