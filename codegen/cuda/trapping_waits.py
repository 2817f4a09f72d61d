"""Waits at barriers that end: a debug form of a kernel's text.

    phase_await(full + slot, phase);      prints `full + slot` and traps where it never ends

A barrier that is told of more bytes or arrivals than come keeps its warps waiting, and the GPU with
them, without a word. In this form a thread that has waited for some seconds prints the barrier, the
block and itself, and stops the kernel. The print makes the assembler wait for asynchronous products one
by one, so that such a kernel is slow.
"""

from __future__ import annotations

_ENTRY = 'extern "C" __global__'
_WAIT = """\
static __device__ __noinline__ void phase_never_ended(const char* barrier, unsigned parity) {
  printf("dslc: block %d, thread %d waits at %s for phase %u, which does not end\\n",
    (int)blockIdx.x, (int)threadIdx.x, barrier, parity);
  asm volatile("trap;");
}
DEVICE void phase_await_or_trap(const unsigned long long* b, unsigned parity, const char* barrier) {
  const long long begun = clock64();
  while (!phase_ended(b, parity)) {
    if (clock64() - begun > 10000000000LL) phase_never_ended(barrier, parity);
  }
}
#define phase_await(barrier, parity) phase_await_or_trap(barrier, parity, #barrier)

"""


def with_trapping_waits(text: str) -> str:
    """The text of a kernel, its waits at barriers with an end."""
    return text.replace(_ENTRY, _WAIT + _ENTRY, 1) if "phase_await(" in text else text
