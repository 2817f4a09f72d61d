"""Artifacts whose launches are fuzzed, and what each runtime reads of one before it is launched."""

from __future__ import annotations

import dataclasses
import functools

from dslc.compiler.artifact import Artifact
from dslc.runtime.cuda import CudaKernel
from dslc.runtime.expression import evaluate, names_of
from dslc.runtime.native.arm_features import FEATURES
from dslc.runtime.native.steps import between, steps_of
from dslc.runtime.native.variants import chosen_variant
from dslc.runtime.packing import packed_shape

from support.gpu.fake_cuda import scale_artifact

_TILES = {
    "scheme": "tiles", "bits": 4, "signed": False, "modes": [[2, 4]], "order": [1, 0],
    "thread_bytes": 2, "word_bytes": 1, "lanes": 1,
}  # fmt: skip


def launched(artifact: Artifact) -> None:
    """What each runtime reads of an artifact before a launch; every expression with some numbers."""
    family = artifact.target.partition(":")[0]
    if family == "cuda":
        CudaKernel(artifact)
    elif family == "aarch64":

        class Processor:
            name = "a stand-in"
            machine = "aarch64"
            features = frozenset(FEATURES)

        chosen = chosen_variant(artifact, Processor())  # type: ignore[arg-type]
        steps_of(chosen)
        between(chosen)
    for p in artifact.signature.params:
        if p.packed is not None:
            packed_shape(p.packed, [7] * len(p.dims or ()))
    for text in (*artifact.grid, *(w.bytes for w in artifact.workspaces)):
        evaluate(text, dict.fromkeys(names_of(text), 7))


@functools.cache
def artifacts() -> tuple[Artifact, ...]:
    """Kernels and programs for GPUs and Arm CPUs as their launches describe them, without code."""
    launch = {
        "variant": "base", "features": [], "scratch": 64, "asserts": ["n > 0"], "grid": ["cdiv(N, 8)"],
        "arguments": [
            {"kind": "tensor", "name": "x"}, {"kind": "scalar", "name": "s", "type": "f32"},
            {"kind": "value", "value": "N * 2", "type": "i64"},
        ],
    }  # fmt: skip
    cpu = scale_artifact(target="aarch64:base", launch=launch, files={})
    gpu = scale_artifact()
    box = {
        "kind": "tensor_map", "name": "x", "bytes": 2, "swizzle": 128, "box": [64, 128],
        "extents": ["N", "N"], "strides": ["N * 2"],
    }  # fmt: skip
    boxed = {**gpu.launch, "arguments": [box], "cluster": [2, 1, 1]}
    call = {"kernel": 0, "tensors": {"x": "x", "y": "b"}, "dims": {"N": "N"}, "scalars": {"s": "s"}}
    last = {**call, "tensors": {"x": "b", "y": "y"}}
    calls = {"buffers": [{"name": "b", "bytes": "N * 4"}], "calls": [call, last]}
    files = {f"0.{n}": content for n, content in gpu.files.items()}
    x, *others = gpu.signature.params
    low_bit = dataclasses.replace(x, dtype="u4", packed=_TILES)
    return (
        gpu,
        scale_artifact(signature=dataclasses.replace(gpu.signature, params=(low_bit, *others))),
        scale_artifact(launch=boxed),
        scale_artifact(
            kind="program", launch={**calls, "kernels": [gpu.to_manifest()]}, files=files
        ),
        cpu,
        scale_artifact(
            kind="program",
            target="aarch64:base",
            files={},
            launch={**calls, "kernels": [cpu.to_manifest()]},
        ),
        scale_artifact(target="aarch64:all", files={}, launch={"variants": [cpu.to_manifest()]}),
    )
