"""What instructions cost: the table by which loop bodies are put in order.

Latencies are those of Arm's Neoverse V2 Software Optimization Guide, which differ from those of N2 in
few places; of a multiply-add the time until its accumulator can be added to again is apart, since such
chains are forwarded. CPUs of that family reorder what is near; on those that do not (Cortex-A510) the
order of the text counts for more.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst

WIDTH = 6  # micro-operations that are dispatched in a cycle
PIPES = {"V": 4, "M": 2, "L": 3, "S": 2, "I": 6}
"""Pipes of a kind: vectors, those vectors pipes that convert and shift, loads, stores, integers."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Cycles from operands to result, and to a further addition to the result; the pipe."""

    latency: int
    forwarded: int
    pipe: str


def _of(latency: int, pipe: str, forwarded: int | None = None) -> Timing:
    return Timing(latency, latency if forwarded is None else forwarded, pipe)


_SIMPLE = _of(2, "V")
_VECTOR = {
    "smmla": _of(3, "V", 1), "ummla": _of(3, "V", 1), "usmmla": _of(3, "V", 1),
    "sdot": _of(3, "V", 1), "udot": _of(3, "V", 1), "usdot": _of(3, "V", 1), "sudot": _of(3, "V", 1),
    "bfmmla": _of(5, "V", 2), "fmla": _of(4, "V", 2), "fmls": _of(4, "V", 2), "fmlal": _of(4, "V", 2),
    "mla": _of(4, "M", 1), "mls": _of(4, "M", 1), "mul": _of(4, "M"),
    "fmul": _of(3, "V"), "fadd": _of(2, "V"), "fsub": _of(2, "V"), "fdiv": _of(10, "M"),
    "fsqrt": _of(12, "M"), "scvtf": _of(4, "M"), "ucvtf": _of(4, "M"), "fcvtzs": _of(4, "M"),
    "fcvtzu": _of(4, "M"), "fcvtn": _of(4, "M"), "fcvtn2": _of(4, "M"), "fcvtl": _of(4, "M"),
    "fcvtl2": _of(4, "M"), "bfcvtn": _of(4, "M"), "bfcvtn2": _of(4, "M"), "frintn": _of(3, "M"),
    "frintm": _of(3, "M"), "frintp": _of(3, "M"), "frintz": _of(3, "M"),
    "ushr": _of(2, "M"), "sshr": _of(2, "M"), "shl": _of(2, "M"), "ushl": _of(2, "M"),
    "sshl": _of(2, "M"), "ushll": _of(2, "M"), "sshll": _of(2, "M"), "addv": _of(4, "M"),
    "addp": _of(2, "V"), "tbl": _of(2, "V"), "movi": _of(0, "V"),
}  # fmt: skip
_GENERAL = {
    "mul": _of(2, "I"),
    "madd": _of(2, "I"),
    "sdiv": _of(8, "I"),
    "udiv": _of(8, "I"),
    "umov": _of(2, "V"),
    "smov": _of(2, "V"),
}
_LOAD, _STORE, _REPLICATED = _of(6, "L"), _of(1, "S"), _of(8, "L")


def timing(inst: Inst) -> Timing:
    """The row of an instruction; of several lines in one, the first's and a cycle for each more."""
    word = inst.mnemonic
    if inst.effect is Effect.LOAD or word in ("ldr", "prfm"):
        return _REPLICATED if word in ("ld1", "ld1r") else _LOAD
    if inst.effect is Effect.STORE:
        return _STORE
    vector = any(r.file is File.V for r in inst.defined)
    if vector:
        return _VECTOR.get(word, _SIMPLE)
    general = _GENERAL.get(word, _of(1, "I"))
    more = inst.template.count("\n")
    return general if not more else _of(general.latency + more, general.pipe)
