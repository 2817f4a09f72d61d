"""Every example compiles for ragged sizes on every machine, or is refused for what that cannot do.

The sizes are primes, numbers beside those of tiles, odd multiples of 2, 4 and 8 and the rows of models;
nobody names a choice. A few pairs are tried each time, all of them in `make test-deep`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ragged import EXAMPLES, TARGETS, Subject, files, outcome, subjects_of

# What a machine has no room for, by family and code: a low rank whose sums no tile makes fewer, and
# queries of hundreds of tokens at once, where few are meant (examples/attention_decode.tile).
_MANY = ("attention_parts", "attention_decode")
REFUSED = {
    ("cuda", "DSL0503"): ("lowrank_mlp", *_MANY),  # ranks of thousands, in registers
    ("hip", "DSL0501"): ("lowrank_mlp",),  # the same, on the way through LDS
    ("hip", "DSL0503"): _MANY,
    ("nki", "DSL0541"): _MANY,
    ("aie", "DSL0552"): ("lowrank_mlp",),  # weights that one channel cannot bring in turns
    ("aie", "DSL0553"): ("lowrank_mlp",),  # tiles beyond the 64 KiB of a core
}
# Kernels of each kind, on machines of each family, that take a second or less.
SAMPLE = [
    ("layernorm", "layernorm", "cuda:sm_90a"), ("softmax", "softmax_rows", "cuda:sm_80"),
    ("rmsnorm", "rmsnorm", "hip:gfx942"), ("gemm", "gemm", "hip:gfx950"),
    ("gemm", "gemm_i8", "cuda:sm_90a"), ("rope", "rope", "cuda:sm_80"),
    ("attention", "attention", "cuda:sm_90a"), ("splitk_bias", "splitk_bias", "hip:gfx942"),
    ("swiglu", "swiglu", "aarch64:i8mm"), ("mlp", "gemm_residual", "interp"),
    ("vector_add", "vector_add", "nki:trn2"), ("rmsnorm", "rmsnorm", "aie:npu2"),
]  # fmt: skip


def tried(subject: Subject, target: str, seed: int) -> None:
    """Compile it; the table has what the machine cannot do."""
    sizes, refusal = outcome(subject, target, seed)
    if refusal is not None:
        code = refusal.diagnostics[0].code
        refused = REFUSED.get((target.partition(":")[0], code), ())
        assert subject.name in refused, f"{sizes}: {refusal}"


@pytest.mark.parametrize(("file", "name", "target"), SAMPLE)
def test_an_example_compiles_for_ragged_sizes(file: str, name: str, target: str) -> None:
    tried(Subject(EXAMPLES / f"{file}.tile", name), target, 0)


@pytest.mark.deep
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", files(), ids=lambda f: f.stem)
def test_every_example_compiles_for_ragged_sizes(file: Path, target: str) -> None:
    for subject in subjects_of(file):
        for seed in range(4):
            tried(subject, target, seed)
