"""Asynchronous copies, and barriers on shared memory."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Place, Role
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import parse_layout

from support.building import Builder, at, op, var, whole


class Explicit(Builder):
    """A builder with the explicit level's statements."""

    def copy(self, dst, src):
        self.add(ins.CopyAsync(dst, src, loc=self.loc()))

    def commit(self):
        self.add(ins.CommitGroup(loc=self.loc()))

    def wait(self, pending=0):
        self.add(ins.WaitGroup(pending, loc=self.loc()))

    def sync(self):
        self.add(ins.Sync(loc=self.loc()))


def zeros(*shape):
    return np.zeros(shape, np.float32)


def failure(kernel, args) -> str:
    with pytest.raises(DiagnosticError) as caught:
        run(kernel, args)
    (found,) = caught.value.diagnostics
    assert found.hint
    return "\n".join([caught.value.summary, *(f"{p.loc}: {p.text}" for p in found.labels)])


def pipelined(stages=3, sync=True, wait=None, ahead=None):
    """A row sum through a ring of shared stages, copies running ahead of their use."""
    ahead = stages - 1 if ahead is None else ahead
    b = Explicit()
    x, y = b.tensor("x", "f32", [var("K"), 4]), b.out("y", "f32", [4])
    ring = b.buffer("ring", "f32", [stages, 2, 4])

    def fetch(k):
        b.copy(at(ring, op("mod", k, stages), (0, 2), (0, 4)), at(x, (op("mul", k, 2), 2), (0, 4)))
        b.commit()

    for k in range(ahead):
        fetch(op("add", k, 0))
    turns = op("floordiv", op("add", var("K"), 1), 2)
    with b.loop("k", 0, turns, 1, [b.full("f32", (4,), 0.0)]) as (k, (acc,), (out,), yields):
        b.wait(ahead - 1 if wait is None else wait)
        if sync:
            b.sync()
        fetch(op("add", k, ahead))
        part = b.load(at(ring, op("mod", k, stages), (0, 2), (0, 4)))
        yields.append(b.binary("add", acc, b.reduce("sum", part, 0)))
    b.wait(0)
    b.store(whole(y), out)
    return b.kernel()


def test_a_pipeline_of_copies():
    for stages in (2, 3, 4):
        for rows in (1, 6, 11):
            x = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
            y = zeros(4)
            run(pipelined(stages), {"x": x, "y": y})
            np.testing.assert_array_equal(y, x.sum(0))


def test_a_pipeline_that_waits_too_little():
    assert failure(pipelined(3, wait=2), {"x": zeros(8, 4), "y": zeros(4)}) == (
        "t.tile:11:1: error[DSL0604]: element [0, 0, 0] of ring is read before its copy has landed, "
        "in the only turn"
    )


def test_a_pipeline_without_barriers():
    found = failure(pipelined(3, sync=False), {"x": zeros(8, 4), "y": zeros(4)})
    assert found.startswith("t.tile:10:1: error[DSL0609]: the read reads element [0, 0, 0] of ring")
    assert found.endswith("t.tile:2:1: this wrote it")


def test_a_pipeline_that_runs_too_far_ahead():
    found = failure(pipelined(2, ahead=2), {"x": zeros(8, 4), "y": zeros(4)})
    assert "DSL0604]: element [0, 0, 0] of ring is read before its copy has landed" in found


def test_a_copy_into_what_was_just_read():
    b = Explicit()
    s = b.buffer("s", "f32", [2])
    b.store(whole(s), b.full("f32", (2,), 1.0))
    b.sync()
    b.store(whole(b.out("y", "f32", [2])), b.load(whole(s)))
    b.copy(whole(s), whole(b.tensor("x", "f32", [2])))
    found = failure(b.kernel(), {"x": zeros(2), "y": zeros(2)})
    assert "DSL0609]: the copy writes element [0] of s, which another statement reads" in found


def test_before_the_wait_the_destination_has_its_old_elements():
    b = Explicit()
    s = b.buffer("s", "f32", [2])
    b.store(whole(s), b.full("f32", (2,), 1.0))
    b.copy(whole(s), whole(b.tensor("x", "f32", [2])))
    before = b.load(whole(s))
    b.commit()
    b.wait()
    b.store(whole(b.out("y", "f32", [2])), before)
    b.store(whole(b.out("z", "f32", [2])), b.load(whole(s)))
    y, z = zeros(2), zeros(2)
    run(b.kernel(), {"x": np.array([5, 6], np.float32), "y": y, "z": z}, Options(check=False))
    assert y.tolist() == [1, 1]
    assert z.tolist() == [5, 6]


