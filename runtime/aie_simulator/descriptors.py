"""Buffer descriptors: which elements go in which order, and what a tile's descriptor can say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import ITERATIONS, REPEATS, SHIM, WORD, kind_of
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.elements import Array

Loops = tuple[tuple[int, int], ...]
Refuse = Callable[[str, str], NoReturn]


@dataclass(slots=True, eq=False)
class Descriptor:
    """One transfer: `length` elements of a memory from `offset` on, by loops (size, stride) of
    elements.

    It waits for a lock before, for a value at least or exactly so large, and releases one after. `pads`
    are elements of `pad_value` that are sent before and after each loop; `iteration` (size, stride,
    current) moves the offset on from run to run.
    """

    memory: Memory
    offset: int
    length: int
    loops: Loops = ()
    acquire: tuple[Lock, int, bool] | None = None
    release: tuple[Lock, int] | None = None
    line: int = 0
    pads: Loops = ()
    pad_value: int = 0
    iteration: tuple[int, int, int] | None = None
    packet: int | None = None
    packet_type: int = 0
    number: int | None = None
    places: Array | None = None
    turn: int = 0

    @property
    def count(self) -> int:
        """The elements that it moves, padding among them."""
        if self.pads:
            pairs = zip(self.loops, self.pads, strict=True)
            return math.prod(before + size + after for (size, _), (before, after) in pairs)
        return math.prod(n for n, _ in self.loops) if self.loops else self.length

    @property
    def header(self) -> int:
        """The header of its packet: number and type, and a bit that makes the parity odd."""
        word = (self.packet or 0) | self.packet_type << 12
        return word | (word.bit_count() + 1) % 2 << 31

    def words(self) -> Array:
        """The elements in the order in which they go, as indices into the memory; -1 is padding's."""
        if self.places is None:
            start = self.offset
            if self.iteration is not None:
                size, stride, current = self.iteration
                start += (current + self.turn) % size * stride
            self.places = addresses(start, self.loops or ((self.length, 1),))
            low, high = int(self.places.min()), int(self.places.max())
            if low < 0 or high >= self.memory.count:
                raise AieFault(
                    "bounds",
                    f"a DMA touches element {low if low < 0 else high} of {self.memory.name}, "
                    f"which has {self.memory.count}",
                    line=self.line,
                )
            if self.pads:
                shaped = self.places.reshape([size for size, _ in self.loops])
                self.places = np.pad(shaped, self.pads, constant_values=-1).reshape(-1)
        return self.places

    def sources(self) -> Array:
        """The elements of the memory that it sends."""
        places = self.words()
        return places[places >= 0] if self.pads else places

    def gathered(self) -> Array:
        """What it sends, in words."""
        data = self.memory.data[self.words()]
        if self.pads:
            width = data.dtype.itemsize
            bits = np.frombuffer(self.pad_value.to_bytes(4, "little")[:width], data.dtype)[0]
            data[self.words() < 0] = bits
        return np.ascontiguousarray(data).view(np.uint32)

    def next_turn(self) -> None:
        """It has run once more."""
        self.turn += 1
        if self.iteration is not None:
            self.places = None


def addresses(offset: int, loops: Loops) -> Array:
    """The numbers of the elements that loops pass, outermost first."""
    numbers = np.array([offset], np.int64)
    for size, stride in loops:
        numbers = (numbers[:, None] + np.arange(size) * stride).reshape(-1)
    return numbers


def check_descriptor(
    descriptor: Descriptor, tile: Tile, direction: str = "", *, task: bool = False
) -> None:
    """AieFault for what a descriptor of a tile cannot say. A task's first loop is its iteration."""
    kind = kind_of(tile[1])
    assert kind is not None
    width = descriptor.memory.data.dtype.itemsize
    loops, line = descriptor.loops, descriptor.line

    def refuse(rule: str, message: str) -> NoReturn:
        raise AieFault(rule, f"{message} ({descriptor.memory.name})", line=line)

    if task and loops:
        (count, step), *rest = loops
        _check_iteration(count, step, width, kind.step, refuse)
        loops = tuple(rest)
    if descriptor.iteration is not None:
        _check_iteration(*descriptor.iteration[:2], width, kind.step, refuse)
    if descriptor.pads:
        _check_pads(descriptor, kind.dims == 4 and direction == "MM2S", width, refuse)
    total = math.prod(size for size, _ in loops) if loops else descriptor.length
    sent = descriptor.count if descriptor.pads else total
    if descriptor.loops and not task and sent != descriptor.length:
        refuse("length", f"{descriptor.length} elements by loops of {sent}")
    if sent * width % WORD or descriptor.offset * width % WORD:
        refuse("word", f"{sent} elements of {width} bytes from element {descriptor.offset}")
    if not 1 <= sent * width // WORD <= kind.length:
        refuse("length", f"{sent * width // WORD} words")
    own = [loop for number, loop in enumerate(loops) if loop[0] > 1 or number == len(loops) - 1]
    if len(own) > kind.dims:
        refuse("dims", f"{len(own)} dimensions")
    # What is one run goes by the length alone, in a shim tile also where it is written as rows.
    if not (_is_run(own) and (kind is SHIM or len(own) < 2)):
        _check_loops(own, width, kind.wrap, kind.step, refuse)


def _is_run(loops: list[tuple[int, int]]) -> bool:
    """Whether loops, outermost first, pass elements that follow one another."""
    distance = 1
    for size, stride in reversed(loops):
        if stride != distance:
            return False
        distance *= size
    return True


def _check_iteration(count: int, step: int, width: int, most: int, refuse: Refuse) -> None:
    if not 1 <= count <= (ITERATIONS if step else REPEATS) or step < 0:
        refuse("iteration", f"{count} times, {step} elements on")
    if step * width % WORD:
        refuse("word", f"an iteration of {step * width} bytes")
    if step * width // WORD > most:
        refuse("step", f"an iteration of {step * width // WORD} words")


def _check_pads(descriptor: Descriptor, allowed: bool, width: int, refuse: Refuse) -> None:
    pads, loops = descriptor.pads, descriptor.loops
    if not allowed:
        refuse("padding", "a descriptor that does not send from a memory tile")
    if len(pads) != len(loops) or len(pads) > len(PADS):
        refuse("padding", f"{len(pads)} dimensions of padding, {len(loops)} loops")
    if any(n * width % WORD for n in pads[-1]):
        refuse("word", f"{pads[-1]} elements of {width} bytes around the innermost dimension")
    for number, around in enumerate(reversed(pads)):
        steps = [n if number else n * width // WORD for n in around]
        if min(steps) < 0 or max(steps) > PADS[number]:
            refuse("padding", f"{around} elements around dimension {number}")


PADS = (63, 31, 15)  # the most, innermost first: words, then steps


def _check_loops(
    own: list[tuple[int, int]], width: int, wrap: int, most: int, refuse: Refuse
) -> None:
    for number, (size, stride) in enumerate(own):
        inner = number == len(own) - 1
        if stride < 1:
            refuse("step", f"a stride of {stride}")
        if inner and width < WORD and (stride != 1 or size * width % WORD):
            refuse("word", f"an innermost run of {size} elements of {width} bytes, stride {stride}")
        if not inner and stride * width % WORD:
            refuse("word", f"a stride of {stride * width} bytes")
        steps = size * width // WORD if inner and width < WORD else size
        if steps > wrap:
            refuse("wrap", f"{steps} steps")
        if stride * width // WORD > most:
            refuse("step", f"a stride of {stride * width // WORD} words")
