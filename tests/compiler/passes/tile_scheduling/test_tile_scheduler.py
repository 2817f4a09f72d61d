"""How many blocks share the turns that whole rounds leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf

import pytest
from dslc.compiler.dtypes import I32
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.expr import Const, Expr, Var, substitute
from dslc.compiler.passes.pipelining.cluster_multicast import Cluster
from dslc.compiler.passes.tile_scheduling.tile_scheduler import Sharing, TileScheduler, ceil_div

from support.kernels import every, one

PRODUCT = """
kernel product(a: f16[M, K], b: f16[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 8):
            acc += dot(a[m : m + 16, k : k + 8], b[k : k + 8, n : n + 32])
        c[m : m + 16, n : n + 32] = acc
"""


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


def number(expr: Expr, known: dict[Var, Const]) -> int:
    found = constant(simplify(substitute(expr, known)))
    assert found is not None, expr
    return int(found)


def defined(lets: Iterable[ins.Stmt], known: dict[Var, Const]) -> dict[Var, Const]:
    """What is known, and what these statements define."""
    found = dict(known)
    for let in lets:
        assert isinstance(let, ins.Let)
        value = number(let.value, found)
        found[let.var] = Const(value if let.var.dtype == I32 else bool(value), let.var.dtype)
    return found


@pytest.mark.parametrize("teams", [None, 0, 1])  # no clusters, or pairs of blocks along an axis
@pytest.mark.parametrize(
    "sizes", [(48, 96, 56), (80, 160, 24), (16, 32, 8), (112, 64, 0), (80, 96, 136)]
)
@pytest.mark.parametrize("cost", [0, 1, inf])
def test_every_step_of_every_turn_is_done_once(
    sizes: tuple[int, int, int], teams: int | None, cost: float
) -> None:
    kernel = one(PRODUCT)
    (loop,) = every(kernel, ins.For)
    m, n, k = sizes
    dims = {"M": m, "N": n, "K": k}
    known = {d: Const(dims[d.name], d.dtype) for d in kernel.dims}
    cluster = None if teams is None else Cluster(2, teams, {}, Var("rank", I32))
    work = TileScheduler(kernel, loop, 8, Sharing(k // 8, cost), set(), cluster)
    done: Counter[tuple[int, ...]] = Counter()
    round_ = Var("round", work.grid_block.dtype)
    (axis,) = work.grid
    for block in range(number(axis.stop, known)):
        begun = defined(work.lets, {**known, work.grid_block: Const(block, axis.var.dtype)})
        for turn in range(number(work.rounds, begun)):
            here = {**begun, round_: Const(turn, round_.dtype)}
            part = work.part(round_)
            here = defined(part.lets, here)
            if number(part.own, here):
                at = tuple(number(e, here) for e in part.at)
                done.update(
                    (*at, s) for s in range(number(part.first, here), number(part.end, here))
                )
    every_step = [
        (i, j, s) for i in range(0, m, 16) for j in range(0, n, 32) for s in range(k // 8)
    ]
    assert done == Counter(every_step)
