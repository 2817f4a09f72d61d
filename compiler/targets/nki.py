"""AWS Trainium: the tensor engine contracts over the partition axis (Neuron documentation)."""

from __future__ import annotations

from dslc.compiler.layout import spatial
from dslc.compiler.targets.target import Atom, MemorySpace, Target

PARTITIONS = 128
PSUM_BYTES = 8 * 2048  # 8 banks of 2 KiB in each partition
_TYPES = (("bf16", "bf16", "f32"), ("f16", "f16", "f32"), ("f32", "f32", "f32"))
_FP8_TYPES = tuple((a, b, "f32") for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2"))


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


def _trainium(version: int, title: str, sbuf: int, cores: int) -> Target:
    return Target(
        f"nki:trn{version}", "nki", title, 1, PARTITIONS,
        (
            MemorySpace("psum", PSUM_BYTES, "partition"),
            MemorySpace("sbuf", sbuf * 1024, "partition"),
        ),
        (nc_matmul(128, 512),),
        units=cores,
    )  # fmt: skip


TRN1 = _trainium(1, "AWS Trainium (NeuronCore-v2)", 192, 2)
TRN2 = _trainium(2, "AWS Trainium2 (NeuronCore-v3)", 224, 8)
TRN3 = _trainium(3, "AWS Trainium3 (NeuronCore-v4)", 256, 8)
