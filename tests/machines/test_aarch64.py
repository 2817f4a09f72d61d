"""Kernels for Arm CPUs by the face: compiled, run in the emulator, built as libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.aarch64.tools.assemblers import assemblers
from dslc.compiler.diagnostics import DiagnosticError
from dslc.machines.aarch64_processors import present_target

from support.aarch64 import needs_emulator

SCALE = """
kernel scale(x: f32[M, N], s: f32[M], y: out f32[M, N]):
    \"\"\"y = x * s, a factor for each row.\"\"\"
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = x[m : m + 4, :] * s[m : m + 4][:, None]

kernel shift(x: f32[M, N], by: f32, y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = x[m : m + 4, :] + by

program both(x: f32[M, N], s: f32[M], by: f32, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    scale(x, s, t)
    shift(t, by, y)
"""


@pytest.fixture(autouse=True)
def _emulator() -> None:
    needs_emulator()


@pytest.fixture
def library(tmp_path: Path) -> dslc.Library:
    (tmp_path / "scale.tile").write_text(SCALE)
    return dslc.compile(tmp_path / "scale.tile", target="aarch64:dotprod", cache=False)


def arguments(m: int = 6, n: int = 37) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    rng = np.random.default_rng(7)
    x = rng.standard_normal((m, n)).astype(np.float32)
    return x, rng.standard_normal(m).astype(np.float32), np.zeros_like(x)


def test_a_kernel(library: dslc.Library) -> None:
    x, s, y = arguments()
    library.scale(x, s, y)
    np.testing.assert_array_equal(y, x * s[:, None])


def test_a_program(library: dslc.Library) -> None:
    x, s, y = arguments()
    library.both(x, s, 0.5, y)
    np.testing.assert_array_equal(y, x * s[:, None] + np.float32(0.5))


def test_texts_and_binaries(library: dslc.Library) -> None:
    made = library.scale.specialize(N=64)
    assert "scale__dotprod:" in made.source("asm")
    assert made.source("final") == made.source("asm")
    library_bytes = made.binary("so")
    assert library_bytes is not None
    assert library_bytes.startswith(b"\x7fELF")
    assert made.binary("cubin") is None


def test_a_library_for_macos_is_linked_elsewhere(library: dslc.Library) -> None:
    if not any("dylib" in a.kinds for a in assemblers()):
        pytest.skip("ziglang makes libraries for macOS, and is not installed")
    made = library.both.specialize(N=64).binary("dylib")
    assert made is not None
    assert made.startswith(bytes.fromhex("cffaedfe"))
    assert b"_scale__dotprod\0" in made


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_the_header_is_c_and_c_plus_plus(
    library: dslc.Library, tmp_path: Path, compiler: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    header = library.both.specialize(N=64).source("header")
    assert "struct scale__dotprod_args" in header
    checks = 'static_assert(sizeof(struct shift__dotprod_args) == 8 * 4, "words");\n'
    source = tmp_path / ("user.c" if compiler == "gcc" else "user.cc")
    (tmp_path / "both.h").write_text(header)
    source.write_text(f'#include <assert.h>\n#include "both.h"\n{checks}')
    flags = ["-std=c11"] if compiler == "gcc" else ["-std=c++17"]
    done = subprocess.run(
        [compiler, *flags, "-Wall", "-Werror", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr


def test_a_target_that_the_emulated_cpu_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_QEMU_CPU", "cortex-a57")
    (tmp_path / "scale.tile").write_text(SCALE)
    library = dslc.compile(tmp_path / "scale.tile", target="aarch64:i8mm", cache=False)
    x, s, y = arguments()
    with pytest.raises(DiagnosticError, match=r"DSL0860.*cortex-a57 has no dotprod, fp16, i8mm"):
        library.scale(x, s, y)


def test_without_qemu_the_error_says_what_to_install(
    library: dslc.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.scale(*arguments())  # assembled, while there is an assembler
    monkeypatch.setenv("DSLC_QEMU_CPU", "cortex-a76")  # one that no other test has started
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("shutil.which", lambda *_: None)
    monkeypatch.setattr("dslc.machines.aarch64_processors._guest", lambda: b"")
    x, s, y = arguments()
    with pytest.raises(DiagnosticError, match=r"DSL0861.*qemu-user"):
        library.scale(x, s, y)


def test_the_cpu_that_is_there_has_a_target() -> None:
    assert present_target().startswith("aarch64:")


def test_one_library_of_all_variants_chooses_by_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scale.tile").write_text(SCALE)
    made = dslc.compile(tmp_path / "scale.tile", target="aarch64:all", cache=False)
    folder = tmp_path / "package"
    made.save(folder, specializations=[made.scale.specialize(N=37), made.both.specialize(N=37)])
    for cpu, variant in (("cortex-a57", "base"), ("neoverse-n1", "dotprod"), ("max", "bf16")):
        monkeypatch.setenv("DSLC_QEMU_CPU", cpu)
        library = dslc.load(folder)
        x, s, y = arguments()
        library.scale(x, s, y)
        np.testing.assert_array_equal(y, x * s[:, None])
        library.both(x, s, 0.5, y)
        np.testing.assert_array_equal(y, x * s[:, None] + np.float32(0.5))
        assert library.scale.specialize(N=37).chosen.target == f"aarch64:{variant}"
        assert library.scale.specialize(N=37).target == "aarch64:all"
    header = made.both.specialize(N=37).source("header")
    for variant in ("base", "dotprod", "i8mm", "bf16"):
        assert f"int32_t shift__{variant}(" in header
