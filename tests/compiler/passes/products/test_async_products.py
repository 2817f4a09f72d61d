"""Asynchronous products and bulk copies: what is written, and that none of it can be left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.layout import bank_conflicts, local, spatial
from dslc.compiler.passes.memory.memory_plan import buffer_bytes
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.passes.pipelining.swizzled_shared import panels
from dslc.compiler.targets import find_target

from support.kernels import every
from support.products import product

HOPPER, AMPERE = find_target("cuda:sm_90a"), find_target("cuda:sm_80")


def lowered(kernel: Kernel, target: object = HOPPER) -> Kernel:
    found = run_passes(kernel, gpu_passes(target))  # type: ignore[arg-type]
    assert isinstance(found, Kernel)
    return found


def arguments(columns: int = 64) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (n, 512)).astype(np.float16) for n in (64, columns))
    return {"a": a, "b": np.ascontiguousarray(b.T), "c": np.zeros((64, columns), np.float16)}


class _Without(Rewriter):
    def __init__(self, gone: ins.Stmt) -> None:
        super().__init__()
        self.gone = gone

    def statement(self, stmt: ins.Stmt) -> tuple[ins.Stmt, ...]:
        return () if stmt is self.gone else (self.rebuild(stmt),)


def test_operands_stay_in_shared_memory_and_sums_wait_for_the_next_iteration() -> None:
    kernel = lowered(product((64, 64, 32), stages=2))
    (dot,) = every(kernel, ins.Dot)
    assert dot.is_async
    assert [s.out.type.layout for s in every(kernel, ins.Load)] == [None, None]
    assert [s.pending for s in every(kernel, ins.WaitDots)] == [0]
    assert kernel.rasterization is not None


def test_an_ampere_has_neither() -> None:
    kernel = lowered(product((64, 64, 32)), AMPERE)
    assert not any(d.is_async for d in every(kernel, ins.Dot))
    assert not every(kernel, ins.InitBarriers)
    assert kernel.rasterization is None


def test_it_means_the_same_and_parses_back() -> None:
    kernel = lowered(product((64, 64, 32)))
    args = arguments()
    run(kernel, args)
    wanted = args["a"].astype(np.float32) @ args["b"].astype(np.float32)
    np.testing.assert_array_equal(args["c"], wanted.astype(np.float16))
    text = print_program(kernel)
    assert print_program(parse_program(text)) == text


KINDS = (ins.AwaitPhase, ins.Arrive, ins.InitBarriers, ins.WaitDots, ins.CommitGroup, ins.WaitGroup)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stages", [None, 2, 3])
def test_no_wait_arrival_or_commit_can_be_left_out(kind: type, stages: int | None) -> None:
    # One multiprocessor takes three turns.
    kernel = lowered(product((64, 64, 32), stages=stages), replace(HOPPER, units=1))
    found = every(kernel, kind)
    assert found
    for stmt in found:
        with pytest.raises(DiagnosticError, match=r"DSL06(03|04|05|09|12)"):
            run(_Without(stmt).kernel(kernel), arguments(192))


def test_more_bytes_than_are_announced_are_an_error() -> None:
    text = print_program(lowered(product((64, 64, 32))))
    with pytest.raises(DiagnosticError, match="DSL0612"):
        run(parse_program(text.replace("bytes=8192", "bytes=8000")), arguments())


def test_a_second_arrival_in_a_phase_is_an_error() -> None:
    text = print_program(lowered(product((64, 64, 32))))
    line = next(x for x in text.splitlines() if "arrive @full" in x)
    with pytest.raises(DiagnosticError, match="DSL0612"):
        run(parse_program(text.replace(line, f"{line}\n{line}", 1)), arguments())


def test_what_the_unit_reads_begins_at_whole_swizzles_and_leaves_over_the_ring() -> None:
    kernel = lowered(product((128, 256, 64), stages=2))
    places = {s.memory.name: s.memory for s in every(kernel, ins.Alloc)}
    rings = [m for name, m in places.items() if name.endswith("_ring")]
    assert [m.offset % 1024 for m in rings if m.offset is not None] == [0, 0]
    tile = places["c_tile"]
    assert tile.offset is not None
    end = max(m.offset + buffer_bytes(m) for m in rings if m.offset is not None)
    assert tile.offset + buffer_bytes(tile) <= end  # where the rings were


@pytest.mark.parametrize("shape", [(64, 64), (128, 32), (64, 16), (64, 256)])
def test_panels_have_no_bank_conflicts(shape: tuple[int, int]) -> None:
    memory = panels(shape, 16)
    assert memory is not None
    assert HOPPER.banks is not None
    lanes = local(shape[0] // 8, shape[1] // 8) * spatial(8, 1) * local(1, 8)
    found = bank_conflicts(lanes, memory, 16, HOPPER.banks)
    assert found.cycles == found.phases


@pytest.mark.parametrize("shape", [(60, 64), (64, 24), (64,)])
def test_what_does_not_divide_into_panels_has_none(shape: tuple[int, ...]) -> None:
    assert panels(shape, 16) is None


def test_unaligned_rows_are_left_to_the_warps() -> None:
    kernel = product((64, 64, 32))
    text = print_program(kernel)
    for dim in "KN":
        text = text.replace(f"{dim} % 16 == 0", f"{dim} % 2 == 0")
    free = parse_program(text)
    assert isinstance(free, Kernel)
    assert not any(d.is_async for d in every(lowered(free), ins.Dot))
