"""The host: what its sequences configure and run, and the numbers that they compute with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.mlir import Number, Use
from dslc.runtime.aie_simulator.configuration import Configuration, Totals
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import known
from dslc.runtime.aie_simulator.machine import RATES
from dslc.runtime.aie_simulator.module import CONFIGURE, LOAD, RUN, Module, sequences
from dslc.runtime.aie_simulator.parts import HostMemory, Memory, View
from dslc.runtime.aie_simulator.reader import Operation, elements_of
from dslc.runtime.aie_simulator.settings import Settings
from dslc.runtime.aie_simulator.transfers import Transfers

Values = dict[str, object]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a sequence: elements of a type, or one number that is no array."""

    name: str
    count: int
    kind: str
    shape: tuple[int, ...] = ()
    is_scalar: bool = False


def arguments_of(sequence: Operation) -> list[Argument]:
    """The arguments of a sequence."""
    arguments = []
    for name, kind in sequence.regions[0][0].arguments:
        if kind.kind == "memref":
            arguments.append(Argument(name, *elements_of(kind, sequence.line), kind.shape))
        else:
            arguments.append(Argument(name, 1, kind.text, is_scalar=True))
    return arguments


class HostSequence:
    """The dispatch of a module."""

    def __init__(
        self,
        module: Module,
        engine: Engine,
        totals: Totals,
        settings: Settings,
    ) -> None:
        self._module, self._engine, self._totals = module, engine, totals
        self._settings = settings
        self._shared = HostMemory(RATES.host)
        self._now: Configuration | None = None
        self._symbol = module.main
        self._transfers: Transfers | None = None

    def process(self, memories: Sequence[Memory]) -> Steps:
        """One command after another."""
        dispatch = self._module.dispatch
        arguments = _bound(dispatch, memories)
        loads = any(o.name == LOAD and "device_ref" in o.attributes for o in dispatch.body)
        if not (self._module.configures or loads):
            self._configure(self._module.main, dispatch.line)
        yield from self._commands(dispatch.body, arguments)
        yield from self._end()

    def _configure(self, symbol: str, line: int) -> Configuration:
        device = self._module.device(symbol, line)
        self._symbol = symbol
        self._now = Configuration(
            device,
            self._engine,
            self._shared,
            self._totals,
            self._settings,
            self._module.globals,
        )
        self._transfers = Transfers(self._now, self._engine, waits=self._settings.waits)
        return self._now

    def _end(self) -> Steps:
        if self._now is not None:
            yield self._engine.idle
            self._now.end(self._engine)
            self._now = self._transfers = None

    def _commands(self, operations: Sequence[Operation], values: Values) -> Steps:
        for op in operations:
            match op.name:
                case name if name == CONFIGURE:
                    yield from self._end()
                    yield self._configure(op.text("symbol"), op.line).cycles
                    yield from self._commands(op.body, values)
                    yield from self._end()
                case name if name == RUN:
                    yield from self._run(op, values)
                case name if name == LOAD:
                    if "device_ref" in op.attributes:
                        yield from self._end()
                        yield self._configure(op.text("device_ref"), op.line).cycles
                    elif len(self._module.devices) > 1:
                        raise AieFault("configuration", "which device is loaded?", line=op.line)
                case "scf.for":
                    yield from self._loop(op, values)
                case "scf.if":
                    yield from self._branch(op, values)
                case "aie.end" | "scf.yield" | "aiex.npu.preempt" | "func.return" | "return":
                    pass
                case "aie.trace.host_config" | "aie.trace.start_config":
                    pass
                case name if name.partition(".")[0] in ("arith", "memref"):
                    self._value(op, values)
                case _ if self._transfers is None:
                    raise AieFault("syntax", f"{op.name} beside configurations", line=op.line)
                case _:
                    yield float(RATES.issue)
                    yield from self._transfers.command(op, values)

    def _run(self, op: Operation, values: Values) -> Steps:
        if self._now is None:
            raise AieFault("syntax", f"{op.name} beside configurations", line=op.line)
        known = sequences(self._module.devices[self._symbol])
        name = op.text("runtime_sequence_symbol")
        if name not in known:
            text = f"@{self._symbol} has no sequence @{name}"
            raise AieFault("symbol", text, line=op.line)
        if strange := [n for n in op.operands if not isinstance(values.get(n), Memory)]:
            raise AieFault("symbol", f"{strange[0]} is no argument", line=op.line)
        given = [values[n] for n in op.operands]
        own = _bound(known[name], [m for m in given if isinstance(m, Memory)], op)
        yield from self._commands(known[name].body, own)
        self._now.check_quiet(op.line)

    def _loop(self, op: Operation, values: Values) -> Steps:
        start, stop, step = (number(values, n, op.line) for n in op.operands[:3])
        (index, _), *carried = op.regions[0][0].arguments
        for (name, _), given in zip(carried, op.operands[3:], strict=True):
            values[name] = values.get(given)
        if step < 1:
            raise AieFault("operation", f"a loop in steps of {step}", line=op.line)
        for turn in range(start, stop, step):
            values[index] = turn
            yield from self._commands(op.body, values)
            yielded = [values.get(n) for n in op.body[-1].operands]
            for (name, _), value in zip(carried, yielded, strict=True):
                values[name] = value
        for name, (inner, _) in zip(op.results, carried, strict=True):
            values[name] = values.get(inner)

    def _branch(self, op: Operation, values: Values) -> Steps:
        taken = op.regions[0 if number(values, op.operands[0], op.line) else 1]
        body = taken[0].operations if taken else []
        yield from self._commands(body, values)
        for name, given in zip(op.results, body[-1].operands if body else (), strict=True):
            values[name] = values.get(given)

    def _value(self, op: Operation, values: Values) -> None:
        """A number, or another name for an array."""
        word = op.name.partition(".")[2]
        if op.name == "memref.get_global":
            assert self._now is not None
            values[op.results[0]] = self._now.constant(op)
        elif word in ("subview", "reinterpret_cast"):
            values[op.results[0]] = _part(op, values)
        elif op.name.startswith("memref."):
            if word not in ("assume_alignment", "cast", "collapse_shape", "expand_shape"):
                raise AieFault("syntax", f"{op.name} in a sequence", line=op.line)
            for name in op.results:
                values[name] = values.get(op.operands[0])
        elif word == "constant":
            value = op.attributes["value"]
            values[op.results[0]] = int(value.value if isinstance(value, Number) else value)
        else:
            given = [number(values, n, op.line) for n in op.operands]
            values[op.results[0]] = _computed(op, word, given)


