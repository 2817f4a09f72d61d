"""Running functions statement by statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dslc.compiler.dtypes import encode, storage_dtype, value_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.constants import codes_of
from dslc.compiler.vector.evaluation import evaluate, is_evaluated
from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.function import Block, Call, For, Function, If, Module, Return, While
from dslc.compiler.vector.interpreter.accesses import Accesses
from dslc.compiler.vector.interpreter.memory import Memory
from dslc.compiler.vector.text.printer import print_statement
from dslc.compiler.vector.traverse import operands
from dslc.compiler.vector.types import POINTER, VectorType
from dslc.compiler.vector.values import Constant, Operand, Register


def interpret(module: Module, name: str, *args: Any, memory: Memory | None = None) -> int:
    """The status with which the function of that name ends.

    Arguments in the order of its parameters: for a pointer a contiguous array, which is read and
    written in place, or an address of `memory`; for a scalar a number. VectorFault where the program
    does what nothing defines, with the statement's text.
    """
    memory = Memory() if memory is None else memory
    functions = {f.name: f for f in module.functions}
    function = functions[name]
    given: list[Array] = []
    for parameter, value in zip(function.params, args, strict=True):
        if parameter.register.type != POINTER:
            given.append(_scalar(value, parameter.register))
            continue
        is_array = isinstance(value, np.ndarray)
        address = memory.add(_bytes_of(value), max(64, parameter.align)) if is_array else value
        given.append(np.asarray(address, np.int64))
    return _Run(functions, memory).call(function, given)


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _scalar(value: Any, register: Register) -> Array:
    type_ = register.type
    assert isinstance(type_, VectorType)
    return encode(np.asarray(value, value_dtype(type_.dtype)), type_.dtype)


class _Ended(Exception):
    """A Return, on its way out of the blocks around it."""

    def __init__(self, status: int) -> None:
        self.status = status


class _Run:
    """The registers of one call of a function."""

    def __init__(self, functions: dict[str, Function], memory: Memory) -> None:
        self.functions = functions
        self.accesses = Accesses(memory)
        self.memory = memory
        self.held: dict[Register, Array] = {}

    def call(self, function: Function, args: Sequence[Array]) -> int:
        self.held = {p.register: x for p, x in zip(function.params, args, strict=True)}
        try:
            self.body(Block(function.body))
        except _Ended as end:
            return end.status
        return 0

    def read(self, operand: Operand) -> Array:
        return codes_of(operand) if isinstance(operand, Constant) else self.held[operand]

    def readings(self, xs: Sequence[Operand]) -> list[Array]:
        return [self.read(x) for x in xs]

    def put(self, registers: Sequence[Register], values: Sequence[Array]) -> None:
        self.held.update(zip(registers, values, strict=True))

    def body(self, block: Block) -> list[Array]:
        """What the block yields."""
        for stmt in block.body:
            self.statement(stmt)
        return self.readings(block.yields)

    def statement(self, stmt: Any) -> None:
        match stmt:
            case For():
                self.for_(stmt)
            case While():
                self.while_(stmt)
            case If():
                chosen = stmt.then if self.read(stmt.condition) else stmt.otherwise
                self.put(stmt.outs, self.body(chosen))
            case Return():
                raise _Ended(int(self.read(stmt.status)))
            case Call():
                run = _Run(self.functions, self.memory)
                status = run.call(self.functions[stmt.function], self.readings(stmt.args))
                self.held[stmt.out] = np.asarray(status, np.int32)
            case _:
                self.instruction(stmt)

    def instruction(self, stmt: Any) -> None:
        try:
            if is_evaluated(type(stmt)):
                result: Array | None = evaluate(stmt, self.readings(operands(stmt)))
            else:
                result = self.accesses.run(stmt, self.read)
        except VectorFault as fault:
            if "\n" in str(fault):
                raise
            raise VectorFault(f"{fault}\n  in: {print_statement(stmt)}") from None
        if result is not None:
            self.held[stmt.out] = result

    def for_(self, stmt: For) -> None:
        carried = self.readings(stmt.starts)
        begin, end = int(self.read(stmt.begin)), int(self.read(stmt.end))
        kind = storage_dtype(stmt.var.type.dtype)  # type: ignore[union-attr]
        for i in range(begin, end, stmt.step):
            self.held[stmt.var] = np.asarray(i, kind)
            self.put(stmt.carried, carried)
            carried = self.body(stmt.block)
        self.put(stmt.outs, carried)

    def while_(self, stmt: While) -> None:
        carried = self.readings(stmt.starts)
        while True:
            self.put(stmt.carried, carried)
            (going,) = self.body(stmt.test)
            if not going:
                break
            carried = self.body(stmt.block)
        self.put(stmt.outs, carried)
