"""Low-bit storage: what the pass writes, and that programs mean the same before and after."""

from dataclasses import replace

import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype, storage_dtype
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel, Program
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.layout import parse_layout
from dslc.compiler.manifest import signature_of
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.runtime.packing import pack, unpack

from support.kernels import check, every, one

PRODUCT = """
kernel product(a: f32[M, K], w: {dtype}[K, N], c: out f32[M, N]):
    const BM = 4
    const BN = 16
    const BK = 8
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], cast(w[k : k + BK, n : n + BN], f32))
        c[m : m + BM, n : n + BN] = acc
"""


def kernel_of(text: str) -> Kernel:
    return one(text)


def codes_for(dtype: str, shape, seed: int = 0) -> np.ndarray:
    found = parse_dtype(dtype)
    low, high = (0, (1 << found.bits) - 1) if found.is_float else found.integer_range
    values = np.random.default_rng(seed).integers(low, high + 1, shape)
    return values.astype(storage_dtype(found))


def launch(program, arguments):
    """Run a kernel; codes of stored parameters are packed first."""
    stored = {p.name: p.storage.to_data() for p in program.packed}
    run(program, {n: pack(a, stored[n]) if n in stored else a for n, a in arguments.items()})


def same_before_and_after(before, after, arguments, outs):
    results = []
    for program in (before, after):
        given = {n: a.copy() if hasattr(a, "copy") else a for n, a in arguments.items()}
        launch(program, given)
        results.append([given[n] for n in outs])
    for x, y in zip(*results, strict=True):
        np.testing.assert_array_equal(x, y)
    assert any(x.any() for x in results[0])


LANES = """
kernel product(a: {to}[M, K], w: {dtype}[K, N], c: out {acc}[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 32)):
        acc = zeros({acc}, [4, 32])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 4, k : k + 64], cast(w[k : k + 64, n : n + 32], {to}))
        c[m : m + 4, n : n + 32] = acc
"""


@pytest.mark.parametrize("dtype", ["u4", "i4", "u1", "i3", "u2", "i6", "f6e3m2", "f5e2m2", "u7"])
@pytest.mark.parametrize(("to", "acc", "lanes"), [("f16", "f32", 2), ("i8", "i32", 4)])
def test_lanes_of_the_type_that_is_cast_to(dtype, to, acc, lanes):
    if dtype.startswith("f"):  # through bytes
        dtype, lanes = (dtype, 4) if to == "f16" else ("u3", lanes)
    before = kernel_of(LANES.format(dtype=dtype, to=to, acc=acc))
    after = LowBit(lanes=True)(before)
    verify(after)
    (stored,) = after.packed
    assert stored.storage.lanes == lanes
    assert print_program(parse_program(print_program(after))) == print_program(after)
    rng = np.random.default_rng(1)
    arguments = {
        "a": rng.integers(-3, 4, (5, 70)).astype(storage_dtype(parse_dtype(to))),
        "w": codes_for(dtype, (70, 40)),
        "c": np.zeros((5, 40), storage_dtype(parse_dtype(acc))),
    }
    same_before_and_after(before, after, arguments, ["c"])


@pytest.mark.parametrize("dtype", ["u4", "i4", "u1", "i3", "u2", "i6", "f6e3m2", "f5e2m2", "u7"])
@pytest.mark.parametrize(("m", "n", "k"), [(4, 32, 16), (5, 33, 19), (1, 7, 3)])
def test_a_product_is_the_same(dtype, m, n, k):
    before = kernel_of(PRODUCT.format(dtype=dtype))
    after = LowBit()(before)
    (stored,) = after.packed
    assert (stored.name, str(stored.dtype), stored.storage.tile) == ("w", dtype, (8, 16))
    rng = np.random.default_rng(1)
    arguments = {
        "a": rng.integers(-3, 4, (m, k)).astype(np.float32),
        "w": codes_for(dtype, (k, n)),
        "c": np.zeros((m, n), np.float32),
    }
    same_before_and_after(before, after, arguments, ["c"])


def test_a_load_becomes_a_load_of_bytes_and_a_view():
    after = LowBit()(kernel_of(PRODUCT.format(dtype="u4")))
    (view,) = every(after, ins.View)
    loads = every(after, ins.Load)
    (taken,) = [s for s in loads if s.region.memory.name == "w"]
    assert view.x is taken.out
    assert (str(taken.out.type.dtype), taken.out.type.shape) == ("u8", (64,))
    assert taken.out.type.layout == parse_layout("spatial(32).local(2)")
    assert (str(view.out.type.dtype), view.out.type.shape) == ("u4", (8, 16))
    assert view.out.type.layout.threads == 32
    rows, columns, whole = taken.region.axes
    assert (rows.size, rows.dropped, columns.size, columns.dropped) == (1, True, 1, True)
    assert (whole.size, whole.checked) == (64, False)
    assert taken.region.memory in after.params
    (cast,) = [s for s in every(after, ins.Cast) if s.x is view.out]
    assert cast.x.type.layout is not None


