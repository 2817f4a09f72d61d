"""A decoder-only model on one machine: its weights, its caches, and what it does with some tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dslc.models.executor import Executor
from dslc.models.kernel_sources import Kernels, parts_for
from dslc.models.parts import Parts
from dslc.models.plan import Plan
from dslc.models.running import Runner
from dslc.session import Session

Progress = Callable[[int, int], None]


class Decoder(Runner):
    """One sequence of up to `length` tokens.

    `dtype` is that of activations and caches. Without `kernels` those that are needed are compiled, and
    the weights packed for them; with them the parts are packed already.
    """

    def __init__(
        self,
        parts: Parts,
        session: Session,
        dtype: str = "f32",
        length: int = 2048,
        progress: Progress | None = None,
        kernels: Kernels | None = None,
    ) -> None:
        executor, c = Executor(session, dtype, kernels), parts.config
        for done in range(c.layers):
            executor.hold_parts(parts.layer(done))
            if progress is not None:
                progress(done + 1, c.layers)
        executor.hold_parts((parts.embedding(), *parts.ends()))
        stored = executor.tensors["embedding/table"].dtype
        parts_of_keys = parts_for(session.target, c)
        plan = Plan(c, executor.products, dtype, length, stored, parts_of_keys)
        super().__init__(executor, plan)

    def next(self, way: str = "likeliest") -> int:
        """A token after the one that was chosen last, as that was: one dispatch, 4 bytes to the host.

        `way` is that of the sampling.
        """
        self.recorded(f"token:{way}", partial(self.plan.token, 1, way))()
        return int(self.tensor("ids:1").read()[0])
