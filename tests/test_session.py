"""Sessions: weights once, results that are the next dispatch's arguments, bytes that the host moves."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.memory import memory_of
from dslc.runtime.safetensors import read_safetensors
from dslc.runtime.safetensors_writing import write_safetensors

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_SOURCE = """
kernel scaled(x: f32[M, N], g: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8, :] = x[m : m + 8, :] * g[:] + 1.0
"""


def _library(target: str) -> Any:
    return dslc.compile(_SOURCE, target=target, cache=False)


@pytest.mark.parametrize("target", ["interp", "aie:npu2", "aarch64:base", "nki:trn2"])
def test_results_are_arguments_of_the_next(target: str) -> None:
    library = _library(target)
    session = dslc.Session(target)
    g = np.linspace(1, 2, 24, dtype=np.float32)
    weights = session.weights("layer", {"g": g})
    loaded = session.traffic.written
    first = session.dispatch(library.scaled, "first", g=weights["g"], M=16)
    second = session.dispatch(library.scaled, "second", g=weights["g"], x=first["y"])
    x = np.random.default_rng(0).standard_normal((16, 24)).astype(np.float32)
    for _ in range(2):
        first(x=x)
        second()
    assert session.traffic.written == loaded + 2 * x.nbytes
    assert session.traffic.read == 0
    np.testing.assert_allclose(second["y"].read(), (x * g + 1) * g + 1, rtol=1e-6)
    assert session.traffic.read == x.nbytes
    # The same key is the same dispatch; the same dims are the same kernel, loaded once.
    assert session.dispatch(library.scaled, "second") is second
    assert first.specialization is second.specialization


@pytest.mark.parametrize("target", ["interp", "aie:npu2"])
def test_weights_go_from_the_file_to_the_machine(target: str, tmp_path: Path) -> None:
    w = np.random.default_rng(0).standard_normal((512, 1024)).astype(ml_dtypes.bfloat16)
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"w": w})
    session, calls = dslc.Session(target), []

    def arrays() -> dict[str, Any]:
        calls.append(1)
        return {"w": read_safetensors(path)["w"]}

    tracemalloc.start()
    held = session.weights("layer", arrays)["w"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    session.weights("layer", arrays)
    assert calls == [1]
    copies = 0 if target == "interp" else 1  # the machine's own, and none of the host
    assert most < (copies + 0.5) * w.nbytes
    assert session.traffic.written == copies * w.nbytes
    np.testing.assert_array_equal(held.read().view(np.uint16), w.view(np.uint16))


@pytest.mark.parametrize("target", ["nki:trn2", pytest.param("aie:npu2", marks=pytest.mark.deep)])
def test_a_layer_moves_its_activations_alone(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    sys.path.insert(0, str(EXAMPLES))
    try:
        import session as example
    finally:
        sys.path.pop(0)
    example.main(target, "bf16")
    said = capsys.readouterr().out
    assert float(said.split("error ")[1].split(",")[0]) < 0.1
    rows, hidden, heads = 64, 128, 64
    moved = (rows + 1) * (hidden * 2 + heads * 4) + 4  # x, the angles, the position
    assert int(said.split(", ")[-1].split()[0]) == moved


def test_errors_of_a_session() -> None:
    library, session = _library("interp"), dslc.Session("interp")
    step = session.dispatch(library.scaled, "step", M=4, N=8)
    with pytest.raises(DiagnosticError, match=r"DSL0794.*g was never written"):
        step(x=np.zeros((4, 8), np.float32))
    with pytest.raises(DiagnosticError, match="DSL0755"):
        step(z=np.zeros(3, np.float32))
    with pytest.raises(DiagnosticError, match=r"DSL0791.*is compiled for"):
        dslc.Session("aie:npu2").dispatch(library.scaled, "step", M=4, N=8)
    other = dslc.compile(_SOURCE.replace("scaled", "other"), target="interp", cache=False)
    with pytest.raises(DiagnosticError, match=r"DSL0791.*is that of scaled"):
        session.dispatch(other.other, "step")
    session.release("step")
    assert session.dispatch(library.scaled, "step", M=4, N=8) is not step


def test_a_buffer_of_the_host_is_row_major() -> None:
    """An array that is so already is taken as it is; kernels read others in the wrong order."""
    memory, x = memory_of("interp"), np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.shares_memory(memory.hold(x, "f32").argument, x)
    turned = memory.hold(x.T, "f32").argument
    assert turned.flags.c_contiguous
    np.testing.assert_array_equal(turned, x.T)


def test_buffers_of_an_npu() -> None:
    library, memory = _library("aie:npu2"), memory_of("aie:npu2")
    g = memory.put(np.ones(24, np.float32), "f32")
    table = memory.put(np.arange(32 * 24, dtype=np.float32).reshape(32, 24), "f32")
    y = memory.empty((8, 24), "f32")
    library.scaled(table.rows(8, 16), g, y)
    np.testing.assert_array_equal(y.read(), table.read()[8:16] + 1)
    # Results in rows of a table, the others as they were; what sticks out of three rows is zero.
    library.scaled(y, g, table.rows(0, 8))
    np.testing.assert_array_equal(table.read()[:8], y.read() + 1)
    np.testing.assert_array_equal(table.read()[8], np.arange(8 * 24, 9 * 24))
    with pytest.raises(DiagnosticError, match=r"DSL0742.*share memory"):
        library.scaled(table.rows(0, 8), g, table.rows(4, 12))
    with pytest.raises(DiagnosticError, match=r"DSL0793.*moves 1[26] rows"):
        library.scaled(memory.put(np.ones((11, 24), np.float32), "f32"), g, table.rows(0, 11))
    with pytest.raises(DiagnosticError, match="DSL0792"):
        table.rows(30, 33)
    with pytest.raises(DiagnosticError, match="DSL0752"):
        y.write(np.zeros((4, 24), np.float32))
    with pytest.raises(DiagnosticError, match="DSL0761"):
        y.write(np.zeros((8, 24), np.float64))


def test_a_machine_that_there_is_not() -> None:
    with pytest.raises(DiagnosticError, match="DSL0901"):
        dslc.Session("aie:npu3")
