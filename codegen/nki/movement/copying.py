"""Copies of tiles on a core: by one of two engines, from PSUM, chunk by chunk."""

from __future__ import annotations

from math import prod

from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.tile_values import TileValue

_WIDE = 256  # columns from which on two instructions are sooner done than one


def copy(e: Emission, made: TileValue, held: TileValue) -> None:
    """The elements in another type or in tensors of their own; rounded to nearest for floats."""
    with e.filled(made) as at:
        copy_chunk(e, made, held, at)


def copy_chunk(e: Emission, made: TileValue, held: TileValue, at: At) -> None:
    """One chunk of a copy."""
    if held.constant is not None:
        e.call("memset", dst=e.text(made, at), value=held.constant)
    elif held.psum:
        leave_psum(e, made, held, at)
    elif made.dtype.is_float and held.dtype.is_float:
        shared_copy(e, e.text(made, at), e.text(held, at), prod(made.extents), made.chunks)
    else:
        e.call("tensor_copy", dst=e.text(made, at), src=e.text(held, at))


def shared_copy(e: Emission, dst: str, src: str, columns: int, times: int = 1) -> None:
    """Floats from one tile to another, so many columns, by the engine that has less to do.

    `times` is how often the line runs in a turn of the statement.
    """
    if e.shares.take(e.now, columns, times) == "vector":
        e.call("tensor_copy", dst=dst, src=src)
    elif e.engines.copies:
        e.call("tensor_copy", dst=dst, src=src, engine="nisa.engine.scalar")
    else:
        e.call("activation", dst=dst, op="nl.copy", data=src)


def leave_psum(e: Emission, made: TileValue, held: TileValue, at: At) -> None:
    """A bank is copied by halves, by the two engines that reach PSUM: who waits for it waits less."""
    width = made.extents[0]
    dense = made.is_dense and held.is_dense and made.extents == held.extents == (width,)
    if not e.engines.copies or not dense or width < _WIDE:
        if made.dtype.is_float and held.dtype.is_float:
            shared_copy(e, e.text(made, at), e.text(held, at), prod(made.extents), made.chunks)
        else:
            e.call("tensor_copy", dst=e.text(made, at), src=e.text(held, at))
        return
    halves = ("vector", f"0:{width // 2}"), ("scalar", f"{width // 2}:{width}")
    for engine, columns in halves:
        dst, src = (f"{e.base(t, at)}[0:{at.rows}, {columns}]" for t in (made, held))
        e.call("tensor_copy", dst=dst, src=src, engine=f"nisa.engine.{engine}")
