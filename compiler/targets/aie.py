"""AMD Ryzen AI: the matrix shapes of an AIE2P core, each a dense row-major tile of its memory."""

from __future__ import annotations

from dslc.compiler.layout import local
from dslc.compiler.targets.target import Atom, MemorySpace, Target

_BF16 = (("bf16", "bf16", "f32"),)
_INT8 = (("i8", "i8", "i32"),)
_INT16 = (("i16", "i16", "i32"),)
_INT8_INT4 = (("i8", "i4", "i32"),)


def matmul(m: int, n: int, k: int, types: tuple[tuple[str, str, str], ...]) -> Atom:
    """The core's product of row-major tiles m x k and k x n."""
    name = f"matmul_aie2p.{types[0][0]}.{m}x{k}x{n}"
    return Atom(name, m, n, k, types, local(m, k), local(k, n), local(m, n))


# The shapes of the manual are m x k x n.
_ATOMS = (
    *(
        matmul(m, n, k, _BF16)
        for m, k, n in ((8, 8, 8), (4, 8, 4), (4, 8, 8), (8, 1, 8), (8, 8, 4))
    ),
    matmul(8, 8, 8, _INT8),
    matmul(8, 8, 2, _INT16),
    matmul(4, 16, 16, _INT8_INT4),
)
NPU2 = Target(
    "aie:npu2", "aie", "AMD Ryzen AI NPU2 (AIE2P)", 1, 1,
    (
        MemorySpace("core", 64 * 1024, "core tile"),
        MemorySpace("shared", 512 * 1024, "memory tile"),
    ),
    _ATOMS,
    units=32,
)  # fmt: skip
