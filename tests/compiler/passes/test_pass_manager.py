"""Passes in a row."""

import dataclasses
import importlib
import inspect
import io
from dataclasses import dataclass, replace
from pathlib import Path

import dslc.compiler.passes
import meaning
import pytest
import random_ir
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_lists.interpreter import interpreter_passes
from dslc.compiler.passes.pass_manager import dump_to, print_after, run_passes
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.targets import TARGETS, find_target
from dslc.machines.registry import machine_of
from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = """\
kernel f[M](@x: in f32[M], @y: out f32[M]) {
  let n = M + 0
  %a = load @x[n - M : +4] : f32[4]
  %b = neg %a : f32[4]
  store @y[0 : +4], %a
}
"""
PROGRAM = (
    TEXT
    + """
program p[M](@x: in f32[M], @y: out f32[M]) {
  memory @t: buffer f32[M]
  call f(@x, @t)
  call f(@t, @y)
}
"""
)


@dataclass(frozen=True)
class Breaks:
    name: str = "breaks"

    def __call__(self, program):
        return replace(program, body=program.body[1:])


def test_observers_see_the_input_and_every_pass(tmp_path):
    stream, seen = io.StringIO(), []
    program = run_passes(
        parse_program(TEXT),
        (DeadCode(), Simplify()),
        observers=[print_after({"dead-code"}, stream), dump_to(tmp_path / "ir"), seen.append],
    )
    assert [p.name for p in sorted((tmp_path / "ir").iterdir())] == [
        "00-input.tir",
        "01-dead-code.tir",
        "02-simplify.tir",
    ]
    assert (tmp_path / "ir" / "00-input.tir").read_text() == TEXT
    assert (tmp_path / "ir" / "02-simplify.tir").read_text() == print_program(program)
    assert stream.getvalue().startswith("# after 01-dead-code\nkernel f")
    assert "neg" not in stream.getvalue()
    assert [stage.name for stage in seen] == ["input", "dead-code", "simplify"]
    assert all(stage.seconds > 0 for stage in seen[1:])


def test_a_dump_reads_back(tmp_path):
    run_passes(parse_program(PROGRAM), interpreter_passes(), observers=[dump_to(tmp_path)])
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert print_program(parse_program(text)) == text


def test_the_verifier_runs_before_and_after_each_pass():
    with pytest.raises(DiagnosticError, match="n is not defined here"):
        run_passes(parse_program(TEXT), (Breaks(),))
    with pytest.raises(DiagnosticError, match="n is not defined here"):
        run_passes(Breaks()(parse_program(TEXT)), ())


def test_a_kernel_called_twice_is_changed_once():
    program = run_passes(parse_program(PROGRAM), interpreter_passes())
    first, second = (c.kernel for c in program.calls)
    assert first is second
    assert "let" not in print_program(program)


ROOMS = Path(dslc.compiler.passes.__file__).parent


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_every_target_has_its_passes(name):
    passes = machine_of(TARGETS[name]).passes({})
    assert {"simplify", "bounds", "low-bit"} <= {p.name for p in passes}
    run_passes(parse_program(TEXT), passes)


def test_every_pass_is_in_some_list():
    """A pass that no machine runs is dead, or was forgotten in a list."""
    listed = {type(p) for t in TARGETS.values() for p in machine_of(t).passes({})}
    found = {c for c in passes_there_are() if c not in listed}
    assert not found, "put it where a machine needs it: compiler/passes/pass_lists"


def passes_there_are():
    """The classes of compiler/passes that have a pass's name and can be called."""
    for path in sorted(ROOMS.rglob("*.py")):
        parts = path.relative_to(ROOMS).with_suffix("").parts
        module = importlib.import_module(".".join(("dslc.compiler.passes", *parts)))
        for _, one in inspect.getmembers(module, inspect.isclass):
            own = one.__module__ == module.__name__ and dataclasses.is_dataclass(one)
            if own and "name" in one.__dataclass_fields__ and "__call__" in vars(one):
                yield one


def test_the_plan_knows_the_machine():
    big = (
        TEXT.replace("  let n", "  alloc @b: buffer f32[65536]\n  let n")
        .replace("  store", "  store @b[0 : +4], %a\n  %c = load @b[0 : +4] : f32[4]\n  store")
        .replace("store @y[0 : +4], %a", "store @y[0 : +4], %c")
    )
    run_passes(parse_program(big), interpreter_passes())
    with pytest.raises(DiagnosticError, match="262144 bytes of shared memory"):
        run_passes(parse_program(big), interpreter_passes(find_target("cuda:sm_80")))


@given(random_ir.kernels(statements=12), st.integers(0, 9))
@settings(max_examples=60)
def test_the_passes_of_the_interpreter_keep_the_meaning(kernel, seed):
    changed = run_passes(kernel, interpreter_passes())
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))


@pytest.mark.parametrize("name", TARGETS)
def test_a_list_of_passes_reads_the_same_in_every_process(name):
    """It is part of the cache's key: an address or the order of a set is another each time."""
    shown = repr(machine_of(find_target(name)).passes({}))
    assert " at 0x" not in shown
    assert "frozenset({" not in shown
