"""Modules at the level of locks, buffer descriptors and flows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dslc.compiler.mlir import Block, Dense, Number, Use
from dslc.runtime.aie_simulator.channels import Channel
from dslc.runtime.aie_simulator.descriptors import Descriptor
from dslc.runtime.aie_simulator.device import Device, kind_of_tile
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import COMPUTE, MEMORY, kind_of, reaches
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, elements_of, loops_of, pads_of
from dslc.runtime.aie_simulator.streams import Terminal

Scope = dict[str, object]
ACTIONS = ("Acquire", "AcquireGreaterEqual", "Release")


def declare_buffer(device: Device, op: Operation, scope: Scope | None = None) -> None:
    """`%b = aie.buffer(%tile) {...} : memref<..> = dense<..>`."""
    count, kind = elements_of(op.type, op.line)
    tile = device.tile(op.operands[0], op.line)
    name = op.text("sym_name", op.results[0] if op.results else "a buffer")
    address = op.integer("address") if "address" in op.attributes else None
    memory = device.memory(tile, name, count, kind, op.line, address)
    if (initial := op.attributes.get("initial_value")) is not None:
        fill(memory, wrapped(initial), op.line)
    device.define(op, memory, scope)


def fill(memory: Memory, initial: object, line: int) -> None:
    """The elements that a memory begins with."""
    if not isinstance(initial, Dense) or any(isinstance(v, str) for v in initial.values):
        raise AieFault("syntax", f"{memory.name} begins with what is not known", line=line)
    if not initial.splat and len(initial.values) != memory.count:
        text = f"{len(initial.values)} elements for {memory.name}, which has {memory.count}"
        raise AieFault("bounds", text, line=line)
    if initial.values:
        memory.data[:] = initial.values[0] if initial.splat else initial.values
        memory.mask[:], memory.unwritten = True, 0


def wrapped(initial: object) -> object:
    """Words of 32 bits with their sign, however they were written."""
    if not isinstance(initial, Dense) or initial.type.element != "i32":
        return initial
    values = tuple(
        ((int(v, 16) if isinstance(v, str) else int(v)) + (1 << 31)) % (1 << 32) - (1 << 31)
        for v in initial.values
    )
    return Dense(values, initial.splat, initial.type)


def declare_lock(device: Device, op: Operation, scope: Scope | None = None) -> None:
    """`%l = aie.lock(%tile, number) {init = ...}`."""
    tile = device.tile(op.operands[0], op.line)
    name = op.text("sym_name", op.results[0] if op.results else "a lock")
    number = op.integer("lockID") if "lockID" in op.attributes else None
    lock = device.lock(tile, name, op.integer("init", 0), op.line, number)
    device.define(op, lock, scope)


def declare_dma(device: Device, op: Operation) -> None:
    """The programs of a tile's DMA."""
    tile = device.tile(op.operands[0], op.line)
    wanted = MEMORY if op.name == "aie.memtile_dma" else COMPUTE
    if kind_of(tile[1]) is not wanted:
        raise AieFault("tile", f"{op.name} of tile {tile[0]}, {tile[1]}", line=op.line)
    scope: Scope = dict(device.values)
    blocks = {block.label: block for block in op.regions[0]}
    for block in op.regions[0]:
        for inner in block.operations:
            match inner.name:
                case "aie.buffer":
                    declare_buffer(device, inner, scope)
                case "aie.lock":
                    declare_lock(device, inner, scope)
                case "arith.constant":
                    scope[inner.results[0]] = inner.attributes["value"]
    for block in op.regions[0]:
        for inner in block.operations:
            if inner.name in ("aie.dma_start", "aie.dma"):
                _start(device, tile, inner, blocks, scope)


def _start(
    device: Device, tile: Tile, op: Operation, blocks: Mapping[str, Block], scope: Scope
) -> None:
    number = op.integer("channel_index")
    channel = device.channel(tile, op.text("channel_dir"), op.line, number)
    if channel.is_endless:
        raise AieFault("channels", f"{channel.name} is started after what has no end", line=op.line)
    runs = op.integer("repeat_count", 0) + 1
    if op.name == "aie.dma":
        regions = [region[0] for region in op.regions]
        pad = op.integer("pad_value", 0)
        chain = [_block(device, tile, b, scope, op.line, pad)[0] for b in regions]
        loops = "loop" not in op.attributes or op.flag("loop")
        channel.declare(chain, runs, 0 if loops else None)
        return
    made, back = chain_of(blocks, op.successors[0][0], op.line, builder(device, tile, scope))
    channel.declare(made, runs, back)


Build = Callable[[Block, int], tuple[Descriptor, str]]


def builder(device: Device, tile: Tile, scope: Mapping[str, object]) -> Build:
    """What makes a descriptor of a block and says which block follows."""
    return lambda block, line: _block(device, tile, block, scope, line)


