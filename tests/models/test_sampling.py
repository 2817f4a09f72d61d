"""Draws on the machine: what may be drawn is what NumPy keeps, as often as its probability says."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import Sampling, open_model
from dslc.models.kernel_sources import KERNELS
from dslc.models.sampling import rows_of

GPU = pytest.param("cuda", marks=pytest.mark.gpu)
FREQUENT = pytest.param("cuda", 4000, 0.025, marks=pytest.mark.gpu)


def kept(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Which logits [V] may be drawn."""
    scaled = logits.astype(np.float64) / sampling.temperature
    order = np.argsort(-scaled)[: sampling.top_k or None]
    p = np.exp(scaled[order] - scaled[order[0]])
    count = int(np.searchsorted(np.cumsum(p / p.sum()), sampling.top_p)) + 1
    found = np.zeros(len(logits), bool)
    found[order[:count]] = True
    return found


@pytest.mark.parametrize("target", ["interp", "cpu", GPU])
@pytest.mark.parametrize(
    "sampling",
    [Sampling(0.7, 40), Sampling(1.5, 0, 0.9), Sampling(1.0, 64, 0.5), Sampling(0.01, 9, 0.99)],
)
def test_the_least_logit_is_that_of_the_kept_ones(target: str, sampling: Sampling) -> None:
    rows, vocabulary = 2, 5000
    logits = np.random.default_rng(0).normal(0, 3, (rows, vocabulary)).astype(np.float32)
    least = np.empty(rows, np.float32)
    kernel = dslc.compile(KERNELS, target)["least_kept"]
    kernel(logits, rows_of([sampling] * rows, vocabulary)["sampling"], least)
    for row, bound in zip(logits, least, strict=True):
        np.testing.assert_array_equal(row >= bound, kept(row, sampling))


@pytest.mark.parametrize(
    ("target", "rows", "atol"), [("interp", 250, 0.1), ("cpu", 4000, 0.025), FREQUENT]
)
def test_tokens_come_as_often_as_they_are_likely(target: str, rows: int, atol: float) -> None:
    p = np.array([0.5, 0.3, 0.15, 0.05])
    logits = np.tile(0.8 * np.log(p).astype(np.float32), (rows, 1))
    kernel = dslc.compile(KERNELS, target)["drawn"]

    def counts(bound: float, seed: int) -> np.ndarray:
        values, at = np.empty((rows, 1), np.float32), np.empty((rows, 1), np.int32)
        least = np.full(rows, bound, np.float32)
        own, start = rows_of([Sampling(0.8, seed=seed)] * rows, 4), np.arange(rows, dtype=np.int32)
        kernel(logits, least, own["sampling"], own["seed"], start, values, at)
        return np.bincount(at[:, 0], minlength=4) / rows

    np.testing.assert_allclose(counts(-np.inf, 1), p, atol=atol)
    np.testing.assert_allclose(counts(0.8 * np.log(0.2), 2), [5 / 8, 3 / 8, 0, 0], atol=atol)
    assert (counts(-np.inf, 1) != counts(-np.inf, 3)).any()


@pytest.mark.parametrize("target", ["interp", "cpu", GPU])
def test_a_model_draws_where_its_logits_are(folder: Path, target: str) -> None:
    model = open_model(folder, target, length=32)
    assert model.decoder.chooses(Sampling(1.0))

    def tokens(sampling: Sampling) -> list[int]:
        return list(model.generate([3, 5, 7], 12, sampling))

    greedy = tokens(Sampling())
    assert tokens(Sampling(2.0, top_k=1)) == greedy
    assert tokens(Sampling(1e-3)) == greedy
    found = [tokens(Sampling(2.0, seed=seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert tokens(Sampling(2.0, top_p=0.9, seed=1)) == tokens(Sampling(2.0, top_p=0.9, seed=1))


def test_a_machine_that_cannot_draw_leaves_it_to_the_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(folder, "interp", length=16)
    monkeypatch.setattr(type(model.decoder), "chooses", lambda *_: False)
    assert list(model.generate([3], 5, Sampling(1e-3))) == list(model.generate([3], 5))


def test_neurons_have_no_random_words_yet() -> None:
    """The day they have, `Decoder.chooses` no longer asks in vain."""
    with pytest.raises(DiagnosticError, match="DSL0590"):
        dslc.compile(KERNELS, "nki:trn2")["drawn"].specialize(M=1, V=3000, P=2)
