"""Tiles that a module leaves for its compiler to place."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import Tile
from dslc.runtime.aie_simulator.reader import Operation

_ROWS = {"CoreTile": (2, 3, 4, 5), "MemTile": (1,), "ShimNOCTile": (0,), "ShimPLTile": (0,)}


def place_tiles(device: Device, operations: Sequence[Operation]) -> None:
    """Each `aie.logical_tile` is a tile of its kind that nobody has yet, column by column.

    Where all shim or memory tiles are taken, several share one.
    """
    taken = {
        (op.integer("col"), op.integer("row")): 1 for op in operations if op.name == "aie.tile"
    }
    for op in operations:
        if op.name != "aie.logical_tile":
            continue
        kind = op.text("tile_type")
        if kind not in _ROWS:
            raise AieFault("tile", f"{kind} is no kind of tile", line=op.line)
        columns = [op.integer("col")] if "col" in op.attributes else range(device.columns)
        rows = [op.integer("row")] if "row" in op.attributes else _ROWS[kind]
        places: list[Tile] = [(c, r) for c in columns for r in rows]
        tile = min(places, key=lambda place: taken.get(place, 0))
        if tile in taken and kind == "CoreTile":
            raise AieFault("tile", "no core is left for a logical tile", line=op.line)
        taken[tile] = taken.get(tile, 0) + 1
        if tile not in device.tiles:
            device.tiles.append(tile)
        device.define(op, tile)
