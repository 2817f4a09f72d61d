"""Equal nodes are one object: however they are made, from any thread, and only while they live."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from dslc.compiler import interned
from dslc.compiler.dtypes import BOOL, F32, I32, INDEX
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Var, index
from dslc.compiler.layout import Layout, local, spatial
from dslc.compiler.layout.mode import Mode

M = Var("m", INDEX)


def test_equal_expressions_are_one_object() -> None:
    assert Binary("add", M, index(3), INDEX) is Binary("add", M, index(3), INDEX)
    assert Binary(op="add", x=M, y=index(3), dtype=INDEX) is Binary("add", M, index(3), INDEX)


def test_defaults_count_as_given() -> None:
    assert Convert(M, I32) is Convert(M, I32, False)
    assert Convert(M, I32) is not Convert(M, I32, True)


def test_numbers_that_compare_equal_stay_apart() -> None:
    assert Const(0.0, F32) is not Const(-0.0, F32)
    assert Const(1, F32) is not Const(1.0, F32)
    assert Const(True, BOOL) is not Const(1, BOOL)
    nan = float("nan")
    assert Const(nan, F32) is Const(float("nan"), F32)


def test_copies_are_the_same_object() -> None:
    sum_of = Binary("add", M, Const(-0.0, F32), F32)
    assert pickle.loads(pickle.dumps(sum_of)) is sum_of
    assert copy.deepcopy(sum_of) is sum_of
    assert copy.copy(sum_of) is sum_of


def test_layouts_by_different_ways_are_one_object() -> None:
    assert local(2, 1).spatial(8, 4) is local(2, 1) * spatial(8, 4)
    halves = Layout((8,), (Mode(2, 0, 4), Mode(4, 0, 1)), ())
    assert halves is spatial(8)


def test_nodes_die() -> None:
    name = "a_name_that_no_other_test_has"
    key = (Var, name, INDEX)
    made = Var(name, INDEX)
    assert key in interned._TABLE
    interned._RECENT.clear()
    del made
    gc.collect()
    assert key not in interned._TABLE


def test_threads_get_one_object() -> None:
    workers, rounds = 8, 300
    together = Barrier(workers)

    def make(_: int) -> list[Expr]:
        made: list[Expr] = []
        for i in range(rounds):
            if i % 50 == 0:
                together.wait()
            made.append(Binary("mul", Var(f"thread_{i}", INDEX), index(i), INDEX))
        return made

    with ThreadPoolExecutor(workers) as pool:
        first, *others = pool.map(make, range(workers))
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))
