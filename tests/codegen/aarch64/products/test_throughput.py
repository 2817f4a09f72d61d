"""Marked loops read from a text, laid out as they run, and simulated."""

from __future__ import annotations

import pytest
from dslc.codegen.aarch64.products.throughput import loops, main_loops, throughputs
from dslc.codegen.aarch64.tools.mca import Model, mca_path, models
from dslc.compiler.diagnostics import DiagnosticError


def text(body: str, group: str = "", macs: int = 512, k: int = 8) -> str:
    mark = f"// LLVM-MCA-BEGIN g.dot1.8x8_group macs={4 * macs}"
    grouped = f"{mark}\n{group}// LLVM-MCA-END\n" if group else ""
    return f"""
    // LLVM-MCA-BEGIN g.dot1.8x8_ends
    movi v16.4s, #0             // the accumulators
    // LLVM-MCA-END
.Lmain:
    // LLVM-MCA-BEGIN g.dot1.8x8 macs={macs} k={k}
{body}
    b.ne .Lmain
    // LLVM-MCA-END
    {grouped}
    // LLVM-MCA-BEGIN g.dot1.8x8_ends
.Lout: str q16, [x0]
    .p2align 2
    // LLVM-MCA-END
"""


SMMLAS = "\n".join(f"    smmla v{16 + i}.4s, v0.16b, v1.16b" for i in range(16))


def test_the_instructions_of_a_tile_are_in_the_order_of_their_execution() -> None:
    (loop,) = loops(text("    nop", "    fadd v0.4s, v0.4s, v1.4s\n"))
    assert loop.tile == 64
    start, end = ["movi v16.4s, #0"], ["str q16, [x0]"]
    body, group = ["nop", "b.ne .Lmain"], ["fadd v0.4s, v0.4s, v1.4s"]
    assert loop.trace(64) == [*start, *(4 * body + group) * 2, *end]
    assert loop.trace(60) == loop.trace(64)
    assert loops("    nop\n") == []


def test_panels_belong_to_every_loop_of_their_product() -> None:
    panel = "// LLVM-MCA-BEGIN g.dot1_b macs=128\n    nop\n// LLVM-MCA-END\n"
    small = text("    nop", macs=64).replace("8x8", "2x4")
    found = loops(panel + text("    nop") + small)
    assert [loop.tile for loop in found] == [64, 8]
    for depth, counts in ((8, [1 + 4, 1 + 0]), (16, [2 + 8, 2 + 1])):
        assert [loop.trace(depth, panels=True).count("nop") for loop in found] == counts
        assert {loop.trace(depth).count("nop") for loop in found} == {depth // 8}
    assert [loop.tile for loop in main_loops(panel + text("    nop") + small)] == [64]


def test_the_epilogue_of_a_product_runs_once_for_its_results_whatever_k_is() -> None:
    out = "// LLVM-MCA-BEGIN g.dot1_out results=16\n    fcvtn v0.4h, v1.4s\n// LLVM-MCA-END\n"
    (loop,) = loops(text("    nop") + out)
    for depth in (64, 4096):
        assert loop.trace(depth)[-4:] == ["fcvtn v0.4h, v1.4s"] * 4
        assert loop.trace(depth).count("fcvtn v0.4h, v1.4s") == loop.tile // 16


@pytest.mark.parametrize(
    "wrong",
    [
        "// LLVM-MCA-END",
        "// LLVM-MCA-BEGIN a macs=1 k=1",
        "// LLVM-MCA-BEGIN a\n// LLVM-MCA-BEGIN b\n// LLVM-MCA-END",
    ],
)
def test_marks_that_do_not_fit_together(wrong: str) -> None:
    with pytest.raises(DiagnosticError, match="DSL0954"):
        loops(wrong)


@pytest.fixture
def pinned() -> list[Model]:
    if mca_path(22) is None:
        pytest.skip("there is no llvm-mca of LLVM 22 (apt install llvm-22)")
    return models((22,))


def test_matrix_instructions_alone_reach_the_peak(pinned: list[Model]) -> None:
    """Four a cycle on Neoverse V2 and two on N2, of 32 multiply-adds each."""
    for found, peak in zip(throughputs(text(SMMLAS), pinned), (128, 64), strict=True):
        assert found.steady == pytest.approx(peak, rel=0.02)
        assert found.bound == pytest.approx(peak, rel=0.02)
        assert 0.95 * peak < found.rate <= found.steady


def test_what_runs_for_a_group_counts(pinned: list[Model]) -> None:
    scaled = "".join(f"    fsub v2.4s, v{i}.4s, v3.4s\n" for i in range(16, 32))
    plain, slow = (throughputs(text(SMMLAS, g), pinned[:1])[0] for g in ("", scaled))
    assert slow.steady == plain.steady
    # Sixteen instructions, four a cycle, beside four turns of four cycles.
    assert slow.rate == pytest.approx(plain.rate * 16 / (16 + 4), rel=0.03)


def test_a_loop_that_waits_for_its_results_stays_below_what_its_pipes_allow(
    pinned: list[Model],
) -> None:
    chain = "    smmla v16.4s, v0.16b, v1.16b\n    add v0.4s, v16.4s, v16.4s\n"
    (found,) = throughputs(text(chain), pinned[:1])
    assert found.steady < 0.3 * found.bound


def test_an_instruction_that_there_is_not(pinned: list[Model]) -> None:
    with pytest.raises(DiagnosticError, match=r"DSL0954.*frobnicate"):
        throughputs(text("    frobnicate v0.4s"), pinned)


def test_without_llvm_mca_the_error_says_what_to_install() -> None:
    with pytest.raises(DiagnosticError, match=r"DSL0951.*LLVM 3") as caught:
        models((3,))
    assert "apt install llvm-22" in (caught.value.diagnostics[0].hint or "")
