"""Kernels whose emitted text once meant something else, run on the host."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.runtime.cuda_emulator import compiler

from support.gpu.emulation import emitted, execute, lower

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")

NEGATIVE = """kernel k[](@x: in i32[4], @y: out i32[8]) {
  %a = load @x[0 : +4!] : i32[4]
  %m = reduce max %a, axis=0 : i32[]
  let r = cast(read(%m), index)
  store @y[r % 8], %m
  store @y[(r // 2) % 8], %m
}
"""
NAMES = """kernel k[](@y: in i32[64], @i: out i32[8]) {
  %j = load @y[0 : +64!] : i32[64]
  %scratch = reshape %j : i32[8, 8]
  %y = reduce max %scratch, axis=0 : i32[8]
  %tid = neg %y : i32[8]
  %imax = add %tid, %y : i32[8]
  %min = sub %y, %imax : i32[8]
  store @i[0 : +8!], %min
}
"""
SCANS = """kernel k[](@x: in i32[64], @y: out i32[64]) {
  %a = load @x[0 : +64!] : i32[64]
  %b = scan sum %a, axis=0 : i32[64]
  %c = scan sum %b, axis=0 : i32[64]
  store @y[0 : +64!], %c
}
"""


def agree(text: str, **args: np.ndarray) -> Kernel:
    """The lowered kernel, whose text gives what the interpreter gives."""
    program = parse_program(text)
    wanted = {n: a.copy() for n, a in args.items()}
    run(program, wanted, Options())
    lowered = lower(program)
    assert isinstance(lowered, Kernel)
    for seed in range(4):
        got = {n: a.copy() for n, a in args.items()}
        execute(lowered, got, seed)
        for name, expected in wanted.items():
            np.testing.assert_array_equal(got[name], expected)
    return lowered


def test_a_scalar_read_from_a_tile_may_be_negative() -> None:
    agree(NEGATIVE, x=np.array([-9, -5, -7, -6], np.int32), y=np.zeros(8, np.int32))


def test_tiles_may_have_the_names_of_what_emitters_use() -> None:
    y = np.random.default_rng(0).integers(-99, 99, 64).astype(np.int32)
    agree(NAMES, y=y, i=np.zeros(8, np.int32))


def test_scratch_has_a_barrier_before_it_is_used_again_and_none_before_the_first() -> None:
    lowered = agree(SCANS, x=np.arange(64, dtype=np.int32), y=np.zeros(64, np.int32))
    text = emitted(lowered)[0]
    before, _, after = text.partition("((int*)scratch)")
    assert "__syncthreads();" not in before
    assert after.count("__syncthreads();") == 2 + 1 + 2  # two in each scan, one between them
