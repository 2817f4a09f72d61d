"""`dslc.compile` and the kernels of a library, on the interpreter."""

import gc
import io
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import dslc
import dslc.compilation.templates
import dslc.machines.interp
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

SOURCE = '''"""Rows and products."""

const T = f32

kernel softmax(x: T[M, N], y: out T[M, N]):
    """Softmax of each row."""
    tune BM = 16 | 4

    for m in parallel(range(0, M, BM)):
        t = cast(x[m : m + BM, 0 : N], f32)
        e = exp(t - max(t, 1, keepdims=True))
        y[m : m + BM, 0 : N] = cast(e / sum(e, 1, keepdims=True), T)

kernel scale(x: f32[N], factor: f32, y: out f32[N]):
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * factor

program twice(x: f32[N], y: out f32[N]):
    t = buffer(f32, [N])
    scale(x, 2.0, t)
    scale(t, 2.0, y, BN=128)
'''


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("DSLC_CACHE", "off")
    monkeypatch.setenv("DSLC_TARGET", "interp")


@pytest.fixture(scope="module")
def lib():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSLC_CACHE", "off")
        return dslc.compile(SOURCE)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rows(m=5, n=7):
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return x, np.full_like(x, np.nan)


def failure(call):
    with pytest.raises(DiagnosticError) as caught:
        call()
    return caught.value.diagnostics[0]


# The library


def test_a_library_is_a_mapping_of_its_kernels(lib):
    assert list(lib) == ["softmax", "scale", "twice"]
    assert len(lib) == 3
    assert "scale" in lib
    assert "scal" not in lib
    assert lib["scale"] is lib.scale
    assert {"softmax", "scale", "twice", "save"} <= set(dir(lib))
    assert lib.doc == "Rows and products."
    assert lib.target == "interp"
    assert repr(lib) == "<dslc library <source> for interp: softmax, scale, twice>"


@pytest.mark.parametrize("kind", [AttributeError, KeyError, DiagnosticError])
def test_an_unknown_kernel_is_an_error_of_either_kind(lib, kind):
    for get in (lambda: lib.sofmax, lambda: lib["sofmax"]):
        with pytest.raises(kind, match="<source> has no kernel sofmax") as caught:
            get()
        assert caught.value.diagnostics[0].hint == "did you mean `softmax`?"
    assert not hasattr(lib, "sofmax")
    assert lib.get("sofmax") is None


def test_a_kernel_tells_what_it_is(lib):
    kernel = lib.softmax
    assert kernel.name == "softmax"
    assert kernel.doc == "Softmax of each row."
    assert kernel.dims == ("M", "N")
    assert dict(kernel.tunes) == {"BM": (16, 4)}
    assert [str(p) for p in kernel.parameters] == ["x: f32[M, N]", "y: out f32[M, N]"]
    assert repr(kernel) == "<dslc kernel softmax(x: f32[M, N], y: out f32[M, N]) for interp>"


def test_a_file_is_found_and_its_imports_beside_it(tmp_path):
    (tmp_path / "rows.tile").write_text(SOURCE)
    (tmp_path / "more.tile").write_text("from rows import scale\n\nconst ONE = 1\n")
    lib = dslc.compile(tmp_path / "more.tile")
    assert list(lib) == ["scale"]
    assert lib.name == str(tmp_path / "more.tile")
    other = tmp_path / "other"
    other.mkdir()
    (other / "most.tile").write_text("from rows import scale\n")
    assert list(dslc.compile(str(other / "most.tile"), include=[tmp_path])) == ["scale"]
    assert failure(lambda: dslc.compile(other / "most.tile")).code == "DSL0221"


def test_a_missing_file_is_an_error():
    assert failure(lambda: dslc.compile("nowhere.tile")).code == "DSL0003"


def test_errors_of_the_source_are_located():
    source = "kernel f(x: f32[N]):\n    y = x[0 : 4] + z\n"
    lib = dslc.compile(source)
    found = failure(lambda: lib.f(np.zeros(8, np.float32)))
    assert str(found.loc) == "<source>:2:20"
    assert failure(lambda: dslc.compile("kernel f(x:\n")).loc.file == "<source>"


@pytest.mark.parametrize("target", ["interpreter", "cuda:sm_999"])
def test_an_unknown_target_is_an_error(target):
    found = failure(lambda: dslc.compile(SOURCE, target))
    assert found.code.startswith("DSL09")
    assert target in found.message


def test_a_target_without_a_generator_is_an_error(unbuilt):
    found = failure(lambda: dslc.compile(SOURCE, unbuilt))
    assert found.code == "DSL0950"
    assert "interp" in found.hint


def test_the_target_comes_from_the_environment(unbuilt, monkeypatch):
    monkeypatch.setenv("DSLC_TARGET", unbuilt)
    assert failure(lambda: dslc.compile(SOURCE)).code == "DSL0950"
    assert dslc.compile(SOURCE, "interp").target == "interp"


# Calls


