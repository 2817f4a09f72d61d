"""`@dslc.kernel` and `@dslc.program`: Python functions as kernels."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.lang import *  # noqa: F403

# ruff: noqa: F405

WIDTH = 4


def double(x):
    return x + x


@dslc.kernel(BN=[64, 128], OFFSET=0.5)
def scale(x: f32[N], factor: f32, y: out[f32[N]]):
    """Scale and shift."""
    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = double(x[n : n + BN]) * factor + OFFSET + WIDTH


@dslc.kernel
def add(x: f32[N], y: f32[N], z: out[f32[N]]):
    for n in parallel(range(0, N, 64)):
        z[n : n + 64] = x[n : n + 64] + y[n : n + 64]


@dslc.program
def chain(x: f32[N], z: out[f32[N]]):
    """z = x + scaled x."""
    t = buffer(f32, [N])
    scale(x, 3.0, t, BN=128)
    add(x, t, z)


@dslc.kernel
def late(x: f32[N], y: out[f32[N]]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = triple(x[n : n + 8])


def triple(x):
    return 3 * x


@dslc.kernel
def wrong(x: f32[N], y: out[f32[N]]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = x[n : n + 8] + undefined_name


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("DSLC_CACHE", "off")
    monkeypatch.setenv("DSLC_TARGET", "interp")


def line(n=100):
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


def test_a_kernel_runs():
    x, y = line()
    assert scale(x, 2.0, y, BN=128) is None
    np.testing.assert_allclose(y, 4 * x + 4.5)


def test_a_program_runs_kernels():
    x, z = line()
    chain(x, z)
    np.testing.assert_allclose(z, 7 * x + 4.5)


def test_a_body_may_name_what_comes_later():
    x, y = line()
    late(x, y)
    np.testing.assert_array_equal(y, 3 * x)


def test_a_kernel_keeps_what_the_function_was():
    assert scale.__name__ == scale.name == "scale"
    assert scale.__doc__ == scale.doc == "Scale and shift."
    assert scale.__module__ == __name__
    assert scale.__wrapped__.__name__ == "scale"
    assert list(inspect.signature(scale).parameters)[:4] == ["x", "factor", "y", "BN"]
    assert isinstance(scale, dslc.Kernel)


def test_a_kernel_tells_what_it_is():
    assert scale.target == "interp"
    assert scale.dims == ("N",)
    assert dict(scale.tunes) == {"BN": (64, 128)}
    assert [str(p) for p in scale.parameters] == ["x: f32[N]", "factor: f32", "y: out f32[N]"]
    assert repr(chain) == "<dslc kernel chain(x: f32[N], z: out f32[N]) for interp>"


@pytest.mark.parametrize("kernel", [scale, add, chain], ids=lambda k: k.__name__)
def test_the_tile_text_is_the_same_kernel(kernel):
    lib = dslc.compile(kernel.tile)
    assert kernel.source("tile") == kernel.tile
    assert lib[kernel.name].parameters == kernel.parameters
    # Without the places, since those are of another file.
    assert lib[kernel.name].source("ir") == kernel.source("ir")


def test_specialisations_and_their_text():
    one = scale.specialize(N=100, BN=128)
    assert one is scale.specialize(BN=128, N=100)
    x, y = line()
    one(x, 1.0, y)
    np.testing.assert_allclose(y, 2 * x + 4.5)
    assert one.source("ir").startswith("kernel scale")
    assert one.artifact.signature.config == {"BN": 128}


def test_a_kernel_pickles_by_reference():
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert copy.deepcopy(chain) is chain


def test_the_target_is_that_of_the_decorator_or_the_environment(unbuilt, monkeypatch):
    @dslc.kernel(target=unbuilt)
    def elsewhere(x: f32[N], y: out[f32[N]]):
        y[0:8] = x[0:8]

    @dslc.kernel(target="interp")
    def here(x: f32[N], y: out[f32[N]]):
        y[0:8] = x[0:8]

    with pytest.raises(DiagnosticError, match=f"no code generator for the target {unbuilt}"):
        elsewhere(*line())
    monkeypatch.setenv("DSLC_TARGET", unbuilt)
    with pytest.raises(DiagnosticError, match=f"no code generator for the target {unbuilt}"):
        add.specialize()
    here(*line())
    monkeypatch.setenv("DSLC_TARGET", "interp")
    x, z = line()
    add(x, x, z)


def test_an_error_is_located_in_the_python_file():
    with pytest.raises(DiagnosticError) as caught:
        wrong(*line())
    (found,) = caught.value.diagnostics
    assert found.loc.file == __file__
    text = Path(__file__).read_text().splitlines()[found.loc.line - 1]
    assert text[found.loc.col - 1 :] == "undefined_name"


def test_errors_are_the_same_at_every_call():
    for _ in range(2):
        with pytest.raises(DiagnosticError, match="undefined_name"):
            wrong(*line())


def test_annotations_may_be_evaluated(tmp_path):
    (tmp_path / "eager.py").write_text(
        "import dslc\nimport numpy as np\nfrom dslc.lang import *\n"
        'M, N = dslc.dims("M N")\n'
        "@dslc.kernel(BN=[8])\n"
        "def f(x: strides(f32[M, N], N, 1), w: packed(u4[N], 'row'), y: out[f32[M, 2 * N]]):\n"
        "    for m in parallel(range(M)):\n"
        "        y[m, 0:8] = x[m, 0:8] + cast(w[0:8], f32)\n"
        "x = np.ones((2, 8), np.float32)\n"
        "y = np.zeros((2, 16), np.float32)\n"
        "f(x, np.arange(8, dtype=np.uint8), y)\n"
        "assert y[:, :8].tolist() == [[1, 2, 3, 4, 5, 6, 7, 8]] * 2\n"
    )
    subprocess.run([sys.executable, str(tmp_path / "eager.py")], check=True)


@pytest.mark.parametrize(("value", "text"), [(float("-inf"), "-inf"), (float("nan"), "nan")])
def test_infinity_and_nan_are_captured(value, text):
    @dslc.kernel(LOW=value)
    def fill(y: out[f32[N]]):
        for n in parallel(range(0, N, 4)):
            y[n : n + 4] = maximum(full(f32, [4], LOW), value)

    assert f"const LOW = {text}\n" in fill.tile
    y = np.zeros(6, np.float32)
    fill(y)
    np.testing.assert_array_equal(y, np.full(6, value, np.float32))
