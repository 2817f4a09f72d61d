"""Tiles that say where their elements come from: nothing is moved for them.

A chunk of a transposed, sliced, broadcast, reshaped or repeated tile is a chunk of what it was made of,
at other coordinates. Where lanes of a reshaped or repeated tile come from unrelated places, each is
pulled by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.remapping import repeated, reshaped, sliced, stretched, transposed
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

Chunk_co = TypeVar("Chunk_co", covariant=True)


class Pulls(Protocol[Chunk_co]):
    """What computes chunks of tiles."""

    @abstractmethod
    def pull(self, value: Value, at: At) -> Chunk_co:
        """A chunk of a tile."""

    @abstractmethod
    def spread(self, value: Value, at: At) -> Chunk_co:
        """A chunk whose lanes may all be one element."""

    @abstractmethod
    def singly(self, at: At) -> list[At]:
        """The lanes of a chunk, each a chunk of its own."""

    @abstractmethod
    def one_by_one(self, value: Value, ats: list[At]) -> Chunk_co:
        """Lanes that come from unrelated places, each pulled by itself."""


def _transpose(e: Pulls[Chunk_co], i: ins.Transpose, at: At) -> Chunk_co:
    return e.pull(i.x, transposed(at, i.axes))


def _broadcast(e: Pulls[Chunk_co], i: ins.Broadcast, at: At) -> Chunk_co:
    return e.spread(i.x, stretched(at, i.x.type.shape))


def _extract(e: Pulls[Chunk_co], i: ins.Extract, at: At) -> Chunk_co:
    return e.pull(i.x, sliced(at, i))


def _reshape(e: Pulls[Chunk_co], i: ins.Reshape, at: At) -> Chunk_co:
    shape, source = i.out.type.shape, i.x.type.shape
    return _mapped(e, i.x, at, lambda part: reshaped(part, shape, source))


def _repeat(e: Pulls[Chunk_co], i: ins.Repeat, at: At) -> Chunk_co:
    axis, size = i.axis % i.x.type.rank, i.x.type.shape[i.axis]
    return _mapped(e, i.x, at, lambda part: repeated(part, axis, i.times, size))


def _mapped(e: Pulls[Chunk_co], x: Value, at: At, source: Callable[[At], At | None]) -> Chunk_co:
    """A chunk of x where `source` has one, else its lanes one by one, which always come from one."""
    whole = source(at)
    if whole is not None:
        return e.spread(x, whole)
    singles = [source(one) for one in e.singly(at)]
    return e.one_by_one(x, [one for one in singles if one is not None])


def _same(e: Pulls[Chunk_co], i: ins.ConvertLayout, at: At) -> Chunk_co:
    """One thread holds every element: its layout is an order, which a chunk does not see."""
    return e.pull(i.x, at)


PULLS: dict[type, Any] = {
    ins.Transpose: _transpose,
    ins.Broadcast: _broadcast,
    ins.Extract: _extract,
    ins.Reshape: _reshape,
    ins.Repeat: _repeat,
    ins.ConvertLayout: _same,
}
