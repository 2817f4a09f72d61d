"""How the next token is chosen from logits: on the machine by kernels, or here by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dslc.runtime.elements import Array

WAYS = ("likeliest", "drawn", "kept")
"""How kernels choose; each does what those before it do."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is chosen: the greatest logit where `temperature` is 0.

    Else a draw from softmax(logits / temperature), of the `top_k` greatest (0: of all) and the fewest
    that have `top_p` of the probability together.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    @property
    def way(self) -> str:
        """One of WAYS: the greatest logit, or a draw from all, or from those that are kept."""
        if self.temperature <= 0:
            return "likeliest"
        return "kept" if self.top_k or self.top_p < 1 else "drawn"


def rows_of(samplings: Sequence[Sampling], vocabulary: int) -> dict[str, Array]:
    """What the kernels take, a row for each sequence.

    `sampling` f32 [n, 3] has temperature, how many are kept, and their probability; `seed` u32 [n];
    `all` f32 [n] is a bound below all logits.
    """
    numbers = [
        (max(s.temperature, 0.0), min(s.top_k or vocabulary, vocabulary), s.top_p)
        for s in samplings
    ]
    return {
        "sampling": np.array(numbers, np.float32),
        "seed": np.array([s.seed % 2**32 for s in samplings], np.uint32),
        "all": np.full(len(samplings), -np.inf, np.float32),
    }


def choose(logits: Array, sampling: Sampling, rng: np.random.Generator) -> int:
    """A token by its logits, f32 [vocabulary], where the machine's kernels cannot."""
    if sampling.temperature <= 0:
        return int(np.argmax(logits))
    scaled = logits.astype(np.float64) / sampling.temperature
    order = np.argsort(-scaled, kind="stable")
    if sampling.top_k:
        order = order[: sampling.top_k]
    p = np.exp(scaled[order] - scaled[order[0]])
    p /= p.sum()
    if sampling.top_p < 1:
        # The token that reaches the bound is one of those that may be drawn.
        kept = int(np.searchsorted(np.cumsum(p), sampling.top_p)) + 1
        order, p = order[:kept], p[:kept] / p[:kept].sum()
    return int(order[np.searchsorted(np.cumsum(p), rng.random(), side="right").clip(0, len(p) - 1)])
