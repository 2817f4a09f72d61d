"""Blocks and structured control flow, as steps and, where a semaphore may stop them, as flows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from operator import itemgetter
from typing import Any

from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.interpreter.clusters import reduce_flow, sync_flow
from dslc.compiler.interpreter.scalars import compile_scalar, compile_scalars
from dslc.compiler.interpreter.scope import TURN, Blocked, Flow, Frame, Scope, Step
from dslc.compiler.interpreter.semaphores import wait_flow
from dslc.compiler.interpreter.steps.arrivals import phase_flow
from dslc.compiler.interpreter.steps.instructions import build
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Var


def statements(body: Sequence[ins.Stmt]) -> Iterator[ins.Stmt]:
    """Every statement of a body, the nested ones after the one that holds them."""
    for s in body:
        yield s
        match s:
            case ins.For(body=inner) | ins.WarpSpecialize(body=inner):
                yield from statements(inner)
            case ins.While(before=before, body=inner):
                yield from statements((*before, *inner))
            case ins.If(then=then, otherwise=otherwise):
                yield from statements((*then, *otherwise))
            case _:
                pass


def waits(scope: Scope, s: ins.Stmt) -> bool:
    """Whether a turn, or its producer warps, may have to wait for others in this statement."""
    if isinstance(s, ins.WarpSpecialize):
        return False
    return any(_waits(scope, inner) for inner in statements([s]))


def _waits(scope: Scope, s: ins.Stmt) -> bool:
    match s:
        case ins.SemaphoreWait() | ins.ClusterReduce():
            return True
        case ins.AwaitPhase():
            return scope.is_producer or scope.clusters
        case ins.Sync():
            return s.cluster
        case _:
            return False


def compile_block(scope: Scope, body: Sequence[ins.Stmt]) -> Step:
    """The statements of a body, one after another."""
    steps = tuple(_step(scope, s) for s in body)
    match steps:
        case ():
            return lambda f: None
        case (only,):
            return only

    def block(f: Frame) -> None:
        for step in steps:
            step(f)

    return block


def compile_flow(scope: Scope, body: Sequence[ins.Stmt]) -> Flow:
    """The same as a generator, which yields what it waits for."""
    parts = tuple(
        (True, _flow(scope, s)) if waits(scope, s) else (False, _step(scope, s)) for s in body
    )

    def block(f: Frame) -> Generator[Blocked, None, None]:
        for may_wait, step in parts:
            result = step(f)
            if may_wait and result is not None:
                yield from result

    return block


def _step(scope: Scope, s: ins.Stmt) -> Step:
    scope.loc = s.loc
    match s:
        case ins.For():
            return _for(scope, s)
        case ins.While():
            return _while(scope, s)
        case ins.If():
            return _if(scope, s)
        case ins.WarpSpecialize():
            return _warp_specialize(scope, s)
        case _:
            return build(scope, s)


def _flow(scope: Scope, s: ins.Stmt) -> Flow:
    scope.loc = s.loc
    match s:
        case ins.For():
            return _for_flow(scope, s)
        case ins.While():
            return _while_flow(scope, s)
        case ins.If():
            return _if_flow(scope, s)
        case ins.SemaphoreWait():
            return wait_flow(scope, s)
        case ins.AwaitPhase():
            return phase_flow(scope, s)
        case ins.Sync():
            return sync_flow(scope, s)
        case ins.ClusterReduce():
            return reduce_flow(scope, s)
        case _:
            raise AssertionError(s)


def _for(scope: Scope, s: ins.For) -> Step:
    iterations, var = _range(scope, s), scope.slot(s.var)
    (enter, advance, leave), body = _carry(scope, s), compile_block(scope, s.body)

    def run(f: Frame) -> None:
        enter(f)
        for i in iterations(f):
            f[var] = i
            body(f)
            advance(f)
        leave(f)

    return run


def _for_flow(scope: Scope, s: ins.For) -> Flow:
    iterations, var = _range(scope, s), scope.slot(s.var)
    (enter, advance, leave), body = _carry(scope, s), compile_flow(scope, s.body)

    def run(f: Frame) -> Generator[Blocked, None, None]:
        enter(f)
        for i in iterations(f):
            f[var] = i
            yield from body(f)
            advance(f)
        leave(f)

    return run


def _while(scope: Scope, s: ins.While) -> Step:
    condition, (enter, advance, leave) = compile_scalar(scope, s.condition), _carry(scope, s)
    before, body = compile_block(scope, s.before), compile_block(scope, s.body)

    def run(f: Frame) -> None:
        enter(f)
        before(f)
        while condition(f):
            body(f)
            advance(f)
            before(f)
        leave(f)

    return run


def _while_flow(scope: Scope, s: ins.While) -> Flow:
    condition, (enter, advance, leave) = compile_scalar(scope, s.condition), _carry(scope, s)
    before, body = compile_flow(scope, s.before), compile_flow(scope, s.body)

    def run(f: Frame) -> Generator[Blocked, None, None]:
        enter(f)
        yield from before(f)
        while condition(f):
            yield from body(f)
            advance(f)
            yield from before(f)
        leave(f)

    return run


def _if(scope: Scope, s: ins.If) -> Step:
    condition = compile_scalar(scope, s.condition)
    joined_then = _assign(scope, [(j.result, j.then) for j in s.joined])
    joined_otherwise = _assign(scope, [(j.result, j.otherwise) for j in s.joined])
    then, otherwise = compile_block(scope, s.then), compile_block(scope, s.otherwise)

    def run(f: Frame) -> None:
        if condition(f):
            then(f)
            joined_then(f)
        else:
            otherwise(f)
            joined_otherwise(f)

    return run


def _if_flow(scope: Scope, s: ins.If) -> Flow:
    condition = compile_scalar(scope, s.condition)
    joined_then = _assign(scope, [(j.result, j.then) for j in s.joined])
    joined_otherwise = _assign(scope, [(j.result, j.otherwise) for j in s.joined])
    then, otherwise = compile_flow(scope, s.then), compile_flow(scope, s.otherwise)

    def run(f: Frame) -> Generator[Blocked, None, None]:
        if condition(f):
            yield from then(f)
            joined_then(f)
        else:
            yield from otherwise(f)
            joined_otherwise(f)

    return run


def _warp_specialize(scope: Scope, s: ins.WarpSpecialize) -> Step:
    """Its warps go on whenever the turn's warps wait for them (`arrivals`)."""
    scope.is_producer = True
    body = compile_flow(scope, s.body)
    scope.is_producer = False

    def run(f: Frame) -> None:
        f[TURN].producers = body(f)
        f[TURN].run_producers()

    return run


