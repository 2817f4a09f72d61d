"""Registers that products of warpgroups read are theirs until they have ended, in machine code."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from dslc.checker import check_module
from dslc.codegen.cuda.tools.sass import Code, disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.ir import Kernel
from dslc.frontend import parse_tile

from support.gpu.emulation import emitted, lower
from support.gpu.warpgroups import Flow, definitions, flow, in_flight, left

EXAMPLES = Path(__file__).parents[4] / "examples"
DIVISION = "float sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }"


def text_of(name: str, fixed: dict[str, int], config: dict[str, int]) -> str:
    path = EXAMPLES / f"{name}.tile"
    kernel = check_module(parse_tile(path.read_text(), str(path))).templates[name]
    found = lower(kernel.elaborate(fixed, config))
    assert isinstance(found, Kernel)
    return emitted(found)[0]


def graph_of(text: str) -> Flow:
    (code,) = disassemble(compile_cubin(text, "sm_90a").cubin)
    return flow(code)


def lost(graph: Flow) -> list[str]:
    """The products whose left operand comes from several places: the text has one for each."""
    listed = graph.code.instructions
    return [
        f"{i} at {i.address:#x}"
        for n, i in enumerate(listed)
        if any(len(definitions(graph, n, r)) != 1 for r in left(i))
    ]


def with_division(text: str) -> str:
    """The same with a division that rounds right, whose slow path is a call."""
    found = re.sub(r"float sigmoidf\(float x\) \{.*?\n\}", DIVISION, text, flags=re.DOTALL)
    assert found != text
    return found


@pytest.fixture
def low_rank(nvrtc: None, nvdisasm: None) -> str:
    """Two operands in registers stay the same in a loop with a third."""
    dims = {"H": 256, "F": 128, "P": 64, "Q": 64, "R": 64}
    return text_of("lowrank_mlp", dims, {"BM": 64, "BF": 64, "BH": 32})


def test_operands_that_stay_the_same_in_a_loop_are_kept(low_rank: str) -> None:
    for text in (low_rank, with_division(low_rank)):
        graph = graph_of(text)
        assert sum(bool(left(i)) for i in graph.code.instructions) >= 12
        assert lost(graph) == []
        assert in_flight(graph) == []


def test_without_a_last_use_they_are_lost(low_rank: str) -> None:
    bare = re.sub(r"keep_registers<\d+>\(\w+\);", "", low_rank)
    graph = graph_of(with_division(bare))
    assert lost(graph), "ptxas keeps them now: the last uses may go (docs/decisions/0011)"


def test_what_touches_registers_under_way_is_found(low_rank: str) -> None:
    (code,) = disassemble(compile_cubin(low_rank, "sm_90a").cubin)
    waits = [i for i in code.instructions if i.opcode.startswith("WARPGROUP.DEPBAR")]
    missed = []
    for wait in waits:
        gone = tuple(replace(i, opcode="NOP") if i is wait else i for i in code.instructions)
        missed.append(bool(in_flight(flow(Code(code.name, gone)))))
    assert len(missed) >= 5
    assert sum(missed) >= 4  # one loop's products take nothing from registers
