# ruff: noqa: F821, F841, N803, N806, SIM222 - kernels are not judged as Python
from __future__ import annotations

import functools
import math
import types

import numpy as np
from dslc.compiler.dtypes import F16, parse_dtype
from dslc.frontend import parse_function, parse_program_function, print_module, tree

from support import other_module
from support.other_module import scaled
from support.python_kernels import text_of

EPS = 1e-5
HALF = F16
LEAST = -3
SCALE = 2
NUMPY = np.float32(0.5)
CHOICES = [1, 2]
TEXT = "tëxt"
Words = parse_dtype("u4")


def test_a_function_is_the_kernel_of_its_text() -> None:
    def everything(
        a: f16[M, K],
        w: packed(u4[K, N], "row"),
        s: f16[K // 128, N],
        c: out[strides(f32[M, N], sm, 1)],
        d: inout[bf16[M]],
        n: i32,
    ):
        """Every statement.

        With é.
        """
        require(K % 128 == 0)
        for m, n in parallel(range(0, M, 16), range(N)):
            acc = zeros(f32, [16, 16])
            x, y = (1, -2.5)
            for k in range(0, K, 64, stages=3):
                q = cast(w[k : k + 64, n : n + 16], f16) - 8
                acc += dot(a[m : m + 16, k : k + 64], q)
            while (x < 3 <= y != 4 and not x) or True:
                x //= 2
            if m == 0:
                pass
            elif m == 1:
                print("é", x, y if n else x)
            else:
                assert m > 0, "positive"
            c[m : m + 16, ..., ::2, None] = cast(acc[(0, 1)] ** -x, f32)

    assert text_of(everything, const={"G": 128, "T": F16}, tune={"B": [16, 64]}) == (
        '''kernel everything(
    a: f16[M, K],
    w: u4[K, N] packed row,
    s: f16[K // 128, N],
    c: out f32[M, N] strides (sm, 1),
    d: inout bf16[M],
    n: i32,
):
    """Every statement.

    With é.
    """
    const G = 128
    const T = f16
    tune B = 16 | 64
    require K % 128 == 0

    for m, n in parallel(range(0, M, 16), range(N)):
        acc = zeros(f32, [16, 16])
        x, y = 1, -2.5
        for k in range(0, K, 64, stages=3):
            q = cast(w[k : k + 64, n : n + 16], f16) - 8
            acc += dot(a[m : m + 16, k : k + 64], q)
        while x < 3 <= y != 4 and not x or True:
            x //= 2
        if m == 0:
            pass
        elif m == 1:
            print("é", x, y if n else x)
        else:
            assert m > 0, "positive"
        c[m : m + 16, ..., : : 2, None] = cast(acc[0, 1] ** -x, f32)
'''
    )


def test_places_are_those_in_the_file() -> None:
    def decorate(fn: types.FunctionType) -> types.FunctionType:
        return fn

    @decorate
    @functools.lru_cache
    def kernel_(x: f32[N]):
        # é before the column
        y = ("é", x + 1)

    fn = kernel_.__wrapped__
    module = parse_function(fn)
    kernel = module.items[-1]
    assert isinstance(kernel, tree.Kernel)
    (assign,) = kernel.body
    assert isinstance(assign, tree.Assign)
    assert isinstance(assign.value, tree.Sequence)
    loc = assign.value.items[1].loc
    assert loc.file == __file__
    assert loc.line == fn.__code__.co_firstlineno + 4
    assert (loc.col, loc.end_col) == (19, 24)


def test_numbers_and_dtypes_around_the_function_become_constants() -> None:
    inner, below = 5, -0.0

    def k(x: Words[N], y: out[HALF[N]]):
        y[0:8] = x[0:8] * EPS + inner + below + LEAST + NUMPY + math.pi + f(TEXT, CHOICES)

    assert text_of(k).startswith(
        "const Words = u4\nconst HALF = f16\nconst EPS = 1e-05\nconst inner = 5\nconst below = -0.0\n"
        "const LEAST = -3\n"
        'const NUMPY = 0.5\nconst pi = 3.141592653589793\nconst TEXT = "tëxt"\n'
        "const CHOICES = [1, 2]\n\nkernel k(x: Words[N], y: out HALF[N]):\n"
    )


def test_what_the_function_binds_is_not_captured() -> None:
    M = 4  # a dim of that name has nothing to do with it

    def k(x: f32[M, SCALE], EPS: f32):
        LEAST = M + EPS + SCALE
        for HALF in range(3):
            f(LEAST, HALF)

    assert "const" not in text_of(k)


def test_the_decorators_constants_come_before_what_is_around() -> None:
    def k(x: f32[N]):
        f(EPS)

    assert text_of(k, const={"EPS": 2.0}).startswith("kernel k(x: f32[N]):\n    const EPS = 2.0\n")


def test_plain_functions_are_taken_over_with_what_they_capture() -> None:
    def k(x: f32[N], y: out[f32[N]]):
        y[0:8] = other_module.helper(x[0:8]) + scaled(x[0:8]) * SCALE

    assert text_of(k) == (
        "const SCALE = 7\n\n"
        "def scaled(x, by=SCALE):\n    return x * by + SCALE\n\n"
        "def helper(x):\n    return scaled(x)\n\n"
        "const SCALE_2 = 2\n\n"
        "kernel k(x: f32[N], y: out f32[N]):\n"
        "    y[0 : 8] = helper(x[0 : 8]) + scaled(x[0 : 8]) * SCALE_2\n"
    )


def test_two_functions_of_one_name_are_kept_apart() -> None:
    def scaled(x):
        return x + 1

    def k(x: f32[N]):
        f(scaled(x), other_module.scaled(x))

    assert [getattr(i, "name", "") for i in parse_function(k).items] == [
        "scaled",
        "SCALE",
        "scaled_2",
        "k",
    ]


def test_a_captured_name_that_is_bound_in_the_kernel_is_renamed() -> None:
    def k(SCALE: f32[N]):
        f(other_module.SCALE)

    assert text_of(k).startswith("const SCALE_2 = 7\n\nkernel k(SCALE: f32[N]):\n    f(SCALE_2)")


class Decorated:
    def __init__(self, fn: object, kind: str, **const: object) -> None:
        self.parts = kind, fn, const, {}

    def __dslc_definition__(self) -> object:
        return self.parts


def _copy(x: f32[N], y: out[f32[N]]):
    y[0:8] = x[0:8] * EPS


copy = Decorated(_copy, "kernel", BLOCK=8)


def test_a_program_takes_over_the_kernels_that_it_calls() -> None:
    def both(x: f32[EPS], y: out[f32[EPS]]):
        t = buffer(f32, [EPS])
        copy(x, t)
        copy(t, y)

    module = parse_program_function(both)
    assert print_module(module) == (
        "const EPS_2 = 1e-05\n\n"
        "kernel _copy(x: f32[N], y: out f32[N]):\n"
        "    const BLOCK = 8\n\n"
        "    y[0 : 8] = x[0 : 8] * EPS_2\n\n"
        "program both(x: f32[EPS], y: out f32[EPS]):\n"
        "    t = buffer(f32, [EPS])\n    _copy(x, t)\n    _copy(t, y)\n"
    )


def test_a_name_that_is_not_known_is_left_to_the_checker() -> None:
    def k(x: f32[N]):
        sigmoyd(x)

    assert "sigmoyd(x)" in text_of(k)


def test_annotations_that_type_checkers_take() -> None:
    def nested(
        a: T[M, K // 2],
        b: strides(f16[M, K], sm, 1),
        c: out[packed(u4[M], "row")],
        d: inout[f16[M, N]],
        e: f32,
    ):
        d[...] = a[...]

    def flat(
        a: tensor[T, M, K // 2],
        b: tensor[f16, M, K, strides(sm, 1)],
        c: out[u4, M, packed("row")],
        d: lang.inout[f16, M, N],
        e: tensor[f32],
    ) -> None:
        d[...] = a[...]

    text = text_of(nested, const={"T": F16})
    assert text_of(flat, const={"T": F16}) == text.replace("nested", "flat")
    assert "b: f16[M, K] strides (sm, 1), c: out u4[M] packed row" in " ".join(text.split())