def test_a_call_writes_its_outputs(lib):
    x, y = rows()
    assert lib.softmax(x, y) is None
    np.testing.assert_allclose(y, softmax(x), rtol=1e-6)
    lib.softmax(y=y, x=x[::-1], BM=4, N=7)
    np.testing.assert_allclose(y, softmax(x[::-1]), rtol=1e-6)


def test_a_program_is_called_like_a_kernel(lib):
    x = np.arange(300, dtype=np.float32)
    y = np.zeros_like(x)
    lib.twice(x, y)
    np.testing.assert_array_equal(y, 4 * x)
    assert lib.twice.parameters[1].mode == "out"


def test_nothing_is_copied_on_the_way(lib, monkeypatch):
    seen = {}
    launch = dslc.machines.interp.InterpretedProgram.launch

    def spy(self, args, dims):
        seen.update(args)
        launch(self, args, dims)

    monkeypatch.setattr(dslc.machines.interp.InterpretedProgram, "launch", spy)
    big = np.zeros((10, 14), np.float32)
    x, y = big[::2, ::2], np.zeros((5, 7), np.float32)
    lib.softmax(x, y)
    assert np.shares_memory(seen["x"], big)
    assert seen["y"] is y


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (lambda lib, x, y: lib.softmax(x), "DSL0755", "softmax needs an argument for y"),
        (lambda lib, x, y: lib.softmax(x, y, BN=1), "DSL0755", "no parameter, tune or dim BN"),
        (lambda lib, x, y: lib.softmax(x, y, BM=5), "DSL0218", "BM = 5"),
        (lambda lib, x, y: lib.softmax(x, y, N=8), "DSL0743", "N is 7 in the arguments, not 8"),
        (lambda lib, x, y: lib.softmax(x, y, M=8), "DSL0743", "M is 5 in the arguments, not 8"),
        (lambda lib, x, y: lib.softmax(x, x), "DSL0742", "arguments y (out) and x share memory"),
        (lambda lib, x, y: lib.softmax(x, y[:3]), "DSL0752", "argument y has shape (3, 7)"),
        (lambda lib, x, y: lib.softmax(x[0], y), "DSL0751", "argument x has shape (7,)"),
        (lambda lib, x, y: lib.softmax(x.astype(int), y), "DSL0761", "argument x"),
        (lambda lib, x, y: lib.scale(x[0], "2", y[0]), "DSL0758", "argument factor"),
    ],
)
def test_a_wrong_call_says_why(lib, call, code, message):
    x, y = rows()
    found = failure(lambda: call(lib, x, y))
    assert found.code == code
    assert message in found.message


# Specialisations


def test_dims_are_fixed_by_the_arguments_once_a_value(monkeypatch):
    lib = dslc.compile(SOURCE)
    made = []
    build = dslc.compilation.templates.build
    monkeypatch.setattr(
        dslc.compilation.templates,
        "build",
        lambda p, *rest, **more: made.append(dict(p.fixed)) or build(p, *rest, **more),
    )
    for m, n in ((5, 7), (9, 7), (5, 8), (2, 7)):
        x, y = rows(m, n)
        lib.softmax(x, y)
        np.testing.assert_allclose(y, softmax(x), rtol=1e-6)
    assert made == [{"N": 7}, {"N": 8}]
    lib.softmax(*rows(), BM=4)
    lib.softmax(*rows(), BM=16)  # the default choice
    assert made == [{"N": 7}, {"N": 8}, {"N": 7}]


def test_a_specialisation_is_kept(lib):
    one = lib.softmax.specialize(N=7, BM=4)
    assert one is lib.softmax.specialize(BM=4, N=7)
    assert one is not lib.softmax.specialize(N=7)
    assert dict(one.fixed) == {"N": 7}
    assert dict(one.config) == {"BM": 4}
    assert (one.name, one.target) == ("softmax", "interp")
    assert repr(one) == "<dslc specialization softmax(N=7, BM=4) for interp>"
    x, y = rows()
    one(x, y, BM=4, N=7)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-6)
    assert failure(lambda: one(x, y, BM=16)).code == "DSL0743"
    assert failure(lambda: one(*rows(5, 8))).code == "DSL0752"


def test_a_free_dim_may_be_fixed(lib):
    one = lib.scale.specialize(N=100)
    assert dict(one.fixed) == {"N": 100}
    assert failure(lambda: one(np.zeros(99, np.float32), 1.0, np.zeros(99, np.float32)))


def test_a_dim_that_must_be_known_is_asked_for(lib):
    fresh = dslc.compile(SOURCE)
    found = failure(fresh.softmax.specialize)
    assert found.code == "DSL0230"
    assert "softmax.specialize(N=...)" in found.hint


def test_define_fixes_dims_and_chooses_and_overrides():
    lib = dslc.compile(SOURCE, define={"N": 7, "BM": 4, "T": dslc.f16})
    one = lib.softmax.specialize()
    assert (dict(one.fixed), dict(one.config)) == ({"N": 7}, {"BM": 4})
    assert str(one.parameters[0]) == "x: f16[M, N]"
    x, y = (a.astype(np.float16) for a in rows())
    lib.softmax(x, y)
    np.testing.assert_allclose(y, softmax(x.astype(np.float32)), atol=1e-3)
    x, y = (a.astype(np.float16) for a in rows(5, 8))
    assert failure(lambda: lib.softmax(x, y)).code == "DSL0752"
    assert failure(lambda: dslc.compile(SOURCE, define={"TT": 1})).code == "DSL0225"


