"""Rates of NVIDIA GPUs.

The predictions of the cost model with these rates were set against 140 measured configurations of six
kernels on one H200 (docs/performance/cuda_tried.md): those of writes, the cache and issue are chosen
by them.

Sources: the limits of a multiprocessor are those of the CUDA C++ Programming Guide ("Technical
Specifications per Compute Capability", "Arithmetic Instructions"), the peaks of the matrix units those
of the A100 and H100 architecture papers. Of the H200, memory bandwidth, the time of an empty kernel and
what wgmma reaches are measured ceilings (docs/performance/cuda.md): 4.53 TB/s read, 2.67 us, 659
TFLOP/s of a product by wgmma; a multiprocessor's mma.sync is held to reach 62 % of wgmma's peak
("Benchmarking and Dissecting the NVIDIA Hopper GPU Architecture via Microbenchmarking", 2024). That
nothing hides behind a product of mma.sync was measured (decision 40).

Of the others no machine was at hand. Bandwidths are 92 % of the data sheets' (an H200 reaches 94), the
clocks those of boost, multiply-adds of a multiprocessor in a cycle the data sheets' dense peaks over
units and clock; latencies are the H200's where nothing is published. mma.sync on sm_100a and sm_103a,
whose peaks are those of tcgen05, is held to be as fast as on an A100. Where the assembler writes
several instructions of wider operands for one (a `Target` leaves such out, or the rate says so), its
text is the source: i4 is two of i8 from sm_90a on.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.compiler.targets.rates import Rates

A100 = Rates(
    clock=1.35e9,
    read=1.75e12,
    write=1.55e12,
    cache=4.0e12,
    cache_bytes=40 << 20,
    latency=550e-9,
    cache_latency=180e-9,
    launch=2.7e-6,
    matrix=(
        ("mma", 16, 1024),
        ("mma", 8, 2048),
        ("mma", 4, 4096),
        ("mma", 32, 512),
        ("mma", 64, 64),
    ),
    plain=(("float", 64), ("double", 32), ("int", 64)),
    shared_bytes=164 << 10,
)
H200 = Rates(
    clock=1.755e9,
    read=4.53e12,
    write=4.2e12,
    cache=14.0e12,
    cache_bytes=60 << 20,
    latency=650e-9,
    cache_latency=350e-9,
    launch=2.67e-6,
    matrix=(
        ("mma", 16, 1270),
        ("mma", 8, 2540),
        ("mma", 4, 512),
        ("mma", 32, 635),
        ("mma", 64, 128),
        ("wgmma", 16, 1770),
        ("wgmma", 8, 3540),
        ("wgmma", 32, 885),
    ),
    blocking=("mma",),
    issue=3.4,
    shared_bytes=228 << 10,
    measured=True,
)
L40S = Rates(
    clock=2.52e9,
    read=0.80e12,
    write=0.75e12,
    cache=4.0e12,
    cache_bytes=48 << 20,
    latency=600e-9,
    cache_latency=250e-9,
    launch=2.7e-6,
    matrix=(
        ("mma", 16, 512),
        ("mma", 8, 1024),
        ("mma", 4, 2048),
        ("mma", 32, 256),
        ("mma", 64, 2),
    ),
    plain=(("float", 128), ("double", 2), ("int", 64)),
    issue=3.4,
    warps=48,
    blocks=24,
    shared_bytes=100 << 10,
)
B200 = Rates(
    clock=1.85e9,
    read=7.4e12,
    write=7.0e12,
    cache=18.0e12,
    cache_bytes=126 << 20,
    latency=700e-9,
    cache_latency=350e-9,
    launch=2.7e-6,
    matrix=(
        ("mma", 16, 1024),
        ("mma", 8, 2048),
        ("mma", 4, 512),
        ("mma", 32, 512),
        ("mma", 64, 64),
    ),
    blocking=("mma",),
    issue=3.4,
    shared_bytes=228 << 10,
)
# Of B300's products those of integers and f64 gave their room to others.
B300 = replace(
    B200,
    matrix=(
        ("mma", 16, 1024),
        ("mma", 8, 256),
        ("mma", 4, 64),
        ("mma", 32, 512),
        ("mma", 64, 2),
    ),
    plain=(("float", 128), ("double", 2), ("int", 64)),
)
RTX_PRO_6000 = Rates(
    clock=2.6e9,
    read=1.65e12,
    write=1.55e12,
    cache=8.0e12,
    cache_bytes=128 << 20,
    latency=650e-9,
    cache_latency=300e-9,
    launch=2.7e-6,
    matrix=(
        ("mma", 16, 512),
        ("mma", 8, 1024),
        ("mma", 4, 256),
        ("mma", 32, 256),
        ("mma", 64, 2),
    ),
    plain=(("float", 128), ("double", 2), ("int", 128)),
    issue=3.4,
    warps=48,
    blocks=24,
    shared_bytes=100 << 10,
)
