"""Uninitialised reads, undefined registers and races: programs with them, and programs without."""

import re
from pathlib import Path

import numpy as np
import pytest
from dslc.compiler import interpreter
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.diagnostics.catalogue import explain
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Place, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

from support.building import Builder, at, const, op, var, whole


def failure(kernel, args, **options) -> str:
    """The text of the error; without checks there is none."""
    with pytest.raises(DiagnosticError) as caught:
        run(kernel, args, Options(**options))
    run(kernel, args, Options(check=False, **options))
    (found,) = caught.value.diagnostics
    assert found.hint
    labels = [f"{label.loc}: {label.text}" for label in found.labels]
    return "\n".join([caught.value.summary, *labels])


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def test_every_code_that_is_raised_is_explained():
    sources = Path(interpreter.__file__).parent.rglob("*.py")
    codes = {c for s in sources for c in re.findall(r"DSL\d{4}", s.read_text(encoding="utf-8"))}
    assert len(codes) > 15
    assert all(explain(c) for c in codes)


# Uninitialised reads


@pytest.mark.parametrize("place", [Place.SHARED, Place.REGISTER, None])
def test_reading_a_buffer_before_it_is_written(place):
    b = Builder()
    s = b.buffer("s", "f32", [4, 4], place)
    b.store(at(s, (0, 2), (0, 4)), b.full("f32", (2, 4), 1.0))
    b.store(whole(b.out("y", "f32", [3, 4])), b.load(at(s, (0, 3), (0, 4))))
    assert failure(b.kernel(grid=[("m", 8, 9, 1)]), {"y": zeros(3, 4)}) == (
        "t.tile:4:1: error[DSL0603]: the read takes element [2, 0] of s, which was never written, "
        "in turn m=8"
    )


def test_a_buffer_that_begins_to_live_again_is_undefined_again():
    b = Builder()
    with b.loop("k", 0, 2, 1):
        s = b.buffer("s", "f32", [2])
        with b.when(op("eq", var("k"), 0)):
            b.store(whole(s), b.full("f32", (2,), 1.0))
        b.store(whole(b.out("y", "f32", [2])), b.load(whole(s)))
    assert "DSL0603" in failure(b.kernel(), {"y": zeros(2)})


def test_each_turn_has_buffers_of_its_own():
    b = Builder()
    s = b.buffer("s", "f32", [2])
    with b.when(op("eq", var("m"), 0)):
        b.store(whole(s), b.full("f32", (2,), 1.0))
    b.store(at(b.out("y", "f32", [4]), (op("mul", var("m"), 2), 2)), b.load(whole(s)))
    assert "turn m=1" in failure(b.kernel(grid=[("m", 0, 2, 1)]), {"y": zeros(4)})


def test_an_out_parameter_may_be_read_after_it_was_written():
    b = Builder()
    y = b.out("y", "f32", [4])
    b.store(at(y, (0, 2)), b.full("f32", (2,), 1.0))
    b.store(at(y, (2, 2)), b.load(at(y, (0, 2))))
    run(b.kernel(), {"y": zeros(4)})
    b.store(at(y, (0, 2)), b.full("f32", (2,), 1.0))
    found = zeros(4)
    run(b.kernel(), {"y": found})
    assert found.tolist() == [1, 1, 1, 1]


def test_reading_or_adding_to_an_out_parameter_that_was_not_written():
    b = Builder()
    y = b.out("y", "f32", [4])
    b.store(at(y, (0, 2)), b.load(at(y, (1, 2))))
    assert "element [1] of y, which was never written" in failure(b.kernel(), {"y": zeros(4)})
    b = Builder()
    b.atomic_add(whole(b.out("y", "f32", [2])), b.full("f32", (2,), 1.0))
    assert "the atomic addition takes element [0] of y" in failure(b.kernel(), {"y": zeros(2)})


def test_gather_of_unwritten_rows_names_the_element():
    b = Builder()
    s = b.buffer("s", "f32", [4, 2])
    b.store(at(s, (0, 2), (0, 2)), b.full("f32", (2, 2), 1.0))
    out = b.value("f32", (2, 2))
    b.add(
        ins.Gather(out, at(s, (0, 1), (0, 2)), (b.load(whole(b.tensor("ids", "i32", [2]))),), (0,))
    )
    b.store(whole(b.out("y", "f32", [2, 2])), out)
    k = b.kernel()
    run(k, {"ids": np.array([1, 0], np.int32), "y": zeros(2, 2)})
    assert "element [3, 0] of s" in failure(
        k, {"ids": np.array([1, 3], np.int32), "y": zeros(2, 2)}
    )


