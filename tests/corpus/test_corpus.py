"""The corpus on the interpreter, in order and shuffled, and on each machine.

`make test` runs all of it on the interpreter and some cases of each machine; the deep run all.
"""

from __future__ import annotations

from dataclasses import replace

import dslc
import numpy as np
import pytest

from corpus.cases import Trial, cases
from support.corpus import Wrong, run

ALL = cases()


def test_the_corpus_is_large() -> None:
    assert len(ALL) >= 90


@pytest.mark.parametrize("name", ["greedy", "token_bitmask", "silu_mul_quantize_fp8", "gemm_f64"])
def test_one_wrong_element_is_seen(name: str) -> None:
    trial = ALL[name].trial()
    for output, array in trial.wanted.items():
        wrong = np.array(array, np.float64)
        last = tuple(n - 1 for n in wrong.shape)
        wrong[last] = (
            1.0
            if np.isinf(wrong[last])
            else wrong[last] + 0.5 * np.abs(wrong[np.isfinite(wrong)]).max() + 1
        )
        changed = Trial(trial.args, {**trial.wanted, output: wrong})
        with pytest.raises(Wrong, match=f"1 of .* elements of {output}"):
            run(replace(ALL[name], make=lambda _, made=changed: made), "interp")


@pytest.mark.parametrize("name", ALL)
def test_on_the_interpreter(name: str) -> None:
    run(ALL[name], "interp")
    with dslc.options(shuffle=7):
        run(ALL[name], "interp")
