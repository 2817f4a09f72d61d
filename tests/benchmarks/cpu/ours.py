"""dslc's side: examples/ as they stand, with the choices that `kernel.tune` finds, or the predicted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dslc
import ml_dtypes
import numpy as np
from cases import Case
from timing import copies_of, seconds

EXAMPLES = Path(__file__).parents[3] / "examples"
_F32 = {"T": dslc.f32}
_FILES: dict[str, tuple[str, str, dict[str, object]]] = {
    "product f32": ("gemm.tile", "gemm", _F32),
    "product bf16": ("gemm.tile", "gemm", {"T": dslc.bf16}),
    "product i8": ("gemm.tile", "gemm_i8", {}),
    "w4a8 u4": ("w4a8.tile", "w4a8_group", _F32),
    "w4 u4": ("gemm_quantized.tile", "gemm_quantized", _F32),
    "attention f32": ("attention.tile", "attention", _F32),
    "softmax f32": ("softmax.tile", "softmax", _F32),
    "rmsnorm f32": ("rmsnorm.tile", "rmsnorm", _F32),
    "layernorm f32": ("layernorm.tile", "layernorm", _F32),
    "swiglu f32": ("swiglu.tile", "swiglu", _F32),
}
_RNG = np.random.default_rng(1)


def kernel_of(case: Case) -> Any:
    """The kernel of a case, compiled for this CPU."""
    file, name, define = _FILES[f"{case.kind} {case.dtype}"]
    if case.group:
        define = {**define, "G": case.group}
    return dslc.compile(EXAMPLES / file, target="cpu", define=define)[name]


def measure(case: Case) -> float:
    """Seconds of a call."""
    kernel = kernel_of(case)
    first = _arguments(case, kernel)
    nbytes = sum(a.nbytes for a in first.values() if isinstance(a, np.ndarray))
    made = [first]
    for _ in range(copies_of(case.place, nbytes) - 1):
        made.append({n: a.copy() if isinstance(a, np.ndarray) else a for n, a in first.items()})

    def call_of(args: dict[str, Any]) -> Callable[[], object]:
        given = tuple(args.values())
        return lambda: kernel(*given)

    return seconds([call_of(args) for args in made])


def tune(case: Case, budget: float) -> str:
    """Look for the fastest choices; what was found is kept."""
    kernel = kernel_of(case)
    origin = kernel.origin
    dims = {d: n for d, n in _dims(case).items() if d in origin.signature.dims}
    return str(kernel.tune(**dims, budget=budget))


def _dims(case: Case) -> dict[str, int]:
    if case.kind == "attention":
        heads, length, width = case.sizes
        return {"B": 1, "S": length, "L": length, "HQ": heads, "HK": heads, "D": width}
    if len(case.sizes) == 2:
        m, n = case.sizes
        return {"M": m, "N": n, "H": n, "F": n}
    m, k, n = case.sizes
    return {"M": m, "K": k, "N": n}


def _floats(*shape: int) -> Any:
    return _RNG.standard_normal(shape).astype(np.float32)


def _arguments(case: Case, kernel: Any) -> dict[str, Any]:
    if case.kind == "attention":
        heads, length, width = case.sizes
        shape = (1, length, heads, width)
        q, k, v = (_floats(*shape) for _ in range(3))
        past = np.zeros(1, np.int32)
        return {"q": q, "k": k, "v": v, "past": past, "scale": width**-0.5, "o": np.empty_like(q)}
    if case.kind in ("softmax", "rmsnorm", "layernorm", "swiglu"):
        m, n = case.sizes
        x, y = _floats(m, n), np.empty((m, n), np.float32)
        more = {"rmsnorm": ["g"], "layernorm": ["g", "b"]}.get(case.kind, [])
        if case.kind == "swiglu":
            return {"gate": x, "up": _floats(m, n), "y": y}
        return {"x": x, **{name: _floats(n) for name in more}, "y": y}
    m, k, n = case.sizes
    if case.kind == "product":
        kind = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8}[case.dtype]
        a, b = (
            (_RNG.integers(-127, 127, s) if kind is np.int8 else _floats(*s)).astype(kind)
            for s in ((m, k), (k, n))
        )
        return {"a": a, "b": b, "c": np.zeros((m, n), np.int32 if kind is np.int8 else kind)}
    codes = _RNG.integers(0, 16, (k, n)).astype(np.uint8)
    packed = kernel.specialize_for({"M": m, "K": k, "N": n}, {}).pack("w", codes)
    return {
        "x": _floats(m, k),
        "w": packed,
        "s": _floats(k // case.group, n),
        "c": np.zeros((m, n), np.float32),
    }
