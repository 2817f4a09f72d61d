"""Rates of AMD Instinct GPUs, as published: nothing of them was measured here.

Peaks, clocks and capacities are those of AMD's data sheets and of the "AMD CDNA 3" and "CDNA 4"
architecture white papers: a compute unit's matrix units do 1024 (CDNA 4: 2048) multiply-adds of 16 bits
in a cycle, twice as many of 8 bits, 128 of f32. Bandwidths of memory are those that published copies
reach, four fifths of the peak; `cache` is the Infinity Cache of 256 MB. Latencies of MI300X are those
that Chips and Cheese published in 2024; those of MI355X are taken to be the same. A SIMD issues a
vector instruction of 64 lanes every four cycles, so that a unit issues one a cycle.
"""

from __future__ import annotations

from dslc.compiler.targets.rates import Rates

SIMDS = 4  # of a compute unit
LANE_REGISTERS = 512  # that a SIMD has for each lane, accumulation registers among them
SIMD_WAVES = 8
_REGISTERS = SIMDS * LANE_REGISTERS * 64
_WAVES = SIMDS * SIMD_WAVES

MI300X = Rates(
    clock=2.1e9,
    read=4.3e12,
    write=4.0e12,
    cache=11.9e12,
    cache_bytes=256 << 20,
    latency=700e-9,
    cache_latency=218e-9,
    launch=4.0e-6,
    matrix=(("mfma", 16, 1024), ("mfma", 8, 2048), ("mfma", 32, 128)),
    issue=1.0,
    registers=_REGISTERS,
    warps=_WAVES,
    shared_bytes=64 << 10,
    reserved=0,
)
MI355X = Rates(
    clock=2.4e9,
    read=6.4e12,
    write=6.0e12,
    cache=11.9e12,
    cache_bytes=256 << 20,
    latency=700e-9,
    cache_latency=218e-9,
    launch=4.0e-6,
    matrix=(
        ("mfma", 16, 2048),
        ("mfma", 8, 4096),
        ("mfma", 6, 8192),
        ("mfma", 4, 8192),
        ("mfma", 32, 128),
    ),
    issue=1.0,
    registers=_REGISTERS,
    warps=_WAVES,
    shared_bytes=160 << 10,
    reserved=0,
)