# Undefined registers


def partly_undefined(b: Builder):
    """Rows 0 and 1 are defined, rows 2 and 3 are not, through moves of every kind."""
    hole = b.undefined("f32", (1, 2), name="r")
    tile = b.add(
        ins.Concat(b.value("f32", (2, 2), name="r2"), (b.full("f32", (1, 2), 1.0), hole), 0)
    )
    tile = b.repeat(tile, 2, 0)
    tile = b.add(ins.Transpose(b.value("f32", (2, 4)), tile, (1, 0)))
    tile = b.add(ins.Transpose(b.value("f32", (4, 2)), tile, (1, 0)))
    tile = b.add(ins.Reshape(b.value("f32", (8,)), tile))
    return b.add(ins.Reshape(b.value("f32", (4, 2), name="acc"), tile))


def test_undefined_elements_may_be_moved_and_left_behind():
    b = Builder()
    tile = partly_undefined(b)
    part = b.add(ins.Extract(b.value("f32", (2, 2)), tile, (0, 0), (1, 1)))
    rows = b.broadcast(b.add(ins.Reshape(b.value("i32", (4, 1)), b.arange(4))), (4, 2))
    low = b.binary("lt", rows, b.full("i32", (4, 2), 2))
    chosen = b.add(ins.Where(b.value("f32", (4, 2)), low, tile, b.full("f32", (4, 2), 3.0)))
    b.store(whole(b.out("y", "f32", [2, 2])), b.binary("add", part, part))
    b.store(whole(b.out("z", "f32", [4, 2])), chosen)
    y, z = zeros(2, 2), zeros(4, 2)
    run(b.kernel(), {"y": y, "z": z})
    assert y.tolist() == [[2, 2], [2, 2]]
    assert z.tolist() == [[1, 1], [1, 1], [3, 3], [3, 3]]


@pytest.mark.parametrize(
    "use",
    [
        lambda b, t: b.binary("add", t, t),
        lambda b, t: b.unary("neg", t),
        lambda b, t: b.cast(t, "f16"),
        lambda b, t: b.reduce("sum", t, 0),
        lambda b, t: b.add(ins.Scan(b.value("f32", (4, 2)), "sum", t, 0, loc=b.loc())),
        lambda b, t: b.dot(t, b.full("f32", (2, 3), 1.0)),
        lambda b, t: b.add(ins.Print("", (t,), loc=b.loc())),
        lambda b, t: b.store(whole(b.buffer("s", "f32", [4, 2])), t),
        lambda b, t: b.atomic_add(whole(b.buffer("s", "f32", [4, 2])), t),
    ],
)
def test_computing_with_an_undefined_element_is_an_error(use, capsys):
    b = Builder()
    tile = partly_undefined(b)
    use(b, tile)
    with pytest.raises(DiagnosticError) as caught:
        run(b.kernel(), {})
    found = caught.value.summary
    assert "DSL0603]: element [2, 0] of the register tile acc is read before it is written" in found
    assert found.startswith("t.tile:")
    run(b.kernel(), {}, Options(check=False))


def test_rows_of_undefined_numbers_are_an_error():
    b = Builder()
    x = b.buffer("x", "f32", [4, 2])
    b.store(whole(x), b.full("f32", (4, 2), 1.0))
    ids = b.undefined("i32", (3,), name="ids")
    rows = ins.Gather(b.value("f32", (3, 2)), whole(x), (ids,), (0,), loc=b.loc())
    b.store(whole(b.out("y", "f32", [3, 2])), b.add(rows))
    with pytest.raises(DiagnosticError, match=r"DSL0603.*register tile ids"):
        run(b.kernel(), {"y": zeros(3, 2)})


def test_an_undefined_tile_is_followed_through_loops_and_branches():
    for turns in (0, 2):
        b = Builder()
        start = b.undefined("f32", (1,), name="r")
        with b.loop("k", 0, turns, 1, [start]) as (_, (p,), results, yields):
            joined = b.value("f32", (1,))
            with b.nested() as then:
                one = b.full("f32", (1,), 1.0)
            b.add(ins.If(op("eq", var("k"), 1), tuple(then), (), (ins.Joined(joined, one, p),)))
            yields.append(joined)
        b.store(whole(b.out("y", "f32", [1])), results[0])
        if turns:
            run(b.kernel(), {"y": zeros(1)})
        else:
            assert "DSL0603" in failure(b.kernel(), {"y": zeros(1)})


