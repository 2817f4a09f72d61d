"""A program's kernels as launches of one module: one dispatch, what passes between them in DDR.

Each kernel is placed on the array by itself; a launch configures the array for it and runs the sequence
of its transfers. What two kernels share of a tensor has one form in the host's memory, so that their
plans are made anew until they agree on it. Calls keep the order that data flow asks for; within it,
those of one configuration come one after another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.plan_kernel import Planned, plan_kernel
from dslc.codegen.quoting import ascii_name
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Call, Kernel, Memory, Program, Role
from dslc.compiler.targets import Target

_ROUNDS = 8  # in which plans agree on how tensors lie; extents only grow


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """A configuration of the array: the symbol of its device, and what it is made of."""

    name: str
    planned: Planned


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A launch over tensors of the program, one for each of the plan's; `call` is the program's."""

    launch: Launch
    tensors: tuple[Tensor, ...]
    call: int


@dataclass(slots=True)
class Stitched:
    """A program in launches. `tensors` are the arguments of the dispatch, parameters before buffers."""

    program: Program
    tensors: list[Tensor]
    launches: list[Launch]
    runs: list[Run]

    @property
    def configurations(self) -> list[list[Run]]:
        """The runs, those of one launch that follow one another together."""
        groups: list[list[Run]] = []
        for run in self.runs:
            if groups and groups[-1][0].launch is run.launch:
                groups[-1].append(run)
            else:
                groups.append([run])
        return groups


@dataclass(frozen=True, slots=True)
class Uses:
    """The memories of a program that a call reads and writes."""

    reads: frozenset[Memory]
    writes: frozenset[Memory]

    def comes_after(self, other: Uses) -> bool:
        """Whether this call must wait for another that stands before it."""
        return bool(
            self.reads & other.writes or self.writes & other.writes or self.writes & other.reads
        )


def uses_of(call: Call) -> Uses:
    """What a call reads and writes."""
    pairs = [
        (p, a)
        for p, a in zip(call.kernel.params, call.args, strict=True)
        if isinstance(p, Memory) and isinstance(a, Memory)
    ]
    return Uses(
        frozenset(a for p, a in pairs if p.role is not Role.OUT),
        frozenset(a for p, a in pairs if p.role is not Role.IN),
    )


def plan_program(program: Program, target: Target) -> Stitched:
    """The launches of a program over arrays whose dims are known; DSL0550 to DSL0554 and DSL0590."""
    if not program.calls:
        text = f"{program.name} calls no kernel: an NPU has nothing to do"
        raise error("DSL0590", text, program.loc)
    kernels = [c.kernel for c in program.calls]
    lying: dict[Memory, Tensor] = {}
    for _ in range(_ROUNDS):
        planned = {k: _planned(program, kernels, k, lying, target) for k in dict.fromkeys(kernels)}
        if not _grow(program, kernels, planned, lying):
            break
    else:
        text = f"{program.name}: its kernels do not agree on how their tensors are padded"
        raise error("DSL0554", text, program.loc, hint="choose blocks that divide the tensors")
    return _stitched(program, kernels, planned, lying)


def _pairs(program: Program, kernels: list[Kernel]) -> Iterable[tuple[int, Memory, Memory]]:
    """Each call's tensors: the call's number, the kernel's, the program's."""
    for number, (call, kernel) in enumerate(zip(program.calls, kernels, strict=True)):
        for param, given in zip(kernel.params, call.args, strict=True):
            if isinstance(param, Memory) and isinstance(given, Memory):
                yield number, param, given


def _planned(
    program: Program,
    kernels: list[Kernel],
    kernel: Kernel,
    lying: dict[Memory, Tensor],
    target: Target,
) -> Planned:
    """The plan of a kernel over tensors that are padded as is known so far."""
    least: dict[Memory, Tensor] = {}
    for number, param, given in _pairs(program, kernels):
        if kernels[number] is kernel and given in lying:
            least[param] = least.get(param, lying[given]).joined(lying[given])
    return plan_kernel(kernel, target, least=least)


def _grow(
    program: Program,
    kernels: list[Kernel],
    planned: dict[Kernel, Planned],
    lying: dict[Memory, Tensor],
) -> bool:
    """Widen the program's tensors to what every plan has; whether a plan has less than that now."""
    own = {
        (k, t.memory): t
        for k, planned_kernel in planned.items()
        for t in planned_kernel.plan.tensors
    }
    taken = [(k, p, g) for n, p, g in _pairs(program, kernels) if (k := kernels[n], p) in own]
    for kernel, param, given in taken:
        own_tensor = dataclasses.replace(own[kernel, param], memory=given)
        lying[given] = lying.get(given, own_tensor).joined(own_tensor)
    return any(
        (own[k, p].shape, own[k, p].origin) != (lying[g].shape, lying[g].origin)
        for k, p, g in taken
    )


def _stitched(
    program: Program,
    kernels: list[Kernel],
    planned: dict[Kernel, Planned],
    lying: dict[Memory, Tensor],
) -> Stitched:
    memories = [m for m in (*program.params, *program.buffers) if isinstance(m, Memory)]
    tensors = {m: lying[m] for m in memories if m in lying}
    launches: dict[Kernel, Launch] = {}
    taken = {ascii_name(program.name)}
    for kernel, planned_kernel in planned.items():
        name, count = ascii_name(kernel.name), 1
        while name in taken:
            name, count = f"{ascii_name(kernel.name)}_{count}", count + 1
        taken.add(name)
        launches[kernel] = Launch(name, planned_kernel)
    given: list[dict[Memory, Memory]] = [{} for _ in kernels]
    for number, param, argument in _pairs(program, kernels):
        given[number][param] = argument
    runs = [
        Run(
            launches[kernel],
            tuple(tensors[given[n][t.memory]] for t in planned[kernel].plan.tensors),
            n,
        )
        for n, kernel in enumerate(kernels)
    ]
    order = _order([uses_of(c) for c in program.calls], [r.launch for r in runs])
    return Stitched(
        program, list(tensors.values()), list(launches.values()), [runs[n] for n in order]
    )


def _order(uses: list[Uses], launches: list[Launch]) -> list[int]:
    """The calls in an order that data flow allows, going on with a configuration while one can."""
    before = [{m for m in range(n) if uses[n].comes_after(uses[m])} for n in range(len(uses))]
    order: list[int] = []
    while len(order) < len(uses):
        ready = [n for n in range(len(uses)) if n not in order and before[n] <= set(order)]
        same = [n for n in ready if order and launches[n] is launches[order[-1]]]
        order.append((same or ready)[0])
    return order
