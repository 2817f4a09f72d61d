"""What loops and branches carry."""

import pytest
from dslc.checker.names import assigned
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.frontend import parse_tile, tree

from support.kernels import every, one, statements


def codes(body):
    with pytest.raises(DiagnosticError) as e:
        statements(body)
    return [d.code for d in e.value.diagnostics]


def test_an_accumulator_is_carried_and_the_product_starts_from_it():
    kernel = statements("""
acc = zeros(f32, [16, 16])
for k in range(0, N, 16):
    acc += dot(x[0:16, k : k + 16], x[k : k + 16, 0:16])
y[0:16, 0:16] = cast(acc, f16)""")
    (loop,) = every(kernel, ins.For)
    (dot,) = every(kernel, ins.Dot)
    (entry,) = loop.carried
    assert dot.acc is entry.inner
    assert entry.yielded is dot.out


def test_a_product_that_is_read_again_is_not_accumulated_in_place():
    kernel = statements("""
q = zeros(f32, [16, 16])
p = zeros(f32, [16, 16])
for k in range(0, N, 16):
    p = dot(x[0:16, k : k + 16], x[k : k + 16, 0:16])
    q += p
y[0:16, 0:16] = cast(p + q, f16)""")
    (dot,) = every(kernel, ins.Dot)
    assert dot.acc is None
    assert next(s.y for s in every(kernel, ins.Binary)) is dot.out


def test_a_product_with_a_name_that_only_the_sum_reads_is():
    kernel = statements("""
acc = zeros(f32, [16, 16])
for k in range(0, N, 16):
    p = dot(x[0:16, k : k + 16], x[k : k + 16, 0:16])
    acc += p
y[0:16, 0:16] = cast(acc, f16)""")
    (loop,) = every(kernel, ins.For)
    (dot,) = every(kernel, ins.Dot)
    assert dot.acc is loop.carried[0].inner
    assert loop.carried[0].yielded is dot.out


def test_a_layout_is_given_to_what_the_call_made_alone():
    """A cast to the dtype that a tile has makes none: the tile keeps its name and its layout."""
    kernel = statements("""
t = x[0:8, 0:8]
u = cast(t, f16, layout=spatial(8, 4).local(1, 2))
y[0:8, 0:8] = t
y[8:16, 0:8] = u""")
    (load,) = every(kernel, ins.Load)
    assert load.out.type.layout is None
    assert every(kernel, ins.ConvertLayout)[0].x is load.out


def test_names_that_a_turn_makes_anew_are_not_carried():
    kernel = statements("""
t = x[0:4, 0:8]
for k in range(0, N, 16):
    t = x[0:8, k : k + 16]
    y[0:8, k : k + 16] = t""")
    assert every(kernel, ins.For)[0].carried == ()


def test_reading_such_a_name_after_the_loop_is_an_error():
    assert codes("""
t = x[0:4, 0:8]
for k in range(0, N, 16):
    t = x[0:8, k : k + 16]
    y[0:8, k : k + 16] = t
y[0:4, 0:8] = t""") == ["DSL0209"]


def test_a_name_first_assigned_in_a_loop_has_no_value_after_it():
    assert codes("""
for k in range(0, N):
    t = x[0:4, 0:8]
y[0:4, 0:8] = t""") == ["DSL0209"]


def test_the_loop_variable_has_no_value_after_the_loop():
    assert codes("""
for k in range(0, N):
    pass
y[k, 0:8] = 0.0""") == ["DSL0209"]


def test_scalars_are_carried():
    kernel = statements("""
stage = 0
for k in range(0, N):
    y[stage, 0:8] = 0.0
    stage = (stage + 1) % 3""")
    (entry,) = every(kernel, ins.For)[0].carried
    assert isinstance(entry.inner, ex.Var)
    assert entry.init == ex.index(0)


def test_counting_down_visits_the_same_numbers_as_python():
    kernel = statements("for k in range(9, -1, -3):\n    y[k, 0:8] = 0.0")
    (loop,) = every(kernel, ins.For)
    assert (loop.start, loop.step) == (ex.index(0), ex.index(1))
    assert loop.stop == ex.index(len(range(9, -1, -3)))


