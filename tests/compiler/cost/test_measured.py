"""The order of tiles by prediction, held against what `gpu/sweep.py` measured on one H200."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pytest
from dslc.compiler.cost import predict
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import TileProgram
from dslc.compiler.targets import find_target

H200 = find_target("cuda:sm_90a")
CASES = json.loads(Path(__file__).with_name("h200.json").read_text(encoding="utf-8"))


def label(case: dict[str, Any]) -> str:
    return " ".join(map(str, (case["kernel"], *case["define"].values(), *case["sizes"].values())))


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.sampled(2)
def test_the_least_prediction_is_within_a_tenth_of_the_best(
    case: dict[str, Any], schedule: Callable[..., TileProgram]
) -> None:
    define = {n: parse_dtype(t) for n, t in case["define"].items()}
    predicted = []
    for choice in case["choices"]:
        options = {n: choice[n] for n in ("warps", "stages") if n in choice}
        tiles = {n: v for n, v in choice.items() if n not in options}
        fixed = {d: case["sizes"][d] for d in ("K", "N")}
        made = schedule(case["file"], case["kernel"], fixed, tiles, define, **options)
        predicted.append(predict(made, H200, case["sizes"]).seconds * 1e6)
    chosen = case["us"][predicted.index(min(predicted))]
    assert chosen <= 1.10 * min(case["us"]), dict(zip(predicted, case["us"], strict=True))
    errors = [abs(log(p / us)) for p, us in zip(predicted, case["us"], strict=True)]
    assert sum(errors) / len(errors) < log(1.25)
