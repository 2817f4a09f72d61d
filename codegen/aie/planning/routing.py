"""Streams through the switches: up or down the producer's column, then along the consumers' rows.

A stream to several tiles is one tree: a port that it takes serves all that lie behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dslc.codegen.aie.planning.plan import Fifo, Plan, Tile

Port = tuple[Tile, str]  # an outgoing port of a tile's switch


def route(fifo: Fifo) -> set[Port]:
    """The outgoing ports that a FIFO's stream takes."""
    return {port for tile in fifo.consumers for port in _path(fifo.producer, tile)}


def _path(source: Tile, target: Tile) -> Iterator[Port]:
    column, row = source
    while row != target[1]:
        up = row < target[1]
        yield (column, row), "N" if up else "S"
        row += 1 if up else -1
    while column != target[0]:
        east = column < target[0]
        yield (column, row), "E" if east else "W"
        column += 1 if east else -1


def ports(plan: Plan) -> dict[Port, list[Fifo]]:
    """The FIFOs that pass each port."""
    by_port: dict[Port, list[Fifo]] = {}
    for fifo in plan.fifos:
        for port in route(fifo):
            by_port.setdefault(port, []).append(fifo)
    return by_port
