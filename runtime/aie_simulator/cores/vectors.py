"""Operations of the vector dialect, as Python expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.cores.element_types import FEW, TYPES, dtype_of, refuse
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation

Resolve = Callable[[str], str]
_REDUCE = {"add": "{0}.sum(dtype={0}.dtype)", "maximumf": "np.max({0})", "minimumf": "np.min({0})",
           "maxsi": "np.max({0})", "minsi": "np.min({0})", "or": "np.any({0})", "and": "np.all({0})",
           "maxui": "np.max(U({0})).astype({0}.dtype)",
           "minui": "np.min(U({0})).astype({0}.dtype)"}  # fmt: skip


def _bitcast(op: Operation, x: str) -> str:
    """Bytes as lanes of few bits, the lowest bits first, each in a byte of its own."""
    before, after = op.types[0], op.type
    if {before.element, after.element} <= TYPES.keys() - {"bf16", "i1"}:
        return f"np.ascontiguousarray({x}).view({dtype_of(after, op)}).reshape({after.shape})"
    bits = int(after.element[1:]) if after.element in FEW else 0
    if before.element != "i8" or before.count * 8 != after.count * bits:
        raise AieFault("operation", f"vector.bitcast of {before} to {after}", line=op.line)
    return f"codes({x}, {bits})"


def vector(op: Operation, word: str, resolve: Resolve) -> str:
    """The expression of an operation that makes a vector, or a lane of one."""
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
        return f"np.full({kind.shape}, {x}, {dtype_of(kind, op)})"
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
    refuse(op)


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


def inserted(vector: Any, place: Any, value: Any) -> Any:
    """A vector with some lanes replaced."""
    vector_after = np.array(vector)
    vector_after[place] = value
    return vector_after
