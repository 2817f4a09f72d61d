"""Kernels for CPUs by the face: compiled, run here, built as libraries, packaged."""

from __future__ import annotations

import importlib
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.targets.cpu import SETS, V3, processor_by_name
from dslc.machines.cpu_processors import present_target
from dslc.machines.registry import fastest_target, find_machine
from dslc.runtime.native import host_features

from support.aarch64 import needs_emulator

SCALE = """
kernel scale(x: f32[M, N], s: f32[M], y: out f32[M, N]):
    \"\"\"y = x * s, a factor for each row.\"\"\"
    for m in parallel(range(0, M, 4)):
        assert M < 1000
        y[m : m + 4, :] = x[m : m + 4, :] * s[m : m + 4][:, None]

kernel shift(x: f32[M, N], by: f32, y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = x[m : m + 4, :] + by

program both(x: f32[M, N], s: f32[M], by: f32, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    scale(x, s, t)
    shift(t, by, y)

program shifted_twice(x: f32[M, N], by: f32, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    shift(x, by, t)
    shift(t, by, y)
"""
LEVEL = "cpu:x86-64-v3"
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not processor_by_name(LEVEL).features <= host_features(),
    reason="needs an x86-64 CPU with AVX2",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cpu") / "scale.tile"
    path.write_text(SCALE)
    return path


@pytest.fixture(scope="module")
def library(file: Path) -> dslc.Library:
    return dslc.compile(file, target=LEVEL, cache=False)


def arguments(m: int = 6, n: int = 37) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((m, n)).astype(np.float32)
    return x, rng.standard_normal(m).astype(np.float32), np.zeros_like(x)


def test_a_kernel_and_its_short_way(library: dslc.Library) -> None:
    for _ in range(3):
        x, s, y = arguments()
        library.scale(x, s, y)
        np.testing.assert_array_equal(y, x * s[:, None])


def test_programs(library: dslc.Library) -> None:
    x, s, y = arguments()
    library.both(x, s, 0.5, y)
    np.testing.assert_array_equal(y, x * s[:, None] + np.float32(0.5))
    library.shifted_twice(x, 0.5, y)
    np.testing.assert_array_equal(y, x + np.float32(0.5) + np.float32(0.5))


@pytest.mark.parametrize(("m", "n"), [(0, 5), (1, 1), (999, 3)])
def test_extents_of_nothing_and_of_little(library: dslc.Library, m: int, n: int) -> None:
    x, s, y = arguments(m, n)
    library.scale(x, s, y)
    np.testing.assert_array_equal(y, x * s[:, None])


