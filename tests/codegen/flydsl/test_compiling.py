"""FlyDSL sources through the flydsl package, and its ISA text through the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.flydsl.toolchain import compile_flydsl
from dslc.codegen.hip.compilers import compilers
from dslc.codegen.hip.isa import read_isa
from dslc.codegen.quoting import entry_name
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.runtime.hip_emulator import EmulationError, compiler

from support.hip import flydsl
from support.hip.emulation import execute
from support.hip.emulation import isa as hip_isa
from support.hip.products import product

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a linker for AMD GPUs and a C compiler",
)
TILE, M, N, K = (64, 64, 64), 70, 64, 192


@pytest.fixture(autouse=True)
def _flydsl() -> None:
    pytest.importorskip("flydsl._mlir")


def computed(kernel: Kernel, chip: str, text: str) -> np.ndarray:
    """The product of small integers, by an ISA text."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, s).astype(np.float16) for s in ((M, K), (N, K)))
    c = np.full((M, N), np.nan, np.float16)
    execute(kernel, chip, {"a": a, "b": b, "c": c}, seed=3, isa_of=lambda *_: text)
    assert np.array_equal(c, (a.astype(np.float32) @ b.T).astype(np.float16)), "wrong numbers"
    return c


def test_a_ring_of_counted_copies_is_right_and_a_lost_wait_is_not() -> None:
    """The same text without its waits for copies: the emulator lets copies land late."""
    chip = "gfx950"
    kernel = product(chip, TILE, (("K", K), ("N", N)), dtype="f16", stages=3)
    text = flydsl.source(kernel, chip)
    computed(kernel, chip, compile_flydsl(text, chip)[entry_name(kernel.name)])
    waits = [line for line in text.splitlines() if line.strip().startswith("copy_wait(")]
    assert len(waits) >= 1
    for line in set(waits):
        text = text.replace(f"{line}\n", line.replace("copy_wait(", "print(") + "\n")
    with pytest.raises((AssertionError, EmulationError)):
        computed(kernel, chip, compile_flydsl(text, chip)[entry_name(kernel.name)])


def test_a_products_loop_is_the_one_of_hip() -> None:
    """As many matrix instructions, reads of LDS and copies; the benchmark has larger ones."""
    sizes = (("K", 4096), ("M", 4096), ("N", 4096))
    kernel = product("gfx950", (128, 128, 64), sizes)
    texts = flydsl.isa(kernel, "gfx950"), hip_isa(kernel, "gfx950")
    loops = [read_isa(text)[entry_name(kernel.name)].main_loop() for text in texts]
    mixes = [loop.mix() for loop in loops if loop is not None]
    for kind in ("matrix", "lds", "memory"):
        assert mixes[0][kind] == mixes[1][kind], kind
    assert mixes[0]["vector"] <= 16


def test_what_flydsl_refuses_is_a_defect_that_names_it() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_flydsl("import ast\nimport unheard_of\n", "gfx950")
    found = caught.value.diagnostics[0]
    assert found.code == "DSL0952"
    assert "No module named 'unheard_of': `import unheard_of`" in found.message
    assert found.loc is not None
    assert found.loc.line == 2