def _range(scope: Scope, s: ins.For) -> Callable[[Frame], range]:
    bounds = compile_scalars(scope, (s.start, s.stop, s.step))

    def iterations(f: Frame) -> range:
        start, stop, step = bounds(f)
        return make_range(start, stop, step, s.loc)

    return iterations


def make_range(start: int, stop: int, step: int, loc: Loc | None) -> range:
    """A loop's iterations; DSL0602 for a step of 0."""
    if step == 0:
        raise error("DSL0602", "the step of this range is 0", loc, hint="the loop would never end")
    return range(start, stop, step)


def _carry(scope: Scope, s: ins.For | ins.While) -> tuple[Step, Step, Step]:
    """What happens to carried values on entry, between iterations and on leaving."""
    return (
        _assign(scope, [(c.inner, c.init) for c in s.carried]),
        _assign(scope, [(c.inner, c.yielded) for c in s.carried]),
        _assign(scope, [(c.result, c.inner) for c in s.carried]),
    )


def _assign(scope: Scope, moves: Sequence[tuple[Value | Var, Value | Expr]]) -> Step:
    """All targets get their sources at once: every source is read before a target is written."""
    slots: list[int] = []
    sources: list[Callable[[Frame], Any]] = []
    for target, source in moves:
        slots.append(scope.slot(target))
        if not isinstance(source, Value):
            sources.append(compile_scalar(scope, source))
            continue
        sources.append(itemgetter(scope.slot(source)))
        if isinstance(target, Value) and (mask := scope.mask(target)) is not None:
            slots.append(mask)
            origin = scope.mask(source)
            sources.append((lambda f: None) if origin is None else itemgetter(origin))
    if not slots:
        return lambda f: None
    if len(slots) == 1:
        (slot,), (only,) = slots, sources

        def one(f: Frame) -> None:
            f[slot] = only(f)

        return one

    def several(f: Frame) -> None:
        for slot, value in zip(slots, [s(f) for s in sources], strict=True):
            f[slot] = value

    return several
