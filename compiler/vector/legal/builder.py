"""A builder that appends nothing that a machine has not: what it has not becomes what it has.

Its rules are in the files beside this one. A rule is given the builder and an instruction; it gives the
operand that stands for the result, or None where the instruction is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.values import Operand, Register

Rule: TypeAlias = Callable[["LegalBuilder", Any], Operand | None]


class LegalBuilder(Builder):
    """Registers are of native dtypes here; the meaning of instructions is the language's."""

    def __init__(
        self, name: str, capabilities: Capabilities, rules: Mapping[type[Any], Rule], exported: bool
    ) -> None:
        super().__init__(name, exported=exported)
        self.capabilities = capabilities
        self._rules = rules

    def append_result(self, instruction: Any) -> Operand:
        """The legal form of an instruction, appended."""
        rule = self._rules.get(type(instruction))
        found = rule(self, instruction) if rule is not None else None
        if found is not None:
            return found
        out = super().append_result(instruction)
        assert isinstance(out, Register)
        return out
