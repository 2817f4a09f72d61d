"""Low-bit parameters: codes, packed bytes, and both at a call."""

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import decode, parse_dtype, storage_dtype
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.pass_lists import interpreter

from support.machines import call, require

EXAMPLES = Path(__file__).parents[2] / "examples"
SOURCE = """
const W = u4

kernel gemv(x: f32[K], w: W[K, N], y: out f32[N]):
    tune BK = 16 | 8

    for n in parallel(range(0, N, 32)):
        acc = zeros(f32, [32])
        for k in range(0, K, BK):
            acc += sum(cast(w[k : k + BK, n : n + 32], f32) * x[k : k + BK][:, None], 0)
        y[n : n + 32] = acc

kernel unpack_row(w: W[K, N] packed row, y: out W[K, N]):
    for k in parallel(range(K)):
        y[k, 0 : 8] = w[k, 0 : 8]

kernel line(w: W[K] packed row, y: out W[K]):
    for k in parallel(range(0, K, 8)):
        y[k : k + 8] = w[k : k + 8]
"""
DTYPES = ("u1", "u3", "u4", "i4", "i7", "f4e2m1", "f6e3m2")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("DSLC_CACHE", "off")


@pytest.fixture(params=["codes", "tiles"])
def gemv(request, monkeypatch):
    """The kernel compiled with w as codes, and with storage that a pass has chosen."""
    shared = interpreter.interpreter_passes
    if request.param == "codes":
        passes = lambda: tuple(p for p in shared() if not isinstance(p, LowBit))  # noqa: E731
        monkeypatch.setattr(interpreter, "interpreter_passes", passes)

    def compiled(dtype):
        kernel = dslc.compile(SOURCE, define={"W": dtype}).gemv
        packed = kernel.specialize().artifact.signature.params[1].packed
        assert (packed or {"scheme": "codes"})["scheme"] == request.param
        return kernel

    return compiled


def random_codes(dtype, shape):
    d = parse_dtype(dtype)
    low, high = (0, (1 << d.bits) - 1) if d.is_float else d.integer_range
    return np.random.default_rng(0).integers(low, high + 1, shape).astype(storage_dtype(d))


