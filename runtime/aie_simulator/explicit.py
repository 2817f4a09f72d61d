"""Modules at the level of locks, buffer descriptors and flows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dslc.runtime.aie_simulator.channels import Channel, Descriptor
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, strided

_LOCK = r"\((%\w+), (\d+)\)\s*(?:\{.*\})?"
_FLOW = r"\((%\w+), DMA : (\d+), (%\w+), DMA : (\d+)\)"
_START = r"\((S2MM|MM2S), (\d+), (\^\w+), (\^\w+)\)"
_USE = r"\((%\w+), (\w+), (%?\w+)\)"
_ALLOCATION = r"@(\w+)\s*\((%\w+), (S2MM|MM2S), (\d+)\)"
Ends = dict[tuple[Tile, str, int], Channel]


def declare_explicit(device: Device, operations: Sequence[Operation]) -> None:
    """Locks, flows, allocations and DMA programs."""
    channels: Ends = {}
    flows: list[Operation] = []
    for op in operations:
        match op.name:
            case "aie.lock":
                _lock(device, op)
            case "aie.flow":
                flows.append(op)
            case "aie.shim_dma_allocation":
                found = op.match(_ALLOCATION)
                tile = device.tile(found[2], op.line)
                if found[1] in device.host:
                    raise AieFault("symbol", f"@{found[1]} is defined twice", line=op.line)
                channel = _channel(device, channels, tile, found[3], int(found[4]), op.line)
                device.host[found[1]] = channel
            case "aie.mem" | "aie.memtile_dma":
                _dma(device, channels, op)
            case _:
                raise AieFault("syntax", f"{op.name} in a device", line=op.line)
    _flows(device, channels, flows)


def _channel(
    device: Device, known: Ends, tile: Tile, direction: str, number: int, line: int
) -> Channel:
    key = (tile, direction, number)
    if key not in known:
        known[key] = device.channel(tile, direction, line, number)
    return known[key]


def _lock(device: Device, op: Operation) -> None:
    found = op.match(_LOCK)
    tile = device.tile(found[1], op.line)
    value = int((op.attribute("init") or "0").split(":")[0])
    name = (op.attribute("sym_name") or op.results[0]).strip('"')
    number = int(found[2])
    if number != len(device.locks.get(tile, [])):
        raise AieFault(
            "locks", f"lock {number} of tile {tile[0]}, {tile[1]} is out of order", line=op.line
        )
    device.define(op, device.lock(tile, name, value, op.line))


def _flows(device: Device, channels: Ends, flows: Sequence[Operation]) -> None:
    """Flows from one channel are one stream to several."""
    targets: dict[Channel, list[Channel]] = {}
    for op in flows:
        found = op.match(_FLOW)
        ends = []
        for direction, at in (("MM2S", 1), ("S2MM", 3)):
            key = (device.tile(found[at], op.line), direction, int(found[at + 1]))
            if key not in channels:
                raise AieFault(
                    "channels", f"a flow of {direction} {key[2]}, which does nothing", line=op.line
                )
            ends.append(channels[key])
        targets.setdefault(ends[0], []).append(ends[1])
    for source, consumers in targets.items():
        device.flow(source.name, source, consumers)


def _dma(device: Device, channels: Ends, op: Operation) -> None:
    """The blocks of a DMA's program: each start names the first of a ring."""
    tile = device.tile(op.match(r"\((%\w+)\)")[1], op.line)
    blocks: dict[str, list[Operation]] = {"": []}
    current = ""
    for inner in op.regions[0]:
        if inner.name.startswith("^"):
            current = inner.name
            blocks[current] = []
        else:
            blocks[current].append(inner)
    for block in blocks.values():
        for inner in block:
            if inner.name == "aie.dma_start":
                found = inner.match(_START)
                channel = _channel(device, channels, tile, found[1], int(found[2]), inner.line)
                channel.chain = _ring(device, blocks, found[3], inner.line)


def _ring(
    device: Device, blocks: dict[str, list[Operation]], first: str, line: int
) -> list[Descriptor]:
    """The descriptors from a block on, until it comes round."""
    chain: list[Descriptor] = []
    seen: set[str] = set()
    at = first
    while at not in seen:
        if at not in blocks:
            raise AieFault("symbol", f"there is no block {at}", line=line)
        seen.add(at)
        descriptor, at = _block(device, blocks[at], line)
        chain.append(descriptor)
    if at != first:
        raise AieFault("syntax", f"descriptors that come round to {at}, not {first}", line=line)
    return chain


def _block(device: Device, block: list[Operation], line: int) -> tuple[Descriptor, str]:
    numbers: dict[str, int] = {}
    locks: dict[str, tuple[Lock, int]] = {}
    descriptor: Descriptor | None = None
    following = ""
    for op in block:
        match op.name:
            case "arith.constant":
                numbers[op.results[0]] = int(op.match(r"(-?\d+) : i32")[1])
            case "aie.use_lock":
                lock, action, amount = _use(device, op, numbers)
                locks["release" if action == "Release" else "acquire"] = (lock, amount)
            case "aie.dma_bd":
                descriptor = _descriptor(device, op)
            case "aie.next_bd":
                following = op.match(r"(\^\w+)")[1]
            case _:
                raise AieFault("syntax", f"{op.name} in a DMA's program", line=op.line)
    if descriptor is None or not following:
        raise AieFault("syntax", "a block without a descriptor or what follows it", line=line)
    descriptor.acquire, descriptor.release = locks.get("acquire"), locks.get("release")
    return descriptor, following


def _use(device: Device, op: Operation, numbers: dict[str, int]) -> tuple[Lock, str, int]:
    found = op.match(_USE)
    lock = device.values.get(found[1])
    if not isinstance(lock, Lock):
        raise AieFault("symbol", f"{found[1]} is no lock", line=op.line)
    amount = numbers[found[3]] if found[3] in numbers else int(found[3])
    return lock, found[2], amount


def _descriptor(device: Device, op: Operation) -> Descriptor:
    found = op.match(r"\((%\w+) : [^)]*\)\s*\{(.*)\}")
    memory = device.values.get(found[1])
    if not isinstance(memory, Memory):
        raise AieFault("symbol", f"{found[1]} is no buffer", line=op.line)
    length, offset = (int((op.attribute(n) or "0").split(":")[0]) for n in ("len", "offset"))
    loops = re.search(r"bd_dim_layout_array\[(.*?)\]", found[2])
    return Descriptor(memory, offset, length, strided(loops[1]) if loops else (), line=op.line)
