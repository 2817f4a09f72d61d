"""Instructions that reach memory as LLVM IR."""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.codegen.cpu.llvm.matrices import MATRIX_EMITTERS
from dslc.codegen.cpu.llvm.types import scalar_type, suffix, type_text
from dslc.codegen.cpu.llvm.writing import FunctionText
from dslc.compiler.dtypes import INDEX
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import codes_of
from dslc.compiler.vector.types import memory_bytes
from dslc.compiler.vector.values import Constant

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
_NONTEMPORAL = ", !nontemporal !0"


def emit_access(f: FunctionText, i: Any) -> str | None:
    """The name of the result, None where there is none."""
    match i:
        case mem.Advance():
            return f.address(i.pointer, i.offset)
        case mem.Allocate():
            name = f.fresh()
            f.entry.append(f"  {name} = alloca [{i.size} x i8], align {i.align}")
            return name
        case mem.Table(data=Constant() as data):
            return f.module.table(np.ascontiguousarray(codes_of(data)).tobytes())
        case mem.Load():
            return _load(f, i)
        case mem.Store():
            _store(f, i)
        case mem.Gather():
            return _gather(f, i)
        case mem.Scatter():
            _scatter(f, i)
        case mem.Prefetch():
            at = f.address(i.pointer, i.offset)
            f.call_void(
                "llvm.prefetch.p0", f"ptr {at}", f"i32 {int(i.write)}", f"i32 {i.locality}", "i32 1"
            )
        case mem.Fence():
            if f.module.is_x86:  # what non-temporal stores left in buffers too
                f.call_void("llvm.x86.sse2.mfence")
            else:
                f.run("fence seq_cst")
        case mem.Pause():
            if f.module.is_x86:
                f.call_void("llvm.x86.sse2.pause")
            else:
                f.call_void("llvm.aarch64.hint", "i32 1")
        case _ if type(i) in MATRIX_EMITTERS:
            MATRIX_EMITTERS[type(i)](f, i)
        case _:
            return _atomic(f, i)
    return None


def _zero(type_: Any) -> str:
    return "zeroinitializer" if type_.lanes else "0.0" if type_.dtype.is_float else "0"


def _load(f: FunctionText, i: mem.Load) -> str:
    at, text = f.address(i.pointer, i.offset), type_text(i.out.type)
    if i.mask is None:
        hint = _NONTEMPORAL if i.nontemporal else ""
        return f.emit(f"load {text}, ptr {at}, align {i.align}{hint}")
    fill = _zero(i.out.type) if i.fill is None else f.value(i.fill)
    name = f"llvm.masked.load.{suffix(i.out.type)}.p0"
    return f.call(name, text, f"ptr align {i.align} {at}", f.typed(i.mask), f"{text} {fill}")


def _store(f: FunctionText, i: mem.Store) -> None:
    at = f.address(i.pointer, i.offset)
    if i.mask is None:
        hint = _NONTEMPORAL if i.nontemporal else ""
        f.run(f"store {f.typed(i.value)}, ptr {at}, align {i.align}{hint}")
        return
    name = f"llvm.masked.store.{suffix(i.value.type)}.p0"
    f.call_void(name, f.typed(i.value), f"ptr align {i.align} {at}", f.typed(i.mask))


def _pointers(f: FunctionText, i: mem.Gather | mem.Scatter, lanes: int) -> str:
    """A vector of addresses; the index is widened as its dtype says."""
    at, index = f.address(i.pointer, i.offset), f.value(i.index)
    type_ = vector_type(i.index)
    wide = type_text(type_.of(INDEX))
    if type_.dtype.bits < 64:
        word = "sext" if type_.dtype.is_signed else "zext"
        index = f.emit(f"{word} {type_text(type_)} {index} to {wide}")
    element = f"[{i.scale} x i8]" if i.scale != 1 else "i8"
    return f.emit(f"getelementptr {element}, ptr {at}, {wide} {index}")


def _all(lanes: int) -> str:
    return f"<{lanes} x i1> splat (i1 true)"


def _gather(f: FunctionText, i: mem.Gather) -> str:
    type_ = vector_type(i.out)
    places = _pointers(f, i, type_.count)
    mask = _all(type_.count) if i.mask is None else f.typed(i.mask)
    fill = _zero(type_) if i.fill is None else f.value(i.fill)
    text = type_text(type_)
    pointers = f"<{type_.count} x ptr>"
    name = f"llvm.masked.gather.{suffix(type_)}.v{type_.count}p0"
    return f.call(name, text, f"{pointers} align {i.align} {places}", mask, f"{text} {fill}")


def _scatter(f: FunctionText, i: mem.Scatter) -> None:
    type_ = vector_type(i.value)
    places = _pointers(f, i, type_.count)
    mask = _all(type_.count) if i.mask is None else f.typed(i.mask)
    name = f"llvm.masked.scatter.{suffix(type_)}.v{type_.count}p0"
    pointers = f"<{type_.count} x ptr>"
    f.call_void(name, f.typed(i.value), f"{pointers} align {i.align} {places}", mask)


def _atomic(f: FunctionText, i: Any) -> str | None:
    at, order = f.address(i.pointer, i.offset), _ORDERS[i.order]
    type_ = i.value.type if hasattr(i, "value") else i.out.type
    align = memory_bytes(type_)
    match i:
        case mem.AtomicLoad():
            return f.emit(f"load atomic {type_text(type_)}, ptr {at} {order}, align {align}")
        case mem.AtomicStore():
            f.run(f"store atomic {f.typed(i.value)}, ptr {at} {order}, align {align}")
            return None
        case mem.CompareExchange():
            failed = {"release": "monotonic", "acq_rel": "acquire"}.get(order, order)
            pair = f.emit(
                f"cmpxchg ptr {at}, {f.typed(i.expected)}, {f.typed(i.value)} {order} {failed}"
            )
            text = scalar_type(type_.dtype)
            return f.emit(f"extractvalue {{ {text}, i1 }} {pair}, 0")
    word = _update(i.op, type_.dtype.is_float, type_.dtype.is_signed)
    return f.emit(f"atomicrmw {word} ptr {at}, {f.typed(i.value)} {order}")


def _update(op: str, is_float: bool, is_signed: bool) -> str:
    if op == "exchange":
        return "xchg"
    if op in ("min", "max"):
        return op if is_signed else f"u{op}"
    return f"f{op}" if is_float else op
