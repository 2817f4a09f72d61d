"""Arguments: dims from shapes, and what is said of those that do not fit."""

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.interpreter import bind_dims, run
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Role
from dslc.compiler.ir import expr as ex

from support.building import Builder, at, const, dt, op, var, whole


def matmul_params():
    b = Builder()
    m, n, k = var("M"), var("N"), var("K")
    b.tensor("a", "f16", [m, k], loc=Loc("t.tile", 3, 9))
    b.tensor("s", "f16", [op("floordiv", k, 128), n], loc=Loc("t.tile", 3, 20))
    b.tensor("w", "u4", [k, n], loc=Loc("t.tile", 3, 31))
    return b.params


def text(call) -> str:
    with pytest.raises(DiagnosticError) as caught:
        call()
    return caught.value.summary


def test_dims_are_bound_where_they_are_an_axis_of_their_own():
    found = bind_dims(matmul_params(), {"a": (16, 4096), "s": (32, 128), "w": (4096, 128)})
    assert found == {"M": 16, "K": 4096, "N": 128}
    assert bind_dims(matmul_params(), {"a": (0, 128), "s": (1, 0), "w": (128, 0)}) == {
        "M": 0,
        "K": 128,
        "N": 0,
    }


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        (
            {"a": (16, 4096), "s": (32, 128), "w": (4096, 100)},
            "t.tile:3:31: error[DSL0752]: argument w has shape (4096, 100), expected [K, N] = "
            "[4096, 128]",
        ),
        (
            {"a": (16, 4096), "s": (31, 128), "w": (4096, 128)},
            "t.tile:3:20: error[DSL0752]: argument s has shape (31, 128), expected [K // 128, N] = "
            "[32, 128]",
        ),
        (
            {"a": (16,), "s": (32, 128), "w": (4096, 128)},
            "t.tile:3:9: error[DSL0751]: argument a has shape (16,): 1 axes, expected 2: [M, K]",
        ),
    ],
)
def test_shapes_that_do_not_fit(shapes, wanted):
    assert text(lambda: bind_dims(matmul_params(), shapes)) == wanted


def test_a_fixed_dim_is_compared():
    b = Builder()
    b.tensor("x", "f32", [var("M"), 64])
    assert text(lambda: bind_dims(b.params, {"x": (3, 65)})) == (
        "error[DSL0752]: argument x has shape (3, 65), expected [M, 64] = [3, 64]"
    )


def test_a_dim_that_nothing_binds():
    b = Builder()
    b.tensor("x", "f32", [op("mul", var("N"), 2)])
    with pytest.raises(DiagnosticError) as caught:
        bind_dims(b.params, {"x": (8,)})
    (found,) = caught.value.diagnostics
    assert found.message == "no argument gives the dim N, which the shape of x needs: [N * 2]"
    assert found.hint == "fix it: -D N=..."
    assert bind_dims(b.params, {"x": (8,)}, known={"N": 4}) == {"N": 4}


def strided():
    b = Builder()
    x = b.tensor("x", "f32", [var("M"), 4], strides=(var("sm"), ex.index(1)))
    y = b.out("y", "i64", [1])
    b.store(whole(y), b.full("i64", (1,), ex.Convert(var("sm"), dt("i64"))))
    assert x.rank == 2
    return b.kernel()


def test_strides_bind_and_are_checked_in_elements():
    y = np.zeros(1, np.int64)
    run(strided(), {"x": np.zeros((6, 10), np.float32)[:, :4], "y": y})
    assert y[0] == 10
    wrong = np.zeros((4, 6), np.float32).T
    assert text(lambda: run(strided(), {"x": wrong, "y": y})) == (
        "error[DSL0753]: argument x has strides (1, 6), expected [sm, 1] = [1, 1]"
    )
    run(strided(), {"x": np.zeros((0, 4), np.float32), "y": y})


def simple(dtype="f16"):
    b = Builder()
    x = b.tensor("x", dtype, [4])
    b.store(whole(b.tensor("y", dtype, [4], Role.INOUT)), b.load(whole(x)))
    b.scalar("n", "u8")
    b.scalar("flag", "bool")
    b.scalar("scale", "f32")
    return b.kernel(name="copy")


def arguments(**more):
    args = {"x": np.ones(4, np.float16), "y": np.ones(4, np.float16), "n": 3, "flag": True,
            "scale": 2}  # fmt: skip
    return {**args, **more}


def test_names_that_are_missing_or_unknown():
    args = arguments()
    del args["scale"]
    assert text(lambda: run(simple(), args)) == "error[DSL0755]: argument scale is missing"
    with pytest.raises(DiagnosticError) as caught:
        run(simple(), arguments(scales=1))
    assert caught.value.diagnostics[0].hint == "did you mean scale?"


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"x": np.ones(4)}, "DSL0756]: argument x has dtype float64, expected float16 (for f16)"),
        ({"x": [1, 2]}, "DSL0756]: argument x is a list, expected an array of f16"),
        ({"x": 3.0}, "DSL0756]: argument x is a float, expected an array of f16"),
        ({"n": 300}, "DSL0758]: argument n is 300, expected a number of u8"),
        ({"n": -1}, "DSL0758]: argument n is -1, expected a number of u8"),
        ({"n": 2.0}, "DSL0758]: argument n is 2.0, expected a number of u8"),
        ({"n": True}, "DSL0758]: argument n is True, expected a number of u8"),
        ({"flag": 1}, "DSL0758]: argument flag is 1, expected a number of bool"),
        ({"scale": "2"}, "DSL0758]: argument scale is '2', expected a number of f32"),
        ({"scale": np.ones(3)}, "DSL0758]: argument scale is an array, expected a number of f32"),
    ],
)
def test_arguments_of_the_wrong_kind(change, wanted):
    assert text(lambda: run(simple(), arguments(**change))) == f"error[{wanted}"


