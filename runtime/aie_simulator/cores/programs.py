"""Cores: their programs as Python generators, which run their vectors in NumPy and yield at each wait.

A core's text is translated once, an operation to a line, and executed. bf16 registers are f32
arrays whose values are those of bf16. What a block of operations takes is counted when it is
translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from dslc.compiler.mlir import Number
from dslc.runtime.aie_simulator.cores import control, operations
from dslc.runtime.aie_simulator.cores.calls import Functions, called
from dslc.runtime.aie_simulator.cores.cascades import vector_kind
from dslc.runtime.aie_simulator.cores.control import python
from dslc.runtime.aie_simulator.cores.library import Library
from dslc.runtime.aie_simulator.cores.native import translated
from dslc.runtime.aie_simulator.cores.slots import Slots
from dslc.runtime.aie_simulator.cores.waits import Runtime
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.engine import Engine, Process, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import ACTIONS, check_reach, fill
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile, element_type
from dslc.runtime.aie_simulator.reader import Operation, elements_of
from dslc.runtime.aie_simulator.settings import Settings


class _Translation:
    """The Python of one core."""

    def __init__(
        self,
        device: Device,
        tile: Tile,
        values: bool,
        library: Library | None,
        functions: Functions,
    ) -> None:
        self.device, self.tile, self.values, self.library = device, tile, values, library
        self.functions = functions
        self.constants: dict[str, Operation] = {}
        self.numbers: dict[str, int] = {}
        self.known: set[str] = set()
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.depth = 1
        self.slots = Slots()

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        before, outer = len(self.lines), self.slots
        self.slots = Slots()
        yield
        self.spend()
        if len(self.lines) == before:
            self.line("pass")
        self.slots = outer
        self.depth -= 1

    def spend(self) -> None:
        """The cycles of the operations since the last time."""
        if cycles := self.slots.cycles():
            self.line(f"t += {cycles}")
        self.slots = Slots()

    def pause(self) -> None:
        """Before others are heard of, the time that has passed."""
        self.spend()
        self.line("if t:")
        self.line("    yield t")
        self.line("    t = 0")

    def body(self, region: list[Operation], yields: tuple[str, ...] = ()) -> None:
        for operation in region:
            self.operation(operation, yields)

    def operation(self, op: Operation, yields: tuple[str, ...]) -> None:
        special = _SPECIAL.get(op.name)
        if special is not None:
            special(self, op)
        elif op.name in ("scf.yield", "affine.yield"):
            if len(op.operands) != len(yields):
                text = f"{len(op.operands)} values for {len(yields)}"
                raise AieFault("operation", text, line=op.line)
            if yields:
                given = ", ".join(self.resolve(x) for x in op.operands)
                self.line(f"{', '.join(yields)} = {given}")
        else:
            self.slots.count(op)
            if op.name == "arith.constant":
                self.constants[op.results[0]] = op
                value = op.attributes["value"]
                if isinstance(value, Number) and op.type.text == "index":
                    self.numbers[op.results[0]] = int(value.value)
            if self.values or (_is_index(op) and self.knows(op.operands)):
                operations.translate(self.line, op, self.resolve)
                self.known |= set(op.results)

    def knows(self, names: list[str]) -> bool:
        """Whether operands are known where nothing is computed: they depend on no data."""
        return self.values or self.known.issuperset(names)

    def resolve(self, name: str) -> str:
        """The Python name of an SSA value, buffers of the device included."""
        value = self.device.values.get(name)
        if isinstance(value, Memory):
            check_reach(self.tile, value.tile, f"buffer {value.name}", 0, dma=False)
            self.names[f"m_{python(name)}"] = value
            return f"m_{python(name)}"
        return python(name)


def _for(t: _Translation, op: Operation) -> None:
    if not t.values and (cycles := _static_cycles(op, t.numbers)) is not None:
        t.spend()
        t.line(f"t += {cycles}")
    elif not _native(t, op):
        control.for_loop(t, op)


def _native(t: _Translation, op: Operation) -> bool:
    """A loop that waits for nobody as a function of the library, and as it is for other memories."""
    cycles = _static_cycles(op, t.numbers) if t.library is not None else None
    loop = translated(op, t.constants) if cycles is not None else None
    if t.library is None or loop is None:
        return False
    t.spend()
    name = f"loop_{op.line}"
    t.names[name] = t.library.add(loop)
    memories, indices = (
        ", ".join(t.resolve(n) for n in names)
        for names in ([n for n, _ in loop.memories], loop.indices)
    )
    library, t.library = t.library, None
    with t.block(f"if {name}([{memories}], [{indices}]):"):
        t.line(f"t += {cycles}")
    with t.block("else:"):
        _for(t, op)
    t.library = library
    return True


def _acquire(t: _Translation, op: Operation) -> None:
    t.pause()
    names = ", ".join(map(python, op.results))
    if op.type.kind == "memref":  # from 1.4 on: the objects themselves
        names = f"[{names}]"
    t.line(f"{names} = yield from rt.acquire({_fifo(op)})")


def _fifo(op: Operation) -> str:
    name, port = op.text("objFifo_name"), op.text("port")
    return f"{name!r}, {port!r}, {op.integer('size')}, {op.line}"


def _access(t: _Translation, op: Operation) -> None:
    t.line(f"{python(op.results[0])} = {python(op.operands[0])}[{op.integer('index')}]")


def _release(t: _Translation, op: Operation) -> None:
    t.pause()
    t.line(f"rt.release({_fifo(op)})")


def _use_lock(t: _Translation, op: Operation) -> None:
    name, *amounts = op.operands
    lock, action = t.device.values.get(name), op.text("action")
    if not isinstance(lock, Lock):
        raise AieFault("symbol", f"{name} is no lock", line=op.line)
    if action not in ACTIONS:
        raise AieFault("syntax", f"a lock is not used by {action}", line=op.line)
    check_reach(t.tile, lock.tile, f"lock {lock.name}", op.line, dma=False)
    t.names[f"l_{python(name)}"] = lock
    t.pause()
    amount = t.resolve(amounts[0]) if amounts else str(op.integer("value", 1))
    t.line(f"yield from rt.lock(l_{python(name)}, {action!r}, int({amount}))")


def _put(t: _Translation, op: Operation) -> None:
    kind = vector_kind(op.types[0], op.line)
    t.pause()
    value = t.resolve(op.operands[0]) if t.values else "None"
    t.line(f"yield from rt.put({value}, {kind!r}, {op.line})")
    t.line("t += 1")


def _get(t: _Translation, op: Operation) -> None:
    kind = vector_kind(op.type, op.line)
    t.pause()
    t.line(f"{python(op.results[0])} = yield from rt.get({kind!r}, {op.line})")
    t.line("t += 1")


def _call(t: _Translation, op: Operation) -> None:
    name = op.text("callee")
    if name not in t.device.symbols:
        raise AieFault("symbol", f"@{name} is not declared", line=op.line)
    t.pause()
    # What it takes is not known: as modelled, a cycle for each element of its largest array.
    t.slots.scalar += max((k.count for k in op.types if k.kind == "memref"), default=0)
    if not t.values:
        return
    t.names[f"f_{name}"] = called(name, t.functions, op)
    given = ", ".join(_argument(t, n) for n in op.operands)
    results = ", ".join(python(r) for r in op.results)
    t.line(f"{f'{results} = ' if results else ''}yield from f_{name}(rt, [{given}])")


def _argument(t: _Translation, name: str) -> str:
    """What a function is given: a value, a memory, or a lock that it may use."""
    lock = t.device.values.get(name)
    if not isinstance(lock, Lock):
        return t.resolve(name)
    t.names[f"l_{python(name)}"] = lock
    return f"rt.handle(l_{python(name)})"


def _copy(t: _Translation, op: Operation) -> None:
    """`memref.copy`: all elements of one memory into another."""
    source, target = (t.resolve(n) for n in op.operands)
    t.slots.vector += max(1, op.types[0].count // 16)
    if t.values:
        count = op.types[0].count
        t.line(f"{target}.store({source}.load(0, {count}, {op.line}), 0, {count}, {op.line})")


def _constant_memory(t: _Translation, op: Operation) -> None:
    """`memref.get_global`: a constant of the device, or a buffer of the core by its symbol."""
    name = op.text("name")
    memory = t.device.symbols.get(name)
    if not isinstance(memory, Memory):
        declared = t.device.symbols.get(f"global {name}")
        initial = (
            declared.attributes.get("initial_value") if isinstance(declared, Operation) else None
        )
        if initial is None:
            raise AieFault("symbol", f"@{name} is no constant or buffer", line=op.line)
        count, kind = elements_of(op.type, op.line)
        memory = Memory(name, kind, np.zeros(count, element_type(kind, op.line)))
        fill(memory, initial, op.line)
    t.names[python(op.results[0])] = memory


def _local_memory(t: _Translation, op: Operation) -> None:
    """`memref.alloc`: what a core has for itself."""
    count, kind = elements_of(op.type, op.line)
    memory = Memory(op.results[0], kind, np.zeros(count, element_type(kind, op.line)))
    t.names[python(op.results[0])] = memory


_SPECIAL: dict[str, Callable[[_Translation, Operation], None]] = {
    "scf.for": _for,
    "affine.for": control.affine_loop,
    "scf.if": control.branch,
    "scf.while": control.while_loop,
    "scf.index_switch": control.switch,
    "aie.objectfifo.acquire": _acquire,
    "aie.objectfifo.subview.access": _access,
    "aie.objectfifo.release": _release,
    "aie.use_lock": _use_lock,
    "aie.put_cascade": _put,
    "aie.get_cascade": _get,
    "func.call": _call,
    "memref.get_global": _constant_memory,
    "memref.copy": _copy,
    "memref.alloc": _local_memory,
    "memref.alloca": _local_memory,
    "memref.dealloc": lambda _t, _o: None,
    "aie.event": lambda _t, _o: None,
    "aie.end": lambda _t, _o: None,
}
_WAITS = (
    "aie.objectfifo.acquire",
    "aie.use_lock",
    "aie.put_cascade",
    "aie.get_cascade",
    "func.call",
)
_ENDLESS = 1 << 22  # iterations of a loop that is meant to go on for ever


def _is_index(op: Operation) -> bool:
    """Whether an operation bears on loops and branches alone."""
    return op.name.startswith("arith.") and op.result_types[0].text == "index"


def _static_cycles(loop: Operation, numbers: Mapping[str, int]) -> int | None:
    """What a loop takes that waits for nobody; None where it waits, or its iterations are not known."""
    if any(o.name in _SPECIAL and o.name not in ("scf.for", "aie.end") for o in loop.walk()):
        return None
    bounds = [numbers.get(n) for n in loop.operands[:3]]
    if None in bounds:
        return None
    start, stop, step = (n or 0 for n in bounds)
    slots, inner = Slots(scalar=1), 0
    for op in loop.body:
        if op.name == "scf.for":
            cycles = _static_cycles(op, numbers)
            if cycles is None:
                return None
            inner += cycles
        elif op.name != "scf.yield":
            slots.count(op)
    return max(0, -((start - stop) // step)) * (inner + slots.cycles())


def core_process(
    engine: Engine,
    device: Device,
    tile: Tile,
    core: Operation,
    settings: Settings,
    library: Library | None = None,
) -> Process:
    """The process of a core; without values only its loops and waits, in the same time.

    Where a `library` is given, what waits for nobody is added to it, and called there.
    """
    translation = _Translation(device, tile, settings.values, library, settings.functions)
    region = core.regions[0]
    if len(region) == 1:
        translation.body(core.body)
    else:
        control.blocks(translation, region)
    _check_endless(core, translation.numbers)
    translation.pause()
    text = "def run(rt):\n    t = 0\n" + "\n".join(translation.lines) + "\n"
    rounding = operations.block_floating if settings.bfp16 else operations.as_bf16
    names = {**operations.NAMES, **translation.names, "Q": rounding}
    exec(compile(text, f"<core {tile[0]}, {tile[1]}>", "exec"), names)
    steps: Steps = names["run"](Runtime(engine, device, tile))
    return Process(f"core {tile[0]}, {tile[1]}", _quiet(steps))


def _check_endless(core: Operation, numbers: Mapping[str, int]) -> None:
    for loop in core.walk():
        endless = loop.name == "scf.for" and numbers.get(loop.operands[1], 0) >= _ENDLESS
        if endless and not any(o.name in _WAITS for o in loop.walk()):
            raise AieFault("deadlock", "a core's loop waits for nobody", line=loop.line)


def _quiet(steps: Steps) -> Steps:
    """Overflows and invalid numbers are the machine's business: no warnings."""
    while True:
        with np.errstate(all="ignore"):
            try:
                step = next(steps)
            except StopIteration:
                return
        yield step
