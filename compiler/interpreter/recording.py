"""What one turn did, instruction by instruction: the base of `dslc debug`.

Tiles in a frame are never modified in place, so that to keep a frame after each instruction costs a
list of references. Of memories the elements after each write are kept. So every moment can be looked at
again, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import decode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step
from dslc.compiler.interpreter.windows import compile_access
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var

MOST = 200_000  # instructions of a recorded turn
MOST_BYTES = 1 << 30  # of what they wrote


@dataclass(frozen=True, slots=True)
class Event:
    """One instruction that was done.

    `frame` is that after it, `out` the tile that it made. Of a memory that it wrote, `codes` are all
    elements after it and `written` says which were its own.
    """

    instruction: ins.Instruction
    frame: Frame
    out: Value | None
    memory: Memory | None = None
    codes: Array | None = None
    written: Array | None = None

    @property
    def loc(self) -> Loc | None:
        """The place in the source that the instruction is for."""
        return self.instruction.loc


@dataclass(slots=True)
class Recording:
    """The events of the turn whose indices are `wanted`; of the first that runs where it is None.

    With `every` they are those of all turns, as they run.
    """

    wanted: tuple[int, ...] | None = None
    every: bool = False
    title: str = ""
    events: list[Event] = field(default_factory=list)
    slots: dict[Any, int] = field(default_factory=dict)
    before: dict[Memory, Array] = field(default_factory=dict)
    held: int = 0

    def takes(self, frame: Frame) -> bool:
        """Whether a frame is that of the turn."""
        turn = frame[TURN]
        if self.every:
            return True
        if self.wanted is None:
            self.wanted = turn.indices
        return bool(turn.indices == self.wanted)

    def begin(self, scope: Scope, frame: Frame) -> None:
        """Before the first event: what memories hold then."""
        self.slots = scope.slots
        self.title = "all turns" if self.every else frame[TURN].title
        for name, slot in scope.slots.items():
            if isinstance(name, Memory) and frame[slot] is not None:
                self.before[name] = np.array(frame[slot].codes)

    def add(self, event: Event) -> None:
        """Keep an event; DSL0615 where they are too many, or too large."""
        self.held += 0 if event.codes is None else event.codes.nbytes
        if len(self.events) >= MOST or self.held > MOST_BYTES:
            text = f"{self.title} does too much to record all of it"
            raise error("DSL0615", text, event.loc, hint="smaller dims show the same")
        self.events.append(event)

    def names(self, moment: int) -> dict[str, Any]:
        """What each name of the source stands for after event number `moment`: a tile or a number."""
        frame = self.events[moment].frame
        known: dict[str, Any] = {}
        for name, slot in self.slots.items():
            if isinstance(name, Memory) and (codes := self.codes(name, moment)) is not None:
                known[name.name] = np.asarray(decode(codes, name.dtype))
            elif isinstance(name, Var) and frame[slot] is not None:
                known[name.name.partition(".")[0]] = frame[slot]
        for event in self.events[: moment + 1]:
            if event.out is not None and event.out.name:
                known[event.out.name] = event.frame[self.slots[event.out]]
        return known

    def codes(self, memory: Memory, moment: int) -> Array | None:
        """The elements of a memory after an event; None for a buffer that is not there yet."""
        for event in reversed(self.events[: moment + 1]):
            if event.memory is memory:
                return event.codes
        return self.before.get(memory)

    def writer(self, name: str, index: tuple[int, ...], moment: int) -> int | None:
        """The event that wrote an element of a memory last, of those up to `moment`."""
        for number in range(moment, -1, -1):
            event = self.events[number]
            is_it = event.memory is not None and event.memory.name == name
            if is_it and event.written is not None and event.written[index]:
                return number
        return None


def recorded(scope: Scope, i: ins.Instruction, step: Step) -> Step:
    """The step of an instruction, which is kept where its turn is recorded."""
    memory: Memory | None = None
    windows = None
    if isinstance(i, ins.Store | ins.AtomicRmw | ins.Scatter):
        memory = i.region.memory
        windows = compile_access(scope, i, Site(0, "the write", i.loc))
    out = getattr(i, "out", None)

    def kept(f: Frame) -> None:
        recording: Recording = f[TURN].recording
        if recording is None or not recording.takes(f):
            step(f)
            return
        if not recording.events:
            recording.begin(scope, f)
        step(f)
        codes = written = None
        if memory is not None and windows is not None:
            tensor = f[scope.slots[memory]]
            codes = np.array(tensor.codes)
            written = np.zeros(codes.shape, bool)
            window = windows(f, codes.shape)
            if not window.empty:
                written[window.index] = True
        tile = out if isinstance(out, Value) else None
        recording.add(Event(i, f.copy(), tile, memory, codes, written))

    return kept
