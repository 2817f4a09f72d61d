"""Bounds: which checks go, and that none goes that is needed."""

import re

import meaning
import pytest
import random_ir
from dslc.compiler.analysis.scalar_facts import Facts
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.ir.expr import Var, index
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import regions, walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.simplify import Simplify
from hypothesis import given, settings
from hypothesis import strategies as st
from index_expressions import conditions, environments, evaluate, index_expressions

MN = "  grid m in range(0, M, 16), n in range(0, N, 32)\n"
PARTS = "  grid part in range(0, 4, 1)\n"
ROWS = "  grid m in range(0, M, 1)\n"
K_LOOP = "for k in range(0, K, 64) {; @; }"


def multiple(name, of):
    return f'  require {name} % {of} == 0, ""\n'


K64, K128 = multiple("K", 64), multiple("K", 128)
TURNS = "r = for k in range(0, K, 1) carry (s : index = s0) {; @; yield (s + 1) % 3; }"
PART = "part * ((K + 255) // 256) * 64"

# What becomes of the checks, the access, what stands before it, and the statements around it.
CASES = [
    # one row of a ragged M; whole blocks of K
    ("!.", "f32[M, K]", "m, k : +64", MN, K_LOOP),
    ("!!", "f32[M, K]", "m, k : +64", K64 + MN, K_LOOP),
    (".!", "f32[M, K]", "m : +16, k : +64", K64 + MN, K_LOOP),
    ("!!", "f32[M, K]", "m : +16, k : +64", K64 + multiple("M", 16) + MN, K_LOOP),
    # a multiple that is too coarse or too fine
    ("!", "f32[K]", "k : +64", K128, K_LOOP),
    (".", "f32[K]", "k : +64", multiple("K", 32), K_LOOP),
    ("!", "f32[K]", "k : +64", multiple("K", 32) + multiple("K", 192), K_LOOP),
    ("!", "f32[K]", "k + 32 : +32", K64, K_LOOP),
    (".", "f32[K]", "k + 32 : +33", K64, K_LOOP),
    ("!", "f32[K]", "k : +32 : 2", K64, K_LOOP),
    (".", "f32[K]", "k : +33 : 2", K64, K_LOOP),
    (".", "f32[K]", "k - 1 : +64", K64, K_LOOP),
    # group scales: k // G of K // G rows
    ("!", "f32[K // 128]", "k // 128", K128, K_LOOP),
    (".", "f32[K // 128]", "k // 128", K64, K_LOOP),
    ("!", "f32[(K + 127) // 128]", "k // 128", "", K_LOOP),
    # fixed sizes, up and down
    ("!", "f32[256]", "k : +64", "", "for k in range(0, 256, 64) {; @; }"),
    (".", "f32[250]", "k : +64", "", "for k in range(0, 250, 64) {; @; }"),
    ("!", "f32[250]", "250 - k", "", "for k in range(1, 251, 1) {; @; }"),
    ("!", "f32[250]", "k", "", "for k in range(249, -1, -1) {; @; }"),
    (".", "f32[250]", "k - 1", "", "for k in range(249, -1, -1) {; @; }"),
    # conditions
    ("!", "f32[M]", "N", "", "if N < M {; @; }"),
    (".", "f32[M]", "N", "", "if N <= M {; @; }"),
    ("!", "f32[M]", "N", "", "if N >= M {; } else {; @; }"),
    (".", "f32[M]", "N", "", "if N < M {; }; @"),
    ("!", "f32[M]", "N - K", "", "if (N >= K) & (N - K < M) {; @; }"),
    (".", "f32[M]", "N", "", "if (N < M) | (N < K) {; @; }"),
    ("!", "f32[M]", "N", "", "if not((M <= N) | (K == 0)) {; @; }"),
    ("!", "f32[M]", "M - 1", "", "if M != 0 {; @; }"),
    (".", "f32[M]", "M - 1", "", "@"),
    # a loop that may have no iteration says nothing after it
    (".", "f32[M]", "M - 1", "", "for k in range(0, M, 1) {; }; @"),
    # requirements
    ("!", "f32[M]", "N : +8", '  require N + 8 <= M, ""\n', "@"),
    ("!", "f32[K]", "M : +8", '  require K == M + 8, ""\n', "@"),
    # names, minima, remainders
    ("!", "f32[16]", "s : +4", "", "let s = min(N, 12); @"),
    (".", "f32[16]", "s : +5", "", "let s = min(N, 12); @"),
    ("!", "f32[7]", "N % 7", "", "@"),
    (".", "f32[6]", "N % 7", "", "@"),
    ("!", "f32[M]", "N % M", "", "if M > 0 {; @; }"),
    (".", "f32[M]", "N % M", "", "@"),
    ("!", "f32[256]", "cast(b, index)", "", "@"),
    (".", "f32[255]", "cast(b, index)", "", "@"),
    (".", "f32[M]", "cast(i, index)", "", "@"),
    ("!", "f32[M]", "max(min(N, M - 1), 0)", "", "if M > 0 {; @; }"),
    ("!", "f32[8]", "s", "", "s : index = if N > M {; yield 3; } else {; yield 7; }; @"),
    # flat and nested indices
    ("!", "f32[M * 8]", "m * 8 + j", ROWS, "for j in range(0, 8, 1) {; @; }"),
    (".", "f32[M * 8]", "m * 8 + j", ROWS, "for j in range(0, 9, 1) {; @; }"),
    ("!", "f32[K]", "k + j : +16", K64, K_LOOP.replace("@", "for j in range(0, 64, 16) {; @; }")),
    ("!", "f32[K]", "j : +16", K64, K_LOOP.replace("@", "for j in range(k, k + 64, 16) {; @; }")),
    # a part of a split loop
    (
        "!",
        "f32[K]",
        "k : +64",
        K64 + PARTS,
        f"for k in range({PART}, min(K, {PART} + (K + 255) // 256 * 64), 64) {{; @; }}",
    ),
    # carried scalars
    ("!", "f32[3]", "s", "", TURNS.replace("s0", "0")),
    (".", "f32[3]", "s", "", TURNS.replace("s0", "3")),
    (".", "f32[3]", "s", "", "r = for k in range(0, K, 1) carry (s : index = 0) {; @; yield s + 1; }"),
    ("!", "f32[M]", "s", "", "r = while carry (s : index = 0) {; } test s < M do {; @; yield s + 2; }"),
    (".", "f32[M]", "s", "", "r = while carry (s : index = 0) {; } test s < M do {; @; yield s - 2; }"),
    (".", "f32[M]", "s", "", "r = while carry (s : index = 0) {; @; } test s < M do {; yield s + 2; }"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "memory", "access", "head", "around"), CASES)