def _part(op: Operation, values: Values) -> View:
    """`memref.subview` of elements that lie together, or those of a part by another shape."""
    memory, kind = values.get(op.operands[0]), op.types[0]
    if not isinstance(memory, Memory):
        raise AieFault("symbol", f"{op.operands[0]} is no array", line=op.line)
    offsets, sizes, steps = (
        [known(e if isinstance(e, Use) else Number(e), values, op.line) for e in op.attributes[n]]
        for n in ("offsets", "sizes", "strides")
    )
    if op.name == "memref.subview":
        inner = [math.prod(kind.shape[n + 1 :]) for n in range(len(kind.shape))]
        start = sum(o * d for o, d in zip(offsets, inner, strict=True))
        runs = all(s == 1 or n == 1 for n, s in zip(sizes, steps, strict=True))
        if not runs or not _lie_together(sizes, kind.shape):
            raise AieFault("operation", "a part whose elements lie apart", line=op.line)
    elif start := sum(offsets):
        raise AieFault("operation", f"a part that begins {start} elements on", line=op.line)
    at = start * memory.data.dtype.itemsize
    return View(memory, at, math.prod(sizes), memory.kind, op.line)


def _lie_together(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a box of a row-major array is one run of elements."""
    inner = False
    for size, whole in zip(sizes, shape, strict=True):
        if inner and size != whole:
            return False
        inner |= size > 1
    return True


def _computed(op: Operation, word: str, given: list[int]) -> int:
    if word in ("index_cast", "index_castui", "extsi", "extui", "trunci"):
        return given[0]
    if word == "select":
        return given[1] if given[0] else given[2]
    x, y = given
    if word == "cmpi":
        predicate = op.text("predicate")
        order = predicate if predicate in ("eq", "ne") else predicate[1:]
        return int(
            {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[
                order
            ]
        )
    if word in ("divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi") and y == 0:
        raise AieFault("operation", "a division by zero", line=op.line)
    table: Mapping[str, Any] = {
        "addi": lambda: x + y,
        "subi": lambda: x - y,
        "muli": lambda: x * y,
        "divui": lambda: x // y,
        "remui": lambda: x % y,
        "floordivsi": lambda: x // y,
        "divsi": lambda: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        "remsi": lambda: abs(x) % abs(y) * (1 if x >= 0 else -1),
        "ceildivsi": lambda: -(-x // y),
        "minsi": lambda: min(x, y),
        "maxsi": lambda: max(x, y),
        "andi": lambda: x & y,
        "ori": lambda: x | y,
        "xori": lambda: x ^ y,
        "shli": lambda: x << y,
        "shrsi": lambda: x >> y,
        "shrui": lambda: x >> y,
    }
    if word not in table:
        raise AieFault("syntax", f"{op.name} in a sequence", line=op.line)
    return int(table[word]())


def number(values: Mapping[str, object], name: str, line: int) -> int:
    """The integer of a value."""
    found = values.get(name)
    if not isinstance(found, int):
        raise AieFault("symbol", f"{name} is no number that is known", line=line)
    return found


def _bound(sequence: Operation, memories: Sequence[Memory], run: Operation | None = None) -> Values:
    """The arguments of a sequence by name; AieFault where they are not of its types.

    A host's arrays may be longer; what a `run` hands on has the type that it says.
    """
    arguments = arguments_of(sequence)
    line = sequence.line if run is None else run.line
    if len(arguments) != len(memories):
        raise AieFault("argument", f"{len(memories)} arguments for {len(arguments)}", line=line)
    bound: Values = {}
    for own, memory in zip(arguments, memories, strict=True):
        is_other = memory.count != own.count if run else memory.count < own.count
        if is_other or memory.kind != own.kind:
            given = f"{memory.name} {memory.count} of {memory.kind}"
            text = f"{own.name} is {own.count} of {own.kind}, {given}"
            raise AieFault("argument", text, line=line)
        bound[own.name] = int(memory.data[0]) if own.is_scalar else memory
    return bound
