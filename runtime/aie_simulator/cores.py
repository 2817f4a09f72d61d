"""Cores: their programs as Python generators, which run their vectors in NumPy and yield at each wait.

A core's text is translated once, an operation to a line, and executed. bf16 registers are f32
arrays whose values are those of bf16. What a block of operations takes is counted when it is
translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator import operations
from dslc.runtime.aie_simulator.cascades import from_bytes, to_bytes, vector_kind
from dslc.runtime.aie_simulator.device import Device, End
from dslc.runtime.aie_simulator.engine import Engine, Process, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.library import Library
from dslc.runtime.aie_simulator.native import translated
from dslc.runtime.aie_simulator.parts import Cascade, Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation
from dslc.runtime.aie_simulator.slots import Slots
from dslc.runtime.aie_simulator.while_loops import OPERAND, python, while_loop

_FOR = (
    r"(?P<var>%[\w$.]+) = (?P<start>%[\w#]+) to (?P<stop>%[\w#]+) step (?P<step>%[\w#]+)"
    r"(?:\s+iter_args\((?P<args>.*?)\)\s*->\s*\((?P<types>.*)\))?"
)
_ACQUIRE = r"@(?P<fifo>\w+)\s*\((?P<port>Produce|Consume),\s*(?P<count>\d+)\)(?:\s*:.*)?"
_ACCESS = r"(?P<view>%[\w#]+)\[(?P<number>\d+)\].*"
_LOCK = r"\((?P<lock>%\w+),\s*(?P<action>\w+),\s*(?P<value>%?\w+)\)"


class Runtime:
    """What a translated core calls: the FIFOs and locks of its tile."""

    def __init__(self, engine: Engine, device: Device, tile: Tile) -> None:
        self._engine, self._device, self._tile = engine, device, tile

    def end(self, fifo: str, port: str, line: int) -> End:
        """The core's end of a FIFO."""
        found = self._device.ends.get((fifo, self._tile))
        if found is None or found.produces != (port == "Produce"):
            raise AieFault("fifo", f"@{fifo} does not {port.lower()} here", line=line)
        return found

    def acquire(self, fifo: str, port: str, count: int, line: int) -> Any:
        """Objects, so many held in all."""
        end = self.end(fifo, port, line)
        if count > len(end.objects):
            raise AieFault(
                "fifo", f"{count} objects of @{fifo}, which has {len(end.objects)}", line=line
            )
        more = count - end.held
        if more > 0:
            yield from end.taken.acquire(more)
            if end.produces:
                for number in range(end.held, count):
                    end.objects[(end.at + number) % len(end.objects)].begin()
            end.held = count
        return [end.objects[(end.at + i) % len(end.objects)] for i in range(count)]

    def release(self, fifo: str, port: str, count: int, line: int) -> None:
        """The oldest objects that are held."""
        end = self.end(fifo, port, line)
        if count > end.held:
            raise AieFault(
                "fifo", f"{count} objects of @{fifo} are released, {end.held} are held", line=line
            )
        for number in range(count):
            memory = end.objects[(end.at + number) % len(end.objects)]
            if end.produces and end.checked and memory.unwritten:
                raise AieFault(
                    "partial", f"{memory.unwritten} elements of an object of @{fifo} are not written",
                    line=line,
                )  # fmt: skip
            if not end.produces:
                memory.begin()
        end.held -= count
        end.at = (end.at + count) % len(end.objects)
        end.given.release(self._engine, count)

    def cascade(self, line: int, *, sends: bool) -> Cascade:
        """The cascade that the core sends to, or takes from."""
        for found in self._device.cascades:
            if (found.source if sends else found.target) == self._tile:
                return found
        raise AieFault("cascade", "no cascade stream begins or ends here", line=line)

    def put(self, value: Any, kind: str, line: int) -> Any:
        """`aie.put_cascade`."""
        bits = to_bytes(value, kind) if value is not None else b""
        yield from self.cascade(line, sends=True).put(self._engine, bits)

    def get(self, kind: str, line: int) -> Any:
        """`aie.get_cascade`."""
        cascade = self.cascade(line, sends=False)
        yield from cascade.get(self._engine)
        bits = cascade.queue.popleft()
        return from_bytes(bits, kind) if bits else None

    def lock(self, lock: Lock, action: str, value: int) -> Any:
        """`aie.use_lock` of a core."""
        if action == "Release":
            lock.release(self._engine, value)
            return
        yield from lock.acquire(value, equal=action == "Acquire")