def test_numpy_scalars_are_numbers():
    run(simple(), arguments(n=np.int64(7), flag=np.True_, scale=np.float16(1)))


def test_a_read_only_array_cannot_be_written():
    array = np.ones(4, np.float16)
    array.flags.writeable = False
    run(simple(), arguments(x=array))
    wanted = "error[DSL0757]: argument y is written, but its array is read-only"
    assert text(lambda: run(simple(), arguments(y=array))) == wanted


@pytest.mark.parametrize(
    ("dtype", "array_type"),
    [("f8e4m3", ml_dtypes.float8_e4m3fn), ("f4e2m1", ml_dtypes.float4_e2m1fn),
     ("e8m0", ml_dtypes.float8_e8m0fnu), ("bf16", ml_dtypes.bfloat16)],
)  # fmt: skip
def test_arrays_of_ml_dtypes_serve_as_they_are(dtype, array_type):
    x, y = np.array([1, 2, 4, 1]).astype(array_type), np.array([2, 2, 2, 2]).astype(array_type)
    run(simple(dtype), arguments(x=x, y=y))
    assert (x.astype(np.float32) == y.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["i4", "i2", "u4", "u2"])
def test_narrow_integers_of_ml_dtypes_are_read_and_written_as_values(dtype):
    low, high = dt(dtype).integer_range
    array_type = {"i4": ml_dtypes.int4, "i2": ml_dtypes.int2, "u4": ml_dtypes.uint4,
                  "u2": ml_dtypes.uint2}[dtype]  # fmt: skip
    b = Builder()
    x, y = b.tensor("x", dtype, [4]), b.out("y", dtype, [4])
    b.store(whole(b.out("wide", "i32", [4])), b.cast(b.load(whole(x)), "i32"))
    b.store(whole(y), b.load(whole(x)))
    values = np.array([low, high, 0, 1])
    args = {
        "x": values.astype(array_type),
        "y": np.zeros(4, array_type),
        "wide": np.zeros(4, np.int32),
    }
    run(b.kernel(), args)
    assert args["wide"].tolist() == values.tolist()
    assert args["y"].astype(int).tolist() == values.tolist()


def test_codes_of_narrow_integers_come_as_either_byte_and_in_range():
    b = Builder()
    b.store(whole(b.out("y", "i32", [2])), b.cast(b.load(whole(b.tensor("x", "u3", [2]))), "i32"))
    k, y = b.kernel(), np.zeros(2, np.int32)
    for kind in (np.int8, np.uint8):
        run(k, {"x": np.array([7, 2], kind), "y": y})
        assert y.tolist() == [7, 2]
    wanted = "error[DSL0756]: argument x holds 8, which is no value of u3 (0 to 7)"
    assert text(lambda: run(k, {"x": np.array([8, 2], np.uint8), "y": y})) == wanted
    wanted = "error[DSL0756]: argument x holds 255, which is no value of u3 (0 to 7)"
    assert text(lambda: run(k, {"x": np.array([-1, 2], np.int8), "y": y})) == wanted


def test_a_requirement_names_its_values():
    b = Builder()
    b.tensor("x", "f32", [var("K")])
    b.scalar("n", "i32")
    holds = op("eq", op("mod", var("K"), 16), 0)
    k = b.kernel(
        requires=[(holds, "K % 16 == 0"), (op("gt", var("n", "i32"), const(0, "i32")), "n > 0")]
    )
    run(k, {"x": np.zeros(32, np.float32), "n": 1})
    assert text(lambda: run(k, {"x": np.zeros(30, np.float32), "n": 1})) == (
        "error[DSL0759]: kernel k requires K % 16 == 0, but K = 30"
    )
    assert text(lambda: run(k, {"x": np.zeros(32, np.float32), "n": -4})) == (
        "error[DSL0759]: kernel k requires n > 0, but n = -4"
    )


def test_zero_size_dims_run_no_turn_or_empty_accesses():
    b = Builder()
    x, y = b.tensor("x", "f32", [var("M"), var("K")]), b.out("y", "f32", [var("M")])
    part = b.load(at(x, (var("m"), 4), (0, 8)))
    b.store(at(y, (var("m"), 4)), b.reduce("sum", part, 1))
    k = b.kernel(grid=[("m", 0, var("M"), 4)])
    run(k, {"x": np.zeros((0, 5), np.float32), "y": np.zeros(0, np.float32)})
    y0 = np.ones(5, np.float32)
    run(k, {"x": np.zeros((5, 0), np.float32), "y": y0})
    assert not y0.any()


def test_expressions_over_dims():
    k = ex.Var("K", INDEX)
    assert evaluate(op("max", op("floordiv", op("add", k, 7), 8), 2), {"K": 33}) == 5
    with pytest.raises(KeyError):
        evaluate(op("add", k, 1), {})
