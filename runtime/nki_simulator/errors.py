"""What the simulator refuses: the rule of the machine that a kernel breaks, with its line."""

from __future__ import annotations

from typing import Any

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc

# Every rule by the name under which it is reported, in one sentence (public Neuron documentation:
# the pages of `nki.isa`, the architecture guides of trn1 to trn3).
RULES = {
    "partitions": "a tile has at most 128 partitions, and operands have the same number",
    "start-partition": "more than 64 partitions start at 0, more than 32 at 0 or 64, others at a "
    "multiple of 32",
    "partition-stride": "the partitions of a tile are next to one another",
    "free-pattern": "an access has at most four free dimensions",
    "bounds": "a slice lies within its tensor: ragged edges are clipped by the kernel",
    "shape": "operands have as many elements in a partition as the result",
    "memory": "an engine reaches only some memories: DMA no PSUM, GpSimd no PSUM, the PE reads SBUF "
    "and writes PSUM",
    "both-psum": "one of two tile operands is in SBUF",
    "engine": "an instruction runs on the engines that have it",
    "dtype": "an instruction takes only some data types together",
    "stationary": "a stationary operand has at most 128 columns",
    "moving": "a moving operand has at most 512 columns (NeuronCore-v4: what PSUM holds)",
    "psum-bank": "what a matrix product writes lies within one PSUM bank of 2 KiB a partition",
    "accumulate": "a product accumulates onto the products of its own open group, and a group is "
    "read before it is overwritten",
    "unwritten": "memory is written before it is read",
    "sbuf-capacity": "the tiles that live at one time fit in SBUF",
    "psum-capacity": "the tiles that live at one time fit in the eight banks of PSUM",
    "range": "an activation function is valid within its input range alone",
    "operand": "a vector operand is one f32 column, with as many partitions as the data",
    "operator": "an instruction takes only some operators",
    "version": "an instruction or option exists from some NeuronCore on",
    "signature": "an instruction is called as the NKI documentation says",
    "output": "a kernel returns tensors that it made in nl.shared_hbm, all of them written, and writes "
    "no argument",
    "subset": "a kernel's body is the Python subset of NKI",
    "scalar": "a register begins slices and bounds loops: nothing is computed with it, and it steers "
    "no building of the kernel",
    "dependency": "instructions wait for those of their own loops and of the loops around these",
    "simulator": "what the simulator has not, though the machine does",
    "window": "an instruction works on tiles of some sizes alone",
}


class NkiFault(DiagnosticError):
    """The kernel broke a rule of the machine: `rule` is a key of RULES, `line` that of the source."""

    def __init__(self, rule: str, message: str, file: str = "<kernel>", line: int = 0) -> None:
        assert rule in RULES, rule
        self.rule, self.message, self.line = rule, message, line
        loc = Loc(file, line, 1) if line else None
        super().__init__([Diagnostic("DSL0650", f"{rule}: {message}", loc, f"{RULES[rule]}")])

    def __reduce__(self) -> Any:
        first = self.diagnostics[0]
        file = first.loc.file if first.loc else "<kernel>"
        return type(self), (self.rule, self.message, file, self.line)
