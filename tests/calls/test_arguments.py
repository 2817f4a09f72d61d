"""Arguments become arrays of the storage convention and typed numbers, without copies."""

import ml_dtypes
import numpy as np
import pytest
from dslc.calls.arguments import dim_size, prepare
from dslc.calls.signature import Parameter
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import all_dtypes, parse_dtype, storage_dtype


def parameter(name="x", dtype="f32", dims=("M", "N"), mode="in", packed=None):
    return Parameter(name, parse_dtype(dtype), dims, mode, packed)


def one(param, value):
    return prepare([param], {param.name: value})[param.name]


def failure(param, value):
    with pytest.raises(DiagnosticError) as caught:
        one(param, value)
    (found,) = caught.value.diagnostics
    assert param.name in found.message
    return found


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
@pytest.mark.parametrize("mode", ["in", "out"])
def test_a_storage_array_is_taken_without_a_copy(dtype, mode):
    array = np.zeros((2, 3), storage_dtype(dtype))
    ready = one(parameter(dtype=dtype.name, mode=mode), array)
    assert np.shares_memory(ready, array)
    assert ready.dtype == array.dtype


def test_a_strided_view_stays_one():
    array = np.zeros((4, 6), np.float32)[::2, ::3]
    ready = one(parameter(mode="out"), array)
    ready[:] = 1
    assert array.sum() == 4


def test_floats_of_8_bits_come_as_codes():
    array = np.array([[1.0, 2.0]], ml_dtypes.float8_e4m3fn)
    ready = one(parameter(dtype="f8e4m3"), array)
    assert ready.dtype == np.uint8
    assert np.shares_memory(ready, array)


def test_a_dlpack_tensor_is_not_copied():
    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    array = np.zeros((2, 3), np.float32)
    assert np.shares_memory(one(parameter(mode="out"), Tensor(array)), array)


@pytest.mark.torch
def test_a_torch_tensor_is_not_copied():
    torch = pytest.importorskip("torch")
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.int8, "i8")):
        tensor = torch.zeros((2, 3), dtype=dtype)
        ready = one(parameter(dtype=name, mode="out"), tensor)
        ready[0, 0] = 1
        assert tensor[0, 0] == 1


@pytest.mark.parametrize(
    ("param", "value", "code", "message"),
    [
        (parameter(), np.zeros((2, 3)), "DSL0761", "float64"),
        (parameter(), np.zeros(3, np.float32), "DSL0751", "x: f32[M, N]"),
        (parameter(), [[1.0]], "DSL0760", "list"),
        (parameter(), 3.0, "DSL0760", "float"),
        (parameter(dtype="f16"), np.zeros((2, 3), np.uint16), "DSL0761", "uint16"),
    ],
)
def test_what_is_no_such_array_says_why(param, value, code, message):
    found = failure(param, value)
    assert found.code == code
    assert message in found.message


def test_an_output_must_be_writable():
    array = np.zeros((2, 3), np.float32)
    array.flags.writeable = False
    assert one(parameter(), array) is not None
    assert failure(parameter(mode="out"), array).code == "DSL0763"


@pytest.mark.parametrize(
    ("dtype", "value", "ready"),
    [
        ("i32", 3, 3),
        ("i32", np.int64(-3), -3),
        ("u8", 255, 255),
        ("i1", -1, -1),
        ("f32", 3, 3.0),
        ("f16", np.float32(0.5), 0.5),
        ("bool", True, True),
        ("bool", np.bool_(False), False),
        ("f32", np.array(2.0), 2.0),
    ],
)
def test_scalars(dtype, value, ready):
    found = one(parameter(dtype=dtype, dims=None), value)
    assert found == ready
    assert type(found) is type(ready)


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("i32", 2**31, "x = 2147483648 is outside i32"),
        ("u8", -1, "x = -1 is outside u8: 0 to 255"),
        ("i32", 1.0, "x is of type float, expected a number of i32"),
        ("i32", True, "x is of type bool"),
        ("bool", 1, "x is of type int, expected a number of bool"),
        ("f32", "1", "x is of type str"),
        ("f32", np.zeros(2), "x is of type numpy.ndarray"),
        ("f32", None, "x is of type NoneType"),
    ],
)
def test_a_scalar_that_does_not_fit_says_why(dtype, value, message):
    found = failure(parameter(dtype=dtype, dims=None), value)
    assert found.code == "DSL0758"
    assert message in found.message


LINE = np.zeros(12, np.float32)


@pytest.mark.parametrize(
    ("modes", "arrays", "overlap"),
    [
        (("in", "in"), (LINE, LINE), False),
        (("in", "out"), (LINE, LINE), True),
        (("inout", "in"), (LINE, LINE), True),
        (("out", "inout"), (LINE[:8], LINE[4:]), True),
        (("out", "in"), (LINE[:6], LINE[6:]), False),
        (("out", "out"), (LINE[::2], LINE[1::2]), False),
        (("out", "in"), (LINE[::2], LINE[::3]), True),
        (("in", "out"), (LINE[:0], LINE), False),
    ],
)
def test_an_output_has_memory_of_its_own(modes, arrays, overlap):
    params = [parameter(n, dims=("N",), mode=m) for n, m in zip("xy", modes, strict=True)]
    arguments = dict(zip("xy", arrays, strict=True))
    if not overlap:
        prepare(params, arguments)
        return
    with pytest.raises(DiagnosticError, match="share memory") as caught:
        prepare(params, arguments)
    assert caught.value.diagnostics[0].code == "DSL0742"


def test_codes_and_bytes_of_a_low_bit_parameter_stay_as_they_are():
    w = parameter("w", "i4", ("K", "N"))
    for array in (np.zeros((4, 6), np.int8), np.zeros((4, 6), np.uint8), np.zeros(12, np.uint8)):
        assert one(w, array) is array
    assert failure(w, np.zeros(12, np.int8)).code == "DSL0751"
    assert failure(parameter("w", "u8"), np.zeros(12, np.uint8)).code == "DSL0751"


def test_a_dim_is_found_where_it_is_an_axis_of_its_own():
    params = [
        parameter("s", "f16", ("K // G", "N")),
        parameter("w", "u4", ("K", "N")),
        parameter("n", "i32", None),
        parameter("a", "f16", ("M", "K")),
    ]
    ready = prepare(
        params,
        {
            "s": np.zeros((2, 5), np.float16),
            "w": np.zeros(20, np.uint8),  # packed: it says nothing
            "n": 3,
            "a": np.zeros((3, 8), np.float16),
        },
    )
    assert [dim_size(params, ready, d) for d in ("M", "N", "K", "G")] == [3, 5, 8, None]


def test_a_low_bit_parameter_of_one_axis_comes_last_for_dims():
    params = [parameter("w", "u4", ("K",)), parameter("x", "f32", ("K",))]
    ready = {"w": np.zeros(4, np.uint8), "x": np.zeros(8, np.float32)}
    assert dim_size(params, ready, "K") == 8
    assert dim_size(params[:1], ready, "K") == 4