def unaligned(array: Any, offset: int) -> Any:
    room = np.zeros(array.nbytes + 64, np.uint8)
    out = room[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


@pytest.mark.parametrize("offset", [1, 2, 13])
def test_arrays_may_begin_at_any_address(library: dslc.Library, offset: int) -> None:
    x, s, y = arguments()
    placed = unaligned(y, offset)
    library.scale(unaligned(x, offset), unaligned(s, offset), placed)
    np.testing.assert_array_equal(placed, x * s[:, None])


def test_arrays_whose_elements_lie_apart(library: dslc.Library) -> None:
    """With steps, in the other order, backwards, between elements: a copy stands for each."""
    x, s, y = arguments()
    room = np.full((y.shape[0], 2 * y.shape[1]), 7, y.dtype)
    mixed = np.zeros(s.shape, [("a", s.dtype), ("b", "u1")])
    mixed["a"] = s
    strided = np.repeat(x, 2, 1)[:, ::2]
    for given in (strided, np.asfortranarray(x), x[::-1].copy()[::-1]):
        for _ in range(3):  # after calls that were right there is a short way, which is not theirs
            room[:] = 7
            library.scale(given, mixed["a"], room[:, ::2])
            np.testing.assert_array_equal(room[:, ::2], x * s[:, None])
            assert (room[:, 1::2] == 7).all()
            library.scale(x, s, y)
    with pytest.raises(DiagnosticError) as failure:
        library.scale(room[:, ::2], s, room[:, :-1:2][:, : x.shape[1]])
    assert code_of(failure) == "DSL0742"


def code_of(failure: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return failure.value.diagnostics[0].code


def test_what_is_refused(library: dslc.Library) -> None:
    x, s, y = arguments()
    read_only = y.copy()
    read_only.flags.writeable = False
    for given, code in (
        ((x, s, x), "DSL0742"),  # it overlaps
        ((x, s, read_only), "DSL0763"),
        ((x.astype(np.float64), s, y), "DSL0761"),
        ((*arguments(1000, 1),), "DSL0608"),
    ):
        for _ in range(2):  # after a call that was right there is a short way
            with pytest.raises(DiagnosticError) as failure:
                library.scale(*given)
            assert code_of(failure) == code
            library.scale(x, s, y)


def test_texts_and_binaries(library: dslc.Library) -> None:
    made = library.both.specialize(N=64)
    assert "define i32" in made.source("ll")
    assert "scale__x86_64_v3:" in made.source("asm")
    assert made.source("final") == made.source("asm")
    assert "struct shift__x86_64_v3_args" in made.source("header")
    shared, static = made.binary("so"), made.binary("a")
    assert shared is not None
    assert static is not None
    assert shared.startswith(b"\x7fELF")
    assert static.startswith(b"!<arch>\n")


def test_a_library_for_macos_is_linked_elsewhere(library: dslc.Library) -> None:
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    made = library.scale.specialize(N=64).binary("dylib")
    assert made is not None
    assert made.startswith(bytes.fromhex("cffaedfe"))
    assert b"_scale__x86_64_v3\0" in made


def test_one_library_of_a_set_chooses_by_the_cpu(file: Path, tmp_path: Path) -> None:
    made = dslc.compile(file, target="cpu:x86-64", cache=False)
    folder = tmp_path / "package"
    made.save(folder, specializations=[made.scale.specialize(N=37), made.both.specialize(N=37)])
    package = dslc.runtime.load(folder)
    x, s, y = arguments()
    package.scale(x, s, y)
    np.testing.assert_array_equal(y, x * s[:, None])
    package.both(x, s, 0.5, y)
    np.testing.assert_array_equal(y, x * s[:, None] + np.float32(0.5))
    features = host_features()
    best = [n for n in SETS["cpu:x86-64"] if processor_by_name(n).features <= features][-1]
    assert made.scale.specialize(N=37).chosen.target == best
    header = made.both.specialize(N=37).source("header")
    for kind in ("x86_64_v3", "x86_64_v4", "znver4"):
        assert f"int32_t shift__{kind}(" in header


class Older:
    """This CPU with fewer features."""

    def __init__(self, features: frozenset[str], machine: str = "x86_64") -> None:
        from dslc.runtime.native import HostProcessor

        self.name, self.machine, self.features, self.threads = "an older CPU", machine, features, 1
        self.load = HostProcessor.get().load


def test_a_package_has_the_next_form_for_a_cpu_that_lacks_a_feature(
    file: Path, tmp_path: Path
) -> None:
    forms = [
        dslc.compile(file, target=t, cache=False).scale.specialize(N=37)
        for t in (LEVEL, "cpu:znver4")
    ]
    folder = tmp_path / "package"
    dslc.compile(file, target=LEVEL, cache=False).save(folder, specializations=forms)
    older = Older(processor_by_name(LEVEL).features)
    x, s, y = arguments()
    package = dslc.runtime.load(folder, processor=older)
    package.scale(x, s, y)
    np.testing.assert_array_equal(y, x * s[:, None])
    for other in (Older(older.features - {"fma"}), Older(older.features, "aarch64")):
        with pytest.raises(DiagnosticError) as failure:
            dslc.runtime.load(folder, processor=other).scale(x, s, y)
        assert code_of(failure) == "DSL0834"


def test_code_that_this_cpu_does_not_run_names_both_lists(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = dslc.compile(file, target="cpu:sapphirerapids", cache=False)
    older = Older(processor_by_name(LEVEL).features)
    monkeypatch.setattr("dslc.machines.cpu.find_processor", lambda _: older)
    with pytest.raises(DiagnosticError) as failure:
        made.scale(*arguments())
    found = failure.value.diagnostics[0]
    assert found.code == "DSL0860"
    assert "an older CPU has no amxbf16" in found.message
    assert "it has avx, avx2" in str(found.hint)


def test_code_for_arm_runs_in_an_emulator(file: Path) -> None:
    needs_emulator()
    for target in ("cpu:neoverse-n1", "cpu:arm64"):
        made = dslc.compile(file, target=target, cache=False)
        x, s, y = arguments()
        made.both(x, s, 0.5, y)
        np.testing.assert_array_equal(y, x * s[:, None] + np.float32(0.5))


def test_the_cpu_that_is_here_is_llvm_s(monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite.binding as llvm

    name = f"cpu:{llvm.get_host_cpu_name()}"
    if name in {m.target.name for m in map(find_machine, [present_target()])}:
        assert present_target() == name
    assert find_machine("cpu").target.name == present_target()
    monkeypatch.setattr("dslc.machines.cpu_processors.host_machine", lambda: "x86_64")
    for maker, kind in (("AuthenticAMD", "znver3"), ("GenuineIntel", "x86-64-v3")):
        monkeypatch.setattr("dslc.machines.cpu_processors.host_maker", lambda maker=maker: maker)
        monkeypatch.setattr("dslc.machines.cpu_processors.host_features", lambda: V3)
        assert present_target() == f"cpu:{kind}"
    monkeypatch.setattr("dslc.machines.cpu_processors.host_features", lambda: frozenset({"sse2"}))
    with pytest.raises(DiagnosticError, match=r"DSL0901.*x86_64 with sse2"):
        present_target()


def test_where_nothing_is_named_the_gpu_or_the_cpu_is_meant(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DSLC_TARGET")
    fastest_target.cache_clear()
    target = dslc.compile(file, cache=False).scale.specialize(N=8).target
    assert target in (present_target(), fastest_target())
    fastest_target.cache_clear()


def test_without_llvm_the_error_says_what_to_install(file: Path, tmp_path: Path) -> None:
    """And what was compiled before runs; `import dslc` never loads it."""
    code = f"""
import sys
import dslc, numpy as np
x, y = np.ones((4, 5), np.float32), np.zeros((4, 5), np.float32)
s = np.full(4, 2, np.float32)
kept = dslc.compile({str(file)!r}, target={LEVEL!r}, cache={str(tmp_path)!r})
kept.scale(x, s, y)
assert (y == 2).all()
assert (sys.modules.get("llvmlite") is not None) == (sys.argv[1] == "with")
if sys.argv[1] == "without":
    try:
        dslc.compile({str(file)!r}, target={LEVEL!r}, cache=False).scale(x, s, y)
    except dslc.DiagnosticError as failure:
        print(failure.diagnostics[0].code, failure.diagnostics[0].hint)
"""
    absent = "import sys; sys.modules['llvmlite'] = None\n" + code
    for word, text in (("with", code), ("without", absent)):
        done = subprocess.run(
            [sys.executable, "-c", text, word],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "DSL0951 pip install 'llvmlite" in done.stdout


def test_a_package_is_loaded_with_numpy_alone(file: Path, tmp_path: Path) -> None:
    made = dslc.compile(file, target=LEVEL, cache=False)
    made.save(tmp_path / "package", specializations=[made.scale.specialize(N=5)])
    code = f"""
import sys
ALLOWED = ("dslc.runtime", "dslc.compiler.artifact", "dslc.compiler.diagnostics")
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top == "dslc":
            if name in ("dslc", "dslc.compiler") or name.startswith(ALLOWED):
                return None
        elif top in sys.stdlib_module_names or top in ("numpy", "_distutils_hack"):
            return None
        raise ImportError(f"{{name}} is not installed here")
sys.meta_path.insert(0, Refuse())
import numpy as np
import dslc.runtime
package = dslc.runtime.load({str(tmp_path / "package")!r})
x, y = np.ones((4, 5), np.float32), np.zeros((4, 5), np.float32)
package.scale(x, np.full(4, 3, np.float32), y)
assert (y == 3).all()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_tuning_measures_here(file: Path, tmp_path: Path) -> None:
    source = """
kernel rows(x: f32[M, N], y: out f32[M, N]):
    tune BM = 1 | 4
    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * 2
"""
    (tmp_path / "rows.tile").write_text(source)
    library = dslc.compile(tmp_path / "rows.tile", target=LEVEL, cache=tmp_path / "cache")
    result = library.rows.tune(M=64, N=256)
    assert result.found.best is not None
