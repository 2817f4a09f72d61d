"""A decoder-only model on one machine: its weights, its caches, and what it does with some tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext

import numpy as np
from dslc.calls.settings import options
from dslc.models.executor import Call, Executor
from dslc.models.kernel_sources import Kernels, parts_for
from dslc.models.parts import Parts
from dslc.models.plan import PIECES, Plan, Step
from dslc.runtime.memory import Buffer
from dslc.session import Session

Progress = Callable[[int, int], None]


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

    def choose(self, position: int) -> int:
        """The likeliest token by the last logits; it is to stand at `position`."""
        run = self._recorded("choice", self.plan.choice)
        self._tensors["start"].write(np.array([position - 1], np.int32))
        run()
        return int(self._tensors["ids:1"].read()[0])

    def next(self) -> int:
        """The likeliest token after the one that was chosen last: one dispatch, 4 bytes to the host."""
        self._recorded("token", self._token)()
        return int(self._tensors["ids:1"].read()[0])

    def _token(self) -> Iterator[Step]:
        yield from self.plan.rows(1)
        yield from self.plan.logits(1)
        yield from self.plan.choice()

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
