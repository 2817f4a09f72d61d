"""The rivals: torch (oneDNN), onnxruntime's MatMulNBits, each as its documentation calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case
from timing import copies_of, seconds

Calls = list[Callable[[], object]]
_RNG = np.random.default_rng(1)


def measure(case: Case, threads: int) -> dict[str, float]:
    """Seconds of a call by rival."""
    found: dict[str, float] = {}
    for name, make in _RIVALS.get(case.kind, {}).items():
        calls = make(case, threads)
        if calls:
            found[name] = seconds(calls)
    return found


def _torch(threads: int) -> Any:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    return torch


def _product(case: Case, threads: int) -> Calls:
    torch = _torch(threads)
    m, k, n = case.sizes
    if case.dtype == "i8":
        a, b = (torch.randint(-127, 127, s, dtype=torch.int8) for s in ((m, k), (k, n)))
        return [lambda: torch._int_mm(a, b)]
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
    a, b = (torch.randn(s).to(kind) for s in ((m, k), (k, n)))
    c = torch.empty(m, n, dtype=kind)
    return [lambda: torch.mm(a, b, out=c)]


def _attention(case: Case, threads: int) -> Calls:
    torch = _torch(threads)
    q, k, v = (torch.randn(1, *case.sizes) for _ in range(3))
    attend = torch.nn.functional.scaled_dot_product_attention
    return [lambda: attend(q, k, v, is_causal=True)]


def _rows(
    make: Callable[[Any, Any, Any, Any], Callable[[], object]],
) -> Callable[[Case, int], Calls]:
    def calls(case: Case, threads: int) -> Calls:
        torch = _torch(threads)
        m, n = case.sizes
        count = copies_of(case.place, 8 * m * n)
        pairs = [(torch.randn(m, n), torch.empty(m, n)) for _ in range(count)]
        gain = torch.randn(n)
        return [make(torch, x, y, gain) for x, y in pairs]

    return calls


def _compiled(
    make: Callable[[Any, Any, Any], Any],
) -> Callable[[Case, int], Calls]:
    """What inductor makes of an expression of x and g whose result goes to y."""

    def calls(case: Case, threads: int) -> Calls:
        torch = _torch(threads)
        fused = torch.compile(lambda x, y, g: y.copy_(make(torch, x, g)))
        return _rows(lambda t, x, y, g: lambda: fused(x, y, g))(case, threads)

    return calls


def bandwidth(threads: int) -> float:
    """Bytes a second of torch's sum of 512 MiB."""
    x = _torch(threads).ones(1 << 27)
    return float(4 * x.numel() / seconds([x.sum]))


def _nbits(level: int) -> Callable[[Case, int], Calls]:
    def calls(case: Case, threads: int) -> Calls:
        import onnxruntime as ort

        m, k, n = case.sizes
        count = copies_of(case.place, case.weight_bytes)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        x = _RNG.standard_normal((m, k)).astype(np.float32)
        made: Calls = []
        for _ in range(count):
            session = ort.InferenceSession(
                _model(m, k, n, case.group, level), options, providers=["CPUExecutionProvider"]
            )
            made.append(lambda s=session: s.run(None, {"x": x}))  # type: ignore[misc]
        return made

    return calls


def _model(m: int, k: int, n: int, group: int, level: int) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    blocks = k // group
    weights = _RNG.integers(0, 256, (n, blocks, group // 2)).astype(np.uint8)
    scales = _RNG.standard_normal(n * blocks).astype(np.float32)
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft",
        K=k, N=n, bits=4, block_size=group, accuracy_level=level,
    )  # fmt: skip
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (m, k))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (m, n))],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(scales, "s")],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    found: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return found


_RIVALS: dict[str, dict[str, Callable[[Case, int], Calls]]] = {
    "product": {"torch": _product},
    "w4a8": {"onnxruntime level 4": _nbits(4)},
    "w4": {"onnxruntime level 1": _nbits(1)},
    "attention": {"torch": _attention},
    "softmax": {
        "torch out=": _rows(lambda t, x, y, g: lambda: t.softmax(x, -1, out=y)),
        "torch.compile": _compiled(lambda t, x, g: t.softmax(x, -1)),
        "copy": _rows(lambda t, x, y, g: lambda: y.copy_(x)),
    },
    "rmsnorm": {
        "torch": _rows(lambda t, x, y, g: lambda: t.nn.functional.rms_norm(x, g.shape, g)),
        "torch.compile": _compiled(lambda t, x, g: t.nn.functional.rms_norm(x, g.shape, g)),
        "copy": _rows(lambda t, x, y, g: lambda: y.copy_(x)),
    },
    "layernorm": {
        "torch": _rows(lambda t, x, y, g: lambda: t.nn.functional.layer_norm(x, g.shape, g, g)),
        "torch.compile": _compiled(lambda t, x, g: t.nn.functional.layer_norm(x, g.shape, g, g)),
    },
    "swiglu": {
        "torch": _rows(lambda t, x, y, g: lambda: t.mul(t.nn.functional.silu(x), x, out=y)),
        "torch.compile": _compiled(lambda t, x, g: t.nn.functional.silu(x) * x),
    },
}
