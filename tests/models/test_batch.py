"""Sequences of a batch beside the same ones alone: logits, draws, pages; who waits and who ends."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import Sampling, open_model
from dslc.models.plan import PAGE

from models.test_generation import by_numpy

LENGTH = 96
GREEDY = Sampling()
DEEP_CPU = pytest.param("cpu", marks=pytest.mark.deep)
DEEP_EMULATED = pytest.param("cuda:sm_80", marks=pytest.mark.deep)
GPU = pytest.param("cuda", marks=pytest.mark.gpu)


def prompts_of(*lengths: int) -> list[list[int]]:
    rng = np.random.default_rng(len(lengths))
    return [rng.integers(0, 49, n).tolist() for n in lengths]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", ["interp", DEEP_CPU, DEEP_EMULATED, GPU])
def test_a_batch_gives_each_sequence_its_own_logits(
    folder: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts of pieces that are whole and not, and tokens from one page to the next."""
    if target == "cuda:sm_80":
        monkeypatch.setenv("DSLC_CUDA", "emulator")
    batch = open_model(folder, target, length=LENGTH).batch(4)
    members = []
    for ids in prompts_of(3, 62, 17):
        members.append(batch.add(ids, 4))
        found = batch.tensor("logits:1").read()[0]
        np.testing.assert_allclose(found, by_numpy(folder, ids)[-1], atol=3e-5)
    for _ in range(3):
        batch.step()
        for row, member in zip(batch.tensor("logits:4").read(), members, strict=False):
            ids = [*member.prompt, *member.tokens[:-1]]
            np.testing.assert_allclose(row, by_numpy(folder, ids)[-1], atol=3e-5)
            assert member.tokens[-1] == row.argmax()
    assert all(m.ended for m in members)
    assert not batch.members
    assert batch.free_pages == 4 * 2


def test_prompts_wait_for_room_and_draw_as_they_do_alone(folder: Path) -> None:
    model = open_model(folder, "interp", length=LENGTH)
    ways = [Sampling(), Sampling(2.0, seed=1), Sampling(2.0, 5, 0.9, 2), Sampling(1.0, seed=3)]
    prompts = prompts_of(2, 16, 1, 3)
    batch = model.batch(3, tokens=2 * PAGE)  # which is two sequences at once
    found: dict[int, list[int]] = {i: [] for i in range(4)}
    order = []
    for number, token in batch.generate(prompts, 3, ways):
        found[number].append(token)
        order.append(number)
    assert order.index(2) > order.index(1)
    assert [found[i] for i in range(4)] == [
        list(model.generate(p, 3, w)) for p, w in zip(prompts, ways, strict=True)
    ]
    assert batch.free_pages == 2
    tokens = batch.generate(prompts, 3)
    next(tokens)
    assert batch.free_pages < 2
    tokens.close()
    assert batch.free_pages == 2
    assert model.times.prompts >= 8


@pytest.mark.parametrize(
    ("prompts", "count", "ways"),
    [
        ([[1], []], 1, GREEDY),
        ([[1] * 90], 7, GREEDY),
        ([[50]], 1, GREEDY),
        ([[1]], 1, []),
        ([[1] * 80], 1, GREEDY),
    ],
)
def test_prompts_that_do_not_fit_are_refused(
    folder: Path, prompts: list[list[int]], count: int, ways: Sampling | list[Sampling]
) -> None:
    batch = open_model(folder, "interp", length=LENGTH).batch(2, tokens=PAGE)
    with pytest.raises(DiagnosticError, match="DSL0788"):
        next(batch.generate(prompts, count, ways))
    with pytest.raises(DiagnosticError, match="DSL0788"):
        open_model(folder, "interp").batch(257)


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_a_thousand_prompts_leave_nothing_behind(folder: Path) -> None:
    rng = np.random.default_rng(7)
    batch = open_model(folder, "cpu", length=LENGTH).batch(16, tokens=8 * LENGTH)
    prompts = [rng.integers(0, 49, rng.integers(1, 90)).tolist() for _ in range(1100)]

    def run(some: list[list[int]]) -> int:
        return sum(1 for _ in batch.generate(some, 6, Sampling(1.0, seed=1)))

    run(prompts[:100])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    assert run(prompts[100:]) > 1000
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000
    assert batch.free_pages == 12
