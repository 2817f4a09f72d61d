"""Split reduction."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from hypothesis import given, settings
from hypothesis import strategies as st

SUM = """\
kernel rows[M, K](@x: in f32[M, K], @y: out f32[M]) {
  grid m in range(0, M, 16)
  %zero = full f32(0.0) : f32[16]
  %sum = for k in range(0, K, 64) split=4 carry (%acc : f32[16] = %zero) {
    %x = load @x[m : +16, k : +64] : f32[16, 64]
    %s = reduce sum %x, axis=1 : f32[16]
    %next = add %acc, %s : f32[16]
    yield %next
  }
  store @y[m : +16], %sum
}
"""


def split(text, **how):
    kernel = parse_program(text)
    verify(kernel)
    changed = SplitReduction(**how)(kernel)
    verify(changed)
    return kernel, changed


# Statements of one turn: %acc and %x: i32[4], s and k are scalars; each yields %next and t.
TURNS = [
    "%next = add %acc, %x : i32[4]\n  let t = s",
    "%next = add %x, %acc : i32[4]\n  let t = s + k",
    "%next = sub %acc, %x : i32[4]\n  let t = s - k * 2",
    "%next = min %acc, %x : i32[4]\n  let t = max(s, k)",
    "%next = max %x, %acc : i32[4]\n  let t = min(k, s)",
    # several additions, one of them by a product
    "%b = reshape %x : i32[1, 4]\n  %one = full i32(3) : i32[1, 1]\n  %u = add %acc, %x : i32[4]\n"
    "  %v = reshape %x : i32[4]\n  %next = sub %u, %v : i32[4]\n  let t = 1 + s + k",
    # through a branch
    "%next : i32[4], t : index = if k % 8 == 0 {\n  %u = add %acc, %x : i32[4]\n  yield %u, s + 1\n"
    "  } else {\n  yield %acc, s\n  }",
    # through a choice of elements
    "%c = lt %x, %y : bool[4]\n  %u = add %acc, %x : i32[4]\n  %next = where %c, %u, %acc : i32[4]\n"
    "  let t = select(k < 9, s + k, s)",
    # through a nested loop
    "%next, t = for j in range(0, 3, 1) carry (%in : i32[4] = %acc, q : index = s) {\n"
    "  %u = add %in, %x : i32[4]\n  yield %u, q + j\n  }",
]
LOOP = """\
kernel f[M, K](@x: in i32[M, K], @y: out i32[M], @n: out i32[M]) {
  grid m in range(2, M, 4), c in range(0, 2, 1)
  %y = full cast(m + c, i32) : i32[4]
  %r, n = for k in range(START, K - 1, STEP) split=PARTS carry (%acc : i32[4] = %y, s : index = m) {
    %x = load @x[m : +4, k] : i32[4]
    TURN
    yield %next, t
  }
  if c == 1 {
    store @y[m : +4], %r
    %n = full cast(n, i32) : i32[4]
    store @n[m : +4], %n
  }
}
"""


@given(
    st.sampled_from(TURNS),
    st.integers(0, 3),
    st.integers(1, 5),
    st.integers(2, 6),
    st.integers(0, 40),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_a_split_accumulation_is_the_same(turn, start, step, parts, extent, seed):
    text = LOOP.replace("TURN", turn).replace("START", str(start))
    text = text.replace("STEP", str(step)).replace("PARTS", str(parts))
    kernel, changed = split(text)
    simple = Bounds()(Simplify()(changed))
    verify(simple)
    x = np.random.default_rng(seed).integers(-99, 99, (11, extent), np.int32)
    found = []
    for k in (kernel, changed, simple):
        y, n = np.zeros(11, np.int32), np.zeros(11, np.int32)
        run(k, {"x": x, "y": y, "n": n}, Options(shuffle=seed))
        found.append((y.tolist(), n.tolist()))
    assert found[0] == found[1] == found[2]


def test_parts_that_registers_do_not_hold_at_once_are_added_by_turns():
    text = LOOP.replace("TURN", TURNS[0]).replace("START", "0").replace("STEP", "1")
    kernel, changed = split(text.replace("PARTS", "6"), added=10)  # 4 elements and a number a part
    assert "for p in range(0, 6, 2) carry" in print_program(changed)
    x = np.random.default_rng(0).integers(-99, 99, (11, 30), np.int32)
    found = []
    for k in (kernel, changed):
        y, n = np.zeros(11, np.int32), np.zeros(11, np.int32)
        run(k, {"x": x, "y": y, "n": n}, Options(shuffle=1))
        found.append((y.tolist(), n.tolist()))
    assert found[0] == found[1]


def test_what_follows_is_loaded_with_the_parts_unless_the_sum_says_where():
    text = LOOP.replace("TURN", TURNS[0]).replace("START", "0").replace("STEP", "1")
    text = text.replace("PARTS", "2").replace("  if c == 1 {", "  LOAD\n  if c == 1 {")
    plain = "%b = load @x[m : +4, 0] : i32[4]"
    shown = print_program(split(text.replace("LOAD", plain))[1])
    assert shown.index("%b = load") < shown.index("load @partial")
    shown = print_program(split(text.replace("LOAD", plain.replace(", 0]", ", n]")))[1])
    assert shown.index("%b = load") > shown.index("load @partial")


def test_dot_accumulates_through_its_operand():
    text = """\
