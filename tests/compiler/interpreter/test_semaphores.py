"""Turns that wait for one another."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import INDEX
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

from support.building import Builder, at, const, dt, op, var, whole


class Semaphores(Builder):
    def wait(self, region, value):
        self.add(ins.SemaphoreWait(region, value, loc=self.loc()))

    def release(self, region, value):
        self.add(ins.SemaphoreRelease(region, value, loc=self.loc()))


def i32(e):
    return ex.Convert(e, dt("i32"))


def serial_split(splits, release=True, wait=True):
    """Split-K: the turns of one tile add their parts in a fixed order, passing a semaphore on."""
    b = Semaphores()
    x, y = b.tensor("x", "f32", [var("N"), var("K")]), b.out("y", "f32", [var("N")])
    lock, part = b.workspace("lock", "i32", [var("N")]), b.workspace("part", "f32", [var("N")])
    n, s = var("n"), var("s")
    mine = b.reduce("sum", b.load(at(x, (n, 1), (op("mul", s, 4), 4))), 1)
    if wait:
        b.wait(at(lock, n), i32(s))
    total = b.binary("add", b.load(at(part, (n, 1))), mine)
    last = op("eq", s, splits - 1)
    with b.when(last):
        b.store(at(y, (n, 1)), total)
        b.release(at(lock, n), const(0, "i32"))
    with b.when(op("lt", s, splits - 1)):
        b.store(at(part, (n, 1)), total)
        if release:
            b.release(at(lock, n), i32(op("add", s, 1)))
    return b.kernel(grid=[("n", 0, var("N"), 1), ("s", 0, splits, 1)])


def test_a_serial_split_is_deterministic_under_every_order():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(5, 16)) * 10.0 ** rng.integers(-3, 4, (5, 16))).astype(np.float32)
    results = []
    for seed in (None, *range(10)):
        y = np.zeros(5, np.float32)
        run(serial_split(4), {"x": x, "y": y}, Options(shuffle=seed))
        results.append(y)
    assert all((r == results[0]).all() for r in results)
    np.testing.assert_allclose(results[0], x.sum(1, dtype=np.float64), rtol=1e-4)


def test_a_split_that_does_not_wait_races():
    with pytest.raises(DiagnosticError, match=r"DSL0606.*turns race.*of part"):
        run(
            serial_split(4, wait=False),
            {"x": np.ones((1, 16), np.float32), "y": np.zeros(1, np.float32)},
        )


def test_a_deadlock_is_reported():
    args = {"x": np.ones((2, 16), np.float32), "y": np.zeros(2, np.float32)}
    for seed in (None, 1):
        with pytest.raises(DiagnosticError) as caught:
            run(serial_split(4, release=False), args, Options(shuffle=seed))
        found = caught.value.summary
        assert found.startswith("t.tile:3:1: error[DSL0607]: all turns that are left wait")
        assert "; ..." in found


def test_a_lock_by_waits_in_loops_and_branches():
    b = Semaphores()
    lock, y = b.workspace("lock", "i32", [1]), b.tensor("y", "i32", [1], Role.INOUT)
    m = var("m")
    with b.loop("k", 0, 3, 1) as (k, _, _, _):
        ticket = op("add", op("mul", k, 4), m)
        with b.when(op("ge", m, 0)):
            b.wait(at(lock, (0, 1)), i32(ticket))
        mine = b.binary("add", b.binary("mul", b.load(whole(y)), b.full("i32", (1,), 3)),
                        b.full("i32", (1,), i32(m)))  # fmt: skip
        b.store(whole(y), mine)
        after = ex.Select(op("eq", ticket, 11), ex.index(0), op("add", ticket, 1), INDEX)
        b.release(at(lock, (0, 1)), i32(after))
    wanted = 1
    for n in range(12):
        wanted = (wanted * 3 + n % 4 + 2**31) % 2**32 - 2**31
    for seed in (None, 5, 6):
        y0 = np.ones(1, np.int32)
        done: list[int] = []
        options = Options(shuffle=seed, progress=lambda d, n, done=done: done.append(d))
        run(b.kernel(grid=[("m", 0, 4, 1)]), {"y": y0}, options)
        assert y0[0] == wanted
        assert done == [1, 2, 3, 4]


def test_waiting_in_a_while_for_a_counter_of_arrivals():
    b = Semaphores()
    count, y = b.workspace("count", "i32", [1]), b.out("y", "f32", [1])
    parts = b.workspace("parts", "f32", [6])
    b.store(at(parts, (var("s"), 1)), b.full("f32", (1,), ex.Convert(var("s"), dt("f32"))))
    b.atomic_add(at(count, 0), b.full("i32", (), 1))
    with b.when(op("eq", var("s"), 0)):
        with b.nested() as body:
            b.wait(at(count, 0), const(6, "i32"))
        carried = (ins.Carried(var("i2"), var("i1"), ex.index(0), op("add", var("i1"), 1)),)
        b.add(ins.While((), op("lt", var("i1"), 2), tuple(body), carried))
        b.store(whole(y), b.reduce("sum", b.load(whole(parts)), 0, keepdims=True))
        b.release(at(count, 0), const(0, "i32"))
    for seed in (None, 1, 2, 3):
        y0 = np.zeros(1, np.float32)
        run(b.kernel(grid=[("s", 0, 6, 1)]), {"y": y0}, Options(shuffle=seed))
        assert y0[0] == 15


def test_a_thousand_turns_in_a_chain_take_little_time():
    import time

    start = time.process_time()
    for seed in (None, 3):
        y = np.zeros(1, np.float32)
        run(
            serial_split(1000), {"x": np.ones((1, 4000), np.float32), "y": y}, Options(shuffle=seed)
        )
        assert y[0] == 4000
    assert time.process_time() - start < 5
