"""A bench of known times, and kernels to tune on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.tuner.bench import Effort
from dslc.tuner.inputs import Inputs

SOURCE = '''
kernel gemm(a: f16[M, K], w: u4[K, N], c: out f16[M, N]):
    """c = a @ w."""
    tune BM = 16 | 32
    tune BN = 64 | 32
    require N % BN == 0

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, 64):
            acc += dot(a[m : m + BM, k : k + 64], cast(w[k : k + 64, n : n + BN], f16))
        c[m : m + BM, n : n + BN] = cast(acc, f16)


kernel scale(x: f32[N], s: f32, y: out f32[N]):
    tune BN = 256 | 512 | 1024
    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * s
'''

Config = dict[str, int | str]


@dataclass
class StandIn:
    """A bench of known times: `seconds(config)`; what it raises is what the device says."""

    seconds: Callable[[Config], float]
    wrong: Callable[[Config], str | None] = lambda config: None
    device: str = "Stand-in"
    driver: str = "CUDA 13.0"
    timed: list[tuple[Config, Effort]] = field(default_factory=list)
    broken: bool = False
    loaded: int = 0
    most_loaded: int = 0

    def __call__(self, inputs: Inputs) -> StandIn:
        return self

    def works(self) -> bool:
        return not self.broken

    def load(self, artifact: Artifact, predicted: float = 0.0) -> _Loaded:
        self.loaded += 1
        self.most_loaded = max(self.most_loaded, self.loaded)
        return _Loaded(self, dict(artifact.signature.config))


@dataclass
class _Loaded:
    bench: StandIn
    config: Config

    def time(self, effort: Effort) -> float:
        self.bench.timed.append((self.config, effort))
        return self.bench.seconds(self.config)

    def wrong(self) -> str | None:
        return self.bench.wrong(self.config)

    def close(self) -> None:
        self.bench.loaded -= 1


DIMS = {"M": 16, "K": 256, "N": 128}


def fail(text: str) -> float:
    raise error("DSL0843", text)
