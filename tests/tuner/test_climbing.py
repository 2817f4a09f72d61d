"""Which configurations are looked at where looking at all would take too long."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import log2

from dslc.compiler.cost.outline import Outline
from dslc.tuner.climbing import climb
from dslc.tuner.space import Configuration
from hypothesis import given
from hypothesis import strategies as st

TILES = {"BM": (16, 32, 64, 128), "BN": (32, 64, 128, 256), "BK": (64, 128, 256)}
VALUES = {**TILES, "SPLIT": (1, 2, 4, 7, 8, 16), "STAGES": (2, 3, 4, 6)}
ALL = [
    Configuration(tuple(zip(VALUES, v, strict=True))) for v in itertools.product(*VALUES.values())
]


def looked_at(
    price: Callable[[dict[str, int]], float | None],
    fed: Callable[[Configuration], bool] = lambda _: False,
) -> list[Configuration]:
    """What is asked for, in order."""
    asked: list[Configuration] = []

    def look(one: Configuration) -> Outline | None:
        asked.append(one)
        seconds = price({n: int(str(v)) for n, v in one.values})
        return None if seconds is None else Outline(seconds, fed=fed(one))

    climb(ALL, look)
    assert len(set(asked)) == len(asked)
    return asked


@given(st.sampled_from(ALL))
def test_the_best_is_found_where_each_choice_has_its_own(best: Configuration) -> None:
    wanted = {n: int(str(v)) for n, v in best.values}

    def price(one: dict[str, int]) -> float:
        return 1e-5 * (1 + sum(abs(log2(one[n]) - log2(wanted[n])) for n in one))

    asked = looked_at(price)
    assert best in asked
    assert len(asked) < len(ALL) / 3


def test_what_cannot_run_is_passed_over() -> None:
    """Choices of more than so much memory are None, and the best lies at that edge."""

    def price(one: dict[str, int]) -> float | None:
        size = one["STAGES"] * one["BK"] * (one["BM"] + one["BN"]) * 2
        return None if size > 160 << 10 else 1 / (size * one["SPLIT"])

    asked = looked_at(price)
    plain = ({n: int(str(v)) for n, v in c.values} for c in ALL)
    least = min(t for t in map(price, plain) if t is not None)
    assert least in {price({n: int(str(v)) for n, v in c.values}) for c in asked}


def test_few_configurations_are_all_looked_at() -> None:
    asked: list[Configuration] = []
    climb(ALL[:40], asked.append)  # type: ignore[func-returns-value]
    assert asked == ALL[:40]


@given(st.sampled_from(ALL))
def test_the_best_of_those_fed_is_found_beside_faster_others(best: Configuration) -> None:
    wanted = {n: int(str(v)) for n, v in best.values}

    def price(one: dict[str, int]) -> float:
        away = sum(abs(log2(one[n]) - log2(wanted[n])) for n in one)
        return (1e-3 if one["BM"] == wanted["BM"] else 1e-5) * (1 + away)

    assert best in looked_at(price, lambda one: dict(one.values)["BM"] == wanted["BM"])
