"""The main job on real weights: quantise the feed-forward layers of a small model and run them.

The six feed-forward halves of a published sentence encoder are quantised to u4 (with zero points), i6
and f6e3m2 with a scale per 128 rows of a column, and run by the kernels of gemm_quantized.tile. The
table compares with float32: the first layer's output, the embedding after all six, the bytes a layer
moves, and the time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import dslc
import numpy as np
import platformdirs
from dslc.cli.tables.table import plain_table, size_text
from dslc.environment import default_target
from dslc.quantize import Quantized, quantize
from minilm.model import (
    LAYERS,
    SENTENCE,
    Array,
    FeedForward,
    Model,
    NoModel,
    published,
    random_model,
)

HERE = Path(__file__).resolve().parent
GROUP = 128
TYPES = ("u4", "i6", "f6e3m2")


class QuantizedHalf:
    """A feed-forward half on dslc: float32 in, float16 inside, float32 out."""

    def __init__(self, program: Callable[..., None], half: FeedForward, dtype: str) -> None:
        self._program = program
        self.up, self.down = (quantize(w, dtype, GROUP) for w in (half.up, half.down))
        self._biases = [b.astype(np.float16) for b in (half.up_bias, half.down_bias)]

    def __call__(self, x: Array) -> Array:
        """The half of x [tokens, hidden]."""
        y = np.empty(x.shape, np.float16)
        weights = [
            (
                part.codes,
                part.scales,
                *(() if part.zero_points is None else (part.zero_points,)),
                bias,
            )
            for part, bias in zip((self.up, self.down), self._biases, strict=True)
        ]
        self._program(x.astype(np.float16), *weights[0], *weights[1], y)
        return y.astype(np.float32)

    def bytes_moved(self, tokens: int) -> float:
        """Packed weights, scales and zero points once; what goes in and comes out in f16."""
        weights = sum(map(weight_bytes, (self.up, self.down)))
        return float(weights + tokens * (self.up.codes.shape[0] + self.down.codes.shape[1]) * 2)


def weight_bytes(part: Quantized) -> float:
    """The bytes of a quantised matrix as it is stored: codes packed to their bits."""
    zeros = 0 if part.zero_points is None else part.zero_points.size
    return (part.codes.size + zeros) * part.dtype.bits / 8 + part.scales.nbytes


def program_for(dtype: str, target: str) -> Callable[..., None]:
    """The feed-forward program over weights of that type."""
    define: dict[str, object] = {"W": dtype, "G": GROUP}
    zeros = dtype.startswith("u")
    if zeros:
        define["BK"] = GROUP
    library = dslc.compile(
        HERE / "minilm" / "feed_forward.tile", target, define=define, include=[HERE]
    )
    return library["feed_forward_zeros" if zeros else "feed_forward"]


def find_model() -> Model:
    """The published model, or a random one after saying why."""
    place = os.environ.get("DSLC_DEMO_DIR") or Path(platformdirs.user_cache_dir("dslc")) / "demo"
    try:
        model = published(Path(place))
    except NoModel as reason:
        print(f"no published weights ({reason}): seeded random ones instead")
        return random_model()
    print("weights: all-MiniLM-L6-v2, its six feed-forward halves (384 x 1536 and back)")
    return model


def main() -> None:
    """Quantise, run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--target",
        default=default_target(),
        help="the machine (default: the GPU here, else the CPU)",
    )
    options = parser.parse_args()

    model = find_model()
    halves = [model.feed_forward(layer) for layer in range(LAYERS)]
    expected, entered = model.run(SENTENCE, lambda layer, x: halves[layer](x))
    exact = halves[0](entered)
    tokens = len(entered)
    print(f"input: {SENTENCE!r}, {tokens} tokens; target {options.target}\n")

    first = halves[0]
    float_bytes = first.up.nbytes + first.down.nbytes + entered.nbytes + exact.nbytes
    rows = [("f32 (NumPy)", "32", size_text(float_bytes), "0", "1", "")]
    for dtype in TYPES:
        program = program_for(dtype, options.target)
        quantized = [QuantizedHalf(program, half, dtype) for half in halves]
        quantized[0](entered)  # compiles
        begin = time.perf_counter()
        y = quantized[0](entered)
        seconds = time.perf_counter() - begin
        run_half = partial(lambda halves, layer, x: halves[layer](x), quantized)
        embedding, _ = model.run(SENTENCE, run_half)
        error = np.linalg.norm(y - exact) / np.linalg.norm(exact)
        weights = quantized[0].up.codes.size + quantized[0].down.codes.size
        bits = 8 * (weight_bytes(quantized[0].up) + weight_bytes(quantized[0].down)) / weights
        rows.append(
            (
                dtype, f"{bits:.3g}", size_text(quantized[0].bytes_moved(tokens)), f"{error:.2%}",
                f"{expected @ embedding:.5f}", f"{seconds * 1e3:.0f} ms",
            )
        )  # fmt: skip
    header = (
        "weights",
        "bits a weight",
        "bytes a layer",
        "layer error",
        "embedding cosine",
        "time",
    )
    print(plain_table(header, rows, right=range(1, 6)))


if __name__ == "__main__":
    main()