def test_a_scalar_read_of_an_undefined_tile_is_an_error():
    b = Builder()
    tile = b.undefined("i32", (), name="n")
    b.let("v", ex.Read(tile))
    found = failure(b.kernel(), {})
    assert found.startswith("t.tile:2:1: error[DSL0603]: element [] of the register tile n is read")


# Races between turns


def test_two_turns_that_write_one_element():
    b = Builder()
    b.store(at(b.out("y", "f32", [6]), (op("mul", var("m"), 2), 3)), b.full("f32", (3,), 1.0))
    assert failure(b.kernel(grid=[("m", 0, 2, 1)]), {"y": zeros(6)}) == (
        "t.tile:2:1: error[DSL0606]: parallel turns race: turn m=1 writes element [2] of y, "
        "which turn m=0 writes\n"
        "t.tile:2:1: turn m=0 writes it here"
    )
    run(b.kernel(grid=[("m", 0, 1, 1)]), {"y": zeros(6)})


def test_reading_what_another_turn_writes_in_either_order():
    b = Builder()
    y = b.tensor("y", "f32", [9], Role.INOUT)
    b.store(at(y, (var("m"), 1)), b.load(at(y, (op("add", var("m"), 1), 1))))
    k = b.kernel(grid=[("m", 0, 8, 1)])
    for seed in (None, 1, 2, 3):
        found = failure(k, {"y": zeros(9)}, shuffle=seed)
        assert "parallel turns race" in found
        assert "reads" in found
        assert "writes" in found


def test_one_array_for_two_parameters_is_one_memory():
    b = Builder()
    n = var("N")
    x, y = b.tensor("x", "f32", [n]), b.out("y", "f32", [n])
    b.store(at(y, (var("i"), 1)), b.load(at(x, (op("sub", op("sub", n, 1), var("i")), 1))))
    flip = b.kernel(grid=[("i", 0, n, 1)])
    array = zeros(4)
    run(flip, {"x": array.copy(), "y": array})
    assert "parallel turns race" in failure(flip, {"x": array, "y": array})


def test_many_readers_are_no_race_but_one_writer_among_them_is():
    b = Builder()
    y = b.tensor("y", "f32", [2], Role.INOUT)
    x = b.load(at(y, (0, 1)))
    b.store(at(b.out("z", "f32", [4]), (var("m"), 1)), x)
    with b.when(op("eq", var("m"), b.integer("writer"))):
        b.store(at(y, (b.integer("where"), 1)), x)
    k = b.kernel(grid=[("m", 0, 4, 1)])
    args = {"y": zeros(2), "z": zeros(4)}
    run(k, {**args, "writer": 2, "where": 1})
    for writer in range(4):
        assert "element [0] of y" in failure(k, {**args, "writer": writer, "where": 0})


def test_atomic_additions_do_not_race_with_each_other_but_with_reads_and_writes():
    for more, verbs in ((None, ""), ("load", "reads"), ("store", "writes")):
        b = Builder()
        y = b.tensor("y", "i32", [1], Role.INOUT)
        b.atomic_add(whole(y), b.full("i32", (1,), 1))
        with b.when(op("eq", var("m"), 3)):
            if more == "load":
                b.store(whole(b.out("z", "i32", [1])), b.load(whole(y)))
            elif more == "store":
                b.store(whole(y), b.full("i32", (1,), 0))
        args = {"y": zeros(1, dtype=np.int32)}
        if more == "load":
            args["z"] = zeros(1, dtype=np.int32)
        k = b.kernel(grid=[("m", 0, 5, 1)])
        if more is None:
            run(k, args)
            assert args["y"][0] == 5
        else:
            assert (
                f"turn m=3 {verbs} element [0] of y, which turn m=2 atomically adds to"
                in failure(k, args)
            )


