"""The prover of stitched programs: what must hold between launches, beyond what holds of each.

It reads the program's calls and the runs alone: that the runs are the calls, over the tensors that
these name, in an order that their data flow allows, and that nothing is under way between two.
"""

from __future__ import annotations

from dslc.codegen.aie.planning.stitching import Run, Stitched, uses_of
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir import Memory, Role


def prove_stitched(stitched: Stitched) -> None:
    """DSL0554 with the kernel and the rule where launches do not make up the program."""
    program = stitched.program
    if sorted(r.call for r in stitched.runs) != list(range(len(program.calls))):
        raise error("DSL0554", f"{program.name}: every call is one run of a launch", program.loc)
    for run in stitched.runs:
        _arguments(stitched, run)
        _ends(stitched, run)
    _order(stitched)
    _written(stitched)


def _broken(stitched: Stitched, run: Run, what: str, rule: str) -> DiagnosticError:
    loc = stitched.program.calls[run.call].loc
    return error("DSL0554", f"launch {run.launch.name}: {what}; {rule}", loc)


def _arguments(stitched: Stitched, run: Run) -> None:
    """Each tensor of the plan is the program's tensor that the call gives for it, as it lies."""
    call = stitched.program.calls[run.call]
    names = [p.name for p in call.kernel.params]
    own = run.launch.planned.plan.tensors
    if len(own) != len(run.tensors):
        raise _broken(stitched, run, f"{len(run.tensors)} tensors of {len(own)}", "all are given")
    for mine, given in zip(own, run.tensors, strict=True):
        wanted = call.args[names.index(mine.memory.name)]
        if given.memory is not wanted:
            assert isinstance(wanted, Memory)
            raise _broken(
                stitched,
                run,
                f"{mine.memory.name} is {given.memory.name}",
                f"the program gives it {wanted.name}",
            )
        if mine.shape != given.shape or all(given is not t for t in stitched.tensors):
            raise _broken(
                stitched,
                run,
                f"{given.memory.name} lies as {list(given.shape)}",
                f"{mine.memory.name} is planned as {list(mine.shape)}",
            )


def _ends(stitched: Stitched, run: Run) -> None:
    """A launch ends with nothing under way: the array is configured anew, descriptors begin anew."""
    for phase in run.launch.planned.plan.phases:
        told = {t.fifo for t in phase if t.last}
        for task in phase:
            if task.fifo not in told:
                raise _broken(
                    stitched,
                    run,
                    f"nobody waits for the tasks of {task.fifo.name}",
                    "a launch begins when all tasks of the one before it have ended",
                )


def _order(stitched: Stitched) -> None:
    """What a call waits for in the program has run before it."""
    uses = [uses_of(c) for c in stitched.program.calls]
    place = {run.call: at for at, run in enumerate(stitched.runs)}
    for run in stitched.runs:
        for other in range(run.call):
            if uses[run.call].comes_after(uses[other]) and place[other] > place[run.call]:
                shared = min(m.name for m in _shared(stitched, run.call, other))
                raise _broken(
                    stitched,
                    run,
                    f"runs before call {other + 1} of the program",
                    f"both touch {shared}, and one of them writes it",
                )


def _shared(stitched: Stitched, first: int, second: int) -> set[Memory]:
    a, b = (uses_of(stitched.program.calls[n]) for n in (first, second))
    return set((a.writes & (b.reads | b.writes)) | (a.reads & b.writes))


def _written(stitched: Stitched) -> None:
    """What nobody gives is written before it is read."""
    written = {t.memory for t in stitched.tensors if t.memory.role in (Role.IN, Role.INOUT)}
    for run in stitched.runs:
        uses = uses_of(stitched.program.calls[run.call])
        for memory in uses.reads - written:
            raise _broken(
                stitched, run, f"reads {memory.name}", "no launch before it has written that"
            )
        written |= uses.writes
