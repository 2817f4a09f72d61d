"""The functions of scalars that emitted files define, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.nki.arithmetic.scalar_functions import NAMES, definitions, needed

SPACE: dict[str, Any] = {"math": math, "INFINITY": math.inf, "NAN": math.nan}
exec(definitions(set(NAMES)), SPACE)
ODD = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e300, 1e-300, -3.5, 2.5, 1.0)


@pytest.mark.parametrize(
    ("name", "kind"), [("f32", np.float32), ("f16", np.float16), ("bf16", ml_dtypes.bfloat16)]
)
def test_rounding(name: str, kind: Any) -> None:
    """Of any magnitude, of ties and of what lies beside them, of what is no number."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(400) * np.exp2(rng.integers(-160, 140, 400))
    codes = rng.integers(1, 1 << (8 * np.dtype(kind).itemsize - 1), 300).astype(
        f"u{np.dtype(kind).itemsize}"
    )
    with np.errstate(all="ignore"):
        near = codes.view(kind).astype(np.float64)
        ties = (near + (codes - 1).astype(codes.dtype).view(kind).astype(np.float64)) / 2
        values = np.concatenate(
            [values, near, ties, ties * (1 + 2**-40), 2.0 ** np.arange(-150, 128)]
        )
        values = np.concatenate([values, np.nextafter(values, 0), ODD])
        # bf16 from f64 by way of f32, rounded to odd there, would be one rounding; of f32 it is one
        values = values.astype(np.float32).astype(np.float64) if name == "bf16" else values
        wanted = values.astype(np.float32 if name == "bf16" else kind).astype(kind)
    found = np.array([SPACE[name](float(v)) for v in values])
    np.testing.assert_array_equal(found, wanted.astype(np.float64))


FUNCTIONS = {
    "sqrt_of": np.sqrt, "log_of": np.log, "log2_of": np.log2, "sin_of": np.sin, "cos_of": np.cos,
}  # fmt: skip
PAIRS = {
    "quotient_of": np.divide,
    "power_of": np.power,
    "greater": np.maximum,
    "lesser": np.minimum,
}


def test_functions_have_values_everywhere() -> None:
    with np.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            np.testing.assert_allclose(
                [SPACE[name](v) for v in ODD], function(np.array(ODD)), 1e-15
            )
        for name, function in PAIRS.items():
            for x in (*ODD[:5], -3.5, 2.5, 1e30):
                for y in (*ODD[2:5], 0.0, -3.0, 2.0, 1.5, 1e30):
                    wanted = np.float32(function(x, y))
                    found = np.float32(SPACE[name](x, y))
                    assert found == wanted or np.isnan([found, wanted]).all(), (name, x, y, found)


def test_integers_of_floats() -> None:
    found = [SPACE["truncated"](v, -128, 127) for v in (3.9, -3.9, 1e9, -math.inf, math.nan)]
    assert found == [3, -3, 127, -128, 0]
    whole = [SPACE["whole"](v, by) for v in (2.5, -2.5) for by in (-1, 0, 1)]
    assert whole == [2, 2, 3, -3, -2, -2]
    assert SPACE["whole"](math.inf, 0) == math.inf


def test_a_file_has_what_its_text_uses_and_no_more() -> None:
    assert needed("value=bf16(a + b)") == {"bf16", "nearest", "math", "INFINITY"}
    assert needed("nl.greater, my_f32(x), nisa.whole") == set()
