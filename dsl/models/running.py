"""What one sequence and a batch of them share: prompts in pieces, and tokens that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.models.executor import Call, Executor
from dslc.models.plan import PIECES, Plan, Step
from dslc.models.sampling import Sampling, rows_of
from dslc.runtime.elements import Array
from dslc.runtime.memory import Buffer

GREEDY = Sampling()
_CANNOT = ("DSL0590", "DSL0744", "DSL0747")  # the machine, or an import for such a machine
_FEW = 16  # rows in which fewer are read at once


@dataclass(slots=True)
class Times:
    """Seconds by stage, and the tokens of each; the first new token of a prompt is of its stage."""

    load: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0
    prompts: int = 0
    prompt_tokens: int = 0
    new_tokens: int = 0

    def add_prompt(self, tokens: int, seconds: float) -> None:
        """A prompt that was read, and its first token chosen."""
        self.prompts += 1
        self.prompt_tokens += tokens
        self.prefill += seconds


class Runner:
    """A plan over an executor's tensors; what it calls is recorded when it is first needed."""

    def __init__(self, executor: Executor, plan: Plan) -> None:
        self.executor, self.plan = executor, plan
        self.config, self.length = plan.config, plan.length
        self._calls: dict[str, Call] = {}
        self._can: dict[str, bool] = {}

    def __call__(self, ids: Sequence[int], position: int) -> Buffer:
        """The logits [1, vocabulary] after these tokens, the first of which stands at `position`."""
        at, rows, last = 0, 1, 0
        while at < len(ids):
            left = len(ids) - at
            rows = next(p for p in PIECES if p <= left)
            if rows == 1 < left and position + at + _FEW <= self.length:
                rows = _FEW  # rows past the last are nobody's: what comes next is written over them
            last = min(rows, left)
            run = self.recorded(f"rows:{rows}", partial(self.plan.rows, rows))
            self.write("start:1", np.array([position + at], np.int32))
            padded = np.zeros(rows, np.int32)
            padded[:last] = ids[at : at + last]
            self.write(f"ids:{rows}", padded)
            run()
            at += last
        x = f"x:{rows}[{last - 1}]"
        self.executor.tensors.setdefault(x, self.tensor(f"x:{rows}").rows(last - 1, last))
        self.recorded(f"logits:{x}", partial(self.plan.logits, x))()
        return self.tensor("logits:1")

    def check(self, ids: Sequence[int], count: int) -> None:
        """DSL0788 for a prompt that is empty, is past the cache, or has tokens that are not there."""
        if not ids:
            raise error("DSL0788", "a prompt has at least one token")
        if len(ids) + count > self.length:
            text = f"{len(ids)} tokens and {count} new ones"
            raise error("DSL0788", f"{text} are more than the cache's {self.length}")
        wrong = next((t for t in ids if not 0 <= t < self.config.vocabulary), None)
        if wrong is not None:
            raise error("DSL0788", f"the model has no token {wrong}")

    def chooses(self, sampling: Sampling) -> bool:
        """Whether the machine can choose so: some have no words of 64 bits for random numbers."""
        way = sampling.way
        if way not in self._can:
            try:
                self._choice(way)
            except DiagnosticError as problem:
                if problem.diagnostics[0].code not in _CANNOT:
                    raise
            self._can[way] = f"choice:{way}" in self._calls
        return self._can[way]

    def choose(self, position: int, sampling: Sampling = GREEDY) -> int:
        """A token by the last logits; it is to stand at `position`."""
        run = self._choice(sampling.way)
        self.write("start:1", np.array([position - 1], np.int32))
        self.say([sampling])
        run()
        return int(self.tensor("ids:1").read()[0])

    def say(self, samplings: Sequence[Sampling]) -> None:
        """How the tokens of sequences are chosen, where that is not by the greatest logit."""
        rows = len(samplings)
        for name, array in rows_of(samplings, self.config.vocabulary).items():
            if f"{name}:{rows}" in self.executor.tensors:
                self.write(f"{name}:{rows}", array)

    def tensor(self, name: str) -> Buffer:
        """A buffer of a call that was recorded."""
        return self.executor.tensors[name]

    def write(self, name: str, array: Array) -> None:
        """Into a buffer of a call that was recorded."""
        self.executor.tensors[name].write(array)

    def recorded(self, key: str, steps: Callable[[], Iterable[Step]]) -> Call:
        """The call of a plan's steps."""
        if key not in self._calls:
            for number in range(self.config.layers):
                self.executor.hold_layer(self.plan, number)
            self._calls[key] = self.executor.recorded(self.plan, steps())
        return self._calls[key]

    def _choice(self, way: str) -> Call:
        return self.recorded(f"choice:{way}", partial(self.plan.choice, way))
