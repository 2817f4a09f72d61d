"""Programs: kernels in order over shared buffers."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Call, Memory, Place, Program, Role
from dslc.compiler.ir import expr as ex

from support.building import Builder, at, dt, op, var


def scaled(factor_type="f32"):
    """y = x * factor, 4 elements a turn."""
    b = Builder()
    n = var("N")
    x, y = b.tensor("x", "f32", [n]), b.out("y", "f32", [n])
    factor = b.scalar("factor", factor_type)
    i = var("i")
    t = b.binary("mul", b.load(at(x, (i, 4))), b.full("f32", (4,), factor))
    b.store(at(y, (i, 4)), t)
    return b.kernel(grid=[("i", 0, n, 4)], requires=[(op("gt", n, 0), "N > 0")], name="scaled")


def first_half():
    """Writes only the first half of y."""
    b = Builder()
    n = var("N")
    y = b.out("y", "f32", [n])
    half = op("floordiv", n, 2)
    b.store(at(y, (var("i"), 1)), b.full("f32", (1,), 7.0))
    return b.kernel(grid=[("i", 0, half, 1)], name="first_half")


class Parts:
    """A program over x[S], y[T] and a buffer of S elements."""

    def __init__(self):
        s = var("S")
        self.s = s
        self.x = Memory("x", dt("f32"), (s,), Role.IN, Place.GLOBAL)
        self.y = Memory("y", dt("f32"), (s,), Role.OUT, Place.GLOBAL)
        self.middle = Memory("middle", dt("f32"), (s,), Role.BUFFER, Place.GLOBAL)
        self.factor = ex.Var("f", dt("f32"))

    def program(self, *calls):
        params = (self.x, self.y, self.factor)
        return Program("p", params, (self.s,), (self.middle,), tuple(calls))


def test_calls_run_in_order_through_buffers():
    p = Parts()
    k = scaled()
    twice = ex.Binary("mul", p.factor, ex.Const(2.0, dt("f32")), dt("f32"))
    program = p.program(Call(k, (p.x, p.middle, p.factor)), Call(k, (p.middle, p.y, twice)))
    for size in (1, 8, 11):
        x, y = np.arange(size, dtype=np.float32), np.zeros(size, np.float32)
        run(program, {"x": x, "y": y, "f": 3.0}, Options(shuffle=1))
        np.testing.assert_array_equal(y, x * 18)


def test_a_buffer_that_no_call_has_written_is_undefined():
    p = Parts()
    program = p.program(Call(scaled(), (p.middle, p.y, p.factor)))
    args = {"x": np.ones(6, np.float32), "y": np.ones(6, np.float32), "f": 1.0}
    with pytest.raises(DiagnosticError) as caught:
        run(program, args)
    assert "element [0] of middle, which was never written, in turn i=0" in caught.value.summary
    half = p.program(Call(first_half(), (p.middle,)), Call(scaled(), (p.middle, p.y, p.factor)))
    with pytest.raises(DiagnosticError, match=r"element \[3\] of middle"):
        run(half, args)
    run(half, args, Options(check=False))
    assert args["y"][:3].tolist() == [7, 7, 7]


def test_an_output_of_one_call_may_be_the_input_of_the_next():
    p = Parts()
    program = p.program(Call(scaled(), (p.x, p.y, p.factor)), Call(first_half(), (p.y,)),
                        Call(scaled(), (p.y, p.middle, p.factor)))  # fmt: skip
    x, y = np.ones(6, np.float32), np.zeros(6, np.float32)
    run(program, {"x": x, "y": y, "f": 2.0})
    assert y.tolist() == [7, 7, 7, 2, 2, 2]


def test_dims_and_requirements_are_those_of_each_call():
    p = Parts()
    program = p.program(Call(scaled(), (p.x, p.y, p.factor)))
    empty = np.zeros(0, np.float32)
    with pytest.raises(DiagnosticError, match=r"DSL0759.*kernel scaled requires N > 0, but N = 0"):
        run(program, {"x": empty, "y": empty.copy(), "f": 1.0})


def test_reading_and_writing_one_memory_in_one_call_is_a_race_where_turns_overlap():
    p = Parts()
    program = p.program(Call(scaled(), (p.x, p.y, p.factor)), Call(scaled(), (p.y, p.y, p.factor)))
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    run(program, {"x": x, "y": y, "f": 2.0})  # each turn its own elements
    assert y.tolist() == [4] * 8

    b = Builder()
    n, i = var("N"), var("i")
    left, right = b.tensor("x", "f32", [n]), b.out("y", "f32", [n])
    b.store(at(right, (i, 1)), b.load(at(left, (op("sub", op("sub", n, 1), i), 1))))
    flip = b.kernel(grid=[("i", 0, n, 1)], name="flip")
    program = p.program(Call(flip, (p.x, p.y)), Call(flip, (p.y, p.y)))
    with pytest.raises(DiagnosticError, match=r"DSL0606.*of y"):
        run(program, {"x": x, "y": y, "f": 2.0})


def test_packed_bits_pass_between_kernels():
    b = Builder()
    n = var("N")
    x, y = b.tensor("x", "u4", [n], packed="row"), b.out("y", "u4", [n], packed="row")
    b.store(at(y, (0, 8)), b.binary("add", b.load(at(x, (0, 8))), b.full("u4", (8,), 1)))
    k = b.kernel(name="inc")
    s = var("S")
    memories = [
        Memory(name, dt("u4"), (s,), role, Place.GLOBAL, packed="row")
        for name, role in (("x", Role.IN), ("y", Role.OUT), ("t", Role.BUFFER))
    ]
    mx, my, mt = memories
    program = Program("p", (mx, my), (s,), (mt,), (Call(k, (mx, mt)), Call(k, (mt, my))))
    y0 = np.zeros(8, np.uint8)
    run(program, {"x": np.arange(8, dtype=np.uint8), "y": y0})
    assert y0.tolist() == list(range(2, 10))
