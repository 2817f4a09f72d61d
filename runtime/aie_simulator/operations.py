"""The operations of cores in NumPy: a table from names to Python expressions."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.fused import fused
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
    "codes": _codes, "fused": fused,
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
    "negf": "-{0}",
}
_INTEGER = {"addi": "{0} + {1}", "subi": "{0} - {1}", "muli": "{0} * {1}", "andi": "{0} & {1}",
            "ori": "{0} | {1}", "xori": "{0} ^ {1}", "shli": "{0} << {1}", "shrsi": "{0} >> {1}",
            "minsi": "np.minimum({0}, {1})", "maxsi": "np.maximum({0}, {1})",
            "floordivsi": "{0} // {1}", "ceildivsi": "-(-{0} // {1})",
            "divui": "U({0}) // U({1})", "remui": "U({0}) % U({1})", "shrui": "U({0}) >> U({1})",
            "minui": "np.minimum(U({0}), U({1}))", "maxui": "np.maximum(U({0}), U({1}))"}  # fmt: skip
_INDEX = {
    "shrui": "{0} >> {1}",
    "divui": "{0} // {1}",
    "remui": "{0} % {1}",
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
_VALUE = r"%[\w$.]+(?:#\d+)?"


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
    else:
        line(text)


def scalar_type(text: str) -> tuple[str, tuple[int, ...]]:
    """The element type and shape of a type; a scalar has no shape."""
    text = text.strip()
    if found := re.fullmatch(r"vector<([\dx]+)x(\w+)>", text):
        return found[2], tuple(int(n) for n in found[1].split("x"))
    return text, ()


def _parts(op: Operation, resolve: Resolve) -> tuple[list[str], str]:
    """The operands of an operation, and its type."""
    given, _, kind = op.rest.rpartition(" : ")
    return [resolve(x) for x in re.findall(_VALUE, given)], kind


def _arith(op: Operation, word: str, resolve: Resolve) -> str:
    if word == "constant":
        return _constant(op)
    operands, kind = _parts(op, resolve)
    if word in ("cmpf", "cmpi"):
        return _compare(op, word, operands, kind)
    if word == "select":
        element, shape = scalar_type(kind.split(", ")[-1])
        c, x, y = operands
        return f"np.where({c}, {x}, {y})" if shape else f"({x} if {c} else {y})"
    if " to " in kind:
        return _convert(op, word, operands[0], kind)
    element, shape = scalar_type(kind)
    if word in _FLOAT:
        text = _FLOAT[word].format(*operands)
        return f"R({text})" if element == "bf16" and word != "negf" else text
    if word not in _INTEGER:
        raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)
    if element == "index":
        return _INDEX.get(word, _INTEGER[word]).format(*operands)
    if element == "i1":
        return _INTEGER[word].format(*operands)
    return f"W({_INTEGER[word].format(*operands)}, {_TYPES[element]})"


# True of NaN as well: the opposite does not hold.
_UNORDERED = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}


def _compare(op: Operation, word: str, operands: list[str], kind: str) -> str:
    predicate = op.rest.strip().split(",")[0].strip()
    x, y = operands
    if word == "cmpf":
        if predicate == "ord":
            return f"({x} == {x}) & ({y} == {y})"
        if predicate in _UNORDERED:
            return f"np.logical_not({x} {_UNORDERED[predicate]} {y})"
        if predicate[0] != "o" and predicate != "une":
            raise AieFault("operation", f"arith.cmpf {predicate}", line=op.line)
        return f"({x} {_COMPARE[predicate[1:]]} {y})"
    if predicate in ("eq", "ne"):
        return f"({x} {_COMPARE[predicate]} {y})"
    element, _ = scalar_type(kind)
    if predicate[0] == "u" and element != "index":
        x, y = f"U({x})", f"U({y})"
    return f"({x} {_COMPARE[predicate[1:]]} {y})"


def _convert(op: Operation, word: str, x: str, kind: str) -> str:
    source, target = kind.split(" to ")
    (before, _), (after, shape) = scalar_type(source), scalar_type(target)
    dtype = _TYPES[after]
    match word:
        case "extf":
            return x
        case "truncf":
            return f"R({x})"
        case "index_cast":
            return f"int({x})" if after == "index" else f"{dtype}({x})"
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
        case "bitcast":
            return (
                f"np.asarray({x}).view({dtype})" if shape else f"np.asarray({x}).view({dtype})[()]"
            )
    raise AieFault("syntax", f"{op.name} from {before} to {after}", line=op.line)


def _constant(op: Operation) -> str:
    text, _, kind = op.rest.strip().rpartition(" : ")
    element, shape = scalar_type(kind)
    if found := re.fullmatch(r"dense<\[(.*)\]>", text):
        values = ", ".join(_number(v, element) for v in found[1].split(","))
        return f"np.array([{values}], {_TYPES[element]})"
    if found := re.fullmatch(r"dense<(.*)>", text):
        return f"np.full({shape}, {_number(found[1], element)}, {_TYPES[element]})"
    return f"{_TYPES[element]}({_number(text, element)})"


def _number(text: str, element: str) -> str:
    text = text.strip()
    if text in ("true", "false"):
        return text.title()
    if text.startswith("0x"):
        bits = int(text, 16) << (16 if element == "bf16" else 0)
        (value,) = struct.unpack("<f", struct.pack("<I", bits))
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return text


def _math(op: Operation, word: str, resolve: Resolve) -> str:
    operands, kind = _parts(op, resolve)
    element, _ = scalar_type(kind)
    if word == "fma":
        text = f"fused({', '.join(operands)})"
    elif word == "rsqrt":
        text = f"np.float32(1) / np.sqrt({operands[0]})"
    elif word == "powf":
        text = f"np.power({operands[0]}, {operands[1]})"
    elif word in _MATH:
        text = f"{_MATH[word]}({operands[0]})"
    else:
        raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)
    return f"R({text})" if element == "bf16" else text


def _load(op: Operation, _: str, resolve: Resolve) -> str:
    memory, place = re.findall(_VALUE, op.rest.split(" : ")[0])
    _, shape = scalar_type(op.rest.rpartition(", ")[2])
    if op.name == "memref.load":
        return f"{resolve(memory)}.get({resolve(place)}, {op.line})"
    return f"{resolve(memory)}.load({resolve(place)}, {shape[0]}, {op.line})"


def _store(op: Operation, _: str, resolve: Resolve) -> str:
    value, memory, place = (resolve(x) for x in re.findall(_VALUE, op.rest.split(" : ")[0]))
    _, shape = scalar_type(op.rest.rpartition(", ")[2])
    lanes = 1 if op.name == "memref.store" else shape[0]
    return f"{memory}.store({value}, {place}, {lanes}, {op.line})"


def _view(op: Operation, _: str, resolve: Resolve) -> str:
    memory, place = re.findall(_VALUE, op.rest.split(" : ")[0])
    found = re.fullmatch(r"memref<(\d+)x(\w+)>", op.rest.rpartition(" to ")[2].strip())
    if found is None or "xi8>" not in op.rest.rpartition(" to ")[0]:
        raise AieFault("operation", "a view is of bytes, as a memref of known size", line=op.line)
    return f"View({resolve(memory)}, {resolve(place)}, {found[1]}, '{found[2]}', {op.line})"


def _bitcast(op: Operation, x: str, kind: str) -> str:
    """Bytes as lanes of few bits, the lowest bits first, each in a byte of its own."""
    (before, size), (after, lanes) = (scalar_type(k) for k in kind.split(" to "))
    if (
        before != "i8"
        or after not in _FEW
        or math.prod(size) * 8 != math.prod(lanes) * int(after[1:])
    ):
        raise AieFault("operation", f"vector.bitcast of {kind}", line=op.line)
    return f"codes({x}, {int(after[1:])})"


def _vector(op: Operation, word: str, resolve: Resolve) -> str:
    if word == "contract":
        a, b, c = (resolve(x) for x in re.findall(_VALUE, op.rest.partition("}")[2])[:3])
        element, _ = scalar_type(op.rest.rpartition(" into ")[2])
        if element == "f32":
            bf16 = "xbf16>" in op.rest
            return f"{c} + Q({a}, 1) @ Q({b}, 0)" if bf16 else f"{c} + {a} @ {b}"
        return f"{c} + {a}.astype(np.int32) @ {b}.astype(np.int32)"
    operands, kind = _parts(op, resolve)
    if word == "bitcast":
        return _bitcast(op, operands[0], kind)
    if word == "broadcast":
        element, shape = scalar_type(kind.split(" to ")[1])
        return f"np.full({shape}, {operands[0]}, {_TYPES[element]})"
    if word == "transpose":
        return f"{operands[0]}.T"
    if word == "shape_cast":
        _, shape = scalar_type(kind.split(" to ")[1])
        return f"{operands[0]}.reshape({shape})"
    if word == "reduction":
        found = re.search(r"<(\w+)>", op.rest)
        if found is not None and found[1] in _REDUCE:
            return _REDUCE[found[1]].format(operands[0])
    raise AieFault("syntax", f"{op.name} has no meaning in a core", line=op.line)


_FAMILIES: dict[str, Callable[[Operation, str, Resolve], str]] = {
    "arith": _arith,
    "math": _math,
    "vector": _vector,
    "vector.load": _load,
    "vector.store": _store,
    "memref.load": _load,
    "memref.store": _store,
    "memref.view": _view,
}