def test_the_layout_of_the_program_is_kept():
    text = PRODUCT.format(dtype="i6").replace(
        "cast(w[k : k + BK, n : n + BN], f32)",
        "cast(load(w[k : k + BK, n : n + BN], layout=column_spatial(4, 8).local(2, 2)), f32)",
    )
    before = kernel_of(text)
    after = LowBit()(before)
    (view,) = every(after, ins.View)
    assert view.out.type.layout == parse_layout("column_spatial(4, 8).local(2, 2)")
    assert view.x.type.layout == parse_layout("local(3).spatial(32)")
    rng = np.random.default_rng(1)
    arguments = {
        "a": rng.integers(-3, 4, (6, 20)).astype(np.float32),
        "w": codes_for("i6", (20, 40)),
        "c": np.zeros((6, 40), np.float32),
    }
    same_before_and_after(before, after, arguments, ["c"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k : k + BK, n", "k + 1 : k + 1 + BK, n"),
        ("range(0, K, BK)", "range(3, K, BK)"),
        ("range(0, K, BK)", "range(0, K, 4)"),
        ("w[k : k + BK, n : n + BN]", "w[k : k + 2 * BK : 2, n : n + BN]"),
        ("w[k : k + BK, n : n + BN]", "load(w[k : k + BK, n : n + BN], other=1)"),
        ("cast(w[k", "cast(w[0 : BK, 8 : 8 + BN], f32) + cast(w[k"),
        ("cast(w[k", "sum(cast(w[0 : 4, n : n + BN], f32)) + cast(w[k"),
        (
            "w[k : k + BK, n : n + BN]",
            "load(w[k : k + BK, n : n + BN], layout=spatial(8, 16))",
        ),
        (
            "w[k : k + BK, n : n + BN]",
            "load(w[k : k + BK, n : n + BN], layout=swizzle(local(8, 16), dim=1))",
        ),
    ],
)
def test_what_tiles_do_not_serve_is_packed_in_rows(old, new):
    text = PRODUCT.format(dtype="u3")
    assert old in text
    before = kernel_of(text.replace(old, new))
    after = LowBit()(before)
    assert after.packed == ()
    (w,) = [p for p in after.tensors if p.name == "w"]
    assert w.packed == "row"
    assert every(after, ins.View) == []
    rng = np.random.default_rng(1)
    arguments = {
        "a": rng.integers(-3, 4, (6, 20)).astype(np.float32),
        "w": codes_for("u3", (20, 40)),
        "c": np.zeros((6, 40), np.float32),
    }
    same_before_and_after(before, after, arguments, ["c"])


ZEROS = """
kernel zero_points(w: u4[K, N], z: u4[K // G, N], e: u2[E, K, N], c: out i32[K, N]):
    const G = 16
    require K % G == 0
    for g, n in parallel(range(0, K // G), range(0, N, 32)):
        for k in range(g * G, (g + 1) * G, 8):
            q = cast(w[k : k + 8, n : n + 32], i32) - cast(z[k // G, n : n + 32], i32)
            c[k : k + 8, n : n + 32] = q + cast(e[1, k : k + 8, n : n + 32], i32)
"""


def test_integer_subscripts_and_several_parameters():
    before = kernel_of(ZEROS)
    after = LowBit(threads=64)(before)
    tiles = {p.name: p.storage.tile for p in after.packed}
    assert tiles == {"w": (8, 32), "z": (1, 32), "e": (1, 8, 32)}
    shapes = {m.name: len(m.shape) for m in after.tensors}
    assert shapes == {"w": 3, "z": 3, "e": 4, "c": 2}
    arguments = {
        "w": codes_for("u4", (32, 50), 1),
        "z": codes_for("u4", (2, 50), 2),
        "e": codes_for("u2", (3, 32, 50), 3),
        "c": np.zeros((32, 50), np.int32),
    }
    same_before_and_after(before, after, arguments, ["c"])


def test_a_dim_that_only_stored_parameters_have_keeps_an_argument():
    text = """
kernel both(a: u4[M, K], b: u4[M, K], c: out i32[M]):
    for m in parallel(range(0, M, 8)):
        acc = zeros(i32, [8])
        for k in range(0, K, 16):
            acc += sum(cast(a[m : m + 8, k : k + 16], i32) * cast(b[m : m + 8, k : k + 16], i32), 1)
        c[m : m + 8] = acc
"""
    before = kernel_of(text)
    after = LowBit()(before)
    assert [p.name for p in after.packed] == ["b"]
    arguments = {n: codes_for("u4", (11, 21), i) for i, n in enumerate("ab")}
    same_before_and_after(before, after, {**arguments, "c": np.zeros(11, np.int32)}, ["c"])


