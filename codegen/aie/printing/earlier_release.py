"""A module of printer B in the spelling of mlir-aie before 1.3.5.

1.3.5 (July 2026) made the amounts of locks values and gave descriptors named fields. Before:

    aie.use_lock(%x_full, AcquireGreaterEqual, 1)
    aie.dma_bd(%x_0 : memref<64xbf16>, 0, 64, [<size = 8, stride = 1>, <size = 8, stride = 8>])
"""

from __future__ import annotations

from dslc.compiler.mlir import Number, Operation, Use, parse

_PROGRAMS = ("aie.mem", "aie.memtile_dma")


def respelled(text: str) -> str:
    """The module of a text of 1.4 as earlier releases read it; each operation stands on a line."""
    module = parse(text)
    amounts: dict[str, object] = {}  # each region has names of its own: the last one counts
    lines = text.split("\n")
    dropped: set[int] = set()
    for op in module.walk():
        if op.name == "arith.constant":
            amounts[op.results[0]] = op.attributes["value"]
        elif op.name == "aie.use_lock":
            _respell(lines, op, _use(op, amounts))
        elif op.name == "aie.dma_bd":
            _respell(lines, op, _descriptor(op))
        elif op.name in _PROGRAMS:
            # Constants have no place in the blocks of those releases.
            dropped |= {o.line for o in op.walk() if o.name == "arith.constant"}
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in dropped)


def _respell(lines: list[str], op: Operation, text: str) -> None:
    line = lines[op.line - 1]
    lines[op.line - 1] = line[: len(line) - len(line.lstrip())] + text


def _use(op: Operation, amounts: dict[str, object]) -> str:
    value = op.attributes["value"]
    amount = amounts[value] if isinstance(value, Use) else value
    assert isinstance(amount, Number)
    return f"aie.use_lock({op.operands[0]}, {op.text('action')}, {amount.value})"


def _descriptor(op: Operation) -> str:
    moved = f"{op.operands[0]} : {op.types[0]}, {op.integer('offset')}, {op.integer('len')}"
    loops = [f"<size = {d['size'].value}, stride = {d['stride'].value}>" for d in _loops(op)]
    if loops:
        moved = f"{moved}, [{', '.join(loops)}]"
    return f"aie.dma_bd({moved})"


def _loops(op: Operation) -> list[dict[str, Number]]:
    return list(op.fields("dimensions") or ())
