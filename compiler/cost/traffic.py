"""What of a kernel's accesses reaches device memory, and what the level-2 cache serves.

Blocks that run at one time share tiles through the cache: of a tensor whose tiles depend on some of the
grid's variables, a wave of blocks touches as many distinct tiles as these variables take values in it.
A tensor that fits into the cache beside the others is read once, a larger one once a wave.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var, free_vars
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import regions, walk
from dslc.compiler.ir.values import Memory, Role
from dslc.compiler.ir.workload import tensor_bytes

_SHARE = 0.7  # of the cache that stays with what is read again


def grid_variables(kernel: Kernel) -> dict[Memory, frozenset[int]]:
    """The axes of the grid that decide which part of each global memory a turn touches."""
    number = {axis.var: i for i, axis in enumerate(kernel.grid)}
    depends: dict[Var, frozenset[int]] = {v: frozenset((i,)) for v, i in number.items()}
    variables: dict[Memory, frozenset[int]] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Let):
            depends[stmt.var] = _axes(free_vars(stmt.value), depends)
        elif isinstance(stmt, ins.For):
            # An iteration of a loop whose bounds depend on the grid is elsewhere in each block.
            read = free_vars(stmt.start) | free_vars(stmt.stop)
            depends[stmt.var] = _axes(read, depends)
        for region in regions(stmt):
            if region.memory.role is not Role.BUFFER:
                read = frozenset(v for a in region.axes for v in free_vars(a.start))
                known = variables.get(region.memory, frozenset())
                variables[region.memory] = known | _axes(read, depends)
    return variables


def _axes(variables: frozenset[Var], depends: Mapping[Var, frozenset[int]]) -> frozenset[int]:
    return frozenset(i for v in variables for i in depends.get(v, frozenset()))


def device_bytes(
    kernel: Kernel,
    per_block: Mapping[str, float],
    dims: Mapping[str, int],
    counts: tuple[int, ...],
    at_once: float,
    cache: int,
    tiles: Mapping[Memory, int] | None = None,
) -> dict[str, float]:
    """The bytes that device memory gives in a launch, by memory name.

    `per_block` are the bytes that a block asks for, `counts` the turns along each axis of the grid,
    `at_once` how many blocks run at one time, and `tiles` how many of a memory they read at one time,
    where that is known otherwise than by the grid.
    """
    axes = grid_variables(kernel)
    turns = prod(counts)
    waves = max(1.0, turns / at_once)
    memories = [m for m in (*kernel.tensors, *kernel.workspaces) if m.name in per_block]
    known = tiles or {}
    own = {
        m: per_block[m.name] * (known.get(m) or _distinct(axes.get(m), counts, at_once))
        for m in memories
    }
    stays = sum(own.values()) <= _SHARE * cache
    bytes_of = {}
    for memory in memories:
        whole = tensor_bytes(memory, dims)
        asked = per_block[memory.name] * turns
        once = asked if whole is None else min(asked, whole)
        if memory.role is Role.WORKSPACE and asked <= _SHARE * cache:
            moved = 0.0  # written and read again before anything takes its place
        elif whole is not None and whole <= _SHARE * cache:
            moved = once
        elif stays:
            moved = once * _repeats(axes.get(memory), counts, at_once)
        else:
            moved = own[memory] * waves
        bytes_of[memory.name] = min(asked, max(once, moved)) if moved else 0.0
    return bytes_of


def _distinct(axes: frozenset[int] | None, counts: tuple[int, ...], at_once: float) -> float:
    """How many distinct tiles so many blocks in a row touch."""
    count = 1.0
    for i in axes or ():
        below = prod(counts[i + 1 :])
        count *= min(float(counts[i]), max(1.0, at_once / below))
    return count


def _repeats(axes: frozenset[int] | None, counts: tuple[int, ...], at_once: float) -> float:
    """How often the whole of a memory passes by while the blocks run, the outer axes slowest."""
    repeats = 1.0
    for i, count in enumerate(counts):
        if i in (axes or frozenset()):
            break
        # Blocks that differ along this axis alone share tiles if they run at one time.
        below = prod(counts[i + 1 :])
        repeats *= max(1.0, count / max(1.0, at_once / below))
    return repeats
