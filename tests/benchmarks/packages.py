"""A package of 200 forms, 40 for each of five families of machines: built, rebuilt, moved elsewhere.

    python tests/benchmarks/packages.py [--jobs 2 1 4] [--widths 20] [--targets TARGET ...]

Each line is one `dslc package` in a process of its own: seconds by the clock, and those that it and the
processes it started computed. On a busy machine the second figure is the one to compare. More numbers
of jobs build everything once more from nothing. Python keeps its byte code, as it does for what is
installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = ["cuda:sm_90a", "hip:gfx950", "nki:trn2", "aie:npu2", "aarch64:all"]
SPEC = """
[package]
name = "bar"
version = "1"
targets = {targets}

[[kernel]]
source = "rmsnorm.tile"
define = {{ T = "bf16" }}
dims = {{ H = {widths} }}
sizes = {{ M = 64 }}

[[kernel]]
source = "softmax.tile"
kernel = "softmax_rows"
dims = {{ N = {widths} }}
sizes = {{ M = 64 }}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[2])
    parser.add_argument("--widths", type=int, default=20)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in ("rmsnorm", "softmax"):
            shutil.copy(EXAMPLES / f"{name}.tile", folder)
        widths = [128 * n for n in range(1, options.widths + 1)]
        (folder / "bar.toml").write_text(SPEC.format(targets=options.targets, widths=widths))
        where = {
            "DSLC_CACHE_DIR": str(folder / "cache"),
            "DSLC_SHARED_CACHE": str(folder / "shared"),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(folder / "byte code"),
        }
        jobs = options.jobs[0]
        print(f"{2 * len(options.targets) * options.widths} forms: seconds by the clock, computed")
        build(folder, jobs, where, "byte code is made")
        for count in [*options.jobs[1:], jobs]:
            for name in ("bar.dslc", "cache", "shared"):
                shutil.rmtree(folder / name, ignore_errors=True)
            build(folder, count, where, "nothing compiled before")
        build(folder, jobs, where, "again, nothing changed")
        source = folder / "softmax.tile"
        source.write_text(source.read_text() + "# A remark.\n")
        build(folder, jobs, where, "a remark at the end of one source")
        source.write_text("# A line more.\n" + source.read_text())
        build(folder, jobs, where, "a line at the top of one source")
        other = {**where, "DSLC_CACHE_DIR": str(folder / "elsewhere")}
        shutil.rmtree(folder / "bar.dslc")
        build(folder, jobs, other, "another machine, by the shared cache")


def build(folder: Path, jobs: int, where: dict[str, str], what: str) -> None:
    command = [sys.executable, "-m", "dslc", "package", "bar.toml", "-q", "-j", str(jobs)]
    before, begin = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, env={**os.environ, **where}, check=True)
    seconds, after = time.perf_counter() - begin, os.times()
    computed = sum(after[2:4]) - sum(before[2:4])
    entries = sum(1 for _ in Path(where["DSLC_CACHE_DIR"]).glob("v1/entries/*/*"))
    print(
        f"{what:36} --jobs {jobs:<3} {seconds:7.2f} {computed:7.1f}    {entries} entries in the cache",
        flush=True,
    )


if __name__ == "__main__":
    main()
