"""The test kernels with arguments and right answers, as subjects of seeded faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from dslc.runtime.hip_emulator import Buffer, EmulationError, Module

from support.hip import kernels as hip_kernels
from support.hip.toolchain import isa

Array = np.ndarray[Any, np.dtype[Any]]
BF16 = ml_dtypes.bfloat16


@dataclass(frozen=True)
class Subject:
    """`arguments` makes fresh ones, outputs first met undefined; `right` looks at them afterwards."""

    source: str
    kernel: str
    grid: int
    threads: int
    arguments: Callable[[], list[Any]]
    right: Callable[[Sequence[Any]], bool]
    seeds: int = 4
    launches: int = 1

    def run(self, text: str) -> str | None:
        """None where all is right, else the report, or that the numbers are wrong."""
        try:
            module = Module(text)
        except EmulationError as failure:
            return str(failure)
        for seed in range(self.seeds):
            arguments = self.arguments()
            for launch in range(self.launches):
                try:
                    module.launch(
                        self.kernel, arguments, self.grid, self.threads,
                        seed=seed + 100 * launch, limit=20_000_000,
                    )  # fmt: skip
                except EmulationError as failure:
                    return str(failure)
                if not self.right(arguments):
                    return "wrong numbers"
        return None


def _normal(*shape: int) -> Array:
    x = np.random.default_rng(3).standard_normal(shape, dtype=np.float32)
    x.flags.writeable = False
    return x


def _out(*shape: int) -> Buffer:
    return Buffer(np.zeros(shape, np.float32), defined=False)


X = _normal(64, 64)
A, B = _normal(100, 256).astype(BF16), _normal(128, 256)[:, ::-1].astype(BF16)
A.flags.writeable = B.flags.writeable = False
PRODUCT = A.astype(np.float32) @ B.astype(np.float32).T
LONG = _normal(3000)
COLUMNS = _normal(64, 256)

SUBJECTS = {
    "add": Subject(
        hip_kernels.ADD, "add", 4, 256,
        lambda: [LONG[:1000], LONG[1000:2000], _out(1000), 1000],
        lambda a: bool((a[2].array == LONG[:1000] / LONG[1000:2000]).all()), seeds=1,
    ),
    "transpose": Subject(
        hip_kernels.TRANSPOSE, "transpose", 1, 256, lambda: [X, _out(64, 64)],
        lambda a: bool((a[1].array == X.T).all()),
    ),
    "dpp": Subject(
        hip_kernels.REDUCTIONS, "by_dpp", 1, 64, lambda: [X[0], _out(65)],
        lambda a: np.allclose(a[1].array[15:64:16], X[0].reshape(4, 16).sum(1), atol=1e-5)
        and np.isclose(a[1].array[64], X[0, 16:32].sum(), atol=1e-5), seeds=1,
    ),
    "permutes": Subject(
        hip_kernels.REDUCTIONS, "by_permutes", 1, 64, lambda: [X[0], _out(128)],
        lambda a: np.allclose(a[1].array[:64], X[0].sum(), atol=1e-4)
        and np.allclose(a[1].array[64:], X[0] + X[0][np.arange(64) ^ 1]), seeds=1,
    ),
    "lds": Subject(
        hip_kernels.REDUCTIONS, "by_lds", 4, 256, lambda: [LONG, _out(4), 3000],
        lambda a: np.allclose(a[1].array.sum(), LONG.sum(), atol=1e-3),
    ),
    "gemm": Subject(
        hip_kernels.GEMM, "gemm", 4, 256, lambda: [A, B, _out(100, 128), 100, 128, 256],
        lambda a: np.allclose(a[2].array, PRODUCT, atol=1e-3), seeds=2,
    ),
    "split_k": Subject(
        hip_kernels.SPLIT_K, "split_k", 8, 128,
        lambda: [COLUMNS, _out(256), _out(8, 128), np.zeros(2, np.uint32), 64, 4],
        lambda a: np.allclose(a[1].array, COLUMNS.sum(0), atol=1e-4) and not a[3].any(),
        seeds=40, launches=2,
    ),
    "signalled": Subject(
        hip_kernels.SPLIT_K, "signalled", 4, 64,
        lambda: [X, _out(64), _out(64), np.zeros(1, np.uint32), np.zeros(1, np.uint32), 64, 4],
        lambda a: np.allclose(a[2].array, X.sum(0), atol=1e-4) and not a[3].any() and not a[4].any(),
        seeds=40, launches=2,
    ),
}  # fmt: skip


def text_of(name: str, chip: str, level: str = "-O3") -> str:
    """The ISA text of a subject."""
    return isa(SUBJECTS[name].source, chip, level)


def body_lines(name: str, text: str) -> list[int]:
    """The numbers, from 0, of the lines of a subject's kernel."""
    lines = text.splitlines()
    kernel = SUBJECTS[name].kernel
    first = next(n for n, line in enumerate(lines) if line.startswith(f"{kernel}:"))
    last = next(
        n for n, line in enumerate(lines) if n > first and ".size" in line and kernel in line
    )
    return list(range(first, last))
