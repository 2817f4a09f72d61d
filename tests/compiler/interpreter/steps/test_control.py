"""Control flow with carried tiles and scalars, and scalar expressions."""

import io

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.interpreter import Options, run
from dslc.compiler.interpreter.steps.instructions import BUILDERS
from dslc.compiler.ir import Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

from support.building import Builder, at, const, dt, lift, op, var, whole


def result_of(b: Builder, value, **args):
    """Run with a scalar or tile as the output; gives Python numbers."""
    if not isinstance(value, Value):
        value = b.full(value.dtype if value.dtype != INDEX else "i64", (1,),
                       ex.Convert(value, dt("i64")) if value.dtype == INDEX else value)  # fmt: skip
    y = b.out("result", value.type.dtype, value.type.shape)
    b.store(whole(y), value)
    from dslc.compiler.dtypes import storage_dtype

    found = np.empty(value.type.shape, storage_dtype(value.type.dtype))
    run(b.kernel(), {**args, "result": found})
    return found.tolist()


def test_a_loop_carries_tiles_and_scalars_at_once():
    b = Builder()
    x, y = b.full("i32", (2,), 0), b.full("i32", (2,), 1)
    with b.loop("k", 0, 10, 1, [x, y, 0]) as (k, (p, q, s), results, yields):
        yields += [q, b.binary("add", p, q), op("add", s, k)]  # p and q swap roles
    out = b.binary("mul", results[0], b.full("i32", (2,), ex.Convert(results[2], dt("i32"))))
    assert result_of(b, out) == [55 * 45] * 2


def test_a_loop_of_no_turns_gives_what_went_in():
    b = Builder()
    with b.loop("k", 5, 5, 1, [b.full("f32", (1,), 3.0)]) as (_, (p,), results, yields):
        yields.append(b.binary("add", p, p))
    assert result_of(b, results[0]) == [3.0]


@pytest.mark.parametrize("bounds", [(0, 7, 3), (7, 0, -2), (2, -1, 1), (-3, 3, 2)])
def test_ranges_are_pythons(bounds):
    b = Builder()
    with b.loop("k", *bounds, [1]) as (k, (s,), results, yields):
        yields.append(op("add", op("mul", s, 10), k))
    wanted = 1
    for k in range(*bounds):
        wanted = wanted * 10 + k
    assert result_of(b, results[0]) == [wanted]


def test_a_step_of_zero_is_an_error():
    b = Builder()
    with b.loop("k", 0, 4, b.integer("n")):
        pass
    run(b.kernel(), {"n": 1})
    with pytest.raises(DiagnosticError, match=r"error\[DSL0602\]: the step of"):
        run(b.kernel(), {"n": 0})


def test_while_computes_its_condition_each_iteration():
    b = Builder()
    inner, result = var("i", "i32"), var("r", "i32")
    before = ins.Let(var("c", "bool"), op("lt", inner, const(100, "i32")))
    step = op("mul", inner, const(3, "i32"))
    carried = (ins.Carried(result, inner, const(1, "i32"), step),)
    b.add(ins.While((before,), var("c", "bool"), (), carried))
    assert result_of(b, result) == [243]


def test_if_joins_tiles_and_scalars():
    for n, wanted in ((3, [4, 8]), (-3, [-3, -6])):
        b = Builder()
        s = b.scalar("n", "i32")
        tile = b.full("i32", (1,), s)
        with b.nested() as then:
            up = b.binary("add", tile, b.full("i32", (1,), 1))
        joined_tile, joined = b.value("i32", (1,)), var("j", "i32")
        b.add(ins.If(op("gt", s, const(0, "i32")), tuple(then), (), (
            ins.Joined(joined_tile, up, tile),
            ins.Joined(joined, const(4, "i32"), s),
        )))  # fmt: skip
        out = b.add(ins.Concat(b.value("i32", (2,)), (
            joined_tile, b.binary("add", joined_tile, b.full("i32", (1,), joined))), 0))  # fmt: skip
        assert result_of(b, out, n=n) == wanted


def test_index_arithmetic_is_exact_and_rounds_down():
    b = Builder()
    n = b.integer("n")
    big = op("mul", op("mul", n, 2**40), 2**40)
    assert result_of(b, op("mod", op("floordiv", big, 2**40), 2**41), n=-3) == [
        (-3 * 2**40) % 2**41
    ]


def test_division_of_scalars_by_zero_gives_zero():
    for dtype in (INDEX, dt("i32")):
        b = Builder()
        n = ex.Convert(b.scalar("n", "i32"), dtype)
        seven = const(7, dtype)
        total = op("add", op("floordiv", seven, n), op("mod", seven, n))
        assert result_of(b, total, n=0) == [0]
        b = Builder()
        n = ex.Convert(b.scalar("n", "i32"), dtype)
        assert result_of(b, op("sub", op("floordiv", seven, n), op("mod", seven, n)), n=-2) == [-3]


def test_scalars_of_machine_dtypes_wrap_and_round_as_tiles_do():
    b = Builder()
    n = b.scalar("n", "i8")
    assert result_of(b, op("mul", n, const(3, "i8")), n=100) == [300 - 256]
    b = Builder()
    x = b.scalar("x", "f16")
    third = ex.Binary("div", const(1.0, "f16"), x, dt("f16"))
    assert result_of(b, ex.Unary("exp", third, dt("f16")), x=3.0) == [
        float(np.float16(np.exp(np.float32(np.float16(1 / 3)))))
    ]


