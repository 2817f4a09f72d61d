"""How a core comes by the objects of its FIFOs: as the dialect's objects, or by locks and buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dslc.codegen.aie.compute.emission import Emission
from dslc.codegen.aie.dtypes import stored
from dslc.codegen.aie.planning.plan import Fifo
from dslc.codegen.aie.planning.streams import Stream


class Ports(Protocol):
    """The core's end of each FIFO."""

    def begin(self, e: Emission) -> None:
        """What comes before everything."""

    def acquire(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> dict[Stream, str]:
        """Wait for an object of each stream; their SSA names."""

    def release(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> None:
        """Give the objects on, or back."""


class ObjectPorts:
    """`aie.objectfifo.acquire` and `release` (printer A)."""

    def begin(self, e: Emission) -> None:
        """Nothing."""

    def acquire(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> dict[Stream, str]:
        """The objects of a subview."""
        kind = f"memref<{fifo.elements}x{stored(fifo.dtype)}>"
        view = f"!aie.objectfifosubview<{kind}>"
        port = _port(streams)
        text = f"aie.objectfifo.acquire @{fifo.name}({port}, {len(streams)}) : {view}"
        taken = e.out.op(text, "taken")
        return {
            stream: e.out.op(
                f"aie.objectfifo.subview.access {taken}[{number}] : {view} -> {kind}", stream.name
            )
            for number, stream in enumerate(streams)
        }

    def release(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> None:
        """The oldest of them."""
        e.out.effect(f"aie.objectfifo.release @{fifo.name}({_port(streams)}, {len(streams)})")


def _port(streams: list[Stream]) -> str:
    return "Produce" if streams[0].output else "Consume"


OBJECT_PORTS = ObjectPorts()


@dataclass(frozen=True, slots=True)
class LockedEnd:
    """The buffers of a core's end of a FIFO, the lock that it takes, and the one that it gives.

    `turn` is the memory of one i32 that says which buffer is next, in a ring of them; None where all of
    them are taken at once.
    """

    buffers: tuple[str, ...]
    taken: str
    given: str
    turn: str | None


@dataclass(frozen=True, slots=True)
class LockPorts:
    """`aie.use_lock` on buffers that take turns (printer B)."""

    ends: Mapping[Fifo, LockedEnd]

    def begin(self, e: Emission) -> None:
        """The first buffer is next."""
        for end in self.ends.values():
            if end.turn is not None:
                zero, at = e.out.constant(0, "i32"), e.out.constant(0, "index")
                e.out.effect(f"memref.store {zero}, {end.turn}[{at}] : memref<1xi32>")

    def acquire(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> dict[Stream, str]:
        """Buffers by whose turn it is."""
        end, count = self.ends[fifo], len(streams)
        kind = f"memref<{fifo.elements}x{stored(fifo.dtype)}>"
        amount = e.out.constant(count, "i32")
        e.out.effect(f"aie.use_lock({end.taken}, AcquireGreaterEqual, {amount})")
        if end.turn is None:
            return dict(zip(streams, end.buffers, strict=True))
        at = e.out.constant(0, "index")
        turn = e.out.op(f"memref.load {end.turn}[{at}] : memref<1xi32>", "turn")
        ring = len(end.buffers)
        buffers = {}
        for number, stream in enumerate(streams):
            chosen = end.buffers[number]
            for start in range(fifo.step, ring, fifo.step):
                here = e.out.constant(start, "i32")
                other = end.buffers[(start + number) % ring]
                same = e.out.op(f"arith.cmpi eq, {turn}, {here} : i32", "next")
                chosen = e.out.op(f"arith.select {same}, {other}, {chosen} : {kind}", stream.name)
            buffers[stream] = chosen
        return buffers

    def release(self, e: Emission, fifo: Fifo, streams: list[Stream]) -> None:
        """The buffers after these are next."""
        end = self.ends[fifo]
        if end.turn is not None:
            at, ring = e.out.constant(0, "index"), e.out.constant(len(end.buffers), "i32")
            turn = e.out.op(f"memref.load {end.turn}[{at}] : memref<1xi32>", "turn")
            by = e.out.constant(len(streams), "i32")
            after = e.out.op(f"arith.addi {turn}, {by} : i32", "turn")
            after = e.out.op(f"arith.remui {after}, {ring} : i32", "turn")
            e.out.effect(f"memref.store {after}, {end.turn}[{at}] : memref<1xi32>")
        amount = e.out.constant(len(streams), "i32")
        e.out.effect(f"aie.use_lock({end.given}, Release, {amount})")
