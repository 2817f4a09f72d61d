"""Programs: calls, buffers, and what their kernels are specialised to."""

import pytest
from dslc.checker import NeedsDims, check_module
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Program
from dslc.compiler.ir import expr as ex
from dslc.frontend import parse_tile

from support.kernels import check

TEXT = """
kernel scale(x: f16[S, H], g: f16[H], by: f32, y: out f16[S, H]):
    tune BS = 1 | 2
    for s in parallel(range(0, S, BS)):
        y[s : s + BS, 0:H] = cast(cast(x[s : s + BS, 0:H] * g[0:H], f32) * by, f16)

program twice(x: f16[S, H], g: f16[H], y: out f16[S, H]):
    t = buffer(f16, [S, H])
    scale(x, g, 2, t)
    scale(t, g, by=3.0, y=y, BS=2)
"""


def test_a_program_calls_its_kernels_in_order():
    program = check(TEXT).templates["twice"].elaborate({"H": 16})
    assert isinstance(program, Program)
    first, second = program.calls
    assert first.kernel.fixed == (("H", 16),)
    assert first.args[3] is second.args[0] is program.buffers[0]
    assert dict(second.kernel.config) == {"BS": 2}


def test_dims_that_a_kernel_needs_are_asked_of_the_program():
    with pytest.raises(NeedsDims) as e:
        check(
            TEXT.replace("H", "W")
            .replace("[S, W], g: f16[W], y", "[S, D], g: f16[D], y")
            .replace("buffer(f16, [S, W])", "buffer(f16, [S, D])")
        ).templates["twice"].elaborate()
    assert e.value.dims == ("D",)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("scale(x, g, 2, t)", "scale(t, g, 2, t)", "DSL0228"),
        ("scale(x, g, 2, t)", "scale(g, g, 2, t)", "DSL0203"),
        ("scale(x, g, 2, t)", "scale(x, g, 2, x)", "DSL0211"),
        ("scale(x, g, 2, t)", "scale(x, g, t)", "DSL0205"),
        ("t = buffer(f16, [S, H])", "t = buffer(f32, [S, H])", "DSL0202"),
        ("t = buffer(f16, [S, H])", "t = buffer(f16, [S + 1, H])", "DSL0203"),
        ("t = buffer(f16, [S, H])", "t = buffer(f16, [S, H + 1])", "DSL0203"),
        ("scale(x, g, 2, t)", "exp(x)", "DSL0228"),
    ],
)
def test_calls_that_do_not_fit(old, new, code):
    template = check(TEXT.replace(old, new)).templates["twice"]
    with pytest.raises(DiagnosticError) as e:
        template.elaborate({"H": 16})
    assert e.value.diagnostics[0].code == code


@pytest.mark.parametrize(("extent", "fits"), [("N", True), ("N + 1", False), ("8", False)])
def test_arguments_have_the_extents_that_a_kernel_needs(extent, fits):
    source = f"""
kernel add(x: f32[N], y: f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 8)):
        z[n : n + 8] = x[n : n + 8] + y[n : n + 8]

program twice(x: f32[N], z: out f32[N]):
    t = buffer(f32, [{extent}])
    add(x, x, t)
    add(x, t, z)
"""
    module = check_module(parse_tile(source, "p.tile"))
    if fits:
        assert module.templates["twice"].elaborate({}, {})
        return
    with pytest.raises(DiagnosticError) as caught:
        module.templates["twice"].elaborate({"N": 16}, {})
    assert caught.value.diagnostics[0].code == "DSL0203"


def test_extents_that_no_dim_names_are_compared():
    text = """
kernel pairs(x: f16[S, 2], y: out f16[S, 2]):
    for s in parallel(range(0, S, 4)):
        y[s : s + 4, :] = x[s : s + 4, :]

program twice(x: f16[S, 2], y: out f16[S, 2]):
    t = buffer(f16, [S, 2])
    pairs(x, t)
    pairs(t, y)
"""
    assert isinstance(check(text).templates["twice"].elaborate(), Program)
    with pytest.raises(DiagnosticError) as e:
        check(text.replace("buffer(f16, [S, 2])", "buffer(f16, [S, 3])")).templates[
            "twice"
        ].elaborate()
    assert e.value.diagnostics[0].code == "DSL0203"


STEPS = """
kernel half(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = 0.5 * x[n : n + 64]

program steps(x: f32[N], extra: f32[N] | None, n: i32, y: out f32[N]):
    const MORE = True
    parts = max(1, cdiv(132, 4 * (1 if n > 4 else 2))) + max(n, 3)
    t = buffer(f32, [N])
    a, b = t, buffer(f32, [parts * N])
    half(x, t)
    for i in static(range(2)):
        t = buffer(f32, [N])
        half(a, t)
        a, t = t, a
    for i in range(3 if MORE else 1):
        half(a, y)
    if extra is not None:
        half(extra, y)
"""


def test_loops_are_written_out_and_names_change_places():
    program = check(STEPS).templates["steps"].without(["extra"]).elaborate({})
    assert isinstance(program, Program)
    names = [tuple(a.name for a in call.args) for call in program.calls]
    assert names == [("x", "t"), ("t", "t_1"), ("t_1", "t_2"), *[("t_2", "y")] * 3]
    assert len(check(STEPS).templates["steps"].elaborate({}).calls) == 7


def test_an_extent_is_an_expression_of_dims_and_parameters():
    program = check(STEPS).templates["steps"].elaborate({})
    known = {*program.dims, *(p for p in program.params if isinstance(p, ex.Var))}
    assert all(ex.free_vars(e) <= known for b in program.buffers for e in b.shape)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("for i in range(n):\n        half(x, y)", "DSL0206"),
        ("for i in parallel(range(3)):\n        half(x, y)", "DSL0228"),
        ("while n > 3:\n        half(x, y)", "DSL0228"),
        ("a, b = x", "DSL0215"),
        ("N = x", "DSL0216"),
        ("x = buffer(f32, [N])", "DSL0216"),
    ],
)
def test_what_a_program_cannot_do(line, code):
    with pytest.raises(DiagnosticError) as e:
        check(STEPS + f"    {line}\n").templates["steps"].elaborate({})
    assert e.value.diagnostics[0].code == code
