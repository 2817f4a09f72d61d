"""The cases cover what they promise, and travel between processes."""

from __future__ import annotations

import json

from dslc.compiler.dtypes import all_dtypes
from gpu import cases
from gpu.cases import Case


def test_a_case_survives_its_journey() -> None:
    for case in [*cases.grid(["u4"]), *cases.attention(), *cases.launch(), *cases.compiling()]:
        again = Case.from_data(json.loads(json.dumps(case.to_data())))
        assert again == case
        assert again.key == case.key


def test_no_two_cases_have_one_key() -> None:
    every = [
        *cases.quantized(cases.SHAPES, cases.ROWS, cases.WEIGHTS),
        *cases.dense(cases.SHAPES, cases.ROWS, ["f16", "bf16"]),
        *cases.rows(),
        *cases.attention(),
        *cases.grid(cases.EVERY_WEIGHT),
    ]
    assert len({case.key for case in every}) == len(every)


def test_the_grid_has_every_weight_type_of_the_language() -> None:
    language = {t.name for t in all_dtypes() if t.bits <= 8} - {"bool", "e8m0"}
    assert set(cases.EVERY_WEIGHT) == language
    assert {case.name for case in cases.grid(cases.EVERY_WEIGHT)} == set(cases.EVERY_WEIGHT)


def test_activations_hold_the_values_of_the_weights() -> None:
    assert cases.activations("u4") == cases.activations("f8e5m2") == "f16"
    assert cases.activations("f8e6m1") == cases.activations("f6e5m0") == "bf16"
