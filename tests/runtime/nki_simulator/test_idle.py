"""The gaps of an engine, by what ended them."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.runtime.nki_simulator import simulate
from dslc.runtime.nki_simulator.idle import idle

SOURCE = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def twice(x):
    y = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    b = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=b, op=nl.exp, data=a)
    c = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=c, data1=a, data2=b, op=nl.add)
    nisa.dma_copy(dst=y, src=c)
    return y
"""


def test_gaps_are_those_between_instructions_and_name_what_ended_them() -> None:
    run = simulate(SOURCE, "twice", [np.zeros((128, 512), np.float32)], "nki:trn2")
    timeline = run.timeline
    (scalar,) = idle(timeline, run.waits, "ACT")
    assert (scalar.wait, scalar.line, scalar.room) == ("dma_copy", 11, False)
    (vector,) = idle(timeline, run.waits, "DVE")
    assert (vector.wait, vector.line) == ("activation", 13)
    number = next(i for i, s in enumerate(timeline.steps) if s.queue == "DVE")
    assert vector.nanoseconds == pytest.approx(timeline.begins[number])
    assert idle(timeline, run.waits, "PE") == []


def test_memory_that_is_used_again_is_named_as_such() -> None:
    large = 20 * 1024  # two of these tiles fit
    source = f"""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def fill(x):
    y = nl.ndarray((128, {large}), dtype=nl.float32, buffer=nl.shared_hbm)
    for i in range(4):
        a = nl.ndarray((128, {large}), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=a, value=1.0)
        nisa.dma_copy(dst=y, src=a)
    return y
"""
    run = simulate(source, "fill", [np.zeros((1, 1), np.float32)], "nki:trn2", values=False)
    (found,) = idle(run.timeline, run.waits, "DVE")
    assert (found.wait, found.room) == ("dma_copy", True)