def test_what_is_written_strided_or_fixed_stays():
    text = """
kernel copy(x: u4[M, N] packed row, s: u4[M, N] strides (t, 1), y: out u4[M, N]):
    for m in parallel(range(0, M, 8)):
        for n in range(0, N, 8):
            y[m : m + 8, n : n + 8] = x[m : m + 8, n : n + 8] & s[m : m + 8, n : n + 8]
"""
    before = kernel_of(text)
    assert LowBit()(before) is before


def test_a_tile_out_of_bounds_reads_zero():
    text = """
kernel far(w: i4[K, N], c: out i32[K, N]):
    for k, n in parallel(range(-16, K, 8), range(0, N, 8)):
        q = cast(w[k : k + 8, n + 8 : n + 16], i32)
        c[k + 16 : k + 24, n : n + 8] = q
"""
    before = kernel_of(text)
    after = LowBit()(before)
    assert [p.storage.tile for p in after.packed] == [(8, 8)]
    arguments = {"w": codes_for("i4", (24, 20)), "c": np.zeros((24, 20), np.int32)}
    same_before_and_after(before, after, arguments, ["c"])


TWO = """
kernel rows(w: u4[K, N], c: out i32[K, N]):
    for k, n in parallel(range(0, K, 8), range(0, N, 8)):
        c[k : k + 8, n : n + 8] = cast(w[k : k + 8, n : n + 8], i32)

kernel more(w: u4[K, N], d: out i32[K, N]):
    for k, n in parallel(range(0, K, {step}), range(0, N, 8)):
        d[k : k + {step}, n : n + 8] = cast(w[k : k + {step}, n : n + 8], i32) + 1

program both(w: u4[K, N], v: u4[K, N], c: out i32[K, N], d: out i32[K, N], e: out i32[K, N]):
    rows(w, c)
    more(w, d)
    {third}
"""


def both(step: int, third: str) -> Program:
    template = check(TWO.format(step=step, third=third)).templates["both"]
    program = template.elaborate({}, {})
    assert isinstance(program, Program)
    return program


@pytest.mark.parametrize(
    ("step", "third", "stored", "rows"),
    [
        (8, "more(v, e)", {"w", "v"}, set()),
        (16, "rows(v, e)", {"v"}, {"w"}),
        (16, "rows(v, e), of the first call's kernel", set(), {"w", "v"}),
    ],
)
def test_kernels_of_a_program_agree(step, third, stored, rows):
    before = both(step, third.split("), ")[0].rstrip(")") + ")")
    if "first" in third:
        first, second, last = before.calls
        again = replace(last, kernel=first.kernel)
        before = replace(before, calls=(first, second, again))
    after = LowBit()(before)
    assert isinstance(after, Program)
    assert {p.name for p in after.packed} == stored
    assert {p.name for p in after.params if getattr(p, "packed", None) == "row"} == rows
    for call in after.calls:
        for param, arg in zip(call.kernel.params, call.args, strict=True):
            assert (param.dtype, param.packed) == (arg.dtype, arg.packed)
    arguments = {
        "w": codes_for("u4", (20, 12), 1),
        "v": codes_for("u4", (20, 12), 2),
        **{n: np.zeros((20, 12), np.int32) for n in "cde"},
    }
    same_before_and_after(before, after, arguments, ["c", "d", "e"])


@pytest.mark.parametrize("dtype", ["u4", "i6", "f6e3m2"])
def test_stored_parameters_survive_the_text_and_the_verifier(dtype):
    after = LowBit()(kernel_of(PRODUCT.format(dtype=dtype)))
    verify(after)
    text = print_program(after)
    again = parse_program(text)
    assert print_program(again) == text
    assert again.packed == after.packed


def test_the_signature_is_the_callers():
    before = kernel_of(PRODUCT.format(dtype="i3"))
    (_, w, _) = signature_of(before, {}).params
    (_, stored, _) = signature_of(LowBit()(before), {}).params
    assert (stored.name, stored.dtype, stored.dims) == (w.name, w.dtype, w.dims)
    assert w.packed is None
    assert stored.packed["scheme"] == "tiles"
    codes = codes_for("i3", (9, 20))
    np.testing.assert_array_equal(unpack(pack(codes, stored.packed), stored.packed, (9, 20)), codes)


def test_the_passes_go_together():
    before = kernel_of(PRODUCT.format(dtype="u5"))
    after = before
    for step in (Simplify(), Bounds(), LowBit(), Simplify(), Bounds(), DeadCode()):
        after = step(after)
        verify(after)
    assert [p.name for p in after.packed] == ["w"]
    arguments = {
        "a": np.ones((5, 19), np.float32),
        "w": codes_for("u5", (19, 33)),
        "c": np.zeros((5, 33), np.float32),
    }
    same_before_and_after(before, after, arguments, ["c"])
