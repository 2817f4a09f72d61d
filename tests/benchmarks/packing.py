"""How fast codes are packed and unpacked, in millions of elements a second: a script.

python tests/benchmarks/packing.py [ELEMENTS]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from dslc.compiler.dtypes import pack_bits, unpack_bits


def rate(count: int, work: Callable[[], object]) -> float:
    """Elements in millions a second, the best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return count / min(times) / 1e6


def main(count: int = 10_000_000) -> None:
    print("bits   pack  unpack   (M elements/s)")
    for bits in range(1, 9):
        codes = np.random.default_rng(bits).integers(0, 1 << bits, count, np.uint8)
        packed = pack_bits(codes, bits)
        pack = rate(count, lambda codes=codes, bits=bits: pack_bits(codes, bits))
        unpack = rate(count, lambda data=packed, bits=bits: unpack_bits(data, bits, count))
        print(f"{bits:4} {pack:6.0f} {unpack:7.0f}")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
