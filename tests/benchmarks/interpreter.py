"""How fast the interpreter runs the quantised product of the documentation: a script.

python tests/benchmarks/interpreter.py [M N K]
"""

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
from dslc.compiler.dtypes import F32
from dslc.compiler.interpreter import Options, run

_PATH = Path(__file__).parents[1] / "compiler" / "interpreter" / "building.py"
_SPEC = importlib.util.spec_from_file_location("building", _PATH)
building = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(building)
at, op, var = building.at, building.op, building.var


def quantised_product(bm: int, bn: int, bk: int, group: int, weights: str = "u4"):
    """f16[M, K] x (weights[K, N] - 8) * f16[K // group, N] -> f16[M, N]."""
    b = building.Builder()
    m_, n_, k_ = var("M"), var("N"), var("K")
    a = b.tensor("a", "f16", [m_, k_])
    w = b.tensor("w", weights, [k_, n_])
    s = b.tensor("s", "f16", [op("floordiv", k_, group), n_])
    c = b.out("c", "f16", [m_, n_])
    m, n = var("m"), var("n")
    zero = b.full(F32, [bm, bn], 0.0)
    with b.loop("k", 0, k_, bk, [zero]) as (k, (acc,), (result,), yields):
        q = b.cast(b.load(at(w, (k, bk), (n, bn))), "f16")
        q = b.binary("sub", q, b.full("f16", [bk, bn], 8.0))
        scale = b.load(at(s, op("floordiv", k, group), (n, bn)))
        q = b.binary("mul", q, b.broadcast(scale, [bk, bn]))
        yields.append(b.dot(b.load(at(a, (m, bm), (k, bk))), q, acc))
    b.store(at(c, (m, bm), (n, bn)), b.cast(result, "f16"))
    return b.kernel(grid=[("m", 0, m_, bm), ("n", 0, n_, bn)])


def main(m: int = 16, n: int = 4096, k: int = 4096) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(m, k)).astype(np.float16)
    w = rng.integers(0, 16, (k, n)).astype(np.uint8)
    s = (rng.random((k // 128, n)) / 16).astype(np.float16)
    c = np.zeros((m, n), np.float16)
    kernel = quantised_product(16, 128, 128, 128)
    for check in (True, False):
        start = time.perf_counter()
        run(kernel, {"a": a, "w": w, "s": s, "c": c}, Options(check=check))
        print(f"{m} x {n} x {k}, check={check}: {time.perf_counter() - start:.2f} s")
    scale = np.repeat(s.astype(np.float32), 128, 0)
    wanted = a.astype(np.float32) @ ((w.astype(np.float32) - 8) * scale)
    print("greatest difference", float(np.abs(c.astype(np.float32) - wanted).max()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