def test_options_of_range():
    kernel = statements("for k in range(0, N, 16, stages=3, split=4, unroll=2):\n    pass")
    (loop,) = every(kernel, ins.For)
    assert (loop.stages, loop.split, loop.unroll) == (3, 4, 2)


def test_a_while_loop_computes_its_condition_each_iteration():
    kernel = statements("""
i = 0
while x[i, 0] > 0 and i < N:
    i += 1
y[0, 0:8] = i""")
    (loop,) = every(kernel, ins.While)
    assert any(isinstance(s, ins.Load) for s in loop.before)
    assert loop.carried[0].inner in ex.free_vars(loop.condition)


def test_branches_join():
    kernel = statements("""
t = x[0:4, 0:8]
i = 1
if N > 7:
    t = t * 2
    i = 5
y[i, 0:8] = t[0]""")
    (branch,) = every(kernel, ins.If)
    assert len(branch.joined) == 2


def test_a_known_condition_leaves_one_branch():
    kernel = statements("if 3 > 2:\n    y[0, 0:8] = 1.0\nelse:\n    unknown(1)")
    assert not every(kernel, ins.If)


def test_branches_that_differ_in_type_lose_the_name():
    assert codes("""
t = x[0:4, 0:8]
if N > 7:
    t = x[0:8, 0:8]
y[0:4, 0:8] = t""") == ["DSL0209"]


def test_several_errors_in_one_run():
    assert (
        codes("""
a = unknown1
for k in range(0, N):
    b = unknown2 + a
if M > 2:
    d = unknown3
y[0, 0:8] = a""")
        == ["DSL0201"] * 3
    )


def test_the_number_of_a_turn_is_no_constant():
    with pytest.raises(DiagnosticError) as e:
        statements("""
for i in range(3):
    y[0:4, 0:4] = zeros(f16, [i + 1, 4])""")
    (found,) = e.value.diagnostics
    assert found.code == "DSL0206"
    assert found.hint == "a loop counts when the kernel runs, even where its ends are constants"


@pytest.mark.parametrize("subscript", ["0, 1", "0:1", "0:2, 0"])
def test_a_list_takes_one_integer(subscript):
    assert codes(f"tiles = [x[0, 0:8], x[1, 0:8]]\ny[0, 0:8] = tiles[{subscript}]") == ["DSL0212"]


def test_a_parallel_range_does_not_count_down():
    with pytest.raises(DiagnosticError) as e:
        one("""
kernel down(y: out f32[N]):
    for n in parallel(range(N, 0, -8)):
        y[n - 8 : n] = zeros(f32, [8])
""")
    assert [d.code for d in e.value.diagnostics] == ["DSL0224"]


@pytest.mark.parametrize(
    ("line", "column"),
    [("for i in parallel(range(0, n[0], 8)):", 23), ("for i in parallel(range(max(n[0:4]))):", 23)],
)
def test_a_range_of_the_nest_reads_no_tensor(line: str, column: int) -> None:
    source = f"kernel k(n: i32[4], y: inout f32[N]):\n    {line}\n        y[i : i + 8] = 0.0\n"
    with pytest.raises(DiagnosticError) as e:
        one(source)
    (found,) = e.value.diagnostics
    assert found.loc is not None
    assert (found.code, found.loc.line, found.loc.col) == ("DSL0215", 2, column)


def test_the_names_that_statements_bind_are_all_of_them():
    module = parse_tile(
        """
kernel k(x: f32[N]):
    a = 1
    for i in range(4):
        b, c = 2, 3
        while c > 0:
            c = c - 1
    if a > 0:
        x[0] = 1.0
        d = 4
    else:
        e += 1
""",
        "k.tile",
    )
    (kernel,) = (s for s in module.items if isinstance(s, tree.Kernel))
    assert assigned(kernel.body) == ("a", "i", "b", "c", "d", "e")
