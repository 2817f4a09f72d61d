"""The header of several kernels in a C program, which calls them; for C++ too it is valid."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.codegen.aarch64.tools.assemblers import assemblers
from dslc.runtime.aarch64_emulator import qemu_path

TINY = Path(__file__).parents[3] / "support" / "tiny_libc.c"
KERNELS = '''\
kernel scale(x: f32[N], s: f32, y: out f32[N]):
    """y = x * s."""
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = x[n : n + 64] * s


kernel halves(x: f32[M, N], y: out f16[M, N]):
    for m in parallel(range(M)):
        for n in range(0, N, 32):
            y[m, n : n + 32] = cast(x[m, n : n + 32], f16)
'''
PROGRAM = """\
#include "kernels.h"
void say(const char *text);

int main(void) {
  static float x[150], y[150];
  static float16_bits h[150];
  static char scratch[scale__base_scratch + halves__base_scratch + 64] __attribute__((aligned(64)));
  for (int i = 0; i < 150; ++i) x[i] = (float)i;
  struct scale__base_args a = {x, 0.5f, y, 150};
  if (scale__base(&a, 1, 3, scratch) || scale__base(&a, 0, 1, scratch)) return 1;
  for (int i = 0; i < 150; ++i) if (y[i] != 0.5f * x[i]) return say("scale is wrong"), 2;
  struct halves__base_args b = {x, h, 2, 75};
  if (halves__base(&b, 0, 2, scratch)) return 3;
  for (int i = 0; i < 150; ++i) if (*(__fp16 *)&h[i] != x[i]) return say("halves is wrong"), 4;
  return 0;
}
"""


def build(folder: Path, stage: str) -> Path:
    """A stage of both kernels as a file."""
    (folder / "kernels.tile").write_text(KERNELS)
    out = folder / f"kernels.{'h' if stage == 'header' else 's'}"
    args = ["build", str(folder / "kernels.tile"), "-t", "aarch64:base", "--emit", stage]
    assert run([*args, "-o", str(out)]) == 0
    return out


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_a_header_of_two_kernels_compiles(tmp_path: Path, compiler: str) -> None:
    path = shutil.which(compiler)
    if path is None:
        pytest.skip(f"needs {compiler}")
    header = build(tmp_path, "header")
    source = tmp_path / ("use.c" if compiler == "gcc" else "use.cc")
    source.write_text('#include "kernels.h"\nint use(void) { return halves__base_scratch; }\n')
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I", str(header.parent)]
    subprocess.run([path, *flags, str(source)], check=True, timeout=60)


def test_a_program_calls_both_kernels(tmp_path: Path) -> None:
    qemu = qemu_path()
    if qemu is None or not any(a.name == "zig" for a in assemblers()):
        pytest.skip("needs ziglang, which compiles C for AArch64, and qemu-aarch64")
    build(tmp_path, "header")
    text = build(tmp_path, "asm")
    (tmp_path / "main.c").write_text(PROGRAM)
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu"]
    flags = [
        "-std=gnu11", "-O1", "-g0", "-fno-sanitize=all", "-fno-stack-protector", "-fno-builtin",
        "-nostdlib", "-static", "-no-pie", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
        "-Wno-unused-variable", "-Wno-unused-command-line-argument", "-I", str(tmp_path),
    ]  # fmt: skip
    sources = [str(tmp_path / "main.c"), str(TINY), str(text)]
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path), "ZIG_LOCAL_CACHE_DIR": str(tmp_path)}
    subprocess.run(
        [*zig, *flags, *sources, "-o", str(tmp_path / "program")],
        check=True,
        env={**cache, "PATH": "/usr/bin:/bin"},
        timeout=120,
    )
    done = subprocess.run(
        [qemu, str(tmp_path / "program")], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout
