"""The cache on disk serves what was compiled, from any process, and never stops a compilation."""

import os
import subprocess
import sys
import warnings

import dslc
import dslc.compilation.building
import numpy as np
import pytest
from dslc.compilation.caching import cache_folder, open_cache
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.machines.registry import find_machine
from dslc.runtime.cache import Cache, CacheWarning

SOURCE = """
kernel scale(x: f32[N], y: out f32[N]):
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * 2
"""


@pytest.fixture
def passes(monkeypatch):
    """How often the passes were run."""
    runs = []
    real = dslc.compilation.building.run_passes

    def run(program, *args, **kwargs):
        runs.append(program.name)
        return real(program, *args, **kwargs)

    monkeypatch.setattr(dslc.compilation.building, "run_passes", run)
    return runs


def call(lib):
    x = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    lib.scale(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def keys(folder):
    return {entry.key for entry in Cache(folder).ls()}


def test_what_was_compiled_once_is_not_compiled_again(tmp_path, passes):
    for _ in range(3):
        call(dslc.compile(SOURCE, cache=tmp_path))
    assert passes == ["scale"]
    assert len(keys(tmp_path)) == 1


def test_the_key_covers_source_choices_dims_and_the_compiler(tmp_path, passes, monkeypatch):
    call(dslc.compile(SOURCE, cache=tmp_path))
    call(dslc.compile(SOURCE.replace("* 2", "+ x[n : n + BN]"), cache=tmp_path))
    call(dslc.compile(SOURCE, define={"BN": 128}, cache=tmp_path))
    call(dslc.compile(SOURCE, define={"N": 100}, cache=tmp_path))
    monkeypatch.setattr(
        dslc.compilation.building, "compiler_fingerprint", lambda: "another version"
    )
    call(dslc.compile(SOURCE, cache=tmp_path))
    assert len(passes) == len(keys(tmp_path)) == 5


def test_the_key_covers_imports(tmp_path, passes):
    (tmp_path / "twice.tile").write_text("def twice(x):\n    return x * 2\n")
    (tmp_path / "f.tile").write_text(
        "from twice import twice\n" + SOURCE.replace("x[n : n + BN] * 2", "twice(x[n : n + BN])")
    )
    cache = tmp_path / "cache"
    call(dslc.compile(tmp_path / "f.tile", cache=cache))
    (tmp_path / "twice.tile").write_text("def twice(x):\n    return x + x\n")
    call(dslc.compile(tmp_path / "f.tile", cache=cache))
    assert len(passes) == 2


def test_a_flipped_byte_is_refused_and_built_again(tmp_path, passes):
    call(dslc.compile(SOURCE, cache=tmp_path))
    (entry,) = Cache(tmp_path).ls()
    file = entry.path / "program.ir"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"mul", b"mum", 1))
    with pytest.warns(CacheWarning, match=entry.key[:12]):
        call(dslc.compile(SOURCE, cache=tmp_path))
    assert len(passes) == 2
    assert file.read_bytes() == whole
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(dslc.compile(SOURCE, cache=tmp_path))
    assert len(passes) == 2


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path, passes):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning, match="without the cache|is not used"):
        call(dslc.compile(SOURCE, cache=tmp_path / "file" / "cache"))
    assert passes == ["scale"]


def test_an_error_of_the_program_is_not_blamed_on_the_cache(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise error("DSL0500", "a pass gives up")

    monkeypatch.setattr(dslc.compilation.building, "run_passes", fail)
    lib = dslc.compile(SOURCE, cache=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DiagnosticError, match="a pass gives up"):
            call(lib)
    assert keys(tmp_path) == set()


def test_passes_that_are_watched_run_and_the_artifact_is_the_caches(tmp_path, passes, monkeypatch):
    compiled = []
    machine = type(find_machine("interp"))
    whole = machine.compile
    monkeypatch.setattr(machine, "compile", lambda *args: compiled.append(args) or whole(*args))
    for count in (1, 2):
        seen = []
        call(dslc.compile(SOURCE, "interp", cache=tmp_path, observers=[seen.append]))
        assert seen
        assert len(passes) == count
    assert len(compiled) == 1


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "mine"))
    monkeypatch.delenv("DSLC_CACHE", raising=False)
    assert cache_folder() == tmp_path / "mine"
    assert open_cache().root == tmp_path / "mine"
    assert open_cache(True).root == tmp_path / "mine"
    assert open_cache(tmp_path / "other").root == tmp_path / "other"
    assert open_cache(False) is None
    monkeypatch.setenv("DSLC_CACHE", "off")
    assert open_cache() is None
    assert open_cache(True) is not None
    monkeypatch.delenv("DSLC_CACHE_DIR")
    assert cache_folder().name == "dslc"


def test_processes_share_a_cache(tmp_path):
    code = (
        "import dslc, numpy as np\n"
        f"lib = dslc.compile({SOURCE!r})\n"
        "x = np.ones(100, np.float32); y = np.zeros_like(x)\n"
        "lib.scale(x, y); assert (y == 2).all()\n"
    )
    env = {**os.environ, "DSLC_CACHE_DIR": str(tmp_path)}
    env.pop("DSLC_CACHE", None)
    running = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", code], env=env) for _ in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    assert len(keys(tmp_path)) == 1
    assert Cache(tmp_path).verify() == {}