def chain_of(
    blocks: Mapping[str, Block], first: str, line: int, build: Build
) -> tuple[list[Descriptor], int | None]:
    """The descriptors from a block on, and the one to which the last of them goes back, if any."""
    chain: list[Descriptor] = []
    seen: dict[str, int] = {}
    at = first
    while at not in seen:
        if at not in blocks:
            raise AieFault("symbol", f"there is no block {at}", line=line)
        if not any(o.name == "aie.dma_bd" for o in blocks[at].operations) and chain:
            return chain, None  # `aie.end`: the chain ends here
        seen[at] = len(chain)
        descriptor, at = build(blocks[at], line)
        chain.append(descriptor)
        if not at:
            return chain, None
    return chain, seen[at]


def _block(
    device: Device, tile: Tile, block: Block, scope: Mapping[str, object], line: int, pad: int = 0
) -> tuple[Descriptor, str]:
    """A descriptor between what it acquires and what it releases, and the block that follows."""
    local = dict(scope)
    parts: dict[str, Any] = {}
    following = ""

    def once(what: str, value: Any, at: int) -> None:
        if what in parts:
            raise AieFault("descriptors", f"two {what}s in one block", line=at)
        parts[what] = value

    for op in block.operations:
        match op.name:
            case "arith.constant":
                local[op.results[0]] = op.attributes["value"]
            case "aie.use_lock":
                lock, action, amount = use_lock(op, tile, local, dma=True)
                if action == "Release":
                    once("release", (lock, amount), op.line)
                else:
                    once("acquire", (lock, amount, action == "Acquire"), op.line)
            case "aie.dma_bd":
                once("descriptor", descriptor_of(op, tile, local, pad), op.line)
            case "aie.dma_bd_packet":
                once("packet", (op.integer("packet_id"), op.integer("packet_type")), op.line)
            case "aie.next_bd":
                following = op.successors[0][0]
            case "aie.end" | "aie.buffer" | "aie.lock":
                pass
            case _:
                raise AieFault("syntax", f"{op.name} in a DMA's program", line=op.line)
    if "descriptor" not in parts:
        raise AieFault("syntax", "a block without a descriptor", line=line)
    descriptor: Descriptor = parts["descriptor"]
    descriptor.acquire, descriptor.release = parts.get("acquire"), parts.get("release")
    if "packet" in parts:
        descriptor.packet, descriptor.packet_type = parts["packet"]
    return descriptor, following


def use_lock(
    op: Operation, tile: Tile, scope: Mapping[str, object], *, dma: bool
) -> tuple[Lock, str, int]:
    """The lock, the action and the amount of `aie.use_lock` where the amount is known."""
    lock = scope.get(op.operands[0])
    if not isinstance(lock, Lock):
        raise AieFault("symbol", f"{op.operands[0]} is no lock", line=op.line)
    action = op.text("action")
    if action not in ACTIONS:
        raise AieFault("syntax", f"a lock is not used by {action}", line=op.line)
    check_reach(tile, lock.tile, f"lock {lock.name}", op.line, dma=dma)
    return lock, action, known(op.attributes.get("value", Number(1)), scope, op.line)


def check_reach(tile: Tile, other: Tile | None, what: str, line: int, *, dma: bool) -> None:
    """AieFault where a tile cannot use what another has."""
    if other is not None and not reaches(tile, other, dma=dma):
        text = f"{what} of tile {other[0]}, {other[1]} is used from tile {tile[0]}, {tile[1]}"
        raise AieFault("reach", text, line=line)


def known(value: Any, scope: Mapping[str, object], line: int) -> int:
    """An integer that is written or comes from a value of the scope."""
    number = scope.get(str(value)) if isinstance(value, Use) else value
    if isinstance(number, Number):
        number = number.value
    if isinstance(number, bool) or not isinstance(number, int):
        raise AieFault("symbol", f"{value} is no number that is known", line=line)
    return number


def descriptor_of(
    op: Operation, tile: Tile, scope: Mapping[str, object], pad: int = 0
) -> Descriptor:
    """`aie.dma_bd`."""
    memory = scope.get(op.operands[0])
    if not isinstance(memory, Memory):
        raise AieFault("symbol", f"{op.operands[0]} is no buffer", line=op.line)
    check_reach(tile, memory.tile, f"buffer {memory.name}", op.line, dma=True)
    offset = known(op.attributes.get("offset", Number(0)), scope, op.line)
    dims = [
        {key: Number(known(entry[key], scope, op.line)) for key in ("size", "stride")}
        for entry in op.fields("dimensions") or ()
    ]
    loops = loops_of(dims, op.line)
    iteration = _iteration(op.fields("iteration"))
    if len(loops) > kind_of_tile(tile, op.line).dims:
        (size, stride), *rest = loops
        iteration, loops = (size, stride, 0) if size > 1 else None, tuple(rest)
    pads = pads_of(op.fields("pad_dimensions"), op.line)
    whole = memory.count if not loops else _size(loops)
    length = known(op.attributes.get("len", Number(whole)), scope, op.line)
    descriptor = Descriptor(
        memory, offset, length, loops, line=op.line, pads=pads, iteration=iteration
    )
    descriptor.pad_value = op.integer("pad_value", pad) & 0xFFFFFFFF
    descriptor.number = op.integer("bd_id") if "bd_id" in op.attributes else None
    if (packet := op.fields("packet")) is not None:
        descriptor.packet, descriptor.packet_type = packet_of(packet)
    return descriptor


