"""How two partial results of a reduction become one."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.c_family import scalars
from dslc.codegen.c_family.ctypes_of import element_type
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.dtypes import DType

_BINARY = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}


@dataclass(frozen=True, slots=True)
class Fold:
    """How two partial results are combined, with the index beside the value for argmax and argmin."""

    op: str
    dtype: DType

    @property
    def indexed(self) -> bool:
        """Whether an index goes with the value."""
        return self.op.startswith("arg")

    @property
    def ctype(self) -> str:
        """The C type of a partial result."""
        return element_type(self.dtype)

    def start(self) -> str:
        """What an empty reduction has."""
        if self.op in ("any", "all"):
            return "true" if self.op == "all" else "false"
        if self.op == "sum":
            return (
                scalars.literal(0, self.dtype)
                if not self.dtype.is_float
                else scalars.float_literal(-0.0, double=self.dtype.bits == 64)
            )
        greatest = self.op in ("min", "argmin")
        if self.dtype.is_float:
            return scalars.float_literal(
                float("inf") if greatest else float("-inf"), double=self.dtype.bits == 64
            )
        low, high = self.dtype.integer_range
        if not greatest and low == -(1 << 63):
            return "(-9223372036854775807ll - 1)"
        if not greatest and low == -(1 << 31):
            return "(-2147483647 - 1)"
        return scalars.literal(high if greatest else low, self.dtype)

    def combine(self, out: Writer, value: str, index: str, y: str, j: str) -> None:
        """value, index = the better of (value, index) and (y, j)."""
        if not self.indexed:
            out.line(f"{value} = {scalars.binary(_BINARY[self.op], value, y, self.dtype)};")
            return
        sign = ">" if self.op == "argmax" else "<"
        better = f"({y} {sign} {value}) || ({y} == {value} && {j} < {index})"
        if self.dtype.is_float:  # the first NaN wins, as in NumPy
            better = (
                f"{value} == {value} ? ({y} != {y} || {better}) : ({y} != {y} && {j} < {index})"
            )
        with out.block(f"if ({better})"):
            out.line(f"{value} = {y}; {index} = {j};")