def test_which_checks_go(wanted, memory, access, head, around):
    sizes = ", ".join(re.findall(r": \+(\d+)", access))
    load = f'%t = load @x[{access}] : f32[{sizes}]\nprint "", %t'
    body = around.replace("; ", "\n").replace("@", load)
    kernel = parse_program(
        f"kernel f[M, N, K](@x: in {memory}, i: i32, b: u8) {{\n{head}{body}\n}}\n"
    )
    verify(kernel)
    (found,) = (r for s in walk(Bounds()(kernel).body) for r in regions(s))
    assert "".join("." if a.checked else "!" for a in found.axes) == wanted


@given(random_ir.kernels(), st.integers(0, 9))
@settings(max_examples=60)
def test_no_access_without_a_check_leaves_its_memory(kernel, seed):
    # The interpreter reports an access out of bounds on an axis that is not checked.
    args = random_ir.inputs(kernel, seed)
    meaning.assert_same_meaning(kernel, Bounds()(kernel), args)
    meaning.assert_same_meaning(kernel, Bounds()(Simplify()(kernel)), args)


@given(st.lists(conditions, max_size=3), conditions, environments)
@settings(max_examples=150)
def test_what_is_proved_holds(assumed, condition, env):
    facts = Facts()
    try:
        if not all(evaluate(c, env) for c in assumed):
            return
        for c in assumed:
            facts.assume(c)
        decided = facts.decide(condition)
        assert decided is None or decided == evaluate(condition, env)
    except ZeroDivisionError:
        return


@given(st.lists(conditions, max_size=2), index_expressions, environments)
@settings(max_examples=150)
def test_simplification_by_facts_keeps_the_value(assumed, expr, env):
    facts = Facts()
    try:
        if not all(evaluate(c, env) for c in assumed):
            return
        value = evaluate(expr, env)
        for c in assumed:
            facts.assume(c)
        assert evaluate(facts.simplify(expr), env) == value
    except ZeroDivisionError:
        return


@pytest.mark.parametrize("values", [range(3, 30, 4), range(30, 3, -4)])
def test_a_loop_variable_stays_within_its_range(values):
    facts, k = Facts(), Var("k", INDEX)
    facts.assume_range(k, index(values.start), index(values.stop), index(values.step))
    form = facts.form(k)
    low, high = min(values), max(values)
    assert facts.nonnegative(form - Linear(constant=low))
    assert facts.nonnegative(Linear(constant=high) - form)
    assert not facts.nonnegative(form - Linear(constant=low + 1))
    assert not facts.nonnegative(Linear(constant=high - 1) - form)
