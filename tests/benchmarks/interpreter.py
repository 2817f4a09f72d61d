"""How fast the interpreter runs: the quantised product of the documentation, and a small launch.

python tests/benchmarks/interpreter.py [M N K]
"""

import sys
import time
from pathlib import Path

import numpy as np
from dslc.compiler.dtypes import F32, decode
from dslc.compiler.interpreter import Options, run

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.building import Builder, at, dt, op, random_codes, var


def quantised_product(bm: int, bn: int, bk: int, group: int, weights: str = "u4"):
    """f16[M, K] x (weights[K, N] - 8) * f16[K // group, N] -> f16[M, N]."""
    b = Builder()
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


def product(m: int, n: int, k: int, weights: str) -> None:
    """One product with weights of a dtype, with and without checks."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(m, k)).astype(np.float16)
    w = random_codes(dt(weights), (k, n), rng)
    s = (rng.random((k // 128, n)) / 16).astype(np.float16)
    c = np.zeros((m, n), np.float16)
    kernel = quantised_product(16, 128, 128, 128, weights)
    for check in (True, False):
        start = time.perf_counter()
        run(kernel, {"a": a, "w": w, "s": s, "c": c}, Options(check=check))
        taken = time.perf_counter() - start
        print(f"{m} x {n} x {k}, {weights} weights, check={check}: {taken:.2f} s")
    scale = np.repeat(s.astype(np.float32), 128, 0)
    wanted = a.astype(np.float32) @ ((decode(w, dt(weights)).astype(np.float32) - 8) * scale)
    error = np.abs(c.astype(np.float32) - wanted).max() / np.abs(wanted).max()
    print(f"    greatest error {error:.1e} of the greatest element")


def launches(times: int = 500) -> None:
    """The time of a launch of one turn with little to do."""
    b = Builder()
    x, y = b.tensor("x", "f32", [var("N")]), b.out("y", "f32", [var("N")])
    b.store(at(y, (0, 64)), b.unary("exp", b.load(at(x, (0, 64)))))
    kernel, args = b.kernel(), {"x": np.ones(64, np.float32), "y": np.ones(64, np.float32)}
    run(kernel, args)
    start = time.perf_counter()
    for _ in range(times):
        run(kernel, args)
    print(f"a launch of one small turn: {(time.perf_counter() - start) / times * 1e6:.0f} us")


def main(m: int = 16, n: int = 4096, k: int = 4096) -> None:
    for weights in ("u4", "i6", "f6e3m2"):
        product(m, n, k, weights)
    launches()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
