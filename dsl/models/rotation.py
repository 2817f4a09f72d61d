"""The angles of rotary position embedding (Su et al., 2021), plain and stretched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array


@dataclass(frozen=True, slots=True)
class Rotation:
    """Frequencies of the pairs of a head.

    `factor` stretches all of them (linear), or with `band` those of long waves only (Llama 3.1): waves
    shorter than positions / band[1] stay, longer than positions / band[0] are stretched, and between
    them both are mixed.
    """

    head_size: int
    theta: float
    factor: float = 1.0
    band: tuple[float, float] | None = None
    positions: int = 8192

    @classmethod
    def of(cls, head_size: int, found: Mapping[str, Any]) -> Rotation:
        """Of config.json's `rope_parameters`. DSL0787 for a kind that is not built."""
        kind = found.get("rope_type", found.get("type", "default")) or "default"
        theta = float(found.get("rope_theta") or 10000.0)
        if kind == "default":
            return cls(head_size, theta)
        if kind == "linear":
            return cls(head_size, theta, float(found["factor"]))
        if kind == "llama3":
            band = (float(found["low_freq_factor"]), float(found["high_freq_factor"]))
            positions = int(found["original_max_position_embeddings"])
            return cls(head_size, theta, float(found["factor"]), band, positions)
        raise error(
            "DSL0787",
            f"rotary embeddings of the kind {kind!r} are not built",
            hint="default, linear and llama3 are",
        )

    @property
    def key(self) -> str:
        """A name that says it all."""
        band = "" if self.band is None else f"-{self.band[0]:g}-{self.band[1]:g}-{self.positions}"
        return f"{self.head_size}-{self.theta:g}-{self.factor:g}{band}"

    def frequencies(self) -> Array:
        """Of each pair, radians a position, f64 [head_size / 2]."""
        pairs = np.arange(0, self.head_size, 2, dtype=np.float64) / self.head_size
        plain = np.asarray(self.theta**-pairs)
        if self.band is None:
            return np.asarray(plain / self.factor)
        low, high = self.band
        # How many whole waves fit into the positions that the model was first trained on.
        waves = self.positions * plain / (2 * math.pi)
        share = np.clip((waves - low) / (high - low), 0.0, 1.0)
        return np.asarray(plain / self.factor * (1 - share) + plain * share)

    def table(self, length: int) -> Array:
        """A row of cosines, then sines, for each position: f32 [length, head_size]."""
        angles = np.outer(np.arange(length), self.frequencies())
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