def test_the_artifact_is_the_compiled_kernel(lib):
    artifact = lib.softmax.specialize(N=7, BM=4).artifact
    assert (artifact.name, artifact.kind, artifact.target) == ("softmax", "kernel", "interp")
    assert artifact.signature.dims == ("M",)
    assert artifact.signature.params[1].dims == ("M", "7")
    assert artifact.grid == ("max(0, cdiv(M, 4))",)
    assert list(artifact.files) == ["program.ir"]


# Looking into a kernel


def test_source_shows_every_stage(lib):
    one = lib.softmax.specialize(N=7, BM=4)
    assert one.stages[:2] == ("tile", "ir")
    assert one.stages[-1] == "final"
    from dslc.compiler.ir.text.parser import parse_program
    from dslc.compiler.ir.text.printer import print_program

    for stage in one.stages[1:]:
        text = one.source(stage)
        assert print_program(parse_program(text)) == text
    assert one.source() == one.source("final")
    assert lib.softmax.source("ir", N=7, BM=4) == one.source("ir")
    assert lib.softmax.source("tile") == lib.softmax.tile
    assert list(dslc.compile(lib.softmax.tile)) == list(lib)
    assert failure(lambda: one.source("finale")).hint.startswith("did you mean `final`? (")


def test_passes_can_be_watched(tmp_path, capsys):
    seen = []
    lib = dslc.compile(
        SOURCE, print_after=["all"], dump_dir=tmp_path / "ir", observers=[seen.append]
    )
    one = lib.scale.specialize()
    names = [stage.name for stage in seen]
    assert len(names) == len(one.stages) - 2
    printed = capsys.readouterr().err
    assert printed.count("kernel scale") >= len(names) - 1
    assert len(list((tmp_path / "ir").iterdir())) == len(names)


# Options


PRINTING = """
kernel show(x: i32[N], y: out i32[N]):
    for n in parallel(range(N)):
        print("turn", n)
        y[n] = x[n]
"""


def turns(shuffle=None):
    out = io.StringIO()
    x = np.arange(6, dtype=np.int32)
    with dslc.options(stdout=out, shuffle=shuffle):
        dslc.compile(PRINTING).show(x, np.zeros_like(x))
    return [int(line.split()[-1]) for line in out.getvalue().splitlines()]


def test_options_choose_output_and_order():
    assert turns() == list(range(6))
    assert turns(1) == turns(1) != list(range(6))
    assert sorted(turns(1)) == list(range(6))


def test_checks_can_be_switched_off():
    source = "kernel race(y: out i32[1]):\n    for n in parallel(range(2)):\n        y[0] = n\n"
    race, y = dslc.compile(source).race, np.zeros(1, np.int32)
    assert failure(lambda: race(y)).code.startswith("DSL06")
    with dslc.options(check=False):
        race(y)


# Threads and memory


def test_threads_share_one_compilation(monkeypatch):
    made = []
    build = dslc.compilation.templates.build
    monkeypatch.setattr(
        dslc.compilation.templates,
        "build",
        lambda *args, **more: made.append(threading.get_ident()) or build(*args, **more),
    )
    lib = dslc.compile(SOURCE)
    barrier = threading.Barrier(8)

    def call(seed):
        barrier.wait()
        x, y = rows(4 + seed, 7)
        lib.softmax(x, y)
        np.testing.assert_allclose(y, softmax(x), rtol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    assert len(made) == 1


def test_specialisations_in_memory_are_bounded(monkeypatch):
    monkeypatch.setattr(dslc.compilation.templates, "_MOST_SPECIALIZATIONS", 3)
    lib = dslc.compile(SOURCE)
    made = [lib.scale.specialize(N=n) for n in range(1, 6)]
    assert lib.scale.specialize(N=5) is made[-1]
    assert lib.scale.specialize(N=1) is not made[0]


def test_arguments_are_not_kept_alive(lib):
    x, y = rows()
    before = sys.getrefcount(x)  # from 3.14 on a call does not always count its argument
    lib.softmax(x, y)
    gc.collect()
    assert sys.getrefcount(x) == before


def test_kernels_are_attributes_where_their_names_are_free():
    """A call by attribute needs no look-up of its own; what a library has keeps its name."""
    body = "(x: f32[N], y: out f32[N]):\n    y[:] = x[:]\n"
    lib = dslc.compile(
        f"kernel copy{body}\nkernel save{body}\nkernel target{body}", target="interp"
    )
    assert vars(lib)["copy"] is lib["copy"]
    assert lib.target == "interp"
    assert callable(lib.save)
    assert "save" not in vars(lib)
    assert lib["save"].name == "save"
