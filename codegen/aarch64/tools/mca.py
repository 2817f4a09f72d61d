"""Cycles of straight code by llvm-mca: models of CPUs whose loads hit and whose branches are foreseen.

Models differ between versions of LLVM (22 dispatches 6 micro-operations a cycle on Neoverse V2 where 19
dispatches 16), so a figure is that of one version, and says so.
"""

from __future__ import annotations

import functools
import math
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from dslc.compiler.diagnostics import error

PINNED = 22
VERSIONS = (PINNED, 19)
CPUS = ("neoverse-v2", "neoverse-n2")
"""Those whose models hold for matrix instructions."""

_LONGEST = 600.0  # seconds
_CYCLES = re.compile(r"^Total Cycles:\s+(\d+)", re.MULTILINE)
_BOUND = re.compile(r"^Block RThroughput:\s+([\d.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Model:
    """One CPU as one version of llvm-mca has it; TimeoutError where its time is over."""

    path: str
    version: int
    cpu: str
    until: float = math.inf  # of time.monotonic: then a simulation is given up

    def cycles(self, lines: Sequence[str], iterations: int) -> int:
        """From the first dispatch to the last retirement; DSL0954 where the model fails."""
        return int(self._read(_CYCLES, lines, iterations))

    def bound(self, lines: Sequence[str]) -> float:
        """Cycles of pipes and dispatch for a loop's iteration in which nothing waits for a result."""
        return self._read(_BOUND, lines, 1)

    def _read(self, figure: re.Pattern[str], lines: Sequence[str], iterations: int) -> float:
        command = [
            self.path,
            "-mtriple=aarch64",
            f"-mcpu={self.cpu}",
            f"-iterations={iterations}",
            "-instruction-info=0",
            "-resource-pressure=0",
        ]
        left = min(_LONGEST, max(self.until - time.monotonic(), 0.001))
        try:
            done = subprocess.run(
                command,
                input="\n".join([*lines, ""]),
                capture_output=True,
                text=True,
                check=False,
                timeout=left,
            )
        except subprocess.TimeoutExpired:
            if left == _LONGEST:
                raise
            raise TimeoutError from None
        match = figure.search(done.stdout)
        if done.returncode or match is None:
            said = (done.stderr or done.stdout).strip().splitlines()
            text = "; ".join(said[:3]) or "it gave no cycles"
            raise error("DSL0954", f"llvm-mca-{self.version} cannot simulate {self.cpu}: {text}")
        return float(match[1])

    def marginal(self, lines: Sequence[str], few: int = 2, many: int = 6) -> float:
        """The cycles of one more repetition, among others before and after it."""
        return (self.cycles(lines, many) - self.cycles(lines, few)) / (many - few)


@functools.cache
def mca_path(version: int) -> str | None:
    """The program of a version, where it is installed."""
    for name in (f"llvm-mca-{version}", "llvm-mca"):
        if (path := shutil.which(name)) and _version(path) == version:
            return path
    return None


def models(versions: Sequence[int] = VERSIONS, cpus: Sequence[str] = CPUS) -> list[Model]:
    """The models at hand, in order; DSL0951 where not one of these versions is installed."""
    paths = [(v, path) for v in versions if (path := mca_path(v)) is not None]
    if not paths:
        raise error(
            "DSL0951",
            f"there is no llvm-mca of LLVM {' or '.join(map(str, versions))}",
            hint=f"apt install llvm-{PINNED}",
        )
    return [Model(path, v, cpu) for v, path in paths for cpu in cpus]


def _version(path: str) -> int | None:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"LLVM version (\d+)", said)
    return int(match[1]) if match else None
