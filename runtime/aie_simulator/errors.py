"""What the simulator refuses: the rule of the machine that a module breaks, with its line."""

from __future__ import annotations

from typing import Any

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc

# Every rule by the name under which it is reported, in one sentence (AIETargetModel.h and the
# verifiers of mlir-aie, August 2026; AM020 and the register reference of AIE-ML).
RULES = {
    "syntax": "a module is MLIR of the operations that are known",
    "symbol": "what is named is defined, once",
    "tile": "a tile lies within the array, and only some kinds have cores, memories or buffers",
    "memory": "buffers and the stack fit in a tile's memory",
    "program": "a core's program fits in its program memory",
    "channels": "a tile has so many DMA channels of each direction",
    "descriptors": "a tile has so many buffer descriptors, in a memory tile half of them for the odd "
    "channels",
    "dims": "a buffer descriptor has so many dimensions",
    "length": "a buffer descriptor moves at least one word, and at most what its length field holds",
    "wrap": "a dimension takes no more steps than its field holds",
    "step": "the distance of two steps is positive and fits in its field",
    "word": "a DMA moves words of 32 bits: innermost runs and outer strides are whole words",
    "locks": "a tile has so many locks",
    "lock-value": "a lock's value is 0 to 63",
    "iteration": "a task moves its address on at most 64 times, and repeats at most 256 times",
    "queue": "a channel's queue has four places: a push to a full one is dropped",
    "descriptor-reuse": "a descriptor is written anew only when the task that uses it has ended",
    "configuration": "the array is configured anew, and a sequence begins, when all tasks have ended",
    "padding": "a memory tile pads what it sends, by up to 63 words, 31 and 15 steps",
    "reach": "a core uses memory and locks of its own tile and of those north, south and west; "
    "a DMA its own, a memory tile's also those east and west",
    "packet": "a packet has a number of 0 to 31 that a flow from its channel has",
    "register": "the host writes registers whose meaning is known",
    "function": "a function that is declared only is given as Python",
    "bounds": "an access lies within its memory",
    "unwritten": "memory is written before it is read",
    "partial": "an object leaves as a whole, written since it was acquired",
    "size": "what is sent on a stream is received in objects of the same size",
    "fifo": "a core acquires at most as many objects as a FIFO has, and releases what it holds",
    "link": "the parts of linked objects cover the larger object, each once",
    "ports": "a switch has so many ports in each direction",
    "cascade": "a cascade stream passes vectors of 512 bits from a core to its neighbour south or east",
    "deadlock": "every process that waits is waited for by none that it waits for",
    "leftover": "what is sent is consumed: no data stays in a stream or a FIFO",
    "token": "a wait is for a token that a task issues",
    "operation": "a core's operations take operands of the types that they name",
    "argument": "the arguments are arrays of the sequence's types",
}


class AieFault(DiagnosticError):
    """The module broke a rule of the machine: `rule` is a key of RULES, `line` that of the text."""

    def __init__(self, rule: str, message: str, file: str = "<module>", line: int = 0) -> None:
        assert rule in RULES, rule
        self.rule, self.message, self.line, self.file = rule, message, line, file
        loc = Loc(file, line, 1) if line else None
        super().__init__([Diagnostic("DSL0660", f"{rule}: {message}", loc, RULES[rule])])

    def __reduce__(self) -> Any:
        return type(self), (self.rule, self.message, self.file, self.line)
