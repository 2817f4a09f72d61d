"""Choices for AMD GPUs that nobody names: parts of a reduction and rings are seen before the passes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dslc
import pytest
from dslc.compiler.cost import predict
from dslc.compiler.cost.outline import outline
from dslc.compiler.diagnostics import DiagnosticError
from dslc.tuner.predicted import PredictedChoices
from dslc.tuner.ranking import Ranking
from dslc.tuner.space import Configuration
from dslc.tuner.tasks import emitted

SOURCE = Path(__file__).parents[1] / "benchmarks" / "split_k.tile"
K = 3584


@pytest.fixture(autouse=True)
def untuned() -> None:
    """Nothing is replaced here."""


def kernel(columns: int, cache: Path) -> Any:
    """The product of decoding, for a chip that nothing here drives."""
    define = {"N": columns, "K": K}
    return dslc.compile(SOURCE, "hip:gfx950", define=define, cache=cache)["split_k"]


def scheduled_seconds(ranking: Ranking, choices: dict[str, object], sizes: dict[str, int]) -> float:
    """By the model after all passes; DiagnosticError where a choice cannot be."""
    made = ranking.elaborated(Configuration(tuple(choices.items())))
    program = ranking.scheduled(made)
    target = ranking._target
    return predict(program, target, sizes, shared=emitted(program, target)[1]).seconds


@pytest.mark.parametrize(
    "choices",
    [
        {"BM": 16, "BN": 64, "BK": 128, "SPLIT": 7, "STAGES": 3},
        {"BM": 64, "BN": 64, "BK": 64, "SPLIT": 4, "STAGES": 6},
        {"BM": 32, "BN": 128, "BK": 128, "SPLIT": 1, "STAGES": 2},
        {"BM": 64, "BN": 32, "BK": 256, "SPLIT": 2, "STAGES": 2},
    ],
    ids=str,
)
def test_an_outline_knows_parts_and_rings(choices: dict[str, object], cache: Path) -> None:
    sizes = {"M": 64, "N": 2112, "K": K}
    ranking = Ranking(kernel(2112, cache).origin, sizes)
    made = ranking.elaborated(Configuration(tuple(choices.items())))
    quick = outline(made.program, ranking._target, sizes).seconds
    assert quick == pytest.approx(scheduled_seconds(ranking, choices, sizes), rel=0.25)


@pytest.mark.parametrize(
    ("seconds", "most"),
    [((1, 1.01, 1.015, 1.02, 1.03, 1.2), 5), ((1, 1.1, 1.11, 1.2, 1.21, 1.22), 4)],
)
def test_what_is_near_the_best_goes_through_the_passes(
    seconds: tuple[float, ...], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four at least, and more where their outlines hardly differ."""
    ranking, asked = Ranking.__new__(Ranking), list[int]()
    ranking._base = None

    def schedule(self: Ranking, worth: Any, most: int, *others: Any) -> list[Any]:
        asked.append(most)
        return []

    monkeypatch.setattr(Ranking, "_schedule", schedule)
    outlined: Any = [
        SimpleNamespace(seconds=s, at=at, fed=True, configuration=None)
        for at, s in enumerate(seconds)
    ]
    assert ranking._nearest(outlined, {}, (), lambda c: None) is None
    assert asked == [1, most]


def test_rings_beyond_the_memory_have_no_outline(cache: Path) -> None:
    sizes = {"M": 128, "N": 2112, "K": K}
    ranking = Ranking(kernel(2112, cache).origin, sizes)
    config = {"BM": 128, "BN": 256, "BK": 256, "SPLIT": 1, "STAGES": 6}
    made = ranking.elaborated(Configuration(tuple(config.items())))
    with pytest.raises(DiagnosticError) as report:
        outline(made.program, ranking._target, sizes)
    assert report.value.diagnostics[0].code == "DSL0501"


@pytest.mark.deep
@pytest.mark.parametrize(("rows", "columns"), [(64, 512)])
def test_no_neighbour_of_the_choice_is_much_faster(rows: int, columns: int, cache: Path) -> None:
    """Within 10 % of the best of all that differ in one choice."""
    sizes = {"M": rows, "N": columns, "K": K}
    made = kernel(columns, cache)
    found = PredictedChoices(made.origin).find({}, sizes.get)
    assert found is not None
    ranking, tunes = Ranking(made.origin, sizes), made.tunes
    own = {n: next(v for v in tunes[n] if str(v) == str(found.config[n])) for n in tunes}
    times = {}
    for name, values in tunes.items():
        for value in values:
            try:
                times[name, value] = scheduled_seconds(ranking, own | {name: value}, sizes)
            except DiagnosticError:
                continue
    assert times["BM", own["BM"]] <= 1.1 * min(times.values())
