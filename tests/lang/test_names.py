"""The names of `dslc.lang` are those of the language."""

import builtins
import inspect

import dslc
import pytest
from dslc import lang
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import all_dtypes
from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.lang import elements

TABLE = [
    "zeros",
    "full",
    "arange",
    "cast",
    "view",
    "sum",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "cumsum",
    "reduce",
    "scan",
    "prod",
    "cumprod",
    "cummax",
    "cummin",
    "sort",
    "argsort",
    "topk",
    "transpose",
    "reshape",
    "broadcast",
    "repeat",
    "concat",
    "where",
    "select",
    "minimum",
    "maximum",
    "clamp",
    "abs",
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "floor",
    "ceil",
    "round",
    "fma",
    "load",
    "gather",
    "scatter",
    "store",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_exchange",
    "atomic_cas",
    "dim",
    "cdiv",
    "turns_at_once",
    "dot",
]
STATEMENTS = ["range", "parallel", "static", "print", "require", "buffer", "grid"]
EXPLICIT = [
    "shared",
    "register",
    "copy_async",
    "commit",
    "wait",
    "sync",
    "block_index",
    "semaphore_wait",
    "semaphore_release",
]
CONSTANTS = ["inf", "nan"]
ANNOTATIONS = ["tensor", "out", "inout", "strides", "packed", "dims", "Tile"]
BUILTINS = {n for n in TABLE + STATEMENTS if hasattr(builtins, n)}
FUNCTIONS = [n for n in TABLE + STATEMENTS + EXPLICIT if n not in BUILTINS]
ON_LAYOUTS = {"reshape", "broadcast", "concat", "reduce"}


def test_all_is_exactly_the_language():
    dtypes = {d.name for d in all_dtypes()} - {"bool"}
    layouts = set(LAYOUT_FUNCTIONS) - {"slice"}
    expected = {*TABLE, *STATEMENTS, *EXPLICIT, *ANNOTATIONS, *CONSTANTS, *dtypes, *layouts}
    assert set(lang.__all__) == expected
    assert len(lang.__all__) == len(expected)


def test_the_checker_knows_the_same_functions():
    calls = pytest.importorskip("dslc.checker.calls")
    pytest.importorskip("dslc.checker.functions")
    documented = {*TABLE, *STATEMENTS, *EXPLICIT}
    assert set(calls.FUNCTIONS) - documented == set()


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ON_LAYOUTS])
def test_a_function_of_the_language_refuses_plain_python(name):
    with pytest.raises(DiagnosticError, match=f"`{name}`.*outside a kernel") as caught:
        getattr(lang, name)(1, 2)
    assert "@dslc.kernel" in caught.value.diagnostics[0].hint


@pytest.mark.parametrize("name", sorted(ON_LAYOUTS))
def test_a_function_of_tiles_and_layouts_refuses_tiles(name):
    with pytest.raises(DiagnosticError, match="outside a kernel"):
        getattr(lang, name)([[1, 2]], (2, 1))


@pytest.mark.parametrize("name", [*TABLE, *STATEMENTS, *EXPLICIT])
def test_every_function_is_documented(name):
    assert inspect.getdoc(getattr(lang, name))


def test_namesakes_of_builtins_do_what_python_does():
    assert lang.sum([1, 2, 3]) == 6
    assert lang.max([1, 5], key=lambda x: -x) == 1
    assert lang.min(3, 2, 4) == 2
    assert lang.any([0, 1])
    assert not lang.all([0, 1])
    assert lang.abs(-2) == 2
    assert lang.round(2.345, 2) == 2.35 or lang.round(2.345, 2) == 2.34
    assert isinstance(range(3), lang.range)


def test_print_prints(capsys):
    lang.print("a", 1, sep="-")
    assert capsys.readouterr().out == "a-1\n"


def test_a_star_import_leaves_bool_alone():
    names = {}
    exec("from dslc.lang import *", names)
    assert "bool" not in names
    assert lang.bool == dslc.bool == elements.bool


def test_layouts_are_real_in_plain_python():
    from dslc.compiler.layout import local

    made = lang.local(2, 1).spatial(8, 4).local(1, 2)
    assert made == local(2, 1).spatial(8, 4).local(1, 2)
    assert lang.local(4) == local(4)
    assert lang.broadcast(lang.local(4), 2) == LAYOUT_FUNCTIONS["broadcast"](local(4), 2)
