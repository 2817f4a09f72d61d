"""AWS Trainium: the tensor engine contracts over the partition axis (Neuron documentation, SDK 2.32).

A NeuronCore has two on-chip memories of 128 partitions. The tensor engine reads its operands from SBUF
and writes PSUM; the other engines reach both, GpSimd SBUF alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.layout import spatial
from dslc.compiler.targets.target import Atom, MemorySpace, Target

PARTITIONS = 128
PSUM_BANK = 2048  # bytes of a partition; a product's result lies in one bank
PSUM_BANKS = 8
MOVING = 512  # columns of the moving operand: a bank of f32
STACK = 4  # chunks of an operand that one transfer brings, where its queue makes descriptors
_TYPES = (("bf16", "bf16", "f32"), ("f16", "f16", "f32"), ("f32", "f32", "f32"))
_FP8_TYPES = tuple((a, b, "f32") for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2"))


@dataclass(frozen=True, slots=True)
class Engines:
    """Rates of one core: clocks in cycles a nanosecond, `dma` in bytes a nanosecond.

    `reserved` are bytes of a partition of SBUF that the compiler keeps (nki-library's budget on trn2).
    `transposes` tells of DMA engines that transpose elements of two bytes, `copies` of a scalar engine
    that copies. `issue` is what a queue takes to make the descriptors of a transfer, and `row` what a
    contiguous row takes beside its bytes, in nanoseconds; `load` are the cycles that a product waits
    for its stationary operand (on trn1 both as NeuronMM's times say). `floats8` are floats of 8 bits
    that the tensor engine multiplies, `pairs` tells that it takes two rows of them at once.
    """

    tensor: float
    vector: float
    scalar: float
    gpsimd: float
    dma: float
    sbuf: int
    reserved: int = 0
    transposes: bool = True
    copies: bool = True
    issue: float = 0.0
    load: int = 32
    row: float = 0.0
    floats8: tuple[str, ...] = ("f8e5m2",)
    pairs: bool = False


_ENGINES = {
    "nki:trn1": Engines(2.8, 1.12, 1.4, 1.4, 272, 192 * 1024, 0, False, False, 0.0, 84, 2.8),
    "nki:trn2": Engines(
        2.4, 0.96, 1.2, 1.2, 368, 224 * 1024, 16384 + 264, issue=600.0, row=1.4, pairs=True
    ),
    "nki:trn3": Engines(
        2.4,
        1.2,
        1.2,
        1.2,
        528,
        256 * 1024,
        16384 + 264,
        issue=600.0,
        row=1.0,
        floats8=("f8e5m2", "f8e4m3"),
    ),
}


def engines_of(target: Target) -> Engines:
    """The engines of a core of the target."""
    return _ENGINES[target.name]


def nc_matmul(m: int, n: int, k: int = PARTITIONS) -> Atom:
    """stationary [k, m] transposed times moving [k, n]; m and k at most 128, n at most 512.

    The partition is the thread: the contraction lies on it, so that a's layout is the transpose of a
    row per partition. The result has a row of m in each partition of PSUM.
    """
    return Atom(
        f"nc_matmul.{m}x{n}x{k}", m, n, k, (*_TYPES, *_FP8_TYPES),
        spatial(1, k).local(m, 1),
        spatial(k, 1).local(1, n),
        spatial(m, 1).local(1, n),
    )  # fmt: skip


def _trainium(version: int, title: str, cores: int) -> Target:
    name = f"nki:trn{version}"
    return Target(
        name, "nki", title, 1, PARTITIONS,
        (
            MemorySpace("psum", PSUM_BANKS * PSUM_BANK, "partition"),
            MemorySpace("sbuf", _ENGINES[name].sbuf, "partition"),
        ),
        (nc_matmul(128, MOVING),),
        units=cores,
        static=True,
    )  # fmt: skip


TRN1 = _trainium(1, "AWS Trainium (NeuronCore-v2)", 2)
TRN2 = _trainium(2, "AWS Trainium2 (NeuronCore-v3)", 8)
TRN3 = _trainium(3, "AWS Trainium3 (NeuronCore-v4)", 8)

TARGETS = (TRN1, TRN2, TRN3)
