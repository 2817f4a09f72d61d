# ruff: noqa: B015, F821, F841 - kernels are not judged as Python
"""What a Python function must not have to be a kernel: each is refused with its code and place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend import parse_function

from support import other_module
from support.python_kernels import codes, defined, errors

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
    "a = x is x": "`is` compares with None alone",
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

    assert (
        codes(k, const={"A": object()}, tune={"B": [object()], "C": [1, b"2"]}) == ["DSL0125"] * 3
    )
    assert codes(k, const={"tune": 1}) == ["DSL0104"]


@pytest.mark.parametrize(
    "text", ["1 + " * 300 + "1", "1 and " * 300 + "1", "-" * 150 + "1", "f" + "(1)" * 150]
)
def test_deep_expressions_are_refused(text: str, tmp_path: Path) -> None:
    assert codes(defined(tmp_path, f"def k(x: 'f32[N]'):\n    y = {text}\n")) == ["DSL0012"]
