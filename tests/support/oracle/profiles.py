"""What of the language a machine has by its page, to which the generator keeps."""

from __future__ import annotations

from dataclasses import dataclass

from support.oracle.dtypes import DTYPES

_WIDE = {"i64", "u64", "f64"}


@dataclass(frozen=True, slots=True)
class Profile:
    """`without` are dtypes; `outputs` is how many tensors a turn writes, all alike if `alike`."""

    without: frozenset[str] = frozenset()
    outputs: int = 4
    alike: bool = False
    lacks: frozenset[str] = frozenset()
    inputs: int = 6
    most: int = 1024  # elements of a tile

    @property
    def dtypes(self) -> list[str]:
        return [name for name in DTYPES if name not in self.without]


PROFILES = {
    "interp": Profile(),
    "aarch64": Profile(lacks=frozenset({"narrow +="})),
    "cuda": Profile(lacks=frozenset({"strided"})),
    "hip": Profile(),
    "nki": Profile(without=frozenset(_WIDE)),
    "aie": Profile(without=frozenset(_WIDE | {"tf32"}), outputs=2, inputs=4),
}


def profile(target: str) -> Profile:
    """Of a target such as `cuda:sm_90a`."""
    return PROFILES[target.partition(":")[0]]
