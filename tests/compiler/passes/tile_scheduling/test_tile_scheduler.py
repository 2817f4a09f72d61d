"""How many blocks share the turns that whole rounds leave."""

from __future__ import annotations

from math import inf

import pytest
from dslc.compiler.passes.tile_scheduling.tile_scheduler import Sharing, ceil_div


@pytest.mark.parametrize(
    ("rest", "shares"),
    [
        (5, 7),
        (28, 4),  # 112 of 132 multiprocessors, in one round
        (66, 2),
        (80, 3),  # 240 shares in two rounds: two thirds of the time
        (92, 4),  # 368 in three: three quarters
        (128, 1),  # little is left to gain
    ],
)
def test_the_rest_ends_as_early_as_it_may(rest: int, shares: int) -> None:
    assert Sharing(256, 5).best(rest, 132) == shares


def test_what_parts_cost_is_weighed() -> None:
    """80 turns in two rounds save a third of their steps and cost five parts."""
    assert Sharing(128, 5).best(80, 132) == 3
    assert Sharing(128, 10).best(80, 132) == 1
    assert Sharing(128, inf).best(1, 132) == 1


def test_a_share_has_a_step() -> None:
    assert Sharing(3, 0).best(1, 132) <= 3
    assert Sharing(0, 0).best(5, 132) == 1


@pytest.mark.parametrize("units", [1, 2, 5, 132])
def test_shares_never_take_longer_than_none(units: int) -> None:
    sharing = Sharing(64, 2)
    for rest in range(1, units):
        shares = sharing.best(rest, units)
        rounds = ceil_div(rest * shares, units)
        assert rounds <= 3
        if shares > 1:
            assert rounds * ceil_div(64, shares) + 2 * (rounds + shares) < 64