@pytest.mark.parametrize("src", ["i32", "u8", "f32", "f16", "bool"])
def test_converted_scalars_agree_with_cast_tiles(src):
    from dslc.compiler.dtypes import cast, value_dtype

    numbers = {
        "i32": [0, 1, 3, 200, -5, 10**6],
        "u8": [0, 1, 200],
        "bool": [False, True],
        "f16": [0.0, 2.75, -1.5, 200.0, -5.0, 65504.0, float("nan"), float("inf")],
        "f32": [0.0, 2.75, -1.5, 1e6, -1e20, float("nan")],
    }
    for number in numbers[src]:
        value = np.array(number, value_dtype(dt(src)))
        for dst in ("i8", "u16", "i64", "f16", "f32", "bool", "i3"):
            for saturate in (False, True):
                b = Builder()
                out = ex.Convert(b.scalar("x", src), dt(dst), saturate)
                wanted = cast(value, dt(src), dt(dst), saturate).tolist()
                np.testing.assert_equal(result_of(b, out, x=number), [wanted])


def test_deep_expressions_need_no_deep_stack():
    b = Builder()
    n = b.integer("n")
    total = n
    for k in range(5000):
        total = op("add", total, n) if k % 2 else op("sub", n, total)
    wanted = 2
    for k in range(5000):
        wanted = wanted + 2 if k % 2 else 2 - wanted
    assert result_of(b, total, n=2) == [wanted]


def test_select_logic_and_shared_operands():
    b = Builder()
    n = b.integer("n")
    inside = ex.Binary("and", op("le", 0, n), ex.Unary("not", op("ge", n, 4), BOOL), BOOL)
    assert result_of(b, ex.Select(inside, op("shl", n, 4), lift(-1), INDEX), n=3) == [48]
    b = Builder()
    n = b.integer("n")
    both = op("max", op("min", n, 9), op("pow", n, 2))
    assert result_of(b, op("xor", both, ex.Unary("invert", n, INDEX)), n=-4) == [16 ^ 3]


def test_a_tile_of_rank_0_is_read_as_a_scalar():
    b = Builder()
    x = b.tensor("x", "i32", [4])
    row = ex.Convert(ex.Read(b.load(at(x, 2))), INDEX)
    assert result_of(b, b.load(at(x, (row, 1))), x=np.array([7, 8, 3, 9], np.int32)) == [9]
    b = Builder()
    x = b.load(whole(b.tensor("x", "f32", [4])))
    largest = ex.Read(b.reduce("max", x, 0))
    assert result_of(b, op("add", largest, largest), x=np.array([1, 5, 2, 3], np.float32)) == [10]


def test_print_shows_text_scalars_and_tiles_once_a_turn():
    b = Builder()
    i = var("i")
    tile = b.cast(b.arange(3), "f16")
    b.add(ins.Print("turn", (i, op("gt", i, 0), const(0.5, "f32"), tile)))
    b.add(ins.Print("done", ()))
    out = io.StringIO()
    run(b.kernel(grid=[("i", 0, 2, 1)]), {}, Options(stdout=out))
    assert out.getvalue() == (
        "turn 0 False 0.5 [0. 1. 2.]\ndone\nturn 1 True 0.5 [0. 1. 2.]\ndone\n"
    )


def test_an_assertion_names_its_text_and_turn():
    b = Builder()
    b.add(ins.Assert(op("lt", var("m"), 32), "too far", loc=Loc("t.tile", 7, 5)))
    run(b.kernel(grid=[("m", 0, 32, 16), ("n", 0, 2, 1)]), {})
    with pytest.raises(DiagnosticError) as caught:
        run(b.kernel(grid=[("m", 0, 64, 16), ("n", 0, 2, 1)]), {})
    assert caught.value.summary == (
        "t.tile:7:5: error[DSL0608]: the assertion does not hold in turn m=32, n=0: too far"
    )


def test_every_instruction_can_be_run():
    flows = {ins.SemaphoreWait, ins.ClusterReduce}
    assert set(ins.Instruction.__args__) == set(BUILDERS) | flows


def test_shuffle_runs_every_turn_once_in_an_order_of_the_seed():
    orders = []
    for seed in (None, 1, 1, 2):
        out, b = io.StringIO(), Builder()
        b.add(ins.Print("", (var("i"), var("j"))))
        seen: list[tuple[int, int]] = []
        k = b.kernel(grid=[("i", 0, 6, 2), ("j", 5, 0, -1)])
        run(k, {}, Options(shuffle=seed, stdout=out, progress=lambda *p, seen=seen: seen.append(p)))
        assert seen == [(n, 15) for n in range(1, 16)]
        orders.append(out.getvalue().splitlines())
    plain = [f"{i} {j}" for i in (0, 2, 4) for j in (5, 4, 3, 2, 1)]
    assert orders[0] == plain
    assert orders[1] == orders[2] != orders[3]
    assert sorted(orders[1]) == sorted(orders[3]) == sorted(plain)
    assert orders[1] != plain


def test_an_order_dependent_kernel_differs_under_shuffle():
    b = Builder()
    y = b.tensor("y", "f32", [1], Role.INOUT)
    scaled = b.binary("mul", b.load(whole(y)), b.full("f32", (1,), 2.0))
    i = ex.Convert(var("i"), dt("f32"))
    b.store(whole(y), b.binary("add", scaled, b.full("f32", (1,), i)))
    results = set()
    for seed in (None, 1, 2, 3):
        y0 = np.zeros(1, np.float32)
        run(b.kernel(grid=[("i", 0, 8, 1)]), {"y": y0}, Options(shuffle=seed, check=False))
        results.add(float(y0[0]))
    assert len(results) > 1
