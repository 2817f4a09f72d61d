"""A builder that appends nothing that a machine has not: what it has not becomes what it has.

Its rules are in the files beside this one. A rule is given the builder and an instruction; it gives the
operand that stands for the result, or None where the instruction is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.function import Function, Stmt
from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.types import POINTER, VectorType
from dslc.compiler.vector.values import Operand, Register

Rule: TypeAlias = Callable[["LegalBuilder", Any], Operand | None]
Part: TypeAlias = Callable[["LegalBuilder", Operand], Sequence[Operand]]


class LegalBuilder(Builder):
    """Registers are of native dtypes here; the meaning of instructions is the language's."""

    def __init__(
        self, name: str, capabilities: Capabilities, rules: Mapping[type[Any], Rule], exported: bool
    ) -> None:
        super().__init__(name, exported=exported)
        self.capabilities = capabilities
        self._rules = rules
        self._scratch = Register(POINTER, "scratch")
        self._scratch_bytes = 0
        self.own_functions: dict[str, Function] = {}

    def scratch(self, size: int) -> Register:
        """Memory of the function's own for what a rule does at once; every use overwrites the last."""
        self._scratch_bytes = max(self._scratch_bytes, size)
        return self._scratch

    def apart(
        self, name: str, build: Part, x: Operand, results: Sequence[VectorType]
    ) -> list[Operand]:
        """What `build` gives of x, by a local function, made once for the module: few come to it."""
        room = max(-(-t.count * t.dtype.bits // 512) * 64 for t in (vector_type(x), *results))
        if name not in self.own_functions:
            inner = LegalBuilder(name, self.capabilities, self._rules, exported=False)
            own = inner.pointer("own", align=64)
            for i, value in enumerate(build(inner, inner.load(own, 0, x.type, align=64))):
                inner.store(own, i * room, value, align=64)
            self.own_functions[name] = replace(inner.function(), body=inner.whole_body())
        at = self.scratch(len(results) * room)
        self.store(at, 0, x, align=64)
        self.call(name, at)
        return [self.load(at, i * room, t, align=64) for i, t in enumerate(results)]

    def whole_body(self) -> tuple[Stmt, ...]:
        """The statements of the function, with the memory that rules asked for."""
        (body,) = self.bodies
        if not self._scratch_bytes:
            return tuple(body)
        return (mem.Allocate(self._scratch, self._scratch_bytes), *body)

    def append_result(self, instruction: Any) -> Operand:
        """The legal form of an instruction, appended."""
        rule = self._rules.get(type(instruction))
        legal = rule(self, instruction) if rule is not None else None
        if legal is not None:
            return legal
        out = super().append_result(instruction)
        assert isinstance(out, Register)
        return out
