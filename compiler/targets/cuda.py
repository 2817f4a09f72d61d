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
from dslc.compiler.targets.cuda_rates import A100, B200, B300, H200, L40S, RTX_PRO_6000
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
    "mma.m16n8k8",
    16,
    8,
    8,
    _F16,
    local(2, 1).spatial(8, 4).local(1, 2),
    column_spatial(4, 8).local(2, 1),
    _C,
)
MMA_M16N8K8_TF32 = Atom("mma.m16n8k8.tf32", 16, 8, 8, _TF32, _a(1), _b(1), _C)
MMA_M16N8K32 = Atom("mma.m16n8k32", 16, 8, 32, _INT8, _a(4), _b(4), _C)
MMA_M16N8K32_FP8 = Atom("mma.m16n8k32.f8", 16, 8, 32, _FP8, _a(4), _b(4), _C)
MMA_M16N8K64 = Atom("mma.m16n8k64", 16, 8, 64, _INT4, _a(8), _b(8), _C)
MMA_M8N8K4 = Atom(
    "mma.m8n8k4.f64",
    8,
    8,
    4,
    (("f64", "f64", "f64"),),
    spatial(8, 4),
    column_spatial(4, 8),
    spatial(8, 4).local(1, 2),
)


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
    MMA_M16N8K16,
    MMA_M16N8K8,
    MMA_M16N8K8_TF32,
    MMA_M16N8K32,
    MMA_M16N8K64,
    MMA_M8N8K4,
)
# Of 16 elements, those of one byte fill the widest access; of 8, 4 and 2 those of 2, 4 and 8 bytes.
_DIVISORS = (16, 8, 4, 2)


def _target(
    chip: str,
    title: str,
    units: int,
    rates: Rates,
    *atoms: Atom,
    hopper: bool = False,
    clusters: int = 1,
) -> Target:
    """A chip of so many multiprocessors, with what all from `sm_80` on have.

    From Hopper on there are TMA, mbarriers, stmatrix and launches that depend (`hopper`).
    """
    memories = (
        MemorySpace("register", 255 * 4, "thread"),
        MemorySpace("shared", rates.block_shared_bytes, "block"),
    )
    return Target(
        f"cuda:{chip}", "cuda", f"NVIDIA {title}", 32, 1024, memories, (*_AMPERE, *atoms), BANKS, units,
        _DIVISORS, rates, bulk_copies=hopper, matrix_stores=hopper, matrix_loads=True,
        dependent_launches=hopper, clusters=clusters,
    )  # fmt: skip


SM_80 = _target("sm_80", "A100 (Ampere)", 108, A100)
SM_90A = _target(
    "sm_90a", "H100, H200 (Hopper)", 132, H200, MMA_M16N8K32_FP8, *_WGMMA, hopper=True, clusters=8
)
# From here on nothing was measured: their texts are compiled, and emulated. f8 has a unit of its own by
# mma.sync on sm_89 and sm_120a; elsewhere two products of halves stand for it in the machine code.
TARGETS = (
    SM_80,
    _target("sm_89", "L40S, RTX 40 (Ada)", 142, L40S, MMA_M16N8K32_FP8),
    SM_90A,
    _target("sm_100a", "B200 (Blackwell)", 148, B200, hopper=True, clusters=8),
    _target("sm_103a", "B300 (Blackwell Ultra)", 148, B300, hopper=True, clusters=8),
    _target(
        "sm_120a",
        "RTX PRO 6000, RTX 50 (Blackwell)",
        188,
        RTX_PRO_6000,
        MMA_M16N8K32_FP8,
        hopper=True,
    ),
)
