# ruff: noqa: B015, F821, F841, N803, N806, SIM222 - kernels are not judged as Python
from __future__ import annotations

import functools
import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import F16, parse_dtype
from dslc.frontend import parse_function, parse_program_function, parse_tile, print_module, tree

from support import other_module
from support.other_module import scaled

EPS = 1e-5
HALF = F16
LEAST = -3
SCALE = 2
NUMPY = np.float32(0.5)
CHOICES = [1, 2]
TEXT = "tëxt"
Words = parse_dtype("u4")


def text_of(fn: object, **options: Any) -> str:
    module = parse_function(fn, **options)
    text = print_module(module)
    assert parse_tile(text, "printed") == module
    return text


def errors(fn: object, **options: Any) -> list[tuple[str, str]]:
    """Code and message of each error; every error has a place."""
    with pytest.raises(DiagnosticError) as caught:
        parse_function(fn, **options)
    assert all(d.loc for d in caught.value.diagnostics)
    return [(d.code, d.message) for d in caught.value.diagnostics]


def defined(folder: Path, text: str) -> object:
    """The function `k` of a file with that text."""
    path = folder / "defined.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["k"]


def codes(fn: object, **options: Any) -> list[str]:
    return [code for code, _ in errors(fn, **options)]


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
    inner = 5

    def k(x: Words[N], y: out[HALF[N]]):
        y[0:8] = x[0:8] * EPS + inner + LEAST + NUMPY + math.pi + f(TEXT, CHOICES)

    assert text_of(k).startswith(
        "const Words = u4\nconst HALF = f16\nconst EPS = 1e-05\nconst inner = 5\nconst LEAST = -3\n"
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


CONSTRUCTS = {
    "a = lambda z: z": "there is no `lambda`",
    "a = [i for i in range(4)]": "there are no comprehensions",
    "a = sum(i for i in range(4))": "there are no comprehensions",
    "a = {1: 2}": "there are no dictionaries and no sets",
    "a = {1, 2}": "there are no dictionaries and no sets",
    "a = f'{x}'": "there are no f-strings",
    "a = 1j": "this literal is none of the language",
    "a = b'x'": "this literal is none of the language",
    "a = ...": "this literal is none of the language",
    "a: int = 1": "names have no type annotations",
    "f(*x)": "arguments and items are not unpacked",
    "f(**x)": "arguments and items are not unpacked",
    "a, *b = x": "arguments and items are not unpacked",
    "with x: pass": "there is no `with`",
    "for i in range(3): pass\nelse: pass": "this `else` belongs to no `if`",
    "while x: pass\nelse: pass": "this `else` belongs to no `if`",
    "for i in range(3): break": "there is no `break`",
    "while x: continue": "there is no `continue`",
    "if (n := 3) > 2: pass": "there is no `:=`",
    "try: pass\nfinally: pass": "there is no `try`",
    "a = b = 1": "one assignment to a line",
    "del x": "there is no `del`",
    "a = x @ x": "there is no `@`",
    "a @= x": "there is no `@`",
    "a = x in x": "there is no test by `in`",
    "a = x is x": "there is no `is`",
    "import os": "there is no `import` here",
    "from os import path": "there is no `import` here",
    "def inner(): pass": "there are no functions inside functions",
    "class C: pass": "there are no classes",
    "raise x": "there is no `raise`",
    "yield 3": "there is no `yield`",
    "global g": "there is no `global`",
    "match x:\n  case 1: pass": "there is no `match`",
    "return": "`return` needs a value",
    "const = 3": "`const` is a keyword and cannot be a name",
    "require(1, 2)": "`require` takes one condition",
    "for x[0] in range(3): pass": "a loop's targets are names",
    "f(x) ; x + 1": "this expression does nothing: its value is not used",
}


@pytest.mark.parametrize("text", CONSTRUCTS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_pythons_constructs_are_named(text: str, tmp_path: Path) -> None:
    body = text.replace("\n", "\n    ")
    assert [m for _, m in errors(defined(tmp_path, f"def k(x: 'f32[N]'):\n    {body}\n"))] == [
        CONSTRUCTS[text]
    ]


def test_the_errors_of_several_statements_are_told() -> None:
    def k(x: f32[N]):
        a = x @ x
        if x > 0:
            b = x in x
        return lambda: 3

    assert codes(k) == ["DSL0105"] * 3


def test_the_rules_of_declarations_and_returns_hold() -> None:
    def k(x: f32[N]):
        f(x)
        require(N > 3)
        x == 3
        return x

    assert codes(k) == ["DSL0109", "DSL0108", "DSL0110"]


def test_what_is_no_plain_function_is_refused() -> None:
    class Model:
        def method(self, x: f32[N]):
            pass

    async def coroutine(x: f32[N]):
        pass

    for fn in (lambda x: x, Model.method, Model().method, Model, len, 3, coroutine):
        with pytest.raises(DiagnosticError) as caught:
            parse_function(fn)
        assert [d.code for d in caught.value.diagnostics] == ["DSL0121"]


def test_a_function_without_a_source_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("def k(x):\n    pass\n", names)
    assert codes(names["k"]) == ["DSL0120"]


def test_a_function_whose_file_has_changed_is_refused(tmp_path: Path) -> None:
    fn = defined(tmp_path, "def k(x: 'f32[N]'):\n    pass\n")
    for text in ("# new\n\ndef k(x: 'f32[N]'):\n    pass\n", "def k(:\n", ""):
        (tmp_path / "defined.py").write_text(text)
        assert codes(fn) == ["DSL0120"]


@pytest.mark.parametrize(
    "annotation",
    ["3", "'f16[M'", "'f16[M] + 1'", "out[out[f16[M]]]", "strides(f16[M], 1, 2)", "strides(f16, 1)",
     "packed(u4[M], 'column')", "np.ndarray()", "out[f16[M], 1]"],
)  # fmt: skip
def test_an_annotation_that_is_no_type_is_refused(annotation: str, tmp_path: Path) -> None:
    text = f"from __future__ import annotations\ndef k(x: {annotation}):\n    pass\n"
    assert codes(defined(tmp_path, text)) == ["DSL0122"]


def test_parameters_are_plain_and_typed() -> None:
    def untyped(x):
        pass

    def default(x: f32[N] = 3):
        pass

    def many(*x: f32[N]):
        pass

    def named(x: f32[N], *, y: f32[N]):
        pass

    def reserved(tune: f32[N]):
        pass

    assert [codes(fn)[0] for fn in (untyped, default, many, named, reserved)] == [
        *["DSL0122"] * 4,
        "DSL0104",
    ]


def ping(x):
    return pong(x)


def pong(x):
    return ping(x)


def test_functions_that_call_each_other_are_refused() -> None:
    def k(x: f32[N]):
        f(ping(x))

    ((code, message),) = errors(k)
    assert code == "DSL0123"
    assert "`ping` -> `pong` -> `ping`" in message


def test_values_that_cannot_be_captured_are_refused() -> None:
    weights = np.ones(4)

    def k(x: f32[N]):
        f(x * weights)
        g(math.nothing)
        h(other_module.__dict__)

    assert codes(k) == ["DSL0124"] * 3


def test_decorator_values_that_are_no_constants_are_refused() -> None:
    def k(x: f32[N]):
        pass

    assert codes(k, const={"A": object()}, tune={"B": [], "C": [1, b"2"]}) == ["DSL0125"] * 3
    assert codes(k, const={"tune": 1}) == ["DSL0104"]


@pytest.mark.parametrize(
    "text", ["1 + " * 300 + "1", "1 and " * 300 + "1", "-" * 150 + "1", "f" + "(1)" * 150]
)
def test_deep_expressions_are_refused(text: str, tmp_path: Path) -> None:
    assert codes(defined(tmp_path, f"def k(x: 'f32[N]'):\n    y = {text}\n")) == ["DSL0012"]
