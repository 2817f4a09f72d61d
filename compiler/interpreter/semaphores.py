"""Semaphores: the only way in which a turn waits for another one."""

from __future__ import annotations

from collections.abc import Generator

from dslc.compiler.dtypes import decode
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import TURN, Blocked, Flow, Frame, Scope, Step
from dslc.compiler.interpreter.windows import compile_window
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements
from dslc.compiler.ir.arithmetic.scalar_functions import code


def release(scope: Scope, i: ins.SemaphoreRelease) -> Step:
    """Publish what the turn wrote, then set the element."""
    site = scope.site("the release", i.loc)
    windows, value = compile_window(scope, i.region, site), compile_scalar(scope, i.value)
    memory, dtype = scope.slot(i.region.memory), i.region.memory.dtype

    def step(f: Frame) -> None:
        f[TURN].met.pass_barrier()
        tensor = f[memory]
        window = windows(f, tensor.shape)
        if not window.empty:
            tensor.update(f[TURN], window, lambda _: code(value(f), dtype), site)
            tensor.synchronise(f[TURN], window, acquire=False, release=True)

    return step


def wait_flow(scope: Scope, i: ins.SemaphoreWait) -> Flow:
    """Until the element equals the value; an element out of bounds reads 0."""
    site = scope.site("the wait", i.loc)
    windows, value = compile_window(scope, i.region, site), compile_scalar(scope, i.value)
    memory, dtype = scope.slot(i.region.memory), i.region.memory.dtype
    default = elements.zero(dtype)

    def run(f: Frame) -> Generator[Blocked, None, None]:
        tensor, turn = f[memory], f[TURN]
        window, wanted = windows(f, tensor.shape), value(f)

        def is_ready() -> bool:
            value = default if window.empty else decode(tensor.codes[window.index], dtype)
            return bool(value == wanted)

        while not is_ready():
            turn.waiting = site
            yield Blocked(i.region.memory, window.only, is_ready)
        if not window.empty:
            tensor.update(turn, window, lambda codes: codes, site)
            tensor.synchronise(turn, window, acquire=True, release=False)

    return run
