"""Sequences of unlike lengths at once: pages of a pool, a block table, and one step for all of them.

    batch = model.batch(16)
    for number, token in batch.generate(prompts, 64): ...    # tokens as they come, by prompt

Page 0 is nobody's and holds zeros: rows that fill a step up to a size that is compiled have it, and
what a prompt's last piece has past its pages. A sequence has the pages of all of its tokens from the
start, so that whoever is let in comes to its end; it gives them back then, and the next prompt is let
in. The table, the tokens and their positions stay on the machine: the host writes them when a sequence
comes or goes, and reads 4 bytes for each token.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.models.decoder import Decoder
from dslc.models.plan import PAGE, SIZES
from dslc.models.running import GREEDY, Runner, Times
from dslc.models.sampling import WAYS, Sampling, choose
from dslc.runtime.elements import Array


@dataclass(eq=False, slots=True)
class Member:
    """A sequence of a batch: `tokens` are those that came after its prompt so far."""

    prompt: Sequence[int]
    count: int
    sampling: Sampling
    pages: list[int]
    rng: np.random.Generator
    tokens: list[int] = field(default_factory=list)
    ended: bool = False

    @property
    def position(self) -> int:
        """Where the last token is to stand."""
        return len(self.prompt) + len(self.tokens) - 1


class Batch(Runner):
    """Up to `sequences` at once, with caches for so many `tokens` together (0: for any lengths)."""

    def __init__(self, decoder: Decoder, sequences: int, tokens: int, times: Times) -> None:
        if not 1 <= sequences <= SIZES[-1]:
            raise error("DSL0788", f"a batch has 1 to {SIZES[-1]} sequences, not {sequences}")
        pages = -(-tokens // PAGE) if tokens else sequences * decoder.plan.table_width
        plan = replace(decoder.plan, pages=1 + pages, shapes={})
        super().__init__(decoder.executor.beside(), plan)
        self.sequences, self.times = sequences, times
        self.members: list[Member] = []
        self._free = list(range(plan.pages - 1, 0, -1))
        self._said: tuple[object, ...] = ()  # what the machine's tables are of

    @property
    def free_pages(self) -> int:
        """Pages that no sequence has."""
        return len(self._free)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        count: int,
        sampling: Sampling | Sequence[Sampling] = GREEDY,
    ) -> Iterator[tuple[int, int]]:
        """Up to `count` tokens after each prompt, as (number of the prompt, token) when they come.

        `sampling` is that of all, or one of each; prompts wait, in their order, until there is room.
        DSL0788 for a prompt that is empty, is past the cache, or has tokens that the model has not.
        """
        samplings = [sampling] * len(prompts) if isinstance(sampling, Sampling) else list(sampling)
        if len(samplings) != len(prompts):
            raise error("DSL0788", f"{len(samplings)} samplings for {len(prompts)} prompts")
        for ids in prompts:
            self._check(ids, count)
        waiting = deque(zip(range(len(prompts)), prompts, samplings, strict=True))
        own: dict[int, Member] = {}
        shown: dict[int, int] = {}
        try:
            while waiting or own:
                while waiting and self.has_room(len(waiting[0][1]) + count):
                    number, ids, way = waiting.popleft()
                    own[number], shown[number] = self.add(ids, count, way), 0
                for number, member in list(own.items()):
                    for token in member.tokens[shown[number] :]:
                        shown[number] += 1
                        yield number, token
                    if member.ended:
                        del own[number]
                if own or waiting:
                    self.step()
        finally:
            for member in own.values():
                self.remove(member)

    def has_room(self, tokens: int) -> bool:
        """Whether a sequence of so many tokens may begin now."""
        return len(self.members) < self.sequences and -(-tokens // PAGE) <= len(self._free)

    def add(self, ids: Sequence[int], count: int, sampling: Sampling = GREEDY) -> Member:
        """A sequence begins: its prompt is read, and its first token is there. DSL0788 without room."""
        self._check(ids, count)
        if not self.has_room(len(ids) + count):
            raise error("DSL0788", "the batch has no room now", hint="step until a sequence ends")
        begin = time.perf_counter()
        pages = [self._free.pop() for _ in range(-(-(len(ids) + count) // PAGE))]
        member = Member(ids, count, sampling, pages, np.random.default_rng(sampling.seed))
        self.members.append(member)
        self._said = ()
        self._write_tables([member], 1)
        logits = self(ids, 0)
        if self.chooses(sampling):
            token = self.choose(len(ids), sampling)
        else:
            token = choose(_numbers(logits.read())[0], sampling, member.rng)
        self.times.add_prompt(len(ids), time.perf_counter() - begin)
        self._append(member, token)
        return member

    def step(self) -> None:
        """A token more for each sequence: one dispatch."""
        members = list(self.members)
        if not members:
            return
        begin = time.perf_counter()
        size = next(s for s in SIZES if s >= len(members))
        way = max((m.sampling.way for m in members), key=WAYS.index)
        if all(self.chooses(m.sampling) for m in members):
            run = self.recorded(f"token:{size}:{way}", partial(self.plan.token, size, way))
            if self._said != (size, way, *members):
                self._write_state(members, size)
                self._said = (size, way, *members)
            run()
            tokens = self.tensor(f"ids:{size}").read()[: len(members)].tolist()
        else:
            run = self.recorded(f"step:{size}", partial(self.plan.step, size))
            self._write_state(members, size)
            run()
            logits = _numbers(self.tensor(f"logits:{size}").read())
            tokens = [choose(logits[i], m.sampling, m.rng) for i, m in enumerate(members)]
        self.times.decode += time.perf_counter() - begin
        for member, token in zip(members, tokens, strict=True):
            self._append(member, token)

    def remove(self, member: Member) -> None:
        """A sequence ends, and its pages are free."""
        if not member.ended:
            member.ended = True
            self.members.remove(member)
            self._free += reversed(member.pages)

    def _append(self, member: Member, token: int) -> None:
        member.tokens.append(token)
        self.times.new_tokens += 1
        if token in self.config.stops or len(member.tokens) == member.count:
            self.remove(member)

    def _write_state(self, members: Sequence[Member], size: int) -> None:
        """What a step goes on from; rows past the sequences are at the start of page 0."""
        self._write_tables(members, size)
        rest = [0] * (size - len(members))
        self.write(f"ids:{size}", np.array([m.tokens[-1] for m in members] + rest, np.int32))
        self.write(f"start:{size}", np.array([m.position for m in members] + rest, np.int32))
        self.say([m.sampling for m in members] + [GREEDY] * len(rest))

    def _write_tables(self, members: Sequence[Member], size: int) -> None:
        name = f"table:{size}"
        table = np.zeros((size, self.plan.table_width), np.int32)
        for row, member in zip(table, members, strict=False):
            row[: len(member.pages)] = member.pages
        tensors = self.executor.tensors
        if name not in tensors:
            tensors[name] = self.executor.session.memory.empty(table.shape, "i32")
        self.write(name, table)

    def _check(self, ids: Sequence[int], count: int) -> None:
        self.check(ids, count)
        pages = -(-(len(ids) + count) // PAGE)
        if pages >= self.plan.pages:
            text = f"{len(ids)} tokens and {count} new ones take {pages} pages"
            raise error("DSL0788", f"{text}, of which the batch has {self.plan.pages - 1}")


def _numbers(logits: Array) -> Array:
    return np.asarray(logits.astype(np.float32))