def failure(call):
    with pytest.raises(DiagnosticError) as caught:
        call()
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(64, 64), (37, 50), (1, 1)])
@pytest.mark.parametrize("choices", [{}, {"BK": 8}])
def test_packed_and_codes_give_the_same(gemv, dtype, shape, choices):
    kernel = gemv(dtype)
    k, n = shape
    codes = random_codes(dtype, shape)
    x = np.linspace(-1, 1, k, dtype=np.float32)
    expected = x @ decode(codes, parse_dtype(dtype)).astype(np.float32)
    packed = kernel.pack("w", codes, **choices)
    for w in (codes, packed):
        y = np.full(n, np.nan, np.float32)
        kernel(x, w, y, **choices)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
    found = kernel.unpack("w", packed, K=k, N=n, **choices)
    np.testing.assert_array_equal(found, codes)
    assert found.dtype == codes.dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype):
    kernel = dslc.compile(SOURCE, define={"W": dtype}).unpack_row
    codes = random_codes(dtype, (5, 7))
    packed = kernel.pack("w", codes)
    assert packed.shape == ((35 * parse_dtype(dtype).bits + 7) // 8,)
    for w in (codes, packed):
        y = np.zeros_like(codes)
        kernel(w, y)
        np.testing.assert_array_equal(y, codes)
    np.testing.assert_array_equal(kernel.unpack("w", packed, K=5, N=7), codes)
    one = kernel.specialize(K=5, N=7)
    np.testing.assert_array_equal(one.unpack("w", one.pack("w", codes)), codes)


@pytest.mark.parametrize("dtype", ["u4", "i4", "f6e3m2"])
def test_a_row_of_one_axis(dtype):
    kernel = dslc.compile(SOURCE, define={"W": dtype}).line
    codes = random_codes(dtype, 21)
    for w in (codes, kernel.pack("w", codes)):
        y = np.zeros_like(codes)
        kernel(w, y)
        np.testing.assert_array_equal(y, codes)


BY_CODES = """
kernel weighted(x: u4[M] packed row, w: u4[M, 3], y: out i32[3]):
    y[:] = sum(cast(w[0:8, :], i32) * reshape(cast(x[0:8], i32), [8, 1]), 0)
"""


@pytest.mark.parametrize("target", ["interp", "aarch64:bf16", "cpu"])
def test_codes_tell_a_dim_before_packed_bytes_of_one_axis(target):
    w = random_codes("u4", (8, 3))
    y = np.zeros(3, np.int32)
    call(target, BY_CODES, {"x": np.full(4, 0x31, np.uint8), "w": w, "y": y})
    np.testing.assert_array_equal(y, np.array([1, 3] * 4) @ w.astype(int))


OF_A_HALF = """
kernel sparse24(a: f16[M, K], w: f16[K // 2, N], at: u2[K // 2, N], c: out f32[M, N]):
    tune BN = 64 | 128
    tune BK = 32 | 64
    require K % 4 == 0
    for m, n in parallel(range(0, M, 16), range(0, N, BN)):
        acc = zeros(f32, [16, BN])
        for k in range(0, K, BK):
            kept = reshape(w[k // 2 : k // 2 + BK // 2, n : n + BN], [BK // 4, 2, BN])
            place = reshape(cast(at[k // 2 : k // 2 + BK // 2, n : n + BN], i32), [BK // 4, 2, BN])
            row = arange(4)[None, :, None]
            b = where(row == repeat(place, 2, 1), repeat(kept, 2, 1), 0)
            acc += dot(a[m : m + 16, k : k + BK], reshape(b, [BK, BN]))
        c[m : m + 16, n : n + BN] = acc
"""


@pytest.mark.parametrize(
    ("target", "choices"), [("hip:gfx942", {}), ("hip:gfx942", {"BN": 128}), ("cuda:sm_90a", {})]
)
def test_codes_tell_dims_that_they_have_a_half_of(target, choices):
    require(target)
    kernel = dslc.compile(OF_A_HALF, target=target).sparse24
    made = kernel.specialize_for({"M": 40, "K": 256, "N": 128}, choices)
    codes = np.zeros((128, 128), np.uint8)
    packed = kernel.pack("at", codes, **choices)
    assert packed.storage == made.artifact.signature.params[2].packed


WEIGHTS = """
const W = u8

kernel product(a: f16[M, K], w: W[K, N], z: W[K // 16, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 32):
            zero = repeat(z[k // 16 : k // 16 + 2, n : n + 32], 16, 0)
            b = cast(w[k : k + 32, n : n + 32], f16) - cast(zero, f16)
            acc += dot(a[m : m + 16, k : k + 32], b)
        c[m : m + 16, n : n + 32] = acc

kernel straight(a: i8[M, K], b: i8[K, N], c: out i32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(i32, [16, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 16, k : k + 32], b[k : k + 32, n : n + 32])
        c[m : m + 16, n : n + 32] = acc
"""


@pytest.mark.parametrize("dtype", ["u8", "i8", "f8e4m3", "f8e5m2"])
def test_weights_of_8_bits_are_packed_too(dtype):
    kernel = dslc.compile(WEIGHTS, define={"W": dtype}).product
    codes, zeros = random_codes(dtype, (48, 40)), random_codes(dtype, (3, 40))
    codes[codes.view(np.uint8) & 0x7C == 0x7C] = 1  # neither inf nor NaN
    if dtype.startswith("f"):
        zeros[...] = 1
    a = np.ones((5, 48), np.float16)
    packed = kernel.pack("w", codes)
    assert (packed.dtype, packed.shape) == (np.uint8, (2, 2, 32 * 32))
    np.testing.assert_array_equal(kernel.unpack("w", packed, K=48, N=40), codes)
    results = []
    plain = kernel.specialize(["w"])
    for run, w in ((kernel, codes), (kernel, packed), (plain, codes)):
        results.append(np.full((5, 40), np.nan, np.float32))
        run(a, w, zeros, results[-1])
    decoded = decode(codes, parse_dtype(dtype)).astype(np.float16)
    decoded = decoded - np.repeat(decode(zeros, parse_dtype(dtype)).astype(np.float16), 16, 0)
    expected = a.astype(np.float32) @ decoded.astype(np.float32)
    np.testing.assert_allclose(results[0], expected, rtol=1e-5)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    with pytest.raises(DiagnosticError, match="axes, expected 2"):
        plain(a, packed, zeros, results[0])


def test_bytes_that_are_no_weights_stay_arrays():
    lib = dslc.compile(WEIGHTS)
    zeros = random_codes("u8", (3, 40))
    assert lib.product.pack("z", zeros).shape == zeros.shape
    assert lib.product.unpack("z", zeros, K=48, N=40).shape == zeros.shape
    a, b = random_codes("i8", (16, 32)), random_codes("i8", (32, 40))
    assert lib.straight.pack("b", b) is not None
    assert all(p.packed is None for p in lib.straight.specialize().artifact.signature.params)
    c = np.zeros((16, 40), np.int32)
    lib.straight(a, lib.straight.pack("b", b), c)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


PLAIN_LINE = """
kernel line(w: i4[K], y: out i4[K]):
    for k in parallel(range(0, K, 8)):
        y[k : k + 8] = w[k : k + 8]
"""


@pytest.mark.parametrize("choose", [False, True])
def test_signed_codes_may_come_as_bytes(monkeypatch, choose):
    shared = interpreter.interpreter_passes
    if not choose:
        plain = lambda: tuple(p for p in shared() if not isinstance(p, LowBit))  # noqa: E731
        monkeypatch.setattr(interpreter, "interpreter_passes", plain)
    kernel = dslc.compile(PLAIN_LINE).line
    codes = random_codes("i4", 24)
    for w in (codes, codes.view(np.uint8), kernel.pack("w", codes)):
        y = np.zeros_like(codes)
        kernel(w, y)
        np.testing.assert_array_equal(y, codes)


def test_what_cannot_be_packed_says_why():
    kernel = dslc.compile(SOURCE).unpack_row
    codes = random_codes("u4", (4, 8))
    assert failure(lambda: kernel.pack("x", codes)).hint == "there are w, y"
    assert failure(lambda: dslc.compile(SOURCE).gemv.pack("x", codes)).code == "DSL0746"
    assert failure(lambda: kernel.pack("w", codes[0])).code == "DSL0746"
    assert failure(lambda: kernel.pack("w", codes.astype(np.float32))).code == "DSL0761"
    found = failure(lambda: kernel.pack("w", codes + 13))
    assert "is outside 0 to 15" in found.message
    found = failure(lambda: kernel.unpack("w", np.zeros(3, np.uint8), K=4, N=8))
    assert "uint8 of shape (16,)" in found.message
    assert failure(lambda: kernel.unpack("w", np.zeros(16, np.uint8), K=4)).code == "DSL0754"


@pytest.mark.parametrize("shape", [(37, 49), (37, 51), (36, 50), (38, 50), (80, 50), (37 * 50,)])
def test_codes_of_another_shape_are_refused(gemv, shape):
    kernel = gemv("u4")
    x, y = np.ones(37, np.float32), np.ones(50, np.float32)
    found = failure(lambda: kernel(x, random_codes("u4", shape), y))
    assert found.code in ("DSL0751", "DSL0752")


def test_codes_that_come_first_do_not_bind_the_others():
    source = SOURCE.replace("x: f32[K], w: W[K, N]", "w: W[K, N], x: f32[K]")
    kernel = dslc.compile(source).gemv
    x, y = np.ones(37, np.float32), np.ones(50, np.float32)
    found = failure(lambda: kernel(random_codes("u4", (37, 49)), x, y))
    assert (found.code, "expected [K, N] = [37, 50]" in found.message) == ("DSL0752", True)


def test_two_low_bit_parameters_must_agree():
    kernel = dslc.compile(
        "kernel f(a: u4[M, K], b: u4[M, K], y: out i32[M]):\n"
        "    for m in parallel(range(0, M, 8)):\n"
        "        acc = zeros(i32, [8])\n"
        "        for k in range(0, K, 16):\n"
        "            p = cast(a[m : m + 8, k : k + 16], i32) * cast(b[m : m + 8, k : k + 16], i32)\n"
        "            acc += sum(p, 1)\n"
        "        y[m : m + 8] = acc\n"
    ).f
    a, y = random_codes("u4", (8, 16)), np.zeros(8, np.int32)
    kernel(a, a, y)
    np.testing.assert_array_equal(y, (a.astype(np.int32) ** 2).sum(1))
    assert failure(lambda: kernel(a, a[:, :15], y)).code == "DSL0752"


@pytest.mark.parametrize("kernel", ["gemm_w4a8_channel", "gemm_w4a8_group"])
def test_bytes_that_are_arrays_anyway_change_no_packing(kernel: str) -> None:
    """A call tells that q comes as an array, `pack` does not: both mean the same storage of w."""
    library = dslc.compile(EXAMPLES / "w4a8.tile", "cuda:sm_90a", cache=False)
    sizes = {"M": 64, "N": 256, "K": 1024, "BM": 64, "BN": 128, "BK": 128}
    found = [library[kernel].specialize(plain, **sizes) for plain in ((), ("q",))]
    packed = [[(p.name, p.packed) for p in f.artifact.signature.params] for f in found]
    assert packed[0] == packed[1]


@pytest.mark.parametrize("target", ["interp", "aarch64:i8mm", "nki:trn2"])
@pytest.mark.parametrize("count", [1, 2, 5, 7, 16])
def test_codes_of_one_axis_are_not_taken_for_bytes(target, count):
    """Seven codes of 7 bits take seven bytes too: which they are, the source says, or `pack`."""
    require(target)
    text = (
        "kernel k(x: u7[M], y: out i32[M]):\n    for m in parallel(range(0, M, 2)):\n"
        "        y[m : m + 2] = cast(x[m : m + 2], i32)\n"
    )
    kernel = dslc.compile(text, target=target).k
    codes, y = random_codes("u7", (count,)), np.zeros(count, np.int32)
    for given in (codes, kernel.pack("x", codes)):
        y[:] = -1
        kernel(given, y)
        np.testing.assert_array_equal(y, codes)


@pytest.mark.parametrize("target", ["nki:trn2", "aie:npu2"])
@pytest.mark.parametrize("dtype", ["i5", "u3", "u4", "f4e2m1", "i8"])
def test_rows_are_packed_without_sizes_where_the_machine_compiles_for_all(target, dtype):
    """Packing asks for no dim that only other arguments tell."""
    require(target)
    source = f"""
kernel g(x: f32[M, K], w: {dtype}[K, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 32)):
        acc = zeros(f32, [8, 32])
        for k in range(0, K, 16):
            acc += dot(x[m : m + 8, k : k + 16], cast(w[k : k + 16, n : n + 32], f32))
        y[m : m + 8, n : n + 32] = acc
"""
    found = parse_dtype(dtype)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1 << (found.bits - 1), (32, 64)).astype(storage_dtype(found))
    x, results = rng.integers(-3, 4, (16, 32)).astype(np.float32), []
    for machine in ("interp", target):
        kernel = dslc.compile(source, target=machine, cache=False)["g"]
        y = np.zeros((16, 64), np.float32)
        if machine == target:
            packed = kernel.pack("w", codes)
            np.testing.assert_array_equal(packed, kernel.pack("w", codes, M=16))
            kernel(x=x, w=packed, y=y, N=64)
        else:
            kernel(x=x, w=codes, y=y)
        results.append(y)
    np.testing.assert_array_equal(*results)
