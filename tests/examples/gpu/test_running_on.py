"""An iteration's last product that runs on into the next one: attention's second one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dslc.calls.argument_facts import Facts, divisor_facts, with_facts
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tools.locate import find_library
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler import interpreter
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.runtime.cuda_emulator import compiler
from elaboration import elaborated

from calls import hold, problem
from support.gpu.emulation import TARGET, execute, lower
from support.kernels import every

DIMS = {"B": 1, "S": 80, "HQ": 1, "L": 208, "HK": 1, "D": 64}
DEEP = 7  # stages: too many for a second block beside


def lowered(stages: int = DEEP) -> Kernel:
    program = elaborated("attention", DIMS, {"BS": 64, "BL": 64})
    divisors = divisor_facts(TARGET, [d.name for d in program.dims], DIMS.get)
    found = lower(with_facts(program, Facts(divisors, ()), TARGET), stages=stages)
    assert isinstance(found, Kernel)
    return found


def waits(kernel: Kernel) -> tuple[int, int]:
    """In the loop, and in all."""
    *_, loop = (s for s in kernel.body if isinstance(s, ins.For))
    return sum(isinstance(s, ins.WaitDots) for s in loop.body), len(every(kernel, ins.WaitDots))


def test_one_wait_a_turn_is_for_both_products() -> None:
    assert waits(lowered()) == (1, 2)
    assert waits(lowered(3)) == (2, 2)  # two blocks fit, which fill each other's pauses
    assert waits(lowered(2)) == (2, 2)  # no slot could be freed a turn later


def test_it_means_the_same() -> None:
    posed = problem("attention", DIMS, {}, seed=2)
    interpreter.run(lowered(), dict(posed.args), interpreter.Options())
    hold(posed)


class _Without(Rewriter):
    def __init__(self, gone: ins.Stmt) -> None:
        super().__init__()
        self.gone = gone

    def statement(self, stmt: ins.Stmt) -> tuple[ins.Stmt, ...]:
        return () if stmt is self.gone else (self.rebuild(stmt),)


@pytest.mark.parametrize("which", [0, 1])
def test_no_wait_can_be_left_out(which: int) -> None:
    posed = problem("attention", {**DIMS, "L": 1008}, {}, seed=2)  # slots are filled again
    kernel = lowered()
    gone = every(kernel, ins.WaitDots)[which]
    with pytest.raises(DiagnosticError, match=r"DSL06(04|05|09)"):
        interpreter.run(_Without(gone).kernel(kernel), dict(posed.args), interpreter.Options())


@pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
def test_its_text_computes_it() -> None:
    posed = problem("attention", DIMS, {}, seed=2)
    execute(lowered(), posed.args, 0)
    hold(posed)


@pytest.mark.skipif(find_library("nvrtc") is None, reason="needs NVRTC")
def test_the_assembler_keeps_it_under_way() -> None:
    text, _ = emit(lowered(), TARGET)
    (resources,) = compile_cubin(text, "sm_90a").resources.values()
    assert replace(resources, registers=0, barriers=0) == type(resources)(0)


def test_a_loop_that_divides_waits_at_once() -> None:
    """A call would forget the registers under way."""
    kernel = elaborated("attention", DIMS, {"BS": 64, "BL": 64})

    class Divided(Rewriter):
        def statement(self, stmt: ins.Stmt) -> tuple[ins.Stmt, ...]:
            rebuilt = self.rebuild(stmt)
            if isinstance(rebuilt, ins.Unary) and rebuilt.op == "exp2":
                return (replace(rebuilt, op="sqrt"),)
            return (rebuilt,)

    divided = Divided().kernel(kernel)
    divisors = divisor_facts(TARGET, [d.name for d in divided.dims], DIMS.get)
    found = lower(with_facts(divided, Facts(divisors, ()), TARGET), stages=DEEP)
    assert isinstance(found, Kernel)
    assert waits(found) == (2, 2)
