"""Errors, signatures and help in Python say what the command line says."""

from __future__ import annotations

import inspect
import linecache
import pickle
import pydoc
import subprocess
import sys
import traceback
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics.render import render
from dslc.compiler.layout import spatial

SOURCE = '''
kernel scale(x: f32[N], factor: f32, y: out f32[N]):
    """y = factor * x."""
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * factor


kernel wrong(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 8)):
        y[n : n + 8] = x[n : n + 8] * facto
'''

SCRIPT = """
from __future__ import annotations

import dslc
import numpy as np
from dslc.lang import *

@dslc.kernel(BN=64)
def twice(x: f32[N], y: out[f32[N]]):
    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * 2

y = np.zeros(5, np.float32)
twice(np.ones(5, np.float32), y)
print(y.tolist())
"""


@pytest.fixture(scope="module")
def lib() -> dslc.Library:
    return dslc.compile(SOURCE, "interp")


def failure(call):
    with pytest.raises(dslc.DiagnosticError) as caught:
        call()
    return caught.value


def vectors():
    return np.ones(8, np.float32), np.zeros(8, np.float32)


def test_an_error_reads_as_on_the_command_line(tmp_path: Path):
    file = tmp_path / "wrong.tile"
    file.write_text(SOURCE)
    found = failure(lambda: dslc.compile(file, "interp").wrong(*vectors()))
    assert str(found) == render(found.diagnostics).rstrip()
    assert "y[n : n + 8] = x[n : n + 8] * facto\n" in str(found)
    assert "^^^^^" in str(found)


def test_sources_without_a_file_are_shown(lib):
    other = dslc.compile("kernel other(x: f32[N]):\n    pass\n", "interp")
    assert other.name == lib.name  # both are called <source>, and each error shows its own
    found = failure(lambda: lib.wrong(*vectors()))
    assert "12 |         y[n : n + 8] = x[n : n + 8] * facto\n" in str(found)


def test_an_error_travels_with_its_source(lib):
    found = failure(lambda: lib.wrong(*vectors()))
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda lib: lib.scale(*vectors(), BN=64), "the signature is scale(x: f32[N], "),
        (lambda lib: lib.scale(vectors()[0], 2.0, vectors()[1], BN=3), "the choices are 64, 128"),
        (lambda lib: lib.scale(vectors()[0], 2.0, vectors()[1], BN=[64]), "the choices are 64, 128"),
        (lambda lib: lib.scale(vectors()[0], 2.0, vectors()[1], XY=3), "there are x, factor, y, BN, N"),
        (lambda lib: lib.scal, "did you mean `scale`?"),
        (lambda lib: lib.scale.source("bound"), "did you mean `bounds`?"),
        (lambda lib: dslc.compile(SOURCE, "cuda:sm_1"), "cuda:sm_90a"),
    ],
)  # fmt: skip
def test_errors_name_what_is_possible(lib, call, wanted):
    assert wanted in str(failure(lambda: call(lib)))


def test_tracebacks_leave_out_the_compiler(lib, monkeypatch):
    def frames(call):
        return traceback.extract_tb(failure(call).__traceback__)

    def calls():
        yield lambda: lib.wrong(*vectors())
        yield lambda: dslc.compile("kernel f(x:\n", "interp")
        yield lambda: lib.scale.specialize(BN=3)

    for call in calls():
        inner = [f for f in frames(call) if Path(f.filename).name != Path(__file__).name]
        assert len(inner) <= 2, inner
    monkeypatch.setenv("DSLC_TRACEBACK", "full")
    assert len(frames(lambda: lib.wrong(*vectors()))) > 5


def test_a_kernel_has_a_signature(lib):
    found = inspect.signature(lib.scale)
    assert str(found).startswith("(x: f32[N], factor: f32, y: out f32[N], *, BN: 64 | 128 = ...")
    assert found.bind(1, 2, y=3, BN=64).arguments == {"x": 1, "factor": 2, "y": 3, "BN": 64}
    assert next(iter(inspect.signature(dslc.Kernel).parameters)) == "origin"


def test_a_kernel_helps(lib):
    text = pydoc.plain(pydoc.render_doc(lib.scale))
    assert "y = factor * x." in text
    assert "factor  f32 (a number)" in text
    assert "BN = 64 | 128" in text
    assert "scale(x: f32[N], factor: f32, y: out f32[N])" in (lib.__doc__ or "")


def test_notebooks_show_pictures_and_tables(lib):
    assert "<svg" in (spatial(4, 8)._repr_html_() or "")
    assert spatial(512, 1024)._repr_html_() is None
    assert "<td><code>f32[N]</code></td>" in lib.scale._repr_html_()
    assert "64 | 128" in lib.scale._repr_html_()


def test_sources_that_are_in_no_file_are_found():
    y = np.zeros(5, np.float32)
    space: dict[str, object] = {}
    text = SCRIPT.replace("print(y.tolist())", "")
    exec(text, space)
    space["twice"](np.ones(5, np.float32), y)  # type: ignore[operator]
    assert y.tolist() == [2.0] * 5
    # The very code, not a text that only looks alike.
    changed = text.replace("* 2", "* 3")
    assert "* 3" in changed
    exec(text, space)
    assert "* 2" in space["twice"].tile  # type: ignore[attr-defined]


def test_errors_of_exec_show_the_line():
    text = SCRIPT.replace("BN] * 2", "BN] * tow").replace("twice(np", "print(np")
    space: dict[str, object] = {}
    exec(text, space)
    found = failure(lambda: space["twice"](*vectors()))  # type: ignore[operator]
    assert "x[n : n + BN] * tow" in str(found)
    assert "^^^" in str(found)


def test_sources_of_other_ways_into_python(tmp_path: Path):
    file = tmp_path / "script"
    file.write_text(SCRIPT)
    for words, given in ((["-c", SCRIPT], None), (["-"], file)):
        with open(given or "/dev/null") as stream:
            done = subprocess.run(
                [sys.executable, *words], stdin=stream, capture_output=True, text=True, check=False
            )
        assert done.stdout == f"{[2.0] * 5}\n", done.stderr


def test_cells_of_notebooks_are_read():
    name = "<ipython-input-7-0123456789ab>"
    linecache.cache[name] = (len(SCRIPT), None, SCRIPT.splitlines(keepends=True), name)
    space: dict[str, object] = {}
    exec(compile(SCRIPT, name, "exec"), space)
    assert "* 2" in space["twice"].tile  # type: ignore[attr-defined]


def test_what_is_nowhere_is_refused():
    space: dict[str, object] = {}
    exec(SCRIPT.replace("twice(np", "print(np").replace("* 2", f"* {5 * 7}"), space)
    found = failure(lambda: space["twice"](*vectors()))  # type: ignore[operator]
    assert found.diagnostics[0].code == "DSL0120"