class _Translation:
    """The Python of one core."""

    def __init__(self, device: Device, values: bool, library: Library | None) -> None:
        self.device, self.values, self.library = device, values, library
        self.constants: dict[str, Operation] = {}
        self.numbers: dict[str, int] = {}
        self.known: set[str] = set()
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.depth = 1
        self.slots = Slots()
        self.types: dict[str, str] = {}

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
        elif op.name == "scf.yield":
            given = [python(x) for x in re.findall(r"%[\w$.#]+", op.rest.split(" : ")[0])]
            if len(given) != len(yields):
                raise AieFault("operation", f"{len(given)} values for {len(yields)}", line=op.line)
            if yields:
                self.line(f"{', '.join(yields)} = {', '.join(given)}")
        else:
            self.slots.count(op)
            if op.name == "arith.constant":
                self.constants[op.results[0]] = op
                if op.rest.endswith(": index"):
                    self.numbers[op.results[0]] = int(op.rest.split(":")[0])
            if self.values or (_is_index(op) and self.knows(op.rest)):
                operations.translate(self.line, op, self.resolve)
                self.known |= set(op.results)

    def knows(self, text: str) -> bool:
        """Whether operands are known where nothing is computed: they depend on no data."""
        operands, _, _ = text.partition(" : ")
        return self.values or self.known.issuperset(re.findall(OPERAND, operands))

    def resolve(self, name: str) -> str:
        """The Python name of an SSA value, buffers of the device included."""
        found = self.device.values.get(name)
        if isinstance(found, Memory):
            self.names[f"m_{python(name)}"] = found
            return f"m_{python(name)}"
        return python(name)


def _for(t: _Translation, op: Operation) -> None:
    found = op.match(_FOR)
    if not t.values and (cycles := _static_cycles(op, t.numbers)) is not None:
        t.spend()
        t.line(f"t += {cycles}")
        return
    if _native(t, op):
        return
    pairs = re.findall(r"(%[\w$.]+) = (%[\w$.#]+)", found["args"] or "")
    for inner, given in pairs:
        t.line(f"{python(inner)} = {t.resolve(given)}")
    inners = tuple(python(inner) for inner, _ in pairs)
    t.known.add(found["var"])
    bounds = " ".join(found[n] for n in ("start", "stop", "step"))
    turns = ", ".join(t.resolve(found[n]) for n in ("start", "stop", "step"))
    t.slots.scalar += 2
    t.spend()
    # What depends on data is run once where there is none.
    with t.block(f"for {python(found['var'])} in range({turns if t.knows(bounds) else '1'}):"):
        t.body(op.regions[0], inners)
    for result, inner in zip(op.results, inners, strict=True):
        t.line(f"{python(result)} = {inner}")


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


def _if(t: _Translation, op: Operation) -> None:
    found = op.match(r"(%[\w#]+)(?:\s*->\s*\((.*)\))?")
    results = tuple(python(r) for r in op.results)
    t.spend()
    known = t.knows(found[1])
    with t.block(f"if {t.resolve(found[1]) if known else 'True'}:"):
        t.body(op.regions[0], results)
    if len(op.regions) > 1 and known:
        with t.block("else:"):
            t.body(op.regions[1], results)


def _acquire(t: _Translation, op: Operation) -> None:
    found = op.match(_ACQUIRE)
    t.pause()
    arguments = f"'{found['fifo']}', '{found['port']}', {found['count']}, {op.line}"
    t.line(f"{python(op.results[0])} = yield from rt.acquire({arguments})")


def _access(t: _Translation, op: Operation) -> None:
    found = op.match(_ACCESS)
    t.line(f"{python(op.results[0])} = {python(found['view'])}[{found['number']}]")