def test_a_wait_lands_the_oldest_groups():
    b = Explicit()
    x = b.tensor("x", "f32", [3])
    s = b.buffer("s", "f32", [3])
    for n in range(3):
        b.copy(at(s, (n, 1)), at(x, (n, 1)))
        b.commit()
    b.wait(1)
    b.sync()
    b.store(at(b.out("y", "f32", [2]), (0, 2)), b.load(at(s, (0, 2))))
    early = b.load(at(s, (2, 1)))
    b.wait(0)
    b.store(whole(b.out("z", "f32", [1])), early)
    args = {"x": np.ones(3, np.float32), "y": zeros(2), "z": zeros(1)}
    found = failure(b.kernel(), args)
    assert "DSL0604]: element [2] of s is read before its copy has landed" in found
    assert args["y"].tolist() == [1, 1]


def test_a_copy_past_the_edge_writes_zeros_and_drops_what_is_past_the_destination():
    b = Explicit()
    s = b.buffer("s", "f32", [4])
    b.store(whole(s), b.full("f32", (4,), 9.0))
    b.sync()
    b.copy(at(s, (1, 4)), at(b.tensor("x", "f32", [var("N")]), (0, 4)))
    b.commit()
    b.wait()
    b.sync()
    b.store(whole(b.out("y", "f32", [4])), b.load(whole(s)))
    y = zeros(4)
    for n, wanted in ((2, [9, 1, 1, 0]), (0, [9, 0, 0, 0]), (7, [9, 1, 1, 1])):
        run(b.kernel(), {"x": np.ones(n, np.float32), "y": y})
        assert y.tolist() == wanted


@pytest.mark.parametrize("commit", [False, True])
def test_a_copy_that_nobody_waits_for(commit):
    b = Explicit()
    b.copy(whole(b.out("y", "f32", [2])), whole(b.tensor("x", "f32", [2])))
    if commit:
        b.commit()
    what = "waited for" if commit else "committed"
    assert failure(b.kernel(grid=[("m", 3, 4, 1)]), {"x": zeros(2), "y": zeros(2)}) == (
        f"t.tile:1:1: error[DSL0605]: the copy into y is never {what}, in turn m=3"
    )


def test_copies_between_on_chip_memory_and_global_memory_and_back():
    b = Explicit()
    x, y = b.tensor("x", "f32", [4]), b.tensor("y", "f32", [4], Role.INOUT)
    s = b.buffer("s", "f32", [4])
    b.copy(whole(s), whole(x))
    b.commit()
    b.wait()
    b.sync()
    b.copy(whole(y), whole(s))
    b.commit()
    with b.when(op("gt", b.integer("early"), 0)):
        b.store(whole(s), b.full("f32", (4,), 0.0))
    b.wait()
    k = b.kernel()
    array = zeros(4)
    run(k, {"x": np.arange(4, dtype=np.float32), "y": array, "early": 0})
    assert array.tolist() == [0, 1, 2, 3]
    found = failure(k, {"x": zeros(4), "y": zeros(4), "early": 1})
    assert "element [0] of s is overwritten while a copy still reads it" in found


def test_writing_where_a_copy_is_under_way():
    b = Explicit()
    s = b.buffer("s", "f32", [4])
    b.copy(at(s, (0, 2)), whole(b.tensor("x", "f32", [2])))
    b.commit()
    b.store(at(s, (1, 2)), b.full("f32", (2,), 0.0))
    b.wait()
    found = failure(b.kernel(), {"x": zeros(2)})
    assert "element [1] of s is written while a copy into it is under way" in found


def shared(second, sync, place=Place.SHARED, first="store"):
    """Two statements on one shared buffer with or without a barrier between, and one at the end."""
    b = Explicit()
    s = b.buffer("s", "f32", [4], place)
    b.store(whole(s), b.full("f32", (4,), 1.0))
    if first == "load":
        b.sync()
        b.store(at(b.out("z", "f32", [2]), (0, 2)), b.load(at(s, (2, 2))))
    if sync:
        b.sync()
    if second == "load":
        b.store(whole(b.out("y", "f32", [2])), b.load(at(s, (1, 2))))
    elif second == "store":
        b.store(at(s, (3, 1)), b.full("f32", (1,), 2.0))
    else:
        b.atomic_add(at(s, (3, 1)), b.full("f32", (1,), 2.0))
        b.atomic_add(at(s, (2, 2)), b.full("f32", (2,), 2.0))
    b.sync()
    args = {p.name: zeros(2) for p in b.params}
    return b.kernel(), args


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("store", "load", "the read reads element [1] of s, which another statement wrote"),
        ("store", "store", "the write writes element [3] of s, which another statement wrote"),
        ("load", "store", "the write writes element [3] of s, which another statement reads"),
        ("store", "atomic", "the atomic addition writes element [3] of s, which another"),
        ("load", "atomic", "the atomic addition writes element [3] of s, which another"),
    ],
)
def test_shared_memory_needs_a_barrier_between_statements(first, second, text):
    kernel, args = shared(second, sync=False, first=first)
    found = failure(kernel, args)
    assert text in found
    assert "DSL0609" in found
    assert "t.tile:" in found.splitlines()[1]
    run(kernel, args, Options(check=False))
    run(*shared(second, sync=True, first=first))
    run(*shared(second, sync=False, first=first, place=Place.REGISTER))


