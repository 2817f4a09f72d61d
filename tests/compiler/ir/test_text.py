"""The printer and the parser."""

import pytest
import random_ir
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import INSTRUCTIONS, walk
from dslc.compiler.ir.verify import verify
from hypothesis import given, settings
from hypothesis import strategies as st

EVERY = """\
kernel every[M, N, sm](@x: in f16[M, 64], @w: in u4[64, N] packed row, \
@s: inout f32[M, n] strides (sm, 1), @y: out f32[M, N], @lock: inout i32[8], n: i32) {
  doc "All of it: \\"quoted\\" and \\n two lines"
  fixed K = 64
  config BM = 16, BN = 32
  threads(32)
  rasterize(M * 8)
  require M % 16 == 0, "M % BM == 0"
  memory @ws: workspace global f32[M // 16, 4]
  grid m in range(0, M, 16), b: i32 in range(i32(0), n, i32(1)) reversed
  launch_dependents
  prefetch @x[0 : +16!, 0 : +64!]
  await_launches
  let i: i32 = cast(m * 2 // 3, i32) + n
  let big = -(m - 1) ** 2 - -3 + (-5) ** 2 + -(5) % -N
  let c: bool = (m < N) & ~(N <= 4) | True
  let f: f32 = select(m == 0, f32(-0.0), min(f32(inf), exp(f32(1e-05))))
  alloc @tile: buffer shared f16[16, 64] `spatial(16, 1).local(1, 64)` offset 1024
  %h = full f16(0.5) : f16[16, 64]
  %u = undefined : f16[16, 64] `spatial(16, 2).local(1, 32)`
  %i = arange : i32[64]
  %neg = neg %h : f16[16, 64]
  %sum = add %h, %neg : f16[16, 64]
  %less = lt %h, %neg : bool[16, 64]
  %fma = fma %h, %neg, %sum : f16[16, 64]
  %fused = fused %h, %neg, steps="sub exp" : f16[16, 64]
  %pick = where %less, %h, %fma : f16[16, 64]
  %wide = cast %pick : f32[16, 64]
  %byte = cast %i, saturate : u8[64]
  %view = view %u : u8[128, 16] `spatial(32, 1).local(4, 16)`
  %laid = convert_layout %u : f16[16, 64] `spatial(32, 1).local(1, 32)`
  %total = reduce sum %wide, axis=1 : f32[16]
  %best = reduce argmax %wide, axis=0, keepdims : i32[1, 64]
  %met = cluster_reduce add %wide, m % 2 : f32[16, 64]
  %run = scan sum %i, axis=0 : i32[64]
  %turned = transpose %h, axes=(1, 0) : f16[64, 16]
  %flat = reshape %h : f16[1024]
  %wider = broadcast %i : i32[16, 64]
  %twice = repeat %i, times=2, axis=0 : i32[128]
  %both = concat %i, %run, axis=0 : i32[128]
  %part = extract %h, starts=(0, 8), steps=(1, 2), dropped=(0) : f16[28]
  %d = dot %h, %turned : f32[16, 16]
  %e = dot %h, %turned, acc=%d, atom="mma" : f32[16, 16]
  %l = load @x[m : +16, 0 : +64!] : f16[16, 64]
  %row = load @x[m + 1, 0 : +16 : 4!], other=f16(1.0) : f16[16]
  store @tile[0 : +16!, 0 : +64!], %l
  atomic_rmw add @s[m : +16, 0], %total
  %one = full i32(1) : i32[]
  %old = atomic_rmw add @lock[0!], %one : i32[]
  %g = gather @w[0 : +1, m : +16], %i, axes=(0) : u4[64, 16]
  scatter @y[0 : +1, 0 : +16], %d2, %i, axes=(0)
  copy_async @tile[0 : +16, 0 : +64], @x[m : +16, 0 : +64]
  copy_async @tile[0 : +16, 0 : +64], @x[m : +16, 0 : +64], layout=`spatial(16, 8).local(1, 8)`
  commit_group
  wait_group pending=1
  wait_dots pending=1
  await_partner alone
  hand_over
  sync
  memory_barrier
  memory_barrier warp=32
  alloc @full: buffer shared u64[2]
  init_barriers @full[0 : +2!], arrivals=1
  arrive @full[1!], bytes=2048
  copy_async @tile[0 : +16, 0 : +64], @x[m : +16, 0 : +64], barrier=@full[1!]
  arrive @full[0!], together
  await_phase @full[m % 2!], m % 2
  semaphore_wait @lock[m % 8], i32(1)
  semaphore_release @lock[m % 8], read(%old) + i32(1)
  print "hello"
  print "values", %d, m, read(%old), i
  assert m < M, "in range"
  %acc, last: i32 = for k in range(0, 64, 16) stages=3 unroll=2 split=4 \
carry (%in : f32[16, 16] = %d, t : i32 = i32(0)) {
    %next = add %in, %in : f32[16, 16]
    yield %next, t + i32(1)
  }
  j = while carry (q : index = 0) {
    let stop = q * 2
  } test stop < M do {
    yield q + 1
  }
  %best_1 : f32[16, 16], z : index = if j > 3 {
    yield %acc, 1
  } else {
    yield %d, j
  }
  if True {
    sync
  } else {
    commit_group
  }
  for r: i32 in range(i32(0), n, i32(1)) {
  }
}
""".replace("  scatter", "  %d2 = full f32(2.0) : f32[64, 16]\n  scatter").replace(
    "last: i32 = for", "last = for"
)

