"""The bench of GPUs that nothing here drives: times are those of the cost model.

Configurations are compiled, so that the model knows the registers that the compiler needed and what it
spilled; none is run. A result says so by its device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact
    from dslc.compiler.targets import Target
    from dslc.tuner.bench import Effort


class ModelBench:
    """A chip by its rates."""

    driver = "cost model"

    def __init__(self, target: Target) -> None:
        self.device = f"{target.title} (modelled)"

    def load(self, artifact: Artifact, predicted: float = 0.0) -> Modelled:
        """What the model says of a compiled configuration."""
        return Modelled(predicted)

    def works(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """It holds nothing."""


class Modelled:
    """A compiled configuration and its predicted time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def time(self, effort: Effort) -> float:
        """The same at every effort."""
        return self._seconds

    def wrong(self) -> str | None:
        """Nothing was run: `dslc run --verify` and the tests run kernels in the emulator."""
        return None

    def close(self) -> None:
        """It holds nothing."""
