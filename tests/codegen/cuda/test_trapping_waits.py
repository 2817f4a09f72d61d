"""The form of a text whose waits at barriers end: it compiles, and names the barrier."""

from __future__ import annotations

import re

from dslc.codegen.cuda.prelude import used
from dslc.codegen.cuda.tools.toolchain import compile_ptx
from dslc.codegen.cuda.trapping_waits import with_trapping_waits

BODY = """
extern "C" __global__ void waits(int n) {
  extern __shared__ unsigned long long full[];
  phase_await(full + n, 0u);
}
"""


def test_a_wait_prints_its_barrier_and_traps(nvrtc: None) -> None:
    text = "#define DEVICE static __device__ __forceinline__\n" + used(BODY) + BODY
    plain, ending = (compile_ptx(t, "sm_90a") for t in (text, with_trapping_waits(text)))
    assert "trap;" not in plain
    assert "trap;" in ending
    strings = [bytes(map(int, x.split(","))) for x in re.findall(r"= \{([\d, ]+)\}", ending)]
    assert b"full + n" in {s.rstrip(b"\0") for s in strings}


def test_a_text_without_waits_stays_as_it_is() -> None:
    text = 'extern "C" __global__ void f() {}\n'
    assert with_trapping_waits(text) == text
