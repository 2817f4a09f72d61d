"""Dtypes and shapes of operators."""

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

from support.kernels import every, statements

HEAD = "x: f16[M, N], u: u4[N], i: i32[N], b: bf16[N], p: bool[N], s: f32, n: i32, y: out f16[M, N]"


def stored(body, out="f16"):
    """The tile that the last statement, `y[...] = ...`, writes."""
    kernel = statements(body, HEAD.replace("y: out f16", f"y: out {out}"))
    return every(kernel, ins.Store)[-1].x.type


def failure(body):
    with pytest.raises(DiagnosticError) as e:
        statements(body, HEAD)
    return e.value.diagnostics[0]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "**", "//", "%"])
def test_a_number_takes_the_dtype_of_the_tile(op):
    t = stored(f"y[0:4, 0:8] = x[0:4, 0:8] {op} 2")
    assert (t.dtype.name, t.shape) == ("f16", (4, 8))


def test_an_index_takes_the_dtype_of_the_tile():
    assert stored("y[0, 0:8] = x[0, 0:8] / M").dtype.name == "f16"
    assert stored("y[0, 0:8] = arange(8) + N", "i32").dtype.name == "i32"


def test_shapes_broadcast_as_in_numpy():
    assert stored("y[0:4, 0:8] = x[0:4, 0:1] + x[0, 0:8]").shape == (4, 8)
    assert stored("y[0:4, 0:8] = x[0:4, 0][:, None] * x[0, 0:8]").shape == (4, 8)


def test_comparisons_give_bool():
    assert stored("y[0, 0:8] = x[0, 0:8] > 0", "bool").dtype.name == "bool"


def test_chained_comparisons_are_joined():
    kernel = statements("y[0, 0:8] = 0 < i[0:8] <= N", HEAD.replace("out f16", "out bool"))
    assert [b.op for b in every(kernel, ins.Binary)] == ["lt", "le", "and"]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("x[0, 0:8] + b[0:8]", "DSL0202"),
        ("x[0, 0:8] + s", "DSL0202"),
        ("x[0, 0:8] + i[0:8]", "DSL0202"),
        ("i[0:8] + 1.5", "DSL0202"),
        ("i[0:8] / 2", "DSL0214"),
        ("u[0:8] + 16", "DSL0224"),
        ("p[0:8] + 1", "DSL0214"),
        ("p[0:8] * p[0:8]", "DSL0214"),
        ("x[0, 0:8] & x[0, 0:8]", "DSL0214"),
        ("cast(x[0, 0:8], f6e3m2) * 2", "DSL0214"),
        ("x[0:4, 0:8] + x[0:3, 0:8]", "DSL0203"),
        ("exp(i[0:8])", "DSL0214"),
        ("1 // 0", "DSL0224"),
        ("1 << 100000", "DSL0224"),
        ("10 ** 10 ** 10", "DSL0224"),
        ("(-8) ** 0.5", "DSL0224"),
    ],
)
def test_what_does_not_fit_is_refused(expression, code):
    assert failure(f"a = {expression}").code == code


def test_the_hint_names_the_cast():
    assert "cast(..., f16)" in (failure("a = x[0, 0:8] + b[0:8]").hint or "")


def test_index_and_typed_integers_make_an_index():
    kernel = statements("for k in range(0, n * 2 + M):\n        y[k, 0:8] = 0.0", HEAD)
    (loop,) = every(kernel, ins.For)
    assert loop.stop.dtype.name == "index"


def test_constants_fold_by_pythons_rules():
    assert stored(
        "y[0:4, 0 : 2 ** 3 // 1] = float_or(7 // 2)".replace("float_or(7 // 2)", "7 // -2")
    ).shape == (4, 8)


def test_weak_scalars_of_the_loop_follow_the_body():
    kernel = statements(
        "m = 0.0\nfor k in range(0, N):\n    m = maximum(m, x[k, 0])\ny[0, 0:8] = m", HEAD
    )
    (loop,) = every(kernel, ins.For)
    assert loop.carried[0].inner.dtype.name == "f16"
    assert loop.carried[0].init == ex.Const(0.0, loop.carried[0].inner.dtype)
    assert type(loop.carried[0].inner) is ex.Var


def test_dtypes_compare_at_compile_time():
    kernel = statements("if f16 == f16:\n    y[0, 0:8] = 1.0\nelse:\n    y[0, 0:8] = nothing", HEAD)
    assert not every(kernel, ins.If)


@pytest.mark.parametrize("start", ["n", "n * 4", "k", "-n", "(n + 1) * 4", "m // 2 * 16"])
def test_a_slice_from_a_typed_integer_has_its_length(start):
    body = f"""m = i[3]
k = m * 16
y[0, 0:8] = x[0, {start} : {start} + 8]
y[0, {start} : 8 + {start}] = x[0, 0:8]"""
    stores = every(statements(body, HEAD), ins.Store)
    assert [s.x.type.shape for s in stores] == [(8,), (8,)]


def test_a_subscript_of_typed_integers_does_not_wrap():
    kernel = statements("y[0, n * 2 : n * 2 + 8] = x[0, 0:8]", HEAD)
    start = every(kernel, ins.Store)[0].region.axes[1].start
    assert all(b.dtype.name == "index" for b in ex.walk(start) if isinstance(b, ex.Binary))


def test_a_range_over_typed_integers_does_not_wrap():
    kernel = statements("for k in range(n, n * 2):\n    y[0, k] = x[0, k]", HEAD)
    (loop,) = every(kernel, ins.For)
    assert all(b.dtype.name == "index" for b in ex.walk(loop.stop) if isinstance(b, ex.Binary))


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "2 * inf"])
def test_infinity_and_nan_have_names(value):
    assert stored(f"y[0, 0:8] = where(x[0, 0:8] > 0, x[0, 0:8], {value})").dtype.name == "f16"
    assert failure(f"y[0, 0:8] = cast(i[0:8] + {value}, f16)").code == "DSL0202"


def test_a_name_of_the_user_hides_a_constant():
    kernel = statements("inf = x[0, 0]\ny[0, 0] = inf", HEAD)
    assert not [e for f in every(kernel, ins.Full) if isinstance(e := f.value, ex.Const)]


def test_a_number_too_large_for_a_float_is_refused():
    assert failure("y[0, 0:8] = x[0, 0:8] * 1e400").hint == "write inf"


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("y[0, 0:8] = np.exp(x[0, 0:8])", "write exp(...)"),
        ("y[0, 0:8] = x[0, 0:8].exp()", "write exp(x, ...)"),
        ("y[0, 0] = x.T", "write transpose(x)"),
        ("y[0, 0:8] = cast(x[0, 0:8], f23)", "did you mean `f32`?"),
        (
            "y[0, 0:8] = cast(isnan(x[0, 0:8]), f32)",
            "the library has it: from std.math import isnan, ahead of the kernels",
        ),
        (
            "i = program_id(0)",
            "parallel's counters say which turn it is; grid(...) has block_index()",
        ),
        ("i[0] += 1", "declare it i: inout i32[...]"),
        ("for a, b in reversed(range(3)):\n    pass", None),
    ],
)
def test_what_is_written_elsewhere_is_named_here(body, hint):
    found = failure(body)
    assert found.hint == hint
    assert "range gives" not in found.message


def test_a_tile_that_no_machine_holds_is_refused():
    assert failure("y[0, 0] = sum(zeros(f16, [1000000, 1000000]))").code == "DSL0204"


def test_one_name_with_a_comma_is_told_so():
    found = failure("a, = n + 1")
    assert (found.code, found.hint) == ("DSL0216", "write it without the comma")
