"""What is touched in no order that is known beforehand: calls on the NPU against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aie_simulator import simulate
from dslc.runtime.aie_simulator.errors import AieFault

from support.features import Feature, features

FEATURES = features()
NAMES = """
negative start|negative start rows|conv2d taps|negative start other|negative store rows|store past end
store atomic +=|+= own element|+= bf16|histogram|atomic_add old|row and column sums|split atomic
inout scan|inout chained loop|read after write|gaps written|strided store
gather rows|gather columns|gather 2d ids|gather elements|gather buffer|gather large
scatter rows|scatter permutation|index tiles|atomic max f16
masked store|masked load|ends
late row|late slice|late slice by scalar|late store by scalar|late store
buffer|buffer late index|scalar store in loop
while|while tile|while reads|if turn|if scalar joined|if store data|if store one way
store first iteration only
late loop end|late loop end asserted|late loop start|explicit shared
"""


@pytest.mark.parametrize("name", NAMES.strip().replace("\n", "|").split("|"))
@pytest.mark.sampled(2)
def test_places(name: str) -> None:
    feature = FEATURES[name]
    expected, found = feature.outputs("interp"), feature.outputs("aie:npu2")
    for array in expected:
        x, y = (a[array].astype(np.float64) for a in (expected, found))
        np.testing.assert_allclose(y, x, rtol=1e-2, atol=1e-2)


TOO_LARGE = """
kernel k(x: f32[M, N], ids: i32[M], z: inout f32[V, N]):
    for m in parallel(range(0, M, 8)):
        scatter(z[:, :], ids[m : m + 8], x[m : m + 8, :], 0)
"""


def test_what_stays_must_fit_into_a_core() -> None:
    with pytest.raises(DiagnosticError, match=r"DSL0553.*written only a core knows.*160000 bytes"):
        Feature(TOO_LARGE, {"M": 8, "N": 40, "V": 1000}).lower("aie:npu2")


def test_turns_that_add_to_the_same_elements_run_on_one_core() -> None:
    """The axis that they share becomes a loop; those of the other axis stay turns."""
    text = FEATURES["store atomic +="]
    kernel = text.compile("aie:npu2").specialize(M=20, N=40)
    assert kernel.source("aie-mlir").count("aie.core(") == 5  # columns of 8, of 40


@pytest.mark.parametrize("name", ["while tile", "if scalar joined", "inout scan", "gather large"])
def test_texts_are_as_the_dialects_have_them(name: str) -> None:
    pytest.importorskip("xdsl")
    from dslc.codegen.aie.dialect import parse_module

    kernel = FEATURES[name].compile("aie:npu2")
    made = kernel.specialize(**{d: FEATURES[name].sizes[d] for d in kernel.dims})
    for stage in ("aie-mlir", "aie-explicit"):
        parse_module(made.source(stage))


def test_a_loop_that_tests_nothing_is_a_fault() -> None:
    kernel = FEATURES["while"].compile("aie:npu2").specialize(M=4)
    text = kernel.source("aie-mlir")
    lines = [line for line in text.split("\n") if "scf.condition" not in line]
    x, z = np.ones(4, np.float32), np.zeros(4, np.int32)
    with pytest.raises(AieFault, match="tests no condition"):
        simulate("\n".join(lines), [x, z])
