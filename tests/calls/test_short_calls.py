"""The short ways of calls, by what they name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dslc
import pytest
from dslc.calls.short_calls import CallForms
from dslc.calls.signature import Parameter, Signature

SIGNATURE = Signature(
    "k",
    tuple(Parameter(name, dslc.f32, ("N",)) for name in "abc"),
    ("N",),
    {"BM": (1, 2), "BN": (1, 2)},
)


class Way:
    """Takes calls with these arguments."""

    def __init__(self, *wanted: object) -> None:
        self.wanted = wanted
        self.streams: list[object] = []

    def __call__(self, arguments: Sequence[object], stream: object) -> bool:
        if tuple(arguments) != self.wanted:
            return False
        self.streams.append(stream)
        return True


def test_positions_alone() -> None:
    calls = CallForms()
    assert not calls.run((1, 2, 3), {})
    way, other = Way(1, 2, 3), Way(4, 5, 6)
    calls.add(SIGNATURE, (1, 2, 3), {}, way)
    calls.add(SIGNATURE, (4, 5, 6), {}, other)
    for _ in range(3):
        assert calls.run((1, 2, 3), {})
    assert calls.run((4, 5, 6), {})
    assert not calls.run((1, 2, 4), {})
    assert (len(way.streams), len(other.streams)) == (3, 1)


def test_tunes_choose_among_ways() -> None:
    calls = CallForms()
    ways = {(m, n): Way(1, 2, 3) for m in (1, 2) for n in (1, 2)}
    for (m, n), way in ways.items():
        calls.add(SIGNATURE, (1, 2, 3), {"BM": m, "BN": n}, way)
    for (m, n), way in ways.items():
        assert calls.run((1, 2, 3), {"BM": m, "BN": n})
        assert len(way.streams) == 1
    assert not calls.run((1, 2, 3), {"BM": 4, "BN": 1})
    assert not calls.run((1, 2, 3), {"BM": 1})
    assert not calls.run((1, 2, 3), {})


def test_dims_are_part_of_the_form() -> None:
    calls = CallForms()
    calls.add(SIGNATURE, (1, 2, 3), {"N": 8}, Way(1, 2, 3))
    assert calls.run((1, 2, 3), {"N": 8})
    assert not calls.run((1, 2, 3), {"N": 9})


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((1, 2), {"c": 3}),
        ((1,), {"c": 3, "b": 2}),
        ((), {"b": 2, "c": 3, "a": 1}),
        ((1,), {"BM": 2, "c": 3, "N": 8, "b": 2}),
    ],
)
def test_arguments_by_name_come_in_the_order_of_parameters(
    args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    calls = CallForms()
    calls.add(SIGNATURE, args, named, Way(1, 2, 3))
    assert calls.run(args, named)
    assert not calls.run(args, {**named, "c": 4})


def test_what_is_no_choice_takes_the_long_way() -> None:
    calls = CallForms()
    calls.add(SIGNATURE, (1, 2, 3), {"BM": 1}, Way(1, 2, 3))
    assert not calls.run((1, 2, 3), {"BM": [1]})


def test_without_a_way_nothing_is_kept() -> None:
    calls = CallForms()
    calls.add(SIGNATURE, (1, 2, 3), {"BM": 1}, None)
    assert not calls.run((1, 2, 3), {"BM": 1})


def test_the_stream_is_that_of_the_options() -> None:
    calls, way = CallForms(), Way(1, 2, 3)
    calls.add(SIGNATURE, (1, 2, 3), {"BM": 1}, way)
    with dslc.options(stream=7):
        calls.run((1, 2, 3), {"BM": 1})
    calls.run((1, 2, 3), {"BM": 1})
    assert way.streams == [7, None]


def test_forms_and_choices_are_bounded() -> None:
    calls = CallForms()
    for n in range(1000):
        calls.add(SIGNATURE, (1, 2, 3), {"N": n}, Way(1, 2, 3))
    assert calls.run((1, 2, 3), {"N": 999})
    assert sum(calls.run((1, 2, 3), {"N": n}) for n in range(1000)) <= 256
