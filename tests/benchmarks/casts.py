"""Instructions per weight of products with low-bit weights, read from machine code: no GPU is asked.

    python tests/benchmarks/casts.py [DTYPE ...] [--m 8] [--to f16] [--architecture sm_90a]
    python tests/benchmarks/casts.py [DTYPE ...] --kernel gemm_quantized_sums [--tile 16x64x512]

A kernel loads packed weights, casts them and multiplies matrices; what
its main loop has, lane-instructions a weight, stands beside what a machine can issue while memory
delivers the weight at 95 % of its rate (the budget), and beside what Tilus 0.2.0 takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from dslc.checker import check_module
from dslc.codegen.cuda.lowering import lower
from dslc.codegen.cuda.tools.sass import Code, disassemble
from dslc.compiler.dtypes import all_dtypes, parse_dtype
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

BUDGET = {bits: 0.975 * bits for bits in range(1, 9)}  # 4.3 TB/s, 132 SM x 4 x 32 lanes x 1.98 GHz
TILUS = {"u4": 3.1, "u2": 4.6, "u1": 4.7, "f6e3m2": 9.8}
EXAMPLES = Path(__file__).parents[2] / "examples"
N, K = 128, 256
SOURCE = """
kernel product(a: {to}[M, 8192], w: {w}[8192, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, {m}), range(0, N, {n})):
        acc = zeros(f32, [{m}, {n}])
        for k in range(0, 8192, {k}):
            acc += dot(a[m : m + {m}, k : k + {k}], cast(w[k : k + {k}, n : n + {n}], {to}))
        c[m : m + {m}, n : n + {n}] = acc
"""


def main_loop(
    w: str, to: str = "f16", m: int = 8, architecture: str = "sm_90a"
) -> tuple[Code, float]:
    """The main loop of a product with weights of a dtype, and its lane-instructions a weight."""
    width = int(parse_dtype(w).bits) if parse_dtype(w) else 8  # type: ignore[union-attr]
    k = K * 2 if width == 1 else K
    text = SOURCE.format(w=w, to=to, m=m, n=N, k=k)
    template = check_module(parse_tile(text, "product.tile")).templates["product"]
    return _loop_of(template.elaborate({"M": m, "N": 8192}, {}), N * k, architecture)


def example_loop(
    name: str, define: Mapping[str, str], config: Mapping[str, int], architecture: str = "sm_90a"
) -> tuple[Code, float]:
    """The same of a quantised product of the examples, on 8192 x 8192 weights."""
    file = name if (EXAMPLES / f"{name}.tile").exists() else "gemm_quantized"
    given = {key: parse_dtype(value) or int(value) for key, value in define.items()}
    module = parse_tile((EXAMPLES / f"{file}.tile").read_text(), f"{file}.tile")
    template = check_module(module, define=given).templates[name]
    kernel = template.elaborate({"M": config["BM"], "K": 8192, "N": 8192}, config)
    return _loop_of(kernel, config["BN"] * config["BK"], architecture)


def _loop_of(kernel: TileProgram, weights: int, architecture: str) -> tuple[Code, float]:
    target = find_target(f"cuda:{architecture}")
    scheduled = run_passes(kernel, gpu_passes(target))
    assert isinstance(scheduled, Kernel)
    (code,) = disassemble(lower(scheduled, target).files[f"{architecture}.cubin"])
    loop = code.main_loop()
    assert loop is not None, "the product has no loop"
    unrolled = max(s.unroll or 1 for s in walk(scheduled.body) if isinstance(s, ins.For))
    return loop, loop.per(weights * unrolled, scheduled.threads or 32)


def main() -> None:
    """Print a row a type."""
    parser = argparse.ArgumentParser(description=__doc__)
    weights = [d.name for d in all_dtypes() if d.bits <= 8 and (d.is_integer or d.is_float)]
    parser.add_argument("dtypes", nargs="*", default=[w for w in weights if w != "e8m0"])
    parser.add_argument("--m", type=int, default=8)
    parser.add_argument("--to", default="f16")
    parser.add_argument("--architecture", default="sm_90a")
    parser.add_argument("--kernel", help="a product of the examples, with scales of groups")
    parser.add_argument("--tile", default="16x64x512", help="its tile, BM x BN x BK")
    args = parser.parse_args()
    tile = dict(zip(("BM", "BN", "BK"), map(int, args.tile.split("x")), strict=True))
    print(f"{'weights':8} {'all':>6} {'matrix':>7} {'budget':>7} {'tilus':>6}   mix")
    for w in args.dtypes:
        if args.kernel:
            define = {} if args.kernel == "gemm_nvfp4" else {"W": w}
            define["T"] = args.to
            loop, total = example_loop(args.kernel, define, tile, args.architecture)
        else:
            loop, total = main_loop(w, args.to, args.m, args.architecture)
        mix = loop.mix()
        matrix = total * mix.get("matrix", 0) / len(loop)
        budget = BUDGET[parse_dtype(w).bits]  # type: ignore[union-attr]
        tilus = TILUS.get(w, "")
        over = "  over" if total > budget else ""
        print(
            f"{w:8} {total:6.2f} {matrix:7.3f} {budget:7.2f} {tilus!s:>6}   {mix}{over}", flush=True
        )


if __name__ == "__main__":
    main()
