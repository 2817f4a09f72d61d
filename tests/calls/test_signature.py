"""A call's arguments are matched to parameters, tunes and dims."""

import dslc
import numpy as np
import pytest
from dslc.calls.signature import Parameter, Signature, as_dim, plain_number
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import parse_dtype
from dslc.torch_operator import _schema

F16, U4, I32 = (parse_dtype(n) for n in ("f16", "u4", "i32"))
GEMM = Signature(
    "gemm",
    (
        Parameter("a", F16, ("M", "K")),
        Parameter("w", U4, ("K", "N"), packed="row"),
        Parameter("bias", I32),
        Parameter("c", F16, ("M", "N"), mode="out"),
    ),
    dims=("M", "K", "N"),
    tunes={"BM": (16, 64), "T": (F16, U4)},
)


def failure(args=(), kwargs=None):
    with pytest.raises(DiagnosticError) as caught:
        GEMM.match(args, kwargs or {})
    (found,) = caught.value.diagnostics
    return found


def test_a_signature_prints_as_in_a_file():
    text = "gemm(a: f16[M, K], w: u4[K, N] packed row, bias: i32, c: out f16[M, N])"
    assert str(GEMM) == text


def test_torch_is_told_what_is_written():
    said = [_schema(parameter, n) for n, parameter in enumerate(GEMM.parameters)]
    assert said == ["Tensor a", "Tensor w", "int bias", "Tensor(a3!) c"]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2, 3, 4), {}),
        ((1, 2), {"c": 4, "bias": 3}),
        ((), {"w": 2, "c": 4, "a": 1, "bias": 3}),
    ],
)
def test_arguments_by_position_or_by_name(args, kwargs):
    matched = GEMM.match(args, kwargs)
    assert matched.arguments == {"a": 1, "w": 2, "bias": 3, "c": 4}
    assert matched.config == matched.dims == {}


def test_tunes_and_dims_by_name():
    matched = GEMM.match((1, 2, 3, 4), {"BM": np.int64(64), "K": np.int32(8), "T": U4})
    assert matched.config == {"BM": 64, "T": U4}
    assert matched.dims == {"K": 8}
    assert type(matched.config["BM"]) is type(matched.dims["K"]) is int


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "message", "hint"),
    [
        ((1, 2, 3), {}, "DSL0755", "gemm needs an argument for c", "the signature is gemm(a:"),
        ((1,), {"c": 1}, "DSL0755", "gemm needs arguments for w, bias", "the signature is"),
        ((1, 2, 3, 4, 5), {}, "DSL0755", "gemm takes 4 arguments, got 5", "the signature is"),
        ((1, 2, 3, 4), {"a": 1}, "DSL0741", "gemm got the argument a twice", None),
        ((1, 2, 3, 4), {"BN": 1}, "DSL0755", "gemm has no parameter, tune or dim BN", "`N`?"),
        (
            (1, 2, 3),
            {"zzz": 1},
            "DSL0755",
            "gemm has no parameter, tune or dim zzz",
            "there are a,",
        ),
        (
            (1, 2, 3),
            {"biass": 1},
            "DSL0755",
            "no parameter, tune or dim biass",
            "did you mean `bias`",
        ),
        (
            (1, 2, 3, 4),
            {"K": -1},
            "DSL0758",
            "the dim K is a whole number of at least 0, not -1",
            None,
        ),
        ((1, 2, 3, 4), {"K": True}, "DSL0758", "not True", None),
        (
            (1, 2, 3, 4),
            {"BM": [16]},
            "DSL0758",
            "the tune BM takes one choice, not a list",
            "the choices are",
        ),
        ((1, 2, 3, 4), {"K": 2.0}, "DSL0758", "not 2.0", None),
    ],
)
def test_what_does_not_match_says_why(args, kwargs, code, message, hint):
    found = failure(args, kwargs)
    assert found.code == code
    assert message in found.message
    assert (hint in found.hint) if hint else found.hint is None


def test_a_dtype_is_the_compilers_own():
    chosen = GEMM.match((1, 2, 3, 4), {"T": dslc.u4}).config["T"]
    assert type(chosen) is type(U4)
    assert chosen == U4


def test_an_unknown_parameter_is_an_error():
    with pytest.raises(DiagnosticError, match="gemm has no parameter weights"):
        GEMM.parameter("weights")


def test_plain_numbers():
    assert plain_number(np.float32(0.5)) == 0.5
    assert type(plain_number(np.bool_(True))) is bool
    assert plain_number(np.array(3)) == 3
    array = np.zeros(1)
    assert plain_number(array) is array
    assert as_dim("K", np.uint8(7)) == 7
