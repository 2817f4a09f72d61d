"""What of the language a machine has by its page, to which the generator keeps."""

from __future__ import annotations

from dataclasses import dataclass

from support.oracle.dtypes import DTYPES

_WIDE = {"i64", "u64", "f64"}


@dataclass(frozen=True, slots=True)
class Profile:
    """What a machine refuses.

    `without` are dtypes, `outputs` and `inputs` the most tensors, `most` the elements of a tile, and
    `lacks` are: strided (parameters with strides), bits (slices of low-bit rows that are no whole
    bytes), narrow (arithmetic on integers of fewer than 8 bits), narrow += (on tensors of 8 and 16
    bits), packed (`packed row`), packed out (stores to it).
    """

    without: frozenset[str] = frozenset()
    outputs: int = 4
    inputs: int = 6
    most: int = 1024
    lacks: frozenset[str] = frozenset()

    @property
    def dtypes(self) -> list[str]:
        return [name for name in DTYPES if name not in self.without]

    def computes(self, name: str) -> bool:
        """Whether the machine has arithmetic on a dtype that it has."""
        d = DTYPES[name]
        return d.computes and not (d.bits < 8 and "narrow" in self.lacks)


PROFILES = {
    "interp": Profile(),
    "aarch64": Profile(lacks=frozenset({"narrow +="})),
    "cpu": Profile(lacks=frozenset({"narrow +="})),
    "cuda": Profile(),
    "hip": Profile(),
    "nki": Profile(without=frozenset(_WIDE), lacks=frozenset({"bits"})),
    "aie": Profile(
        without=frozenset(_WIDE | {"tf32"}), outputs=2, inputs=3, lacks=frozenset({"bits"}),
    ),
}  # fmt: skip


def profile(target: str) -> Profile:
    """Of a target such as `cuda:sm_90a`."""
    return PROFILES[target.partition(":")[0]]
