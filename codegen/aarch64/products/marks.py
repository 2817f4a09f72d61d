"""Remarks around the loops of products, by which `throughput` finds what runs how often.

Of a product the panels' loops (`_a`, `_b`), each tile's loop over k, and what precedes and follows it:

    // LLVM-MCA-BEGIN gemm.dot1_b macs=4096               once for so many multiply-adds of the product
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.dot1.12x8_begin macs=12288
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.dot1.12x8 macs=3072 k=32       the loop
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.dot1.12x8_end macs=12288
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.dot1_out results=16            the epilogue: once for so many results
    // LLVM-MCA-END
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dslc.codegen.aarch64.machine_code.stream import Stream
from dslc.compiler.ir import Value


@dataclass(slots=True)
class Marks:
    """Names and writes the marks of one kernel."""

    kernel: str
    stream: Stream
    _product: str = ""
    _products: int = 0
    _tiles: dict[str, int] = field(default_factory=dict)
    made: dict[Value, str] = field(default_factory=dict)  # tiles, and the products that they are of

    def product(self) -> None:
        """Another product begins."""
        self._products += 1
        self._product = f"{self.kernel}.dot{self._products}"

    def makes(self, value: Value) -> None:
        """A tile is the sum of the current product."""
        self.made[value] = self._product

    def epilogue(self, product: str, results: int) -> None:
        """What follows stores so many results of a product."""
        self.stream.remark(f"LLVM-MCA-BEGIN {product}_out results={results}")

    def tile(self, rows: int, columns: int) -> str:
        """The name of another loop over k."""
        name = f"{self._product}.{rows}x{columns}"
        number = self._tiles[name] = self._tiles.get(name, 0) + 1
        return name if number == 1 else f"{name}.{number}"

    def panel(self, operand: str) -> str:
        """The name of the loop that fills an operand's panel."""
        return f"{self._product}_{operand}"

    def begin(self, name: str, macs: int, k: int | None = None) -> None:
        """What follows runs once for so many multiply-adds; an iteration takes `k` elements of K."""
        step = "" if k is None else f" k={k}"
        self.stream.remark(f"LLVM-MCA-BEGIN {name} macs={macs}{step}")

    def end(self) -> None:
        """The marked part ends."""
        self.stream.remark("LLVM-MCA-END")
