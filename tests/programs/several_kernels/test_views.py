"""Programs that hand parts and other shapes of tensors to kernels, on every machine."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import MACHINES, call

VIEWING = [m for m in ("interp", *MACHINES) if not m.startswith("aie")]
KERNELS = """
kernel scale(x: f32[M, N], s: f32, y: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        y[m : m + 16, n : n + 64] = x[m : m + 16, n : n + 64] * s


kernel add(x: f32[N], y: f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 64)):
        z[n : n + 64] = x[n : n + 64] + y[n : n + 64]


"""
PARTS = (
    KERNELS
    + """
program parts(x: f32[M, N], a: f32, k: i32, z: out f32[M, N]):
    t = buffer(f32, [M, N], init=7)
    scale(x[0:k, :], a, t[k : 2 * k])
    scale(t[k : 2 * k, N // 2 :], a, t[0:k, 0 : N // 2])
    if k > 3:
        scale(t, 2, z)
    else:
        scale(x, 1, z)
    add(reshape(t, [-1])[0:N], t[0], reshape(z, [M * N])[0:N])
    scale(transpose(t)[0:k], 3, z[2 * k : 3 * k, 0:M])
    if k >= 4:  # what would not be right for 2
        u = buffer(f32, [k - 4, N])
        scale(z[M - k + 4 :], 2, u)
        scale(u, 1, z[0 : k - 4])
"""
)


def parts(x: np.ndarray, a: np.float32, k: int) -> np.ndarray:
    m, n = x.shape
    t = np.full_like(x, 7)
    t[k : 2 * k] = x[:k] * a
    t[:k, : n // 2] = t[k : 2 * k, n // 2 :] * a
    z = t * 2 if k > 3 else x.copy()
    z.reshape(-1)[:n] = t.reshape(-1)[:n] + t[0]
    z[2 * k : 3 * k, :m] = t.T[:k] * 3
    if k >= 4:
        z[: k - 4] = z[m - k + 4 :] * 2
    return z


@pytest.mark.parametrize("target", VIEWING)
def test_parts_of_a_tensor_are_arguments(target: str) -> None:
    x = np.random.default_rng(0).standard_normal((20, 44)).astype(np.float32)
    for k in (6, 2):
        z = np.zeros_like(x)
        call(target, PARTS, {"x": x, "a": 1.5, "k": k, "z": z})
        assert np.array_equal(z, parts(x, np.float32(1.5), k))


HEADS = """
kernel scores(q: f16[T, D], k: f16[T, D], s: out f32[T, T]):
    for m, n in parallel(range(0, T, 16), range(0, T, 16)):
        acc = zeros(f32, [16, 16])
        for d in range(0, D, 16):
            acc += dot(q[m : m + 16, d : d + 16], k[n : n + 16, d : d + 16], transposed="b")
        s[m : m + 16, n : n + 16] = acc


program attend(x: f16[T, W], s: out f32[2, T, T]):
    const H = 2
    qk = reshape(x, [T, 2, H, W // (2 * H)])
    for h in range(H):
        scores(qk[:, 0, h], qk[:, 1, h], s[h])
"""


@pytest.mark.parametrize("target", VIEWING)
def test_products_of_parts_of_one_tensor(target: str) -> None:
    x = np.random.default_rng(0).standard_normal((24, 72)).astype(np.float16)
    s = np.zeros((2, 24, 24), np.float32)
    call(target, HEADS, {"x": x, "s": s})
    qk = x.reshape(24, 2, 2, 18).astype(np.float32)
    for h in range(2):
        assert np.allclose(s[h], qk[:, 0, h] @ qk[:, 1, h].T, atol=1e-4)


CODES = """
kernel widen(q: u4[M, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 32)):
        y[m : m + 8, n : n + 32] = cast(q[m : m + 8, n : n + 32], f32)


program parts(q: u4[M, N], y: out f32[M, N]):
    widen(q[3:8], y[0:5])
    widen(q[0:3, 1::2], y[5:8, 0 : N // 2])
    widen(q[0:3, 0 : N // 2], y[5:8, N // 2 :])
"""


@pytest.mark.parametrize("target", VIEWING)
def test_parts_of_codes(target: str) -> None:
    q = np.random.default_rng(0).integers(0, 16, (8, 64)).astype(np.uint8)
    y = np.zeros((8, 64), np.float32)
    call(target, CODES, {"q": q, "y": y})
    wanted = np.concatenate([q[3:8], np.concatenate([q[:3, 1::2], q[:3, :32]], 1)])
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.parametrize("shape", [(70,), (9, 70)])
def test_a_buffer_begins_at_a_value(target: str, shape: tuple[int, ...]) -> None:
    extents = "[M, N]" if len(shape) == 2 else "[N]"
    index = "m : m + 8, n : n + 64" if len(shape) == 2 else "n : n + 64"
    loops = "m, n in parallel(range(0, M, 8), range(0, N, 64))"
    source = f"""
kernel add(x: i32{extents}, y: i32{extents}, z: out i32{extents}):
    for {loops if len(shape) == 2 else "n in parallel(range(0, N, 64))"}:
        z[{index}] = x[{index}] + y[{index}]


program p(x: i32{extents}, z: out i32{extents}):
    t = buffer(i32, {extents}, init=-3)
    add(x, t, z)
"""
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    z = np.zeros_like(x)
    call(target, source, {"x": x, "z": z})
    assert np.array_equal(z, x - 3)


def test_a_part_outside_of_its_tensor_is_refused_at_the_call() -> None:
    x = np.zeros((20, 44), np.float32)
    with pytest.raises(DiagnosticError, match=r"requires t\[k : 2 \* k\] within the tensor") as e:
        dslc.compile(PARTS, target="interp")["parts"](x=x, a=1.0, k=11, z=x.copy())
    assert e.value.diagnostics[0].code == "DSL0759"


def test_later_calls_on_a_cpu() -> None:
    """They take the short way, with other arrays and other scalars."""
    kernel = dslc.compile(PARTS, target="cpu")["parts"]
    rng = np.random.default_rng(1)
    for k in (6, 6, 6, 2, 6):
        x = rng.standard_normal((20, 44)).astype(np.float32)
        z = np.zeros_like(x)
        kernel(x, 1.5, k, z)
        assert np.array_equal(z, parts(x, np.float32(1.5), k))


@pytest.mark.parametrize("target", ["interp", "cpu"])
def test_one_dim_of_a_kernel_is_one_number(target: str) -> None:
    """Two dims of a program that a kernel has as one: else it would write past the shorter tensor."""
    source = KERNELS + "program p(x: f32[N], z: out f32[K]):\n    add(x, x, z)\n"
    with pytest.raises(DiagnosticError, match="axis 0 of z to fit z of add"):
        call(target, source, {"x": np.zeros(100, np.float32), "z": np.zeros(50, np.float32)})


def test_what_no_call_has_written_of_a_buffer_is_found() -> None:
    source = KERNELS + (
        "program p(x: f32[M, N], z: out f32[M, N]):\n"
        "    t = buffer(f32, [2 * M, N])\n"
        "    scale(x, 2, t[0:M])\n"
        "    scale(t[1 : M + 1], 2, z)\n"
    )
    x = np.zeros((20, 44), np.float32)
    with pytest.raises(DiagnosticError) as e:
        dslc.compile(source, target="interp")["p"](x=x, z=x.copy())
    assert e.value.diagnostics[0].code == "DSL0603"