def test_atomic_additions_of_floats_are_applied_in_the_order_of_turns():
    b = Builder()
    y = b.tensor("y", "f32", [1], Role.INOUT)
    x = b.tensor("x", "f32", [3])
    b.atomic_add(whole(y), b.load(at(x, (var("m"), 1))))
    k = b.kernel(grid=[("m", 0, 3, 1)])
    args = {"x": np.array([1e8, 1, -1e8], np.float32), "y": zeros(1)}
    run(k, args)
    assert args["y"][0] == 0


def test_scatters_of_two_turns_to_one_row_race():
    b = Builder()
    y = b.tensor("y", "f32", [8, 2], Role.INOUT)
    ids = b.load(at(b.tensor("ids", "i32", [2, 2]), var("m"), (0, 2)))
    b.add(ins.Scatter(at(y, (0, 1), (0, 2)), b.full("f32", (2, 2), 1.0), (ids,), (0,), loc=b.loc()))
    k = b.kernel(grid=[("m", 0, 2, 1)])
    run(k, {"ids": np.array([[0, 1], [2, 3]], np.int32), "y": zeros(8, 2)})
    found = failure(k, {"ids": np.array([[0, 1], [2, 1]], np.int32), "y": zeros(8, 2)})
    assert "turn m=1 writes element [1, 0] of y" in found


def test_a_workspace_is_zero_at_first_and_races_as_tensors_do():
    b = Builder()
    w = b.workspace("w", "f32", [4])
    b.store(at(w, (var("m"), 1)), b.full("f32", (1,), 1.0))
    b.store(at(b.out("y", "f32", [4]), (var("m"), 1)), b.load(at(w, (op("sub", 3, var("m")), 1))))
    assert "of w" in failure(b.kernel(grid=[("m", 0, 4, 1)]), {"y": zeros(4)})
    b = Builder()
    b.store(whole(b.out("y", "f32", [4])), b.load(whole(b.workspace("w", "f32", [4]))))
    found = np.ones(4, np.float32)
    run(b.kernel(), {"y": found})
    assert not found.any()


def test_a_counter_must_be_zero_again():
    b = Builder()
    w = b.workspace("count", "i32", [3])
    b.atomic_add(at(w, (1, 1)), b.full("i32", (1,), 1))
    found = failure(b.kernel(grid=[("m", 0, 5, 1)]), {})
    assert "DSL0610]: element [1] of the counter count is 5 after kernel k" in found
    partial = Builder()
    w = partial.workspace("sums", "i32", [4])
    partial.store(at(w, (var("m"), 1)), partial.full("i32", (1,), 7))
    run(partial.kernel(grid=[("m", 0, 4, 1)]), {})


def arrivals(reset=True, wait_for=4):
    """Each of S turns leaves a part and counts; the last to arrive adds the parts up."""
    b = Builder()
    parts, count = b.workspace("parts", "f32", [4]), b.workspace("count", "i32", [1])
    y = b.out("y", "f32", [1])
    b.store(at(parts, (var("s"), 1)), b.load(at(b.tensor("x", "f32", [4]), (var("s"), 1))))
    before = b.atomic_add(at(count, 0), b.full("i32", (), 1), out=True)
    with b.when(op("eq", ex.Read(before), const(wait_for - 1, "i32"))):
        b.store(whole(y), b.reduce("sum", b.load(whole(parts)), 0, keepdims=True))
        if reset:
            b.store(at(count, 0), b.full("i32", (), 0))
    return b.kernel(grid=[("s", 0, 4, 1)])


def test_an_arrival_counter_orders_turns():
    x = np.array([1, 2, 3, 4], np.float32)
    for seed in (None, *range(8)):
        y = zeros(1)
        run(arrivals(), {"x": x, "y": y}, Options(shuffle=seed))
        assert y[0] == 10


def test_summing_before_the_last_arrival_is_a_race():
    found = failure(arrivals(reset=False, wait_for=3), {"x": zeros(4), "y": zeros(1)})
    assert "turn s=3 writes element [3] of parts, which turn s=2 reads" in found


def test_a_flag_that_orders_nothing_does_not_hide_a_race():
    b = Builder()
    count, y = b.workspace("count", "f32", [1]), b.tensor("y", "f32", [1], Role.INOUT)
    b.atomic_add(whole(count), b.full("f32", (1,), 1.0))  # a float counter orders nothing
    b.store(whole(y), b.full("f32", (1,), 1.0))
    assert "race" in failure(b.kernel(grid=[("m", 0, 2, 1)]), {"y": zeros(1)})
