"""Expressions of Tile IR as texts that the runtime evaluates to the same numbers."""

import math

import pytest
from dslc.compiler.artifact import Artifact, Hashes, Param
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import BOOL, F32, F64, I32, INDEX, U8, parse_dtype
from dslc.compiler.ir import GridAxis, Kernel, Memory, PackedParam, Program, Requirement, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.layout import local, spatial
from dslc.compiler.low_bit_format import storage_for
from dslc.compiler.manifest import (
    expression_text,
    grid_of,
    plain_choice,
    signature_of,
    workspaces_of,
)
from dslc.runtime.expression import evaluate, holds
from hypothesis import given, settings
from hypothesis import strategies as st

M, N, K = (ex.Var(n, INDEX) for n in "MNK")
U4, F16, BF16 = parse_dtype("u4"), parse_dtype("f16"), parse_dtype("bf16")


def binary(op, x, y, dtype=INDEX):
    return ex.Binary(op, x, y, dtype)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (M, "M"),
        (ex.index(-3), "(-3)"),
        (binary("floordiv", K, ex.index(128)), "K // 128"),
        (binary("mul", binary("add", M, ex.index(1)), N), "(M + 1) * N"),
        (ex.Select(binary("lt", M, N, BOOL), M, N, INDEX), "select(M < N, M, N)"),
        (binary("and", binary("lt", M, N, BOOL), ex.TRUE, BOOL), "(M < N) and 1"),
        (ex.Unary("not", binary("eq", M, N, BOOL), BOOL), "not (M == N)"),
        (binary("add", ex.Var("i", I32), ex.Const(1, I32), I32), "i32(i + 1)"),
        (ex.Convert(ex.Var("i", I32), INDEX), "i"),
        (ex.Convert(M, U8), "u8(M)"),
        (ex.Const(math.inf, F32), "1e999"),
        (binary("min", M, N), "min(M, N)"),
    ],
)
def test_texts(expr, text):
    assert expression_text(expr) == text


LEAVES = st.one_of(st.integers(-9, 9).map(ex.index), st.sampled_from([M, N]), st.just(ex.index(3)))


def nodes(inner):
    arithmetic = st.sampled_from(["add", "sub", "mul", "floordiv", "mod", "min", "max"])
    compare = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
    condition = st.builds(lambda op, x, y: binary(op, x, y, BOOL), compare, inner, inner)
    wrapped = st.sampled_from([I32, U8, U4]).flatmap(
        lambda d: st.builds(
            lambda op, x, y: ex.Convert(binary(op, ex.Convert(x, d), ex.Convert(y, d), d), INDEX),
            st.sampled_from(["add", "sub", "mul", "and", "or", "xor"]),
            inner,
            inner,
        )
    )
    return st.one_of(
        st.builds(binary, arithmetic, inner, inner),
        st.builds(lambda x: ex.Unary("neg", x, INDEX), inner),
        st.builds(lambda c, x, y: ex.Select(c, x, y, INDEX), condition, inner, inner),
        wrapped,
    )


@settings(max_examples=300)
@given(st.recursive(LEAVES, nodes, max_leaves=12), st.integers(0, 50), st.integers(1, 50))
def test_the_text_has_the_value_of_the_expression(expr, m, n):
    values = {M: ex.index(m), N: ex.index(n)}
    expected = constant(ex.substitute(expr, values))
    try:
        found = evaluate(expression_text(expr), {"M": m, "N": n})
    except DiagnosticError:  # division by zero, or past 64 bits: no value
        return
    if expected is not None:
        assert found == expected


@pytest.mark.parametrize(
    "expr",
    [
        ex.Unary("sqrt", ex.Var("x", F32), F32),
        binary("pow", ex.Var("x", F32), ex.Var("x", F32), F32),
        binary("add", ex.Var("x", BF16), ex.Var("x", BF16), BF16),
        ex.Convert(ex.Var("x", F32), I32),
        ex.Const(math.nan, F64),
    ],
)
def test_what_has_no_words_is_an_error(expr):
    with pytest.raises(DiagnosticError) as caught:
        expression_text(expr)
    assert caught.value.diagnostics[0].code == "DSL0804"


def kernel(**fields):
    w = Memory("w", U4, (K, N), Role.IN, packed="row")
    c = Memory("c", F16, (M, ex.index(64)), Role.OUT, strides=(N, ex.index(1)))
    given = {
        "name": "k",
        "params": (w, ex.Var("eps", F32), c),
        "dims": (M, N, K),
        "grid": (
            GridAxis(ex.Var("m", INDEX), ex.index(0), M, ex.index(16)),
            GridAxis(ex.Var("n", INDEX), ex.index(2), N, ex.index(1)),
        ),
        "body": (),
        **fields,
    }
    return Kernel(**given)


def test_a_signature_is_the_callers_side():
    require = Requirement(
        binary("eq", binary("mod", K, ex.index(8)), ex.index(0), BOOL), "K % 8 == 0"
    )
    made = signature_of(kernel(requires=(require,), fixed=(("P", 64),), doc="d"), {"BM": 16})
    assert made.params == (
        Param("w", "u4", "in", ("K", "N"), None, {"scheme": "row", "bits": 4, "signed": False}),
        Param("eps", "f32", "in"),
        Param("c", "f16", "out", ("M", "64"), ("N", "1")),
    )
    assert (made.dims, made.fixed, made.config, made.doc) == (
        ("M", "N", "K"), {"P": 64}, {"BM": 16}, "d",
    )  # fmt: skip
    assert holds(made.requires[0].condition, {"K": 16})
    assert not holds(made.requires[0].condition, {"K": 20})
    assert made.requires[0].text == "K % 8 == 0"


def test_a_stored_parameter_is_described_as_the_caller_knows_it():
    storage = storage_for((8, 8), 4, spatial(8, 1) * local(1, 8))
    tiles = Memory("w", U8, (ex.index(4), ex.index(2), ex.index(32)), Role.IN)
    made = kernel(params=(tiles,), packed=(PackedParam("w", U4, (K, N), storage),))
    expected = Param("w", "u4", "in", ("K", "N"), None, storage.to_data())
    assert signature_of(made, {}).params == (expected,)


def test_grid_and_workspaces():
    count = Memory("count", I32, (M, N), Role.WORKSPACE)
    made = kernel(workspaces=(count,))
    dims = {"M": 33, "N": 7, "K": 8}
    assert [evaluate(g, dims) for g in grid_of(made)] == [3, 5]
    assert [evaluate(g, {"M": 0, "N": 1}) for g in grid_of(made)] == [0, 0]
    (workspace,) = workspaces_of(made)
    assert evaluate(workspace.bytes, dims) == 33 * 7 * 4


def test_a_program_has_no_requirements():
    made = signature_of(Program("p", kernel().params, (M, N, K), (), ()), {"BM": 8})
    assert (len(made.params), made.requires, made.config) == (3, (), {"BM": 8})


def test_a_signature_goes_through_a_manifest():
    hashes = Hashes("0", "1", "2", "3")
    made = Artifact("k", "kernel", "interp", "k", signature_of(kernel(), {"T": F16}), hashes)
    assert Artifact.from_manifest(made.to_manifest(), {}) == made


@pytest.mark.parametrize(("choice", "plain"), [(3, 3), (True, 1), (F16, "f16"), ("a", "a")])
def test_choices_are_plain(choice, plain):
    assert plain_choice(choice) == plain
    assert type(plain_choice(choice)) is type(plain)
