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
"""

from __future__ import annotations

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
)
