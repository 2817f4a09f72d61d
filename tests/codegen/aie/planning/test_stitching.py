"""Programs as one module of several launches: plan, prover, both printers, simulator, dialect."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pytest
from dslc.codegen.aie.planning.stitching import Run, Stitched
from dslc.codegen.aie.proving.stitched_legality import prove_stitched
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aie_simulator import AieFault, simulate

from support.npu.kernels import EXAMPLES, assert_close
from support.npu.programs import Dispatch, dispatch

_INPUT = dispatch(
    EXAMPLES / "attention_input.tile", "attention_input",
    S=32, H=64, Q=128, KV=64, D=32, T="bf16", BN=64, BK=32,
)  # fmt: skip
# Rows that no block divides, and results past the end of a row which the next kernel would add up.
_RAGGED = dispatch(
    """
kernel scaled(x: f32[M, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 16)):
        y[m : m + 8, n : n + 16] = exp(x[m : m + 8, n : n + 16])

kernel total(x: f32[M, N], y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        acc = zeros(f32, [4])
        for n in range(0, N, 64):
            acc += sum(x[m : m + 4, n : n + 64], 1)
        y[m : m + 4] = acc

program totals(x: f32[M, N], y: out f32[M], z: out f32[M, N]):
    e = buffer(f32, [M, N])
    scaled(x, e)
    total(e, y)
    scaled(e, z)
""",
    "totals",
    M=13,
    N=50,
)


@pytest.mark.parametrize("of", [_INPUT, _RAGGED], ids=["input", "ragged"])
def test_programs(of: Dispatch) -> None:
    arrays, blank = of.arrays()
    run = simulate(of.text(), arrays, blank)
    assert_close(of.written(arrays), of.expected())
    assert run.configurations == len(of.stitched.configurations)
    again, blank = of.arrays()
    simulate(of.text(explicit=True), again, blank)
    for x, y in zip(arrays, again, strict=True):
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))


def test_calls_of_one_configuration_follow_one_another() -> None:
    names = [[r.launch.name for r in runs] for runs in _INPUT.stitched.configurations]
    assert names == [["rmsnorm"], ["gemm"], ["gemm_1", "gemm_1"], ["rope"], ["rope_1"]]
    # exp twice would be one configuration, were the sum not between them.
    assert [r.call for r in _RAGGED.stitched.runs] == [0, 2, 1]


def test_modules_print_as_they_parse() -> None:
    pytest.importorskip("xdsl")
    from dslc.codegen.aie.dialect import parse_module

    for explicit in (False, True):
        module = parse_module(_RAGGED.text(explicit=explicit))
        assert parse_module(str(module)).is_structurally_equivalent(module)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("configure @total ", "configure @sum ", "no device @sum"),
        ("configure @total ", "configure @totals ", "no sequence @transfers"),
        ("run @transfers(%e, %y)", "run @moves(%e, %y)", "no sequence @moves"),
        ("run @transfers(%e, %y) : (memref<1024xf32>, memref<16xf32>)",
         "run @transfers(%y, %y) : (memref<16xf32>, memref<16xf32>)", "other types"),
    ],
)  # fmt: skip
def test_broken_modules_are_refused(old: str, new: str, message: str) -> None:
    pytest.importorskip("xdsl")
    from dslc.codegen.aie.dialect import parse_module
    from xdsl.utils.exceptions import ParseError, VerifyException

    text = _RAGGED.text()
    assert old in text
    with pytest.raises((VerifyException, ParseError), match=message):
        parse_module(text.replace(old, new, 1))


# The prover


def _runs(change: Callable[[list[Run]], None]) -> Callable[[Stitched], None]:
    def edit(stitched: Stitched) -> None:
        stitched.runs = list(stitched.runs)
        change(stitched.runs)

    return edit


def _swapped(first: int, second: int) -> Callable[[list[Run]], None]:
    def edit(runs: list[Run]) -> None:
        runs[first], runs[second] = runs[second], runs[first]

    return edit


def _given(run: int, place: int, name: str) -> Callable[[Stitched], None]:
    """Another of the program's tensors as a run's argument."""

    def edit(stitched: Stitched) -> None:
        other = next(t for t in stitched.tensors if t.memory.name == name)
        tensors = list(stitched.runs[run].tensors)
        tensors[place] = other
        stitched.runs = list(stitched.runs)
        stitched.runs[run] = dataclasses.replace(stitched.runs[run], tensors=tuple(tensors))

    return edit


def _nobody_waits(stitched: Stitched) -> None:
    run = stitched.runs[0]
    plan = copy.copy(run.launch.planned.plan)
    plan.phases = [[dataclasses.replace(t, last=False) for t in phase] for phase in plan.phases]
    planned = dataclasses.replace(run.launch.planned, plan=plan)
    launch = dataclasses.replace(run.launch, planned=planned)
    stitched.runs = [dataclasses.replace(run, launch=launch), *stitched.runs[1:]]


def _lies_otherwise(stitched: Stitched) -> None:
    first, *others = stitched.tensors
    wider = dataclasses.replace(first, shape=(first.shape[0] + 8, *first.shape[1:]))
    stitched.tensors = [wider, *others]
    run = stitched.runs[0]
    tensors = tuple(wider if t is first else t for t in run.tensors)
    stitched.runs = [dataclasses.replace(run, tensors=tensors), *stitched.runs[1:]]


_BROKEN: list[tuple[str, Callable[[Stitched], None], str]] = [
    ("launches in the wrong order", _runs(_swapped(0, 1)), "both touch normed"),
    ("rope ahead of its product", _runs(_swapped(1, 4)), "both touch q"),
    ("a launch left out", _runs(lambda runs: runs.pop(1) and None), "every call is one run"),
    ("a launch twice", _runs(lambda runs: runs.append(runs[0])), "every call is one run"),
    ("another buffer", _given(2, 2, "v"), "c is v; the program gives it k"),
    ("an input for a buffer", _given(1, 0, "x"), "a is x; the program gives it normed"),
    ("nobody waits", _nobody_waits, "when all tasks of the one before it have ended"),
    ("another form in memory", _lies_otherwise, "lies as"),
]


@pytest.mark.parametrize(("title", "edit", "message"), _BROKEN, ids=[b[0] for b in _BROKEN])
def test_a_broken_program_is_refused(
    title: str, edit: Callable[[Stitched], None], message: str
) -> None:
    stitched = copy.copy(_INPUT.stitched)
    edit(stitched)
    with pytest.raises(DiagnosticError, match=message) as found:
        prove_stitched(stitched)
    assert found.value.diagnostics[0].code == "DSL0554", title


# The simulator

Edit = Callable[[str], str]


def _swap(pattern: str, new: str) -> Edit:
    def edit(text: str) -> str:
        found, done = re.subn(pattern, new, text, count=1, flags=re.DOTALL)
        assert done, f"{pattern} is not in the module"
        return found

    return edit


_CONFIGURATION = r"( +aiex\.configure @{} \{{.*?\n      \}}\n)"
_FAULTS: list[tuple[str, str, Edit]] = [
    ("launches in the wrong order", "unwritten",
     _swap(_CONFIGURATION.format("rmsnorm") + _CONFIGURATION.format("gemm"), r"\2\1")),
    ("a launch that is missing", "unwritten", _swap(_CONFIGURATION.format("rmsnorm"), "")),
    ("another buffer is read", "unwritten",
     _swap(r"run @transfers\(%normed, %wv, %v\)", "run @transfers(%v, %wv, %normed)")),
    ("a buffer of another size", "argument",
     _swap(r"run @transfers\(%normed, %wv, %v\)", "run @transfers(%normed, %wv, %q)")),
    ("too few arguments", "argument",
     _swap(r"run @transfers\(%normed, %wv, %v\)", "run @transfers(%normed, %wv)")),
    ("an argument that is none", "symbol", _swap(r"run @transfers\(%q, ", "run @transfers(%p, ")),
    ("nobody waits before the next configuration", "configuration",
     _swap(r"(device\(npu2\) @rmsnorm .*?)(?:      aiex\.npu\.dma_wait[^\n]*\n)+", r"\1")),
    ("nobody waits before the next run", "configuration",
     _swap(r"(device\(npu2\) @gemm_1 .*?)(?:      aiex\.npu\.dma_wait[^\n]*\n)+", r"\1")),
    ("a descriptor is written anew too early", "descriptor-reuse",
     _swap(r"(device\(npu2\) @gemm_1 .*?id = )1 ", r"\g<1>0 ")),
    ("a transfer too many in a launch", "queue|leftover|deadlock|configuration|descriptor-reuse",
     _swap(r"(device\(npu2\) @rmsnorm .*?)([^\n]*dma_memcpy_nd[^\n]*\n)", r"\1\2\2")),
    ("no such device", "symbol", _swap("configure @gemm ", "configure @gem ")),
    ("no such sequence", "symbol", _swap("run @transfers", "run @transfer")),
    ("a dispatch that configures itself", "symbol",
     _swap("configure @gemm ", "configure @attention_input ")),
    ("two devices of one name", "symbol", _swap(r"device\(npu2\) @gemm_1", "device(npu2) @gemm")),
    ("a transfer outside of a configuration", "syntax",
     _swap(r"(@dispatch\([^\n]*\n)", r"\1      aiex.npu.dma_wait {symbol = @q}" + "\n")),
    ("a wait in a configuration", "symbol",
     _swap(r"(configure @gemm \{\n)", r"\1        aiex.npu.dma_wait {symbol = @q}" + "\n")),
]  # fmt: skip


@pytest.mark.parametrize(("title", "rule", "edit"), _FAULTS, ids=[f[0] for f in _FAULTS])
def test_a_fault_is_found(title: str, rule: str, edit: Edit) -> None:
    arrays, blank = _INPUT.arrays()
    with pytest.raises(AieFault) as found:
        simulate(edit(_INPUT.text()), arrays, blank)
    assert re.fullmatch(rule, found.value.rule), f"{title}: {found.value}"
