"""Faults in modules as others write them: each is found, by its rule."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.runtime.aie_simulator import AieFault, simulate

from support.npu.modules import ADD, passed_through

_FAULTS = [
    (
        "a lock of a tile out of reach",
        "reach",
        ("%t = aie.tile(0, 2)", "%t = aie.tile(0, 2)\n%far = aie.tile(3, 5)\n%l = aie.lock(%far)"),
        ("use_lock(%free_out, Acq", "use_lock(%l, Acq"),
    ),
    (
        "a buffer of a tile out of reach",
        "reach",
        ("%t = aie.tile(0, 2)", "%t = aie.tile(0, 2)\n%far = aie.tile(0, 3)"),
        ("%x = aie.buffer(%t)", "%x = aie.buffer(%far)"),
    ),
    (
        "two descriptors in a block",
        "descriptors",
        ("aie.next_bd ^in\n", "aie.dma_bd(%x : memref<4x4xi32>)\n      aie.next_bd ^in\n"),
    ),
    (
        "two releases in a block",
        "descriptors",
        ("aie.next_bd ^in\n", "aie.use_lock(%full_in, Release, 1)\n      aie.next_bd ^in\n"),
    ),
    ("an action that is none", "syntax", ("AcquireGreaterEqual", "Take")),
    ("the DMA of another kind of tile", "tile", ("aie.mem(%t)", "aie.memtile_dma(%t)")),
    ("a lock's number twice", "locks", ("aie.lock(%t, 5)", "aie.lock(%t, 0)")),
    ("a lock's number too large", "locks", ("aie.lock(%t, 5)", "aie.lock(%t, 16)")),
    ("a name twice", "symbol", ('sym_name = "y"', 'sym_name = "x"')),
    (
        "a column that the device lacks",
        "tile",
        ("device(npu2)", "device(npu1_1col)"),
        ("%t = aie.tile(0, 2)", "%t = aie.tile(0, 2)\n%q = aie.tile(1, 2)"),
    ),
    ("an index past its dimension", "bounds", ("%c4 = arith.constant 4", "%c4 = arith.constant 5")),
    ("an operation that is not known", "syntax", ("aie.end", "aie.stop")),
    (
        "a value of another type",
        "syntax",
        ("memref.load %x[%i, %j] : memref<4x4xi32>", "memref.load %x[%i, %j] : memref<16xi32>"),
    ),
    ("a block that is not there", "symbol", ("aie.next_bd ^out", "aie.next_bd ^q")),
    ("a channel started after what has no end", "channels", ("(MM2S, 1, ^out", "(S2MM, 0, ^out")),
    (
        "a sequence that is not there",
        "syntax",
        ("runtime_sequence @run", "runtime_sequence @other"),
    ),
]


@pytest.mark.parametrize(
    ("title", "rule", "edits"), [(t, r, e) for t, r, *e in _FAULTS], ids=[f[0] for f in _FAULTS]
)
def test_a_fault_of_others_is_found(title: str, rule: str, edits: list[tuple[str, str]]) -> None:
    text = passed_through(ADD)
    for before, after in edits:
        assert before in text, title
        text = text.replace(before, after, 1)
    with pytest.raises(AieFault) as found:
        simulate(text, [np.arange(32, dtype=np.int32), np.zeros(32, np.int32)], sequence="run")
    assert found.value.rule == rule
