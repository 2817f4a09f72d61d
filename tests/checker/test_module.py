"""Constants, choices, dims, functions and imports."""

import pytest
from dslc.checker import NeedsDims, check_module
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import find_target
from dslc.frontend.tile_parser import parse_tile

from support.kernels import check, every, one

NORM = """
const T = f16
kernel norm(x: T[S, H], y: out T[S, H]):
    const EPS = 1e-6
    tune BS = 4 | 8
    for s in parallel(range(0, S, BS)):
        t = cast(x[s : s + BS, 0:H], f32)
        y[s : s + BS, 0:H] = cast(t * rsqrt(sum(t * t, 1, keepdims=True) / H + EPS), T)
"""


def test_a_dim_that_decides_a_shape_must_be_fixed():
    with pytest.raises(NeedsDims) as e:
        one(NORM)
    assert e.value.dims == ("H",)


def test_fixing_it_gives_a_kernel():
    kernel = one(NORM, {"H": 64})
    assert kernel.fixed == (("H", 64),)
    assert [d.name for d in kernel.dims] == ["S"]
    assert kernel.tensors[0].shape[1] == ex.index(64)


def test_a_define_fixes_dims_overrides_consts_and_chooses():
    kernel = check(NORM, T="bf16", H=32, BS=8).templates["norm"].elaborate()
    assert isinstance(kernel, Kernel)
    assert kernel.tensors[0].dtype.name == "bf16"
    assert kernel.config == (("BS", 8),)


@pytest.mark.parametrize(("name", "value", "code"), [("HH", 3, "DSL0225"), ("BS", 5, "DSL0218")])
def test_a_define_that_cannot_be(name, value, code):
    with pytest.raises(DiagnosticError) as e:
        check(NORM, H=32, **{name: value}).templates["norm"].elaborate()
    assert e.value.diagnostics[0].code == code


def test_the_template_shows_its_signature():
    template = check(NORM).templates["norm"]
    assert [(p.name, p.dtype.name, p.dims, p.mode) for p in template.params] == [
        ("x", "f16", ("S", "H"), "in"),
        ("y", "f16", ("S", "H"), "out"),
    ]
    assert template.tunes["BS"] == (4, 8)
    assert template.consts["EPS"] == 1e-6


def test_functions_are_inlined_with_defaults_and_keywords():
    kernel = one("""
def scaled(t, by=2, offset=0):
    u = t * by
    return u + offset

kernel k(x: f16[N], y: out f16[N]):
    y[0:8] = scaled(x[0:8], offset=3)
""")
    assert [b.op for b in every(kernel, ins.Binary)] == ["mul", "add"]


def test_a_function_does_not_see_the_names_of_its_caller():
    with pytest.raises(DiagnosticError) as e:
        one(
            "def f(a):\n    return a + b\n\nkernel k(y: out f16[N]):\n    b = 1\n    y[0:8] = f(2)\n"
        )
    (found,) = e.value.diagnostics
    assert found.code == "DSL0201"
    assert "in the call of f" in found.labels[0].text


def test_requires_that_are_known_to_hold_are_dropped():
    text = "kernel k(y: out f16[N]):\n    require N % 8 == 0\n    y[0:8] = 0.0\n"
    assert len(one(text).requires) == 1
    assert one(text, {"N": 16}).requires == ()
    with pytest.raises(DiagnosticError) as e:
        one(text, {"N": 12})
    assert e.value.diagnostics[0].code == "DSL0217"


def test_imports_are_found_beside_the_file_and_on_the_search_path(tmp_path):
    (tmp_path / "lib" / "math").mkdir(parents=True)
    (tmp_path / "lib" / "math" / "more.tile").write_text("def half(x):\n    return x / 2\n")
    (tmp_path / "near.tile").write_text("const B = 16\n")
    main = tmp_path / "main.tile"
    text = (
        "from near import B\nfrom math.more import half\n\n"
        "kernel k(x: f16[N], y: out f16[N]):\n    y[0:B] = half(x[0:B])\n"
    )
    main.write_text(text)
    module = check_module(parse_tile(text, str(main)), search=(tmp_path / "lib",))
    kernel = module.templates["k"].elaborate()
    assert isinstance(kernel, Kernel)
    assert len(module.sources) == 2


def test_imports_in_a_circle(tmp_path):
    (tmp_path / "a.tile").write_text("from b import X\nconst Y = 1\n")
    (tmp_path / "b.tile").write_text("from a import Y\nconst X = 1\n")
    with pytest.raises(DiagnosticError) as e:
        check_module(parse_tile((tmp_path / "a.tile").read_text(), str(tmp_path / "a.tile")))
    assert e.value.diagnostics[0].code == "DSL0221"


def test_compiling_reads_nothing_outside_the_search_path(tmp_path):
    (tmp_path / "secret.tile").write_text("const X = 1\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    for path in ("..secret", "/secret", "secret"):
        with pytest.raises(DiagnosticError):
            check_module(
                parse_tile(f"from {path} import X\n", str(inside / "m.tile")), folder=inside
            )


def test_parallel_grid_and_blocks():
    kernel = one("""
kernel k(x: f16[M, N], y: out f16[M, N]):
    grid(cdiv(M, 16), N // 8)
    i, j = block_index()
    y[i * 16 : i * 16 + 16, j * 8 : j * 8 + 8] = x[i * 16 : i * 16 + 16, j * 8 : j * 8 + 8]
""")
    assert len(kernel.grid) == 2


def test_scalars_before_the_parallel_nest_serve_its_ranges():
    kernel = one("""
kernel k(x: f16[M, N], y: out f16[M, N]):
    blocks = cdiv(cdiv(M, 16) * 16 + N * 3 - N * 3 + 0 * M, 32)
    for b in parallel(range(0, blocks)):
        y[b, 0:8] = 0.0
""")
    assert {v.name for v in ex.free_vars(kernel.grid[0].stop)} == {"M"}


def test_buffers_may_be_read_and_updated():
    kernel = one("""
kernel k(x: f16[N], y: inout f16[N]):
    b = buffer(f16, [32])
    b[0:32] = x[0:32]
    b[0:16] *= 2
    y[0:32] += b[0:32]
""")
    assert [m.memory.role for m in every(kernel, ins.Alloc)] == [Role.BUFFER]
    assert len(every(kernel, ins.AtomicRmw)) == 1


def test_a_program_may_divide_by_what_the_machine_runs_at_once():
    source = """
const UNITS = turns_at_once()
kernel ones(y: out f32[P]):
    for p in parallel(range(P)):
        y[p] = 1.0

kernel total(x: f32[P], y: out f32[1]):
    y[0] = sum(x[0:P])

program count(y: out f32[1]):
    parts = buffer(f32, [max(1, UNITS // 2)])
    ones(parts)
    total(parts, y)
"""
    for machine, extent in (("cuda:sm_90a", 66), ("cuda:sm_90a.78", 39), ("interp", 1)):
        module = check_module(parse_tile(source, "k.tile"), machine=find_target(machine))
        program = module.templates["count"].elaborate()
        assert program.buffers[0].shape == (ex.index(extent),)
