"""AMD Instinct: matrix cores (CDNA3 and CDNA4 instruction sets) and LDS banks."""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.dtypes.dtype import MX_BLOCK
from dslc.compiler.layout import BankAccess, BankModel, column_spatial, local, spatial
from dslc.compiler.targets.hip_rates import MI300X, MI355X
from dslc.compiler.targets.rates import Rates
from dslc.compiler.targets.target import Atom, MemorySpace, Target


def _consecutive(lanes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(p, p + lanes)) for p in range(0, 64, lanes))


def _both_halves(*phases: tuple[range, ...]) -> tuple[tuple[int, ...], ...]:
    """The phases of lanes 0 to 31, then the same of lanes 32 to 63."""
    return tuple(
        tuple(lane + half for lanes in phase for lane in lanes)
        for half in (0, 32)
        for phase in phases
    )


def _r(first: int, last: int) -> range:
    return range(first, last + 1)


# The 128-bit rows are as measured on the machines; narrower accesses take lanes in order.
_GFX942_B128 = _both_halves(
    (_r(0, 3), _r(20, 23)), (_r(4, 7), _r(16, 19)), (_r(8, 11), _r(28, 31)), (_r(12, 15), _r(24, 27))
)  # fmt: skip
_GFX950_B128 = _both_halves((_r(0, 3), _r(12, 15), _r(20, 27)), (_r(4, 11), _r(16, 19), _r(28, 31)))

_GFX942 = (
    BankAccess(32, 32, _consecutive(32)),
    BankAccess(64, 32, _consecutive(16)),
    BankAccess(128, 32, _GFX942_B128),
)
_GFX950_LOADS = (
    BankAccess(32, 64, _consecutive(64)),
    BankAccess(64, 64, _consecutive(32)),
    BankAccess(128, 64, _GFX950_B128),
)
_GFX950_STORES = (
    BankAccess(32, 64, _consecutive(64)),
    BankAccess(64, 32, _consecutive(16)),
    BankAccess(128, 64, _GFX950_B128),
)
GFX942_BANKS = BankModel(4, 64, _GFX942, _GFX942)
GFX950_BANKS = BankModel(4, 64, _GFX950_LOADS, _GFX950_STORES)

_F16 = (("f16", "f16", "f32"), ("bf16", "bf16", "f32"))
_INT8 = (("i8", "i8", "i32"),)
_FP8 = tuple((a, b, "f32") for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2"))


_SMALL = ("f8e4m3", "f8e5m2", "f6e2m3", "f6e3m2", "f4e2m1")
_SMALL_FLOATS = tuple((a, b, "f32") for a in _SMALL for b in _SMALL)


def mfma16(k: int, types: tuple[tuple[str, str, str], ...], suffix: str) -> Atom:
    """16 x 16 x k: lane % 16 is the row of A (column of B), lane // 16 the block of k."""
    return Atom(
        f"mfma.16x16x{k}{suffix}", 16, 16, k, types,
        column_spatial(16, 4).local(1, k // 4),
        spatial(4, 16).local(k // 4, 1),
        spatial(4, 16).local(4, 1),
    )  # fmt: skip


def mfma32(k: int, types: tuple[tuple[str, str, str], ...], suffix: str) -> Atom:
    """32 x 32 x k: lane % 32 is the row of A (column of B), lane // 32 the block of k."""
    return Atom(
        f"mfma.32x32x{k}{suffix}", 32, 32, k, types,
        column_spatial(32, 2).local(1, k // 2),
        spatial(2, 32).local(k // 2, 1),
        local(4, 1).spatial(2, 32).local(4, 1),
    )  # fmt: skip


def mfma_scaled(atom: Atom) -> Atom:
    """The same with a scale for each block of 32 elements."""
    return replace(atom, scaled=MX_BLOCK)


def mfma_whole(m: int, k: int) -> Atom:
    """m x m x k of whole words: lane % m is the row of A, lane // m its k."""
    c = spatial(4, 16).local(4, 1) if m == 16 else local(4, 1).spatial(2, 32).local(4, 1)
    types = (("f32", "f32", "f32"),)
    return Atom(f"mfma.{m}x{m}x{k}.f32", m, m, k, types, column_spatial(m, k), spatial(k, m), c)


_XF32 = (("tf32", "tf32", "f32"),)
# Those that both chips have. Matrix units take 8-bit floats as OCP has them on gfx950 alone.
_BOTH = (
    mfma_whole(16, 4),
    mfma_whole(32, 2),
    mfma16(16, _F16, ""),
    mfma32(8, _F16, ""),
    mfma16(32, _INT8, ".i8"),
    mfma32(16, _INT8, ".i8"),
)
_GFX942_ATOMS = (*_BOTH, mfma16(8, _XF32, ".xf32"))
_GFX950_ATOMS = (
    mfma16(32, _F16, ""),
    mfma32(16, _F16, ""),
    mfma16(64, _INT8, ".i8"),
    mfma32(32, _INT8, ".i8"),
    mfma16(32, _FP8, ".f8"),
    mfma32(16, _FP8, ".f8"),
    mfma_scaled(mfma16(128, _SMALL_FLOATS, ".f8f6f4")),
    mfma_scaled(mfma32(64, _SMALL_FLOATS, ".f8f6f4")),
    *_BOTH,
)


def _memories(rates: Rates) -> tuple[MemorySpace, ...]:
    return (
        MemorySpace("register", 512 * 4, "lane"),
        MemorySpace("shared", rates.block_shared_bytes, "workgroup"),
    )


# Of 16 elements, those of one byte fill the widest access; of 8, 4 and 2 those of 2, 4 and 8 bytes.
_DIVISORS = (16, 8, 4, 2)
# A wave on each SIMD has all of its registers: fewer waves read operands fewer times.
_SIMDS = 4
_MI300X, _MI355X = "AMD Instinct MI300X", "AMD Instinct MI355X"
GFX942 = Target(
    "hip:gfx942", "hip", _MI300X, 64, 1024, _memories(MI300X), _GFX942_ATOMS, GFX942_BANKS, 304,
    _DIVISORS, MI300X, linear_copies=(4,), part_of_warp=True, packed_atomics=True,
    product_warps=_SIMDS,
)  # fmt: skip
GFX950 = Target(
    "hip:gfx950", "hip", _MI355X, 64, 1024, _memories(MI355X), _GFX950_ATOMS, GFX950_BANKS, 256,
    _DIVISORS, MI355X, linear_copies=(16, 4), part_of_warp=True, packed_atomics=True,
    product_warps=_SIMDS,
)  # fmt: skip

TARGETS = (GFX942, GFX950)
