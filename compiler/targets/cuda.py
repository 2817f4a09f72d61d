"""NVIDIA GPUs: tensor cores and banks (PTX ISA 8.5, sections on mma, wgmma and shared memory)."""

from __future__ import annotations

from dslc.compiler.layout import (
    BankAccess,
    BankModel,
    Layout,
    column_local,
    column_spatial,
    local,
    spatial,
)
from dslc.compiler.targets.cuda_rates import A100, H200
from dslc.compiler.targets.rates import Rates
from dslc.compiler.targets.target import Atom, MemorySpace, Target

# Quarters, halves or all of a warp, in lane order, share the 32 banks in one cycle.
_ROWS = tuple(
    BankAccess(bits, 32, tuple(tuple(range(p, p + lanes)) for p in range(0, 32, lanes)))
    for bits, lanes in ((32, 32), (64, 16), (128, 8))
)
BANKS = BankModel(4, 32, _ROWS, _ROWS)

_F16 = (("f16", "f16", "f32"), ("bf16", "bf16", "f32"))
_TF32 = (("tf32", "tf32", "f32"),)
_INT8 = tuple((a, b, "i32") for a in ("i8", "u8") for b in ("i8", "u8"))
_FP8 = tuple((a, b, "f32") for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2"))
_INT4 = tuple((a, b, "i32") for a in ("i4", "u4") for b in ("i4", "u4"))

_C = local(2, 1).spatial(8, 4).local(1, 2)


def _a(vector: int) -> Layout:
    """A of m16: two row blocks, two k blocks, each lane `vector` neighbours along k."""
    return column_local(2, 2).spatial(8, 4).local(1, vector)


def _b(vector: int) -> Layout:
    """B of n8, k x n: two k blocks, each lane `vector` neighbours along k."""
    return local(2, 1).column_spatial(4, 8).local(vector, 1)


MMA_M16N8K16 = Atom("mma.m16n8k16", 16, 8, 16, _F16, _a(2), _b(2), _C)
MMA_M16N8K8 = Atom(
    "mma.m16n8k8", 16, 8, 8, _F16, local(2, 1).spatial(8, 4).local(1, 2),
    column_spatial(4, 8).local(2, 1), _C,
)  # fmt: skip
MMA_M16N8K8_TF32 = Atom("mma.m16n8k8.tf32", 16, 8, 8, _TF32, _a(1), _b(1), _C)
MMA_M16N8K32 = Atom("mma.m16n8k32", 16, 8, 32, _INT8, _a(4), _b(4), _C)
MMA_M16N8K32_FP8 = Atom("mma.m16n8k32.f8", 16, 8, 32, _FP8, _a(4), _b(4), _C)
MMA_M16N8K64 = Atom("mma.m16n8k64", 16, 8, 64, _INT4, _a(8), _b(8), _C)
MMA_M8N8K4 = Atom(
    "mma.m8n8k4.f64", 8, 8, 4, (("f64", "f64", "f64"),), spatial(8, 4), column_spatial(4, 8),
    spatial(8, 4).local(1, 2),
)  # fmt: skip


def wgmma(
    n: int, k: int, types: tuple[tuple[str, str, str], ...], suffix: str, *, both: bool = False
) -> Atom:
    """The warpgroup's product m64 x n x k with A in registers and B in shared memory.

    With `both` A is there too; the instruction's name ends with `.ss`.
    """
    a = spatial(4, 1).column_local(2, 2).spatial(8, 4).local(1, k // 8)
    d = spatial(4, 1).local(1, n // 8).local(2, 1).spatial(8, 4).local(1, 2)
    name = f"wgmma.m64n{n}k{k}{suffix}"
    return Atom(f"{name}.ss" if both else name, 64, n, k, types, None if both else a, None, d)


_WGMMA = tuple(
    wgmma(n, k, types, suffix, both=both)
    for both in (False, True)
    for k, types, suffix, widths in (
        (16, _F16, "", range(8, 257, 8)),
        (8, _TF32, ".tf32", range(8, 257, 8)),
        (32, _FP8, ".f8", range(8, 257, 8)),
        # PTX has the integer product for n = 8, 16, 24 and the multiples of 16 from 32 on.
        (32, _INT8, ".i8", (8, 16, 24, *range(32, 257, 16))),
    )
    for n in widths
)
_AMPERE = (
    MMA_M16N8K16, MMA_M16N8K8, MMA_M16N8K8_TF32, MMA_M16N8K32, MMA_M16N8K64, MMA_M8N8K4,
)  # fmt: skip


def _memories(rates: Rates) -> tuple[MemorySpace, ...]:
    return (
        MemorySpace("register", 255 * 4, "thread"),
        MemorySpace("shared", rates.block_shared_bytes, "block"),
    )


# Of 16 elements, those of one byte fill the widest access; of 8, 4 and 2 those of 2, 4 and 8 bytes.
_DIVISORS = (16, 8, 4, 2)

SM_80 = Target(
    "cuda:sm_80", "cuda", "NVIDIA A100 (Ampere)", 32, 1024, _memories(A100), _AMPERE, BANKS, 108,
    _DIVISORS, A100, matrix_loads=True,
)  # fmt: skip
SM_90A = Target(
    "cuda:sm_90a", "cuda", "NVIDIA H100, H200 (Hopper)", 32, 1024, _memories(H200),
    (*_AMPERE, MMA_M16N8K32_FP8, *_WGMMA), BANKS, 132, _DIVISORS, H200, bulk_copies=True,
    matrix_stores=True, matrix_loads=True, dependent_launches=True,
)  # fmt: skip

TARGETS = (SM_80, SM_90A)
