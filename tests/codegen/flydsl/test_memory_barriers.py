"""Barriers for tensors in FlyDSL's words, compiled by the flydsl package and run in the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.ir import Kernel
from dslc.runtime.hip_emulator import compiler

from support.gpu.orders import ORDERS
from support.hip import flydsl
from support.hip.emulation import execute, lower

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a clang for AMD GPUs and a C compiler",
)


@pytest.mark.parametrize(("name", "barriers"), [("shift in place", 1), ("shift within a warp", 0)])
def test_threads_meet_between_accesses_of_a_tensor(name: str, barriers: int) -> None:
    pytest.importorskip("flydsl._mlir")
    feature = ORDERS[name]
    origin = feature.compile("hip:gfx950").origin
    lowered = lower(origin.elaborated({}, {}, lambda d: feature.sizes[d]).program, "gfx950")
    assert isinstance(lowered, Kernel)
    args = feature.arguments(origin.signature)
    assert flydsl.isa(lowered, "gfx950").count("s_barrier") == barriers
    execute(lowered, "gfx950", args, 1, isa_of=flydsl.isa)
    for written, expected in feature.outputs("interp").items():
        np.testing.assert_array_equal(args[written], expected)