kernel mm[M, K](@a: in f16[M, K], @b: in f16[K, 8], @c: out f32[M, 8]) {
  grid m in range(0, M, 16)
  %zero = full f32(0.0) : f32[16, 8]
  %sum = for k in range(0, K, 16) split=3 carry (%acc : f32[16, 8] = %zero) {
    %a = load @a[m : +16, k : +16] : f16[16, 16]
    %b = load @b[k : +16, 0 : +8] : f16[16, 8]
    %d = dot %a, %b, acc=%acc : f32[16, 8]
    yield %d
  }
  store @c[m : +16, 0 : +8], %sum
}
"""
    kernel, changed = split(text)
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, s).astype(np.float16) for s in ((20, 100), (100, 8)))
    results = []
    for k in (kernel, changed):
        c = np.zeros((20, 8), np.float32)
        run(k, {"a": a, "b": b, "c": c}, Options(shuffle=5))
        results.append(c)
    np.testing.assert_array_equal(results[0], a.astype(np.float32) @ b.astype(np.float32))
    np.testing.assert_array_equal(*results)


def test_the_order_of_arrival_does_not_change_a_bit():
    _, changed = split(SUM)
    x = np.random.default_rng(1).normal(size=(16, 1000)).astype(np.float32)
    sums = []
    for seed in range(6):
        y = np.zeros(16, np.float32)
        run(changed, {"x": x, "y": y}, Options(shuffle=seed))
        sums.append(y.tobytes())
    assert len(set(sums)) == 1
    np.testing.assert_allclose(np.frombuffer(sums[0], np.float32), x.sum(1), rtol=1e-4)


def test_what_stands_before_prints_once(capsys):
    text = SUM.replace("  %zero =", '  print "row", m\n  %zero =')
    kernel, changed = split(text)
    for k in (kernel, changed):
        y = np.zeros(16, np.float32)
        run(k, {"x": np.ones((16, 64), np.float32), "y": y})
    assert capsys.readouterr().out.count("row") == 2


REFUSED = [
    ("DSL0511", "    %next", "    store @y[m : +16], %s\n    %next", "only after its loop"),
    ("DSL0511", "  %sum =", "  atomic_rmw add @z[m : +16], %zero\n  %sum =", "only after its loop"),
    ("DSL0512", "add %acc, %s", "mul %acc, %s", "acc is no sum"),
    ("DSL0512", "add %acc, %s", "add %acc, %acc", "acc is no sum"),
    ("DSL0512", "add %acc, %s", "sub %s, %acc", "acc is no sum"),
    ("DSL0512", "    yield", '    print "", %acc\n    yield', "acc is no sum"),
    (
        "DSL0512",
        "%next = add %acc, %s",
        "%most = max %acc, %s : f32[16]\n    %next = add %most, %s",
        "acc is no sum",
    ),
    (
        "DSL0511",
        "    %next",
        "    store @b[0 : +16], %s\n    %next",
        "keeps nothing in a buffer",
    ),
    ("DSL0513", "64) split", "K) split", "known at compile time"),
    ("DSL0513", "range(0, M, 16)", "range(0, M, K)", "the step of m"),
]


@pytest.mark.parametrize(("code", "old", "new", "message"), REFUSED)
def test_what_cannot_be_split_is_refused(code, old, new, message):
    text = SUM.replace(old, new, 1).replace("@y: out", "@z: inout f32[M], @y: out")
    if "@b" in new:
        text = text.replace("  %zero", "  alloc @b: buffer f32[16]\n  %zero", 1)
    kernel = parse_program(text)
    verify(kernel)
    with pytest.raises(DiagnosticError, match=message) as raised:
        SplitReduction()(kernel)
    assert raised.value.diagnostics[0].code == code


def test_a_buffer_inside_the_loop_is_allowed():
    inside = "    alloc @b: buffer f32[16]\n    store @b[0 : +16], %s\n    %next"
    split(SUM.replace("    %next", inside, 1))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  if K == 0 {\n  LOOP  }\n", "inside another statement"),
        ("  LOOP  LOOP", "only one loop"),
    ],
)
def test_one_outermost_loop(body, message):
    for i in range(2):
        loop = f"for k{i} in range(0, K, 1) split=2 {{\n  sync\n  }}\n"
        body = body.replace("LOOP", loop, 1)
    kernel = parse_program(f"kernel f[K]() {{\n{body}}}\n")
    with pytest.raises(DiagnosticError, match=message) as raised:
        SplitReduction()(kernel)
    assert raised.value.diagnostics[0].code == "DSL0510"


def test_a_load_at_a_sum_comes_after_it():
    """What follows the loop is loaded with the parts, but for what the sum itself says."""
    text = """\
kernel at[K](@x: in i32[K], @t: in f32[64], @y: out f32[16]) {
  %zero = full i32(0) : i32[]
  %sum = for k in range(0, K, 16) split=2 carry (%acc : i32[] = %zero) {
    %x = load @x[k : +16] : i32[16]
    %s = reduce sum %x, axis=0 : i32[]
    %next = add %acc, %s : i32[]
    yield %next
  }
  %first = load @t[0 : +16] : f32[16]
  %there = load @t[cast(read(%sum), index) : +16] : f32[16]
  %both = add %first, %there : f32[16]
  store @y[0 : +16], %both
}
"""
    split = SplitReduction()(parse_program(text))
    verify(split)
    x, t = np.ones(32, np.int32), np.arange(64, dtype=np.float32)
    y = np.zeros(16, np.float32)
    run(split, {"x": x, "t": t, "y": y})
    np.testing.assert_array_equal(y, t[:16] + t[32:48])
