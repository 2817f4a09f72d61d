"""The operations of cores in NumPy: a table from names to Python expressions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from dslc.compiler.mlir import FLOAT_PREDICATES, Dense, Number, Type
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.cores.fused import fused
from dslc.runtime.aie_simulator.parts import View
from dslc.runtime.aie_simulator.reader import Operation
from dslc.runtime.elements import extension_dtype

Line = Callable[[str], None]
Resolve = Callable[[str], str]


def round_bf16(x: Any) -> Any:
    """To nearest even, in an f32."""
    found = np.asarray(x, np.float32).astype(extension_dtype("bf16")).astype(np.float32)
    return found if found.ndim else np.float32(found)


def _erf(x: Any) -> Any:
    found = np.vectorize(math.erf, otypes=[np.float32])(x)
    return found if np.ndim(x) else np.float32(found)


def _wrapped(x: Any, dtype: Any) -> Any:
    found = np.asarray(x).astype(np.int64).astype(dtype)
    return found if found.ndim else dtype(found)


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
    found = np.abs(np.int64(x)) // np.abs(np.int64(y))
    return np.where((np.int64(x) < 0) == (np.int64(y) < 0), found, -found)[()]


def _cast_float(x: Any, dtype: Any) -> Any:
    found = np.trunc(x).astype(np.int64).astype(dtype)
    return found if np.ndim(found) else dtype(found)


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
    "np": np, "R": round_bf16, "W": _wrapped, "U": _unsigned, "erf": _erf, "F": _cast_float,
    "nan": np.float32("nan"), "inf": np.float32("inf"), "View": View,
    "codes": _codes, "fused": fused, "D": _truncated,
}  # fmt: skip
_TYPES = {"i8": "np.int8", "i16": "np.int16", "i32": "np.int32", "i64": "np.int64", "f32": "np.float32",
          "bf16": "np.float32", "i1": "np.bool_", "index": "int"}  # fmt: skip
_FEW = {f"i{bits}": (1 << bits) - 1 for bits in range(1, 8)}
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
_INTEGER = {"addi": "{0} + {1}", "subi": "{0} - {1}", "muli": "{0} * {1}", "andi": "{0} & {1}",
            "ori": "{0} | {1}", "xori": "{0} ^ {1}", "shli": "{0} << {1}", "shrsi": "{0} >> {1}",
            "minsi": "np.minimum({0}, {1})", "maxsi": "np.maximum({0}, {1})",
            "floordivsi": "{0} // {1}", "divsi": "D({0}, {1})", "remsi": "np.fmod({0}, {1})", "ceildivsi": "-(-{0} // {1})",
            "divui": "U({0}) // U({1})", "remui": "U({0}) % U({1})", "shrui": "U({0}) >> U({1})",
            "minui": "np.minimum(U({0}), U({1}))", "maxui": "np.maximum(U({0}), U({1}))"}  # fmt: skip
_INDEX = {
    "shrui": "{0} >> {1}",
    "divui": "{0} // {1}",
    "remui": "{0} % {1}",
    "divsi": "int(D({0}, {1}))",
    "remsi": "int(np.fmod({0}, {1}))",
    "minsi": "min({0}, {1})",
    "maxsi": "max({0}, {1})",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MATH = {"exp": "np.exp", "exp2": "np.exp2", "log": "np.log", "log2": "np.log2", "sqrt": "np.sqrt",
         "sin": "np.sin", "cos": "np.cos", "tanh": "np.tanh", "erf": "erf", "floor": "np.floor",
         "ceil": "np.ceil", "roundeven": "np.round", "absf": "np.abs", "absi": "np.abs"}  # fmt: skip
_REDUCE = {"add": "{0}.sum(dtype={0}.dtype)", "maximumf": "np.max({0})", "minimumf": "np.min({0})",
           "maxsi": "np.max({0})", "minsi": "np.min({0})", "or": "np.any({0})", "and": "np.all({0})",
           "maxui": "np.max(U({0})).astype({0}.dtype)",
           "minui": "np.min(U({0})).astype({0}.dtype)"}  # fmt: skip


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


def _refuse(op: Operation) -> NoReturn:
    raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)


def _dtype(kind: Type, op: Operation) -> str:
    if kind.element not in _TYPES:
        raise AieFault("operation", f"{op.name} of {kind}", line=op.line)
    return _TYPES[kind.element]


def _arith(op: Operation, word: str, resolve: Resolve) -> str:
    if word == "constant":
        return _constant(op)
    operands = [resolve(x) for x in op.operands]
    kind = op.type
    if word in ("cmpf", "cmpi"):
        return _compare(op, word, operands)
    if word == "select":
        c, x, y = operands
        return f"np.where({c}, {x}, {y})" if kind.shape else f"({x} if {c} else {y})"
    if word in _CONVERSIONS:
        return _convert(op, word, operands[0])
    element = kind.element
    if word in _FLOAT:
        text = _FLOAT[word].format(*operands)
        return f"R({text})" if element == "bf16" and word != "negf" else text
    if word not in _INTEGER:
        _refuse(op)
    if element == "index":
        return _INDEX.get(word, _INTEGER[word]).format(*operands)
    if element == "i1":
        return _INTEGER[word].format(*operands)
    return f"W({_INTEGER[word].format(*operands)}, {_dtype(kind, op)})"


# True of NaN as well: the opposite does not hold.
_UNORDERED = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}
_CONVERSIONS = (
    "extf", "truncf", "index_cast", "index_castui", "uitofp", "sitofp", "fptosi", "fptoui", "trunci",
    "extsi", "extui", "bitcast",
)  # fmt: skip


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
    found = op.attributes.get("predicate")
    if word == "cmpf" and isinstance(found, Number):
        return FLOAT_PREDICATES[int(found.value)]
    return op.text("predicate")


def _convert(op: Operation, word: str, x: str) -> str:
    (source,), target = op.types, op.type
    before, after, shape = source.element, target.element, target.shape
    dtype = _dtype(target, op)
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
        case "extui" if before in _FEW:
            return f"W(U({x}) & {_FEW[before]}, {dtype})"
        case "extui":
            return f"W(U({x}), {dtype})"
        case _ if "bf16" in (before, after):
            raise AieFault("operation", f"{op.name} from {before} to {after}", line=op.line)
    return f"np.asarray({x}).view({dtype})" if shape else f"np.asarray({x}).view({dtype})[()]"


def _constant(op: Operation) -> str:
    value, kind = op.attributes["value"], op.type
    dtype = _dtype(kind, op)
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
    (found,) = struct.unpack("<f", struct.pack("<I", value << (16 if element == "bf16" else 0)))
    return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(repr(found), repr(found))


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
        _refuse(op)
    return f"R({text})" if op.type.element == "bf16" else text


def _place(op: Operation, indices: list[str], kind: Type) -> str:
    """The number of an element in a flat memory."""
    if len(indices) == 1:
        return indices[0]
    if len(indices) != len(kind.shape):
        raise AieFault("operation", f"{len(indices)} indices of {kind}", line=op.line)
    return f"at(({', '.join(indices)}{',' * (not indices)}), {kind.shape}, {op.line})"


def _load(op: Operation, _: str, resolve: Resolve) -> str:
    memory, *indices = (resolve(x) for x in op.operands)
    place = _place(op, indices, op.types[0])
    if op.name == "memref.load":
        return f"{memory}.get({place}, {op.line})"
    return f"{memory}.load({place}, {_lanes(op.type, op)}, {op.line})"


def _store(op: Operation, _: str, resolve: Resolve) -> str:
    value, memory, *indices = (resolve(x) for x in op.operands)
    lanes = 1 if op.name == "memref.store" else _lanes(op.types[0], op)
    return f"{memory}.store({value}, {_place(op, indices, op.types[1])}, {lanes}, {op.line})"


def _lanes(kind: Type, op: Operation) -> int:
    """The lanes of a vector that is loaded or stored, which is of one dimension."""
    if len(kind.shape) != 1:
        raise AieFault("operation", f"{op.name} of {kind}", line=op.line)
    return kind.shape[0]


def _view(op: Operation, _: str, resolve: Resolve) -> str:
    memory, place = (resolve(x) for x in op.operands[:2])
    kind = op.type
    if op.types[0].element != "i8" or min(kind.shape, default=1) < 0:
        raise AieFault("operation", "a view is of bytes, as a memref of known size", line=op.line)
    return f"View({memory}, {place}, {kind.count}, {kind.element!r}, {op.line})"


def _same_memory(op: Operation, _: str, resolve: Resolve) -> str:
    """The same elements by another shape."""
    if op.results and op.type.count != op.types[0].count:
        raise AieFault("operation", f"{op.name} to {op.type}", line=op.line)
    return resolve(op.operands[0]) if op.results else ""


def _bitcast(op: Operation, x: str) -> str:
    """Bytes as lanes of few bits, the lowest bits first, each in a byte of its own."""
    before, after = op.types[0], op.type
    if before.element in _TYPES and after.element in _TYPES and "bf16" not in (
        before.element, after.element
    ):  # fmt: skip
        return f"np.ascontiguousarray({x}).view({_dtype(after, op)}).reshape({after.shape})"
    bits = int(after.element[1:]) if after.element in _FEW else 0
    if before.element != "i8" or before.count * 8 != after.count * bits:
        raise AieFault("operation", f"vector.bitcast of {before} to {after}", line=op.line)
    return f"codes({x}, {bits})"


def _vector(op: Operation, word: str, resolve: Resolve) -> str:
    operands = [resolve(x) for x in op.operands]
    kind = op.type
    if word == "contract":
        a, b, c = operands
        if kind.element == "f32":
            bf16 = op.types[0].element == "bf16"
            return f"{c} + Q({a}, 1) @ Q({b}, 0)" if bf16 else f"{c} + {a} @ {b}"
        return f"{c} + {a}.astype(np.int32) @ {b}.astype(np.int32)"
    x = operands[0]
    if word == "bitcast":
        return _bitcast(op, x)
    if word in ("broadcast", "splat"):
        if op.types[0].shape:
            return f"np.broadcast_to({x}, {kind.shape})"
        return f"np.full({kind.shape}, {x}, {_dtype(kind, op)})"
    if word == "transpose":
        return f"np.transpose({x}, {tuple(op.integers('permutation'))})"
    if word == "shape_cast":
        return f"{x}.reshape({kind.shape})"
    if word == "fma":
        return f"fused({', '.join(operands)})"
    if word == "reduction":
        return _reduction(op, operands)
    if word in ("extract", "insert"):
        return _lane(op, word, operands)
    if word in ("extract_strided_slice", "insert_strided_slice"):
        return _strided(op, word, operands)
    _refuse(op)


def _reduction(op: Operation, operands: list[str]) -> str:
    kind = op.text("kind")
    if kind not in _REDUCE:
        raise AieFault("operation", f"vector.reduction <{kind}>", line=op.line)
    text = _REDUCE[kind].format(operands[0])
    if len(operands) == 1:
        return text
    if kind != "add":
        raise AieFault("operation", f"vector.reduction <{kind}> of a start", line=op.line)
    return f"{text} + {operands[1]}"


def _lane(op: Operation, word: str, operands: list[str]) -> str:
    given = iter(operands[1 if word == "extract" else 2 :])
    entries = [next(given) if isinstance(e, str) else str(e) for e in op.attributes["position"]]
    place = f"({', '.join(entries)},)" if entries else "()"
    if word == "extract":
        return f"{operands[0]}[{place}]"
    return f"inserted({operands[1]}, {place}, {operands[0]})"


def _strided(op: Operation, word: str, operands: list[str]) -> str:
    offsets, inner = op.integers("offsets"), op.type if word[0] == "e" else op.types[0]
    if any(n != 1 for n in op.integers("strides")):
        raise AieFault("operation", f"{op.name} with strides", line=op.line)
    sizes = op.integers("sizes") or inner.shape
    place = ", ".join(f"slice({o}, {o + n})" for o, n in zip(offsets, sizes, strict=False))
    if word[0] == "e":
        return f"{operands[0]}[({place},)]"
    return f"inserted({operands[1]}, ({place},), {operands[0]})"


def _inserted(vector: Any, place: Any, value: Any) -> Any:
    found = np.array(vector)
    found[place] = value
    return found


def _at(indices: tuple[int, ...], shape: tuple[int, ...], line: int) -> int:
    """The number of an element of a memref of several dimensions."""
    place = 0
    for index, size in zip(indices, shape, strict=True):
        if not 0 <= index < size:
            raise AieFault("bounds", f"index {indices} of a memref of {shape}", line=line)
        place = place * size + index
    return place


NAMES |= {"at": _at, "inserted": _inserted}
_FAMILIES: dict[str, Callable[[Operation, str, Resolve], str]] = {
    "arith": _arith,
    "math": _math,
    "vector": _vector,
    "vector.load": _load,
    "vector.store": _store,
    "memref.load": _load,
    "memref.store": _store,
    "memref.view": _view,
    "memref.assume_alignment": _same_memory,
    "memref.cast": _same_memory,
    "memref.collapse_shape": _same_memory,
    "memref.expand_shape": _same_memory,
}