def test_one_statement_in_a_loop_may_write_again():
    b = Explicit()
    s = b.buffer("s", "f32", [4])
    with b.loop("k", 0, 3, 1):
        b.store(whole(s), b.full("f32", (4,), 1.0))
    b.sync()
    run(b.kernel(), {})


def test_without_explicit_copies_or_barriers_shared_memory_is_left_to_the_compiler():
    b = Builder()
    s = b.buffer("s", "f32", [4])
    b.store(whole(s), b.full("f32", (4,), 1.0))
    b.store(whole(b.out("y", "f32", [4])), b.load(whole(s)))
    y = zeros(4)
    run(b.kernel(), {"y": y})
    assert y.tolist() == [1] * 4


def copied(copy_layout, read_layout, sync=False, again=False):
    """A copy and a load of it whose layouts say which thread moves what."""
    b = Explicit()
    x, y = b.tensor("x", "f32", [8]), b.out("y", "f32", [8])
    s = b.buffer("s", "f32", [8])
    layouts = [None if text is None else parse_layout(text) for text in (copy_layout, read_layout)]
    for _ in range(2 if again else 1):
        b.add(ins.CopyAsync(whole(s), whole(x), layouts[0], loc=b.loc()))
        b.commit()
        b.wait()
        if sync:
            b.sync()
        b.store(whole(y), b.load(whole(s), layout=layouts[1]))
    b.sync()
    return b.kernel()


@pytest.mark.parametrize("again", [False, True])
def test_a_thread_may_read_what_it_copied_itself_without_a_barrier(again):
    y, x = zeros(8), np.arange(8, dtype=np.float32)
    own = "spatial(4).local(2)"
    run(copied(own, own, again=again), {"x": x, "y": y})
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize(
    ("copy", "read"),
    [
        ("spatial(4).local(2)", "local(2).spatial(4)"),  # other threads
        ("replicate(2).spatial(4).local(2)", "replicate(2).spatial(4).local(2)"),  # copies
        ("spatial(4).local(2)", "replicate(2).spatial(4).local(2)"),
        (None, "spatial(4).local(2)"),
        ("spatial(4).local(2)", None),
    ],
)
def test_any_other_thread_needs_one(copy, read):
    found = failure(copied(copy, read), {"x": zeros(8), "y": zeros(8)})
    assert "DSL0609]: the read reads element" in found
    run(copied(copy, read, sync=True), {"x": zeros(8), "y": zeros(8)})


def test_two_threads_that_read_leave_nobody_the_right_to_overwrite():
    b = Explicit()
    s = b.buffer("s", "f32", [8])
    b.store(whole(s), b.full("f32", (8,), 1.0))
    b.sync()
    first, second = parse_layout("spatial(4).local(2)"), parse_layout("local(2).spatial(4)")
    for name, layout in (("y", first), ("z", second)):
        b.store(whole(b.out(name, "f32", [8])), b.load(whole(s), layout=layout))
    b.add(ins.CopyAsync(whole(s), whole(b.tensor("x", "f32", [8])), second, loc=b.loc()))
    b.commit()
    b.wait()
    kernel = b.kernel()
    found = failure(kernel, {p.name: zeros(8) for p in b.params})
    assert "DSL0609]: the copy writes element [1] of s, which another statement reads" in found


def test_a_buffer_that_begins_anew_has_the_same_bytes():
    def kernel(sync):
        b = Explicit()
        x, y = b.tensor("x", "f32", [2]), b.out("y", "f32", [2])
        with b.loop("k", 0, 2):
            s = b.buffer("s", "f32", [2])
            if sync:
                b.sync()
            b.copy(whole(s), whole(x))
            b.commit()
            b.wait()
            b.sync()
            b.store(whole(y), b.load(whole(s)))
        return b.kernel()

    args = {"x": zeros(2), "y": zeros(2)}
    assert "the copy writes element [0] of s, which another" in failure(kernel(False), args)
    run(kernel(True), args)
