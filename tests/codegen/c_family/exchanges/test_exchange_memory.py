"""Exchanges between threads: where they may lie, and that nobody needs any longer what lay there."""

from __future__ import annotations

import re

import dslc
import numpy as np
import pytest
from dslc.codegen.c_family.exchanges.exchange_memory import Exchanges
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower

needs_cxx = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")

HEAD = "kernel f[M](@x: in f32[M], @y: out f32[M]) {\n  %v = load @x[0 : +4] : f32[4]\n"
MARK = "%m = neg %v : f32[4]\n"
A = "alloc @a: buffer shared f32[64] offset 64\n"
USE = "store @a[0 : +4!], %v\n"
COPY = "copy_async @a[0 : +4!], @x[0 : +4]\ncommit_group\n"
LOOP = "for k in range(0, M, 4) {\n"


@pytest.mark.parametrize(
    ("body", "start", "reused"),
    [
        pytest.param(A + USE + MARK, 0, True, id="over"),
        pytest.param(A + USE + MARK + USE, 320, False, id="still needed"),
        pytest.param(MARK + A + USE, 320, False, id="needed later"),
        pytest.param(LOOP + A + USE + MARK + "}\n", 320, False, id="begins again"),
        pytest.param(A + LOOP + USE + "}\n" + MARK, 0, True, id="the loop has ended"),
        pytest.param(A + LOOP + USE + MARK + "}\n", 320, False, id="read by the next iteration"),
        pytest.param(A + COPY + MARK, 320, False, id="a copy is under way"),
        pytest.param(A + COPY + "wait_group pending=0\n" + MARK, 0, True, id="it has landed"),
    ],
)
def test_an_exchange_lies_where_no_buffer_lives(body: str, start: int, reused: bool) -> None:
    kernel = parse_program(f"{HEAD}{body}}}\n")
    assert isinstance(kernel, Kernel)
    mark = next(s for s in walk(kernel.body) if isinstance(s, ins.Unary))
    (memory,) = {s.memory for s in walk(kernel.body) if isinstance(s, ins.Alloc)}
    exchanges = Exchanges.beside(kernel, {memory: (64, 256)})
    assert exchanges.place(mark, 100) == (start, reused)
    assert exchanges.bytes == max(320, start + 112)
    assert exchanges.place(mark, 64)[0] == 0  # what fits before the buffer
    assert exchanges.room(mark, 1000) == 1000 - start


# The scan writes where other threads have read the first half.
REUSED = """kernel k[](@x: in i32[2048], @y: out i32[2048]) {
  threads(128)
  alloc @a: buffer shared i32[2048]
  copy_async @a[0 : +2048!], @x[0 : +2048!], layout=`spatial(128).local(16)`
  commit_group
  wait_group pending=0
  sync
  %u = load @a[1024 : +1024!] : i32[1024] `local(8).spatial(128)`
  %v = load @a[0 : +1024!] : i32[1024] `spatial(128).local(8)`
  %s = scan sum %u, axis=0 : i32[1024] `local(8).spatial(128)`
  store @y[0 : +1024!], %s
  store @y[1024 : +1024!], %v
}
"""


@needs_cxx
def test_an_exchange_over_a_buffer_waits_for_its_last_reader() -> None:
    lowered = lower(parse_program(REUSED))
    assert isinstance(lowered, Kernel)
    text, shared = emitted(lowered)
    assert shared == 8192
    x = np.random.default_rng(0).integers(-99, 99, 2048).astype(np.int32)
    wanted = np.concatenate([np.cumsum(x[1024:], dtype=np.int32), x[:1024]])
    at = text.index("((int*)scratch)")
    before = text.rindex("__syncthreads();", 0, at)
    assert before > text.rindex("a + ", 0, at)  # the buffer's last reader

    def wrong(edited: str) -> bool:
        for seed in range(8):
            args = {"x": x, "y": np.zeros(2048, np.int32)}
            try:
                execute(lowered, args, seed, lambda _: edited)
            except EmulationError:
                return True
            if not np.array_equal(args["y"], wanted):
                return True
        return False

    assert not wrong(text)
    assert wrong(text[:before] + text[before + len("__syncthreads();") :])


REDUCED = """kernel k[](@x: in {t}[4, 16, 64], @y: out {of}[16, 64]) {{
  threads(256)
  %x = load @x[0 : +4!, 0 : +16!, 0 : +64!] : {t}[4, 16, 64] `{given}`
  %r = reduce {op} %x, axis=0 : {of}[16, 64] `{wanted}`
  store @y[0 : +16!, 0 : +64!], %r
}}
"""
GIVEN = (
    "spatial(4, 2, 1).local(1, 8, 1).spatial(1, 1, 32).local(1, 1, 2)",
    "spatial(2, 1, 4).local(1, 4, 1).spatial(1, 4, 8).local(1, 1, 2).spatial(1, 1, 1).local(2, 1, 1)",
    "spatial(4, 1, 1).column_spatial(1, 2, 1).local(1, 1, 2).spatial(1, 8, 4).local(1, 1, 8)",
)
WANTED = (
    "spatial(8, 32).local(2, 2)",
    "spatial(16, 16).local(1, 4)",
    "local(1, 4).spatial(16, 16)",
)


@needs_cxx
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize(("op", "dtype"), [("sum", "i32"), ("max", "f64"), ("argmin", "f32")])
def test_warps_hand_out_what_they_reduced(given: str, wanted: str, op: str, dtype: str) -> None:
    of = "i32" if op == "argmin" else dtype
    text = REDUCED.format(t=dtype, of=of, given=given, wanted=wanted, op=op)
    program = parse_program(text)
    kinds = {"i32": np.int32, "f32": np.float32, "f64": np.float64}
    x = np.random.default_rng(0).integers(-99, 99, (4, 16, 64)).astype(kinds[dtype])
    expected = {"x": x, "y": np.zeros((16, 64), kinds[of])}
    run(program, expected, Options())
    lowered = lower(program)
    args = {"x": x, "y": np.zeros((16, 64), kinds[of])}
    execute(lowered, args, seed=1)
    np.testing.assert_array_equal(args["y"], expected["y"])
    assert isinstance(lowered, Kernel)
    if op != "argmin":  # once through shared memory: one barrier between writes and reads
        assert len(re.findall(r"__syncthreads\(\);", emitted(lowered)[0])) == 1


def test_places_that_no_thread_can_compute_are_refused() -> None:
    """Sixteen rows of fourteen and two: found by a random program on a GPU."""
    source = """
kernel k(y: out f32[M, N]):
    y[0:16, 0:2] = concat([repeat(full(f32, [2, 2], 1.0), 7, 0), full(f32, [2, 2], 1.0)], 0)
"""
    with pytest.raises(DiagnosticError, match="DSL0590"):
        dslc.compile(source, "cuda:sm_90a", cache=False).k.specialize(M=1, N=1)
