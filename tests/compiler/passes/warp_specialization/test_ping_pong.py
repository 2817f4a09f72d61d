"""Warpgroups that alternate: where, and that neither waits for more than the other hands over."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.gpu.groups import grouped
from support.kernels import every
from support.products import product

HOPPER = find_target("cuda:sm_90a")
EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def lowered(kernel: Kernel) -> Kernel:
    found = run_passes(kernel, gpu_passes(HOPPER, warps=8))
    assert isinstance(found, Kernel)
    text = print_program(found)
    assert print_program(parse_program(text)) == text
    return found


def attention(head: int, keys: int) -> Kernel:
    library = dslc.compile(EXAMPLES / "attention.tile", "cuda:sm_90a")
    found = parse_program(library["attention"].specialize(D=head, BS=128, BL=keys).source("ir"))
    assert isinstance(found, Kernel)
    return lowered(found)


def steps(body: tuple[ins.Stmt, ...]) -> list[str]:
    """Products, waits for them, and who may go on, right in a body."""
    kinds = (ins.Dot, ins.WaitDots, ins.AwaitPartner, ins.HandOver, ins.For)
    return [type(s).__name__ for s in body if isinstance(s, kinds)]


def test_products_that_run_on_are_asked_for_with_those_of_the_next_iteration() -> None:
    kernel = attention(256, 64)
    assert steps(kernel.body) == ["AwaitPartner", "For", "HandOver", "WaitDots"]
    (begin, *_), (*_, end) = every(kernel, ins.AwaitPartner), every(kernel, ins.HandOver)
    assert begin.alone
    assert end.alone
    (loop,) = (s for s in kernel.body if isinstance(s, ins.For))
    assert steps(loop.body) == ["Dot", "HandOver", "WaitDots", "AwaitPartner", "Dot"]


@pytest.mark.parametrize(
    "kernel",
    [
        lambda: lowered(product((128, 256, 64))),  # nothing is computed between products
        lambda: attention(128, 128),  # nearly as much computing as multiplying
        lambda: lowered(grouped((128, 256, 64))),  # no product runs on
    ],
)
def test_others_do_not_alternate(kernel: object) -> None:
    assert callable(kernel)
    found = kernel()
    assert every(found, ins.Dot)
    assert not every(found, ins.AwaitPartner) + every(found, ins.HandOver)