def _release(t: _Translation, op: Operation) -> None:
    found = op.match(_ACQUIRE)
    t.pause()
    arguments = f"'{found['fifo']}', '{found['port']}', {found['count']}, {op.line}"
    t.line(f"rt.release({arguments})")


def _use_lock(t: _Translation, op: Operation) -> None:
    found = op.match(_LOCK)
    lock = t.device.values.get(found["lock"])
    if not isinstance(lock, Lock):
        raise AieFault("symbol", f"{found['lock']} is no lock", line=op.line)
    t.names[f"l_{python(found['lock'])}"] = lock
    t.pause()
    value = found["value"]
    amount = t.resolve(value) if value.startswith("%") else value
    arguments = f"l_{python(found['lock'])}, '{found['action']}', {amount}"
    t.line(f"yield from rt.lock({arguments})")


def _put(t: _Translation, op: Operation) -> None:
    found = op.match(r"\((%[\w$.#]+) : (.*)\)")
    kind = vector_kind(found[2], op.line)
    t.pause()
    value = t.resolve(found[1]) if t.values else "None"
    t.line(f"yield from rt.put({value}, '{kind}', {op.line})")
    t.line("t += 1")


def _get(t: _Translation, op: Operation) -> None:
    kind = vector_kind(op.match(r"\(\) : (.*)")[1], op.line)
    t.pause()
    t.line(f"{python(op.results[0])} = yield from rt.get('{kind}', {op.line})")
    t.line("t += 1")


_SPECIAL: dict[str, Callable[[_Translation, Operation], None]] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": while_loop,
    "aie.objectfifo.acquire": _acquire,
    "aie.objectfifo.subview.access": _access,
    "aie.objectfifo.release": _release,
    "aie.use_lock": _use_lock,
    "aie.put_cascade": _put,
    "aie.get_cascade": _get,
    "aie.end": lambda _t, _o: None,
}


_WAITS = ("aie.objectfifo.acquire", "aie.use_lock", "aie.put_cascade", "aie.get_cascade")


def _is_index(op: Operation) -> bool:
    """Whether an operation bears on loops and branches alone."""
    return op.name.startswith("arith.") and op.rest.endswith(": index")


def _static_cycles(loop: Operation, numbers: dict[str, int]) -> int | None:
    """What a loop takes that waits for nobody; None where it waits, or its iterations are not known."""
    if any(o.name in _SPECIAL and o.name not in ("scf.for", "aie.end") for o in loop.walk()):
        return None
    found = loop.match(_FOR)
    bounds = [numbers.get(found[n]) for n in ("start", "stop", "step")]
    if None in bounds:
        return None
    start, stop, step = (n or 0 for n in bounds)
    slots, inner = Slots(scalar=1), 0
    for op in loop.regions[0]:
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
    *,
    values: bool = True,
    bfp16: bool = False,
    library: Library | None = None,
) -> Process:
    """The process of a core; without values only its loops and waits, in the same time.

    Where a `library` is given, what waits for nobody is added to it, and called there.
    """
    for loop in core.regions[0]:
        if loop.name == "scf.for" and not any(o.name in _WAITS for o in loop.walk()):
            raise AieFault("deadlock", "a core's outermost loop waits for nobody", line=loop.line)
    translation = _Translation(device, values, library)
    translation.body(core.regions[0])
    translation.pause()
    text = "def run(rt):\n    t = 0\n" + "\n".join(translation.lines) + "\n"
    rounding = operations.block_floating if bfp16 else operations.as_bf16
    names = {**operations.NAMES, **translation.names, "Q": rounding}
    exec(compile(text, f"<core {tile[0]}, {tile[1]}>", "exec"), names)
    steps: Steps = names["run"](Runtime(engine, device, tile))
    return Process(f"core {tile[0]}, {tile[1]}", _quiet(steps))


def _quiet(steps: Steps) -> Steps:
    """Overflows and invalid numbers are the machine's business: no warnings."""
    while True:
        with np.errstate(all="ignore"):
            try:
                found = next(steps)
            except StopIteration:
                return
        yield found