def packet_of(fields: Mapping[str, Any]) -> tuple[int, int]:
    """The number and the type of a packet."""
    numbers = [fields.get(name, Number(0)).value for name in ("pkt_id", "pkt_type")]
    return int(numbers[0]), int(numbers[1])


def _iteration(found: Any) -> tuple[int, int, int] | None:
    if found is None:
        return None
    size, stride, current = (
        int(found[name].value) if name in found else 0 for name in ("size", "stride", "current")
    )
    return size, stride, current


def _size(loops: Sequence[tuple[int, int]]) -> int:
    total = 1
    for size, _ in loops:
        total *= size
    return total


def declare_flows(device: Device, operations: Sequence[Operation]) -> None:
    """Flows from one channel are one stream to several."""
    targets: dict[Channel, list[Channel]] = {}
    for op in operations:
        ends = [
            _end(device, op, number, direction, side)
            for number, direction, side in ((0, "MM2S", "source"), (1, "S2MM", "dest"))
        ]
        source, target = ends
        if source is not None and target is not None:
            targets.setdefault(source, []).append(target)
    for source, consumers in targets.items():
        device.flow(source.name, source, consumers)


def _end(device: Device, op: Operation, number: int, direction: str, side: str) -> Channel | None:
    """The channel at an end of a flow; None where no DMA is."""
    tile = device.tile(op.operands[number], op.line)
    if op.text(f"{side}_bundle") != "DMA":
        return None
    return device.channel(tile, direction, op.line, op.integer(f"{side}_channel"))


def declare_packets(device: Device, op: Operation) -> None:
    """`aie.packet_flow(number) {...}`; those of traces and tokens carry no data."""
    packet = op.integer("ID")
    if not 0 <= packet < 32:
        raise AieFault("packet", f"a flow of packets {packet}", line=op.line)
    sources: list[Terminal] = []
    targets: list[Terminal] = []
    traced = False
    for inner in op.body:
        if inner.name == "aie.end":
            continue
        tile = device.tile(inner.operands[0], inner.line)
        bundle = inner.text("bundle")
        traced |= bundle == "Trace"
        sends = inner.name == "aie.packet_source"
        ends = sources if sends else targets
        if bundle == "DMA":
            direction = "MM2S" if sends else "S2MM"
            ends.append(device.channel(tile, direction, inner.line, inner.integer("channel")))
        elif bundle in ("TileControl", "Ctrl"):
            ends.append(device.control(tile, inner.line))
    for target in targets:
        if traced and isinstance(target, Channel):
            target.traced = target.port is None
    for source in sources if targets else ():
        device.packet_flow(packet, source, targets, op.line, keeps=op.flag("keep_pkt_header"))
        for target in targets:
            if isinstance(target, Channel):
                target.traced = False


def declare_overlay(device: Device) -> None:
    """The flows of control packets that a compiler adds to each column: from the shim to all its tiles.

    The first three tiles take theirs from the first channel, the others from the second. Packets have
    the number of the tile's controller, or one by its row.
    """
    for column in sorted({c for c, _ in device.tiles}):
        shim = column, 0
        for number, tile in enumerate(sorted(t for t in device.tiles if t[0] == column)):
            source = device.channel(shim, "MM2S", 0, min(number // 3, 1))
            packet = device.controllers.get(tile, _CONTROLLERS[tile[1]])
            if packet not in source.streams:
                device.packet_flow(packet, source, [device.control(tile, 0)], 0)


_CONTROLLERS = (15, 26, 27, 29, 30, 31)  # mlir-aie's numbers by row


def declare_allocation(device: Device, op: Operation) -> None:
    """`aie.shim_dma_allocation @name(%tile, MM2S, 0)`; until 1.2 the column stood at the end."""
    tile = device.tile(op.operands[0], op.line) if op.operands else (op.integer("col"), 0)
    name = op.text("sym_name")
    if name in device.host:
        raise AieFault("symbol", f"@{name} is defined twice", line=op.line)
    number = op.integer("channel_index")
    device.host[name] = device.channel(tile, op.text("channel_dir"), op.line, number)
    if (packet := op.fields("packet")) is not None:
        device.packets[name] = packet_of(packet)[0]
