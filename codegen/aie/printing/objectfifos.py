"""A plan printed at the level of object FIFOs (printer A): what is handed to aiecc.

The forms are those of mlir-aie 1.3 and later: `aie.runtime_sequence`, `dimensionsToStream` in elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dslc.codegen.aie.compute.core_program import CoreProgram
from dslc.codegen.aie.compute.products import MAPS
from dslc.codegen.aie.dtypes import stored
from dslc.codegen.aie.planning.address_patterns import Dims
from dslc.codegen.aie.planning.plan import Fifo, Link, Plan, Task, Tile
from dslc.codegen.aie.planning.plan_kernel import Planned
from dslc.codegen.quoting import ascii_name
from dslc.compiler.dtypes import DType

_KINDS = ("shim", "mem")
_HOST = 0


def print_objectfifos(planned: Planned, device: str) -> str:
    """The module of a kernel: tiles, FIFOs, links, cores, and the host's sequence."""
    return module_text([device_text(device, fifo_lines(planned))])


def fifo_lines(planned: Planned, sequence: str = "") -> Iterator[str]:
    """What a kernel's device holds; `sequence` is the symbol of its sequence, with the @."""
    plan = planned.plan
    yield from (f"    {tile_name(t)} = aie.tile({t[0]}, {t[1]})" for t in _tiles(plan))
    yield from (f"    {_fifo(f)}" for f in plan.fifos)
    yield from (f"    {_link(link)}" for link in plan.links)
    yield from cascade_lines(plan)
    for tile in plan.cores:
        yield from core_lines(tile, planned.programs[tile], plan.array.stack)
    yield from sequence_lines(plan, sequence)


def device_text(device: str, lines: Iterable[str], symbol: str = "") -> str:
    """A device of a kind, with its symbol (with the @) where it has one."""
    name = f" {symbol}" if symbol else ""
    return "\n".join([f"  aie.device({device}){name} {{", *lines, "  }"]) + "\n"


def module_text(devices: Iterable[str]) -> str:
    """The module of devices, with the maps of products where there are any."""
    text = f"module {{\n{''.join(devices)}}}\n"
    return ("\n".join(MAPS) + "\n" + text) if "#lhs" in text else text


def tile_name(tile: Tile) -> str:
    """The SSA name of a tile."""
    kind = _KINDS[tile[1]] if tile[1] < len(_KINDS) else "core"
    return f"%{kind}_{tile[0]}_{tile[1]}"


def _tiles(plan: Plan) -> list[Tile]:
    tiles = {t for f in plan.fifos for t in (f.producer, *f.consumers)} | set(plan.cores)
    return sorted(tiles, key=lambda t: (t[1], t[0]))


def memref(count: int, dtype: DType) -> str:
    """The type of a flat memory."""
    return f"memref<{count}x{stored(dtype)}>"


def _fifo(fifo: Fifo) -> str:
    dims = f" dimensionsToStream [{_dims(fifo.dims)}]" if fifo.dims else ""
    consumers = ", ".join(map(tile_name, fifo.consumers))
    kind = f"!aie.objectfifo<{memref(fifo.elements, fifo.dtype)}>"
    ends = f"{tile_name(fifo.producer)}{dims}, {{{consumers}}}"
    sends = fifo.repeat > 1 and fifo.producer[1] != _HOST
    options = f" {{repeat_count = {fifo.repeat} : i32}}" if sends else ""
    return f"aie.objectfifo @{fifo.name}({ends}, {fifo.depth} : i32){options} : {kind}"


def _dims(dims: Dims) -> str:
    return ", ".join(f"<size = {size}, stride = {stride}>" for size, stride in dims)


def _link(link: Link) -> str:
    inputs, outputs = (
        ", ".join(f"@{f.name}" for f in side) for side in (link.inputs, link.outputs)
    )
    offsets = ", ".join(map(str, link.offsets))
    joined = (offsets, "") if len(link.inputs) > 1 else ("", offsets)
    return f"aie.objectfifo.link [{inputs}] -> [{outputs}] ([{joined[0]}] [{joined[1]}])"


def cascade_lines(plan: Plan) -> Iterator[str]:
    """The streams between neighbouring cores."""
    for above, below in plan.flows:
        yield f"    aie.cascade_flow({tile_name(above)}, {tile_name(below)})"


def core_lines(tile: Tile, program: CoreProgram, stack: int) -> Iterator[str]:
    """The buffers of a core and its program."""
    name = tile_name(tile)
    for title, count, dtype in program.buffers:
        yield f'    %{title} = aie.buffer({name}) {{sym_name = "{title}"}} : {memref(count, dtype)}'
    yield f"    aie.core({name}) {{"
    yield program.text.rstrip("\n")
    yield "      aie.end"
    yield f"    }} {{stack_size = {stack} : i32}}"


def sequence_lines(plan: Plan, symbol: str = "") -> Iterator[str]:
    """The host's sequence: phases pushed one ahead, waited for in order."""
    names = [f"%{ascii_name(t.memory.name)}_host" for t in plan.tensors]
    kinds = [memref(t.elements, t.memory.dtype) for t in plan.tensors]
    given = ", ".join(f"{n}: {k}" for n, k in zip(names, kinds, strict=True))
    yield f"    aie.runtime_sequence{symbol and ' ' + symbol}({given}) {{"
    before: list[Task] = []
    for phase in plan.phases:
        for task in phase:
            number = plan.tensors.index(task.tensor)
            yield f"      {_task(task, names[number], kinds[number])}"
        yield from _waits(before)
        before = phase
    yield from _waits(before)
    yield "    }"


def _task(task: Task, name: str, kind: str) -> str:
    dims = task.transfer.dims
    offsets = f"0, 0, 0, {task.transfer.offset}"
    sizes, strides = (", ".join(str(d[i]) for d in dims) for i in (0, 1))
    token = "issue_token = true, " if task.last else ""
    options = f"id = {task.descriptor} : i64, {token}metadata = @{task.fifo.name}"
    return f"aiex.npu.dma_memcpy_nd({name}[{offsets}][{sizes}][{strides}]) {{{options}}} : {kind}"


def _waits(phase: list[Task]) -> Iterator[str]:
    for task in phase:
        if task.last:
            yield f"      aiex.npu.dma_wait {{symbol = @{task.fifo.name}}}"