PROGRAM = """\
kernel double[M](@x: in f32[M], @y: out f32[M]) {
  %x = load @x[0 : +4] : f32[4]
  %y = add %x, %x : f32[4]
  store @y[0 : +4], %y
}

program twice[S](@a: in f32[S], @b: out f32[S], k: i32) {
  doc "Four times"
  fixed H = 4
  memory @between: buffer f32[S]
  call double(@a, @between)
  call double(@between, @b)
}
"""


PIECES = (
    "", "%x", "@y", "0", "-1", "99", "(", ")", "[", "]", "{", "}", ",", ":", "=", "!", "`", '"', "#",
    "\n", "\\", " k ", " add ", " i32(", "inf", "%", "**", "f32[4] ", "1e999", "at ",
)  # fmt: skip


@pytest.mark.parametrize("text", [EVERY, PROGRAM])
def test_text_parses_back(text):
    assert print_program(parse_program(text)) == text


def test_the_text_above_has_every_instruction():
    found = {type(s) for s in walk(parse_program(EVERY).body)}
    assert found >= set(INSTRUCTIONS)


@given(random_ir.kernels())
def test_printing_then_parsing_then_printing_is_printing(kernel):
    text = print_program(kernel)
    assert print_program(parse_program(text)) == text


def test_locations_parse_back():
    text = print_program(parse_program(EVERY, "every.ir"), locations=True)
    assert text == EVERY  # parsing gives no locations: the text has none
    located = PROGRAM.replace("%x, %x : f32[4]", '%x, %x : f32[4] at "a.tile":3:5-3:9').replace(
        "(@a, @between)", '(@a, @between) at "a.tile":9:1'
    )
    program = parse_program(located)
    assert print_program(program, locations=True) == located
    assert print_program(program) == PROGRAM


@pytest.mark.parametrize(
    ("right", "wrong", "code", "place"),
    [
        ("%y = add %x", "%y = ad %x", "DSL0402", "3:8"),
        ("add %x, %x", "add %x %x", "DSL0401", "3:15"),
        ("@y[0 : +4], %y", "@y[0 : +4], %z", "DSL0402", "4:21"),
        ("%y = add", "%x = add", "DSL0403", "3:3"),
        ("0 : +4] : f32[4]", "0 : +4 : f32[4]", "DSL0401", "2:25"),
        (": f32[4]", ": f31[4]", "DSL0402", "2:26"),
        (": f32[4]", ": f32", "DSL0404", "2:24"),
        ("%x, %x : f32[4]", "%x, %x", "DSL0401", "3:18"),
        ("%x, %x : f32[4]", "%x : f32[4]", "DSL0404", "3:8"),
        ("store @y", "%z = store @y", "DSL0404", "4:8"),
        ("@x[0 : +4]", "@x[$ : +4]", "DSL0401", "2:16"),
        ("@y[0 : +4], %y", "@y[0 == f32(1.0) : +4], %y", "DSL0404", "4:14"),
        ("kernel double", "kernel", "DSL0401", "1:7"),
        ("call double", "call doble", "DSL0402", "11:8"),
        ("buffer f32", "bufer f32", "DSL0402", "10:20"),
        ("f32[S]", "f32[S] `locl(4)`", "DSL0311", "7:32"),
    ],
)
def test_malformed_text_is_a_located_error(right, wrong, code, place):
    assert right in PROGRAM
    with pytest.raises(DiagnosticError) as raised:
        parse_program(PROGRAM.replace(right, wrong, 1), "f.ir")
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, str(diagnostic.loc)) == (code, f"f.ir:{place}")


@given(st.data())
@settings(max_examples=150)
def test_damaged_text_is_never_a_crash(data):
    text = data.draw(st.sampled_from([EVERY, PROGRAM]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        end = at + data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[end:]
    try:
        program = parse_program(text)
        verify(program)
    except DiagnosticError as found:
        codes = {d.code[:5] for d in found.diagnostics}
    else:
        codes = set()
        assert print_program(parse_program(print_program(program))) == print_program(program)
    assert codes <= {"DSL03", "DSL04"}


def test_deep_nesting_is_an_error():
    text = f"kernel f[]() {{\n  let x = {'(' * 5000}1{')' * 5000}\n}}\n"
    with pytest.raises(DiagnosticError, match="nested"):
        parse_program(text)


@pytest.mark.parametrize("words", ["multicast", "layout=`spatial(4)`, multicast"])
def test_a_truth_is_a_word_wherever_it_stands(words):
    """What could stand before it is left out, or there."""
    head = "kernel k[](@x: in f32[4]) {\n  alloc @s: buffer shared f32[4]\n"
    text = f"{head}  copy_async @s[0 : +4], @x[0 : +4], {words}\n}}\n"
    copy = parse_program(text).body[1]
    assert copy.multicast
    assert (copy.layout is not None) == ("layout" in words)
