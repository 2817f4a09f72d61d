"""Whole kernels of the library beside NumPy, on every machine."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.frontend import parse_tile, tree

from std import attention_cases, expert_cases, layer_cases  # noqa: F401  (register cases)
from std.kernels import CASES, Trial
from support.machines import MACHINES, call

STD = Path(dslc.__file__).parent / "std"
DTYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8}
TOO_MUCH = {  # for a machine, and what it says
    # Packed codes at places whose number the machine reads.
    "nki:trn2": {
        "experts.expert_linear.all": "DSL0590",
        "attention.attention_varlen.nibbles": "DSL0590",
    },
    "aie:npu2": {
        "sampling.top_k": "DSL0554",
        # Turns whose number a call tells alone.
        "attention.attention_varlen": "DSL0590",
        "attention.attention_varlen.all": "DSL0590",
        "attention.attention_varlen.nibbles": "DSL0590",
        "attention_backward.queries_backward": "DSL0590",
        "attention_backward.queries_backward.all": "DSL0590",
        "attention_backward.keys_backward": "DSL0590",
        "attention_backward.keys_backward.all": "DSL0590",
        # All options at once: channels and memory.
        "attention.paged_decode.all": "DSL0554",
        "linear.linear_quantized.all": "DSL0553",
    },
}


def outputs(name: str, trial: Trial) -> dict[str, np.ndarray]:
    """Empty arrays for what the kernel writes and is not given."""
    module, kernel = name.split(".")[:2]
    text = (STD / f"{module}.tile").read_text(encoding="utf-8")
    (node,) = (i for i in parse_tile(text, module).items if getattr(i, "name", "") == kernel)
    assert isinstance(node, tree.Kernel)
    named = {"T": "f16" if "const T = f16" in text else "f32", **trial.define}
    made = {}
    for p in node.params:
        if p.mode == "out" and p.name in trial.wanted:
            word = p.dtype.id  # type: ignore[union-attr]
            made[p.name] = np.zeros(trial.wanted[p.name].shape, DTYPES[str(named.get(word, word))])
    return made


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_a_kernel_means_what_numpy_says(target: str, name: str) -> None:
    trial = CASES[name](np.random.default_rng(3))
    module, kernel = name.split(".")[:2]
    code = TOO_MUCH.get(target, {}).get(name)
    args = {**trial.args, **outputs(name, trial)}
    source = f"from std.{module} import {kernel}\n"
    if code is not None:
        with pytest.raises(dslc.DiagnosticError, match=code):
            call(target, source, args, trial.config, kernel, trial.define)
        return
    call(target, source, args, trial.config, kernel, trial.define)
    for out, wanted in trial.wanted.items():
        bound = 3e-2 if args[out].dtype == np.float16 else 2e-4
        if args[out].dtype == np.int8:
            assert np.abs(args[out] - wanted).max() <= 1
            assert (args[out] == wanted).mean() > 0.99
            continue
        np.testing.assert_allclose(args[out], wanted, rtol=bound, atol=bound, err_msg=out)


def test_every_kernel_has_a_case() -> None:
    found = {
        f"{path.stem}.{item.name}"
        for path in STD.glob("*.tile")
        for item in parse_tile(path.read_text(encoding="utf-8"), str(path)).items
        if isinstance(item, tree.Kernel)
    }
    # Those of examples/gemm_quantized have theirs in tests/examples.
    assert found - {"linear.gemm_quantized_sums", "linear.gemm_quantized_zeros"} == {
        ".".join(name.split(".")[:2]) for name in CASES
    }
