"""A decoder-only model on one machine: its weights, its caches, and what it does with some tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext

import numpy as np
from dslc.calls.settings import options
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models.executor import Call, Executor
from dslc.models.kernel_sources import Kernels, parts_for
from dslc.models.parts import Parts
from dslc.models.plan import PIECES, Plan, Step
from dslc.models.sampling import Sampling
from dslc.runtime.memory import Buffer
from dslc.session import Session

Progress = Callable[[int, int], None]
GREEDY = Sampling()
_CANNOT = ("DSL0590", "DSL0744", "DSL0747")  # the machine, or an import for such a machine


class Decoder:
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
        self.config, self.session, self.length = parts.config, session, length
        self._executor = Executor(session, dtype, kernels)
        self._tensors = self._executor.tensors
        self._calls: dict[str, Call] = {}
        c = self.config
        for done in range(c.layers):
            self._executor.hold_parts(parts.layer(done))
            if progress is not None:
                progress(done + 1, c.layers)
        self._executor.hold_parts((parts.embedding(), *parts.ends()))
        stored = self._tensors["embedding/table"].dtype
        parts_of_keys = parts_for(session.target, c)
        self.plan = Plan(c, self._executor.products, dtype, length, stored, parts_of_keys)
        self._executor.hold("start", np.zeros(1, np.int32))
        self._executor.hold("sampling", np.zeros(3, np.float32))
        self._executor.hold("seed", np.zeros(1, np.uint32))
        self._executor.hold("least", np.full(1, -np.inf, np.float32))
        for number in range(c.layers):
            self._executor.hold_layer(self.plan, number)

    def __call__(self, ids: Sequence[int], position: int) -> Buffer:
        """The logits [1, vocabulary] after these tokens, the first of which stands at `position`."""
        at = 0
        while at < len(ids):
            rows = next(p for p in PIECES if p <= len(ids) - at)
            run = self._recorded(f"rows:{rows}", functools.partial(self.plan.rows, rows))
            self._tensors["start"].write(np.array([position + at], np.int32))
            self._tensors[f"ids:{rows}"].write(np.array(ids[at : at + rows], np.int32))
            run()
            at += rows
        self._recorded(f"logits:{rows}", functools.partial(self.plan.logits, rows))()
        return self._tensors["logits:1"]

    def chooses(self, sampling: Sampling) -> bool:
        """Whether the machine can choose so: some have no words of 64 bits for random numbers."""
        try:
            self._choice(sampling)
        except DiagnosticError as problem:
            if problem.diagnostics[0].code not in _CANNOT:
                raise
            return False
        return True

    def choose(self, position: int, sampling: Sampling = GREEDY) -> int:
        """A token by the last logits; it is to stand at `position`."""
        run = self._choice(sampling)
        self._tensors["start"].write(np.array([position - 1], np.int32))
        if sampling.way != "likeliest":
            self._tensors["sampling"].write(sampling.numbers(self.config.vocabulary))
            self._tensors["seed"].write(np.array([sampling.seed % 2**32], np.uint32))
        run()
        return int(self._tensors["ids:1"].read()[0])

    def next(self, way: str = "likeliest") -> int:
        """A token after the one that was chosen last, as that was: one dispatch, 4 bytes to the host.

        `way` is that of the sampling.
        """
        self._recorded(f"token:{way}", functools.partial(self._token, way))()
        return int(self._tensors["ids:1"].read()[0])

    def _choice(self, sampling: Sampling) -> Call:
        way = sampling.way
        return self._recorded(f"choice:{way}", functools.partial(self.plan.choice, way))

    def _token(self, way: str) -> Iterator[Step]:
        yield from self.plan.rows(1)
        yield from self.plan.logits(1)
        yield from self.plan.choice(way)

    def _recorded(self, key: str, steps: Callable[[], Iterable[Step]]) -> Call:
        """The calls of a plan's steps, with all they need: made once, so that Python does little."""
        if key not in self._calls:
            listed = list(steps())
            self._executor.make_room(self.plan)
            for rows in PIECES:
                if f"x:{rows}" in self._tensors:
                    last = self._tensors[f"x:{rows}"].rows(rows - 1, rows)
                    self._tensors.setdefault(f"last:{rows}", last)
            calls = [self._executor.bound(step) for step in listed]
            self._calls[key] = self.session.memory.recorded(functools.partial(_run, calls))
        return self._calls[key]


def _run(calls: Sequence[Call], stream: object) -> None:
    with nullcontext() if stream is None else options(stream=stream):
        for call in calls:
            call()
